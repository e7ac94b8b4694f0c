"""Build one variant of a kernel: its source and its object. It runs in a process of its own."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from pathlib import Path

from tile_ir import BuildError, Diagnostic, TileError
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import SWITCHES
from tile_runtime.ahead_of_time.entry_symbols import with_variant
from tile_runtime.ahead_of_time.find_kernels import Family, find_kernels
from tile_runtime.ahead_of_time.kernel_spec import KernelCompileSpec
from tile_runtime.ahead_of_time.manifest import VariantFiles
from tile_runtime.ahead_of_time.toolchain import Toolchain
from tile_runtime.options.code_generators import GENERATORS

WARM_UP = f"{__name__}:import_compiler"


@dataclass(frozen=True, slots=True)
class VariantPlace:
    """The project's folder, the folders of its imports, the toolchain, the file of the kernel and
    the folder that the variant is written to."""

    project: Path
    paths: tuple[str, ...]
    toolchain: Toolchain
    file: Path
    folder: Path


def import_compiler() -> None:
    """Import what emits kernels."""
    for name in ("tile_frontend", "tile_passes", *GENERATORS.values()):
        importlib.import_module(name)


def build_variant(
    place: VariantPlace, spec: KernelCompileSpec, files: VariantFiles
) -> Diagnostic | None:
    """Make the source and the object of one variant; return the error if there is one."""
    sys.path[:0] = [p for p in place.paths if p not in sys.path]
    # Kernels that ask for the chip, in whatever way, are told of the one that is built for.
    os.environ[SWITCHES["soc"].variable] = place.toolchain.chip.name
    try:
        _build_variant(place, spec, files)
    except BuildError as error:
        return error.diagnostic
    return None


def _build_variant(place: VariantPlace, spec: KernelCompileSpec, files: VariantFiles) -> None:
    folder = place.folder
    found = find_kernels(place.project, [spec.kernel_name]).families.get(spec.kernel_name)
    if found is None:
        name = spec.kernel_name
        raise BuildError("aot-kernel", f"{place.file} registers no kernel `{name}` any more")
    source = _source(found, spec)
    output = folder / files.source
    output.parent.mkdir(parents=True, exist_ok=True)
    # The object stays out of sight until there is one: a manifest may still name the last.
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".building-") as scratch:
        text = Path(scratch) / output.name
        text.write_text(source, "utf-8")
        if files.binary:
            made = Path(scratch) / Path(files.binary).name
            definitions = spec.definitions()
            try:
                place.toolchain.compile(text, made, spec.variant_key, definitions, output)
            except BuildError as error:
                raise _with_kept_source(error, text, output) from None
            os.replace(made, folder / files.binary)
        os.replace(text, output)
        _failed(output).unlink(missing_ok=True)


def _with_kept_source(error: BuildError, source: Path, output: Path) -> BuildError:
    """The error with the name of a file that stays: the source that does not compile."""
    kept = _failed(output)
    os.replace(source, kept)
    message = error.message.replace(str(source), str(kept))
    message = message.replace(str(source.parent), str(kept.parent))  # what else stood there
    return BuildError(error.slug, message, error.loc, error.hint)


def _failed(output: Path) -> Path:
    return output.with_name(f"{output.stem}.failed{output.suffix}")


def _source(family: Family, spec: KernelCompileSpec) -> str:
    try:
        source = family.kernel.generate_source(**spec.specialization)
    except TileError as error:
        raise BuildError(error.slug, error.message, error.loc, error.hint) from None
    except Exception as error:  # whatever the kernel's code raises is its own
        what = f"{type(error).__name__}: {error}"
        raise BuildError("aot-source", f"generate_source: {what}") from None
    if not isinstance(source, str):
        what = type(source).__name__
        raise BuildError("aot-source", f"generate_source gives the source as text, found {what}")
    return with_variant(source, spec.source_entry_symbol, spec.entry_symbol, spec.variant_key)
