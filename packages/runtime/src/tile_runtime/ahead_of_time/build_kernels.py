"""Builds the variants of kernels that are not built yet, and writes what C++ needs of them.

A kernel's folder is `<root>/targets/ascend/<kernel>`. Files appear whole or not at all, the
manifest last, and one build at a time works on a folder: what was killed is built again.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from tile_ir import BuildError, Diagnostic
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.ahead_of_time import manifest as manifests
from tile_runtime.ahead_of_time.build_key import build_key, dependencies_of
from tile_runtime.ahead_of_time.build_variant import WARM_UP, VariantPlace, build_variant
from tile_runtime.ahead_of_time.entry_symbols import KernelAbi, abi_of
from tile_runtime.ahead_of_time.find_kernels import Family, Kernels
from tile_runtime.ahead_of_time.kernel_spec import KernelCompileSpec
from tile_runtime.ahead_of_time.manifest import BuiltVariant, VariantFiles
from tile_runtime.ahead_of_time.read_manifest import KnownVariant, read_manifest
from tile_runtime.ahead_of_time.registry_text import registry_text, variants_text
from tile_runtime.ahead_of_time.toolchain import Toolchain
from tile_runtime.cache.fingerprint import file_digest
from tile_runtime.child_processes.answers import answer_apart
from tile_runtime.child_processes.child_server import ChildServer, EndedChild

# The outcome of a variant: the error, or the end of a process that did not finish.
_Waiting: TypeAlias = "Future[Diagnostic | EndedChild | None]"
# A compiler takes what it takes.
_SECONDS = 86400.0
# Told of each variant: its kernel, its key, and whether it was compiled.
Told = Callable[[str, str, bool], None]


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """The folder, toolchain and limits of a build. Project modules are imported from `paths`."""

    folder: Path
    root: Path
    toolchain: Toolchain
    jobs: int
    force: bool = False
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome for a kernel: its manifest and the count of compiled variants, or the error."""

    kernel: str
    manifest: Path
    compiled: int = 0
    error: BuildError | None = None


def build_kernels(kernels: Kernels, order: BuildOrder, told: Told) -> Iterator[Result]:
    """Build the families one after another, the variants of each in processes of their own.

    An error in one family does not stop the others.
    """
    fingerprint = order.toolchain.fingerprint()
    # An error here ends the processes first, and so the threads that wait for them.
    with ThreadPoolExecutor(order.jobs) as threads, ChildServer(WARM_UP, order.jobs) as children:

        def submit(job: Callable[[], Diagnostic | None]) -> _Waiting:
            return threads.submit(answer_apart, children, job, _SECONDS, sys.stderr.write)

        for family in kernels.families.values():
            folder = order.root / "targets" / "ascend" / family.name
            manifest = folder / manifests.NAME
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with _alone(folder):
                    compiled = _build(family, folder, order, fingerprint, submit, told)
                yield Result(family.name, manifest, compiled)
            except BuildError as error:
                yield Result(family.name, manifest, error=error)


def _build(
    family: Family,
    folder: Path,
    order: BuildOrder,
    fingerprint: dict[str, str],
    submit: Callable[[Callable[[], Diagnostic | None]], _Waiting],
    told: Told,
) -> int:
    """Build a family in its folder; how many variants were compiled."""
    known = _known(folder / manifests.NAME)
    dependencies = dependencies_of(family.kernel.__module__)
    keys = {s.variant_key: build_key(s, fingerprint, dependencies) for s in family.specs}
    compiles = order.toolchain.name != "none"
    due = []
    for spec in family.specs:
        key = spec.variant_key
        if order.force or not _stands(known.get(key), keys[key], compiles):
            due.append(spec)
        else:
            told(family.name, spec.variant_key, False)
    place = VariantPlace(order.folder, order.paths, order.toolchain, family.file, folder)
    waiting = {
        submit(partial(build_variant, place, s, VariantFiles.of(s, compiles))): s for s in due
    }
    try:
        _finish(waiting, family.name, told)
    finally:
        for left in waiting:
            left.cancel()
        wait(waiting)
    abi = _common_abi(family, folder, compiles)
    built = [
        BuiltVariant(
            s, VariantFiles.of(s, compiles), keys[s.variant_key],
            order.toolchain.options(), fingerprint,
        )
        for s in family.specs
    ]  # fmt: skip
    try:
        registry = registry_text(family.specs, family.schema, abi)
        variants = variants_text(family.specs, family.schema)
    except (TypeError, ValueError) as error:
        raise BuildError("aot-kernel", f"{family.file.name}: {error}") from None
    write_if_changed(folder / manifests.REGISTRY, registry)
    write_if_changed(folder / manifests.VARIANTS, variants)
    text = manifests.manifest_text(folder, order.toolchain.name, built, family.schema, abi)
    write_if_changed(folder / manifests.NAME, text)
    for gone in known.keys() - keys.keys():
        shutil.rmtree(folder / gone, ignore_errors=True)
    return len(due)


def _finish(waiting: dict[_Waiting, KernelCompileSpec], kernel: str, told: Told) -> None:
    """Wait for all; BuildError for the first of them that fails, whichever is the fastest to."""
    for done in as_completed(waiting):
        if done.result() is not None:
            break
        told(kernel, waiting[done].variant_key, True)
    for done, spec in waiting.items():
        variant = spec.variant_key
        wrong = done.result()
        if isinstance(wrong, EndedChild):
            raise BuildError(
                "aot-worker",
                f"variant '{variant}' of {kernel} was not built: {wrong.problem}",
                hint="is there memory for so many --jobs?",
            )
        if wrong is not None:
            what = f"variant build failed for variant '{variant}' of {kernel}: {wrong.message}"
            raise BuildError(wrong.slug, what, wrong.loc, wrong.hint)


def _known(manifest: Path) -> dict[str, KnownVariant]:
    """Return the variants of an earlier build by key; none if its manifest cannot be read."""
    try:
        return {v.variant_key: v for v in read_manifest(manifest).variants}
    except (BuildError, OSError):
        return {}


def _stands(known: KnownVariant | None, key: str, compiles: bool) -> bool:
    """Whether a variant need not be built: its files are those that were made for the key."""
    if known is None or known.cache_key != key or len(known.files) != 1 + compiles:
        return False
    return all(file_digest(path) == digest for path, digest in known.files.items())


def _common_abi(family: Family, folder: Path, compiles: bool) -> KernelAbi:
    """Return the signature that C++ calls: all variants have the same. BuildError otherwise."""
    found: KernelAbi | None = None
    for spec in family.specs:
        text = (folder / VariantFiles.of(spec, compiles).source).read_text("utf-8")
        abi = abi_of(text, spec.entry_symbol)
        if found is not None and abi != found:
            first = family.specs[0].variant_key
            raise BuildError(
                "aot-abi",
                f"variant '{spec.variant_key}' of {family.name} takes ({abi.types()}), but "
                f"'{first}' takes ({found.types()})",
                hint="variants of a kernel have the same parameters; make it two kernels",
            )
        found = abi
    assert found is not None, "a family has variants"
    return found


# Files -------------------------------------------------------------------------------------------


def write_if_changed(path: Path, text: str) -> None:
    """Write a file in one step, unless it has that text."""
    try:
        if path.read_text("utf-8") == text:
            return
    except (OSError, UnicodeDecodeError):
        pass
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock a folder for one build, and remove the remains of killed builds."""
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ends with the process, however that ends
        for left in (*folder.glob(".*-*"), *folder.glob("*/.building-*")):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
        yield
