"""From a traced function to files on disk and a function that launches them.

Everything a build depends on is in its key (see `cache_key`); on a hit nothing is lowered, emitted
or compiled.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from tile_ir import (
    BuildError,
    Diagnostic,
    Func,
    Loc,
    Phase,
    Target,
    TileError,
    print_func,
    warn,
)
from tile_ir.code_generator import CodeGenerator
from tile_ir.quick_dataclasses import dataclass, replace
from tile_ir.switches import switch
from tile_passes import PassOptions, PassResult, left_by
from tile_runtime.cache.fingerprint import digest_of, sources_digest
from tile_runtime.cache.kernel_cache import META, KernelCache, kernel_cache
from tile_runtime.devices.device import Device, KernelFiles, KernelLaunch
from tile_runtime.jit_kernels.prove import prove, wants_proof
from tile_runtime.jit_kernels.refused_source import refused_source
from tile_runtime.launcher.signature import Signature, signature_of
from tile_runtime.simulator.build_simulator import cpu_features

# Raise it when the meaning of a file in an entry changes.
SCHEMA = 3


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds per step; 0 for a step that was not needed. `cached`: the kernel was on disk."""

    trace: float = 0.0
    lower: float = 0.0
    emit: float = 0.0
    compile: float = 0.0
    load: float = 0.0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """The inputs of a build: a function, its target and its tools. `name` has no effect on it."""

    func: Func
    target: Target
    options: PassOptions
    device: Device
    generator: CodeGenerator
    name: str

    @property
    def compiled(self) -> Func:
        """The function with all that it leaves to the compiler."""
        return left_by(self.func, self.options)

    def files(self, folder: Path) -> KernelFiles:
        """The files of the kernel in a folder."""
        return KernelFiles(folder, self.generator.suffix)


@dataclass(frozen=True, slots=True)
class Built:
    """A loaded kernel. `lowered` is None when it came from the cache. `owner` keeps the folder of
    a kernel that is not in the cache. `proven`: what the compiler chose was looked at."""

    files: KernelFiles
    signature: Signature
    launch: KernelLaunch
    timings: Timings
    lowered: Func | None = None
    owner: Any = field(default=None, repr=False)
    remarks: tuple[Diagnostic, ...] = ()
    proven: bool = False


def lower(func: Func, target: Target, options: PassOptions) -> Func:
    """The function after all passes. One that went through passes of its own stays as it is."""
    if func.phase is Phase.SYNCED:
        return func
    from tile_passes import run_pipeline  # of no use to kernels that are in the cache

    result = run_pipeline(func, target, options)
    if switch("debug"):
        _print_times(result)
    return result.func


def emitted(lowered: Func, target: Target, generator: CodeGenerator) -> str:
    """The source of a lowered function. BuildError if passes are left to run."""
    if lowered.phase is not Phase.SYNCED:
        raise BuildError(
            "unfinished-pipeline",
            f"the passes stopped at phase {lowered.phase.name.lower()}; "
            "only a finished kernel can run",
            lowered.loc,
            "unset TILE_STOP_AFTER and TILE_SKIP",
        )
    return generator.emit(lowered, target)


def build(job: Job) -> Built:
    """Compile and load a function, or load what an earlier build left in the cache.

    Raises KernelError or IRError from the passes, BuildError from compilers.
    """
    job.device.prepare()
    with _sources_attached(job.func):
        if not switch("cache"):
            return _build_uncached(job)
        cache = kernel_cache()
        key = cache_key(job)
        # A dump or a trace of the passes is wanted for its own sake: run them.
        if not (switch("dump_ir") or switch("debug")):
            found = cache.lookup(key)
            if found is not None:
                built = _load_entry(job, found)
                if built is not None:
                    return built
                cache.discard(key)
        return _build_into_cache(job, cache, key)


def cache_key(job: Job) -> str:
    """Hash of the printed function and everything else that decides what is compiled and run."""
    return digest_of(
        str(SCHEMA),
        print_func(job.func),
        job.target.text(),
        repr(_of_result(job.options)),
        job.generator.language,
        job.device.name,
        job.device.identity(),
        cpu_features(),
        sources_digest(),
    )


def _of_result(options: PassOptions) -> PassOptions:
    """The options without those that change only what is reported."""
    return replace(options, dump_dir=None, after_each=None)


def _load_entry(job: Job, folder: Path) -> Built | None:
    """The kernel of a cache entry, or None if its files are damaged."""
    started = time.perf_counter()
    files = job.files(folder)
    try:
        meta = json.loads((folder / META).read_text())
        proven = bool(meta.get("proven"))
        if wants_proof() and not proven:
            return None
        signature = Signature.from_json(meta["signature"])
        launch = job.device.load(files, signature, job.compiled, job.target)
        remarks = tuple(_remark(*r) for r in meta["remarks"])
    except (OSError, ValueError, KeyError, TypeError, BuildError):
        return None
    timings = Timings(load=time.perf_counter() - started, cached=True)
    return Built(files, signature, launch, timings, remarks=remarks, proven=proven)


def _remark(slug: str, message: str, place: list[Any] | None, hint: str | None) -> Diagnostic:
    return Diagnostic(slug, message, Loc(*place) if place else None, hint, "warning")


def _build_into_cache(job: Job, cache: KernelCache, key: str) -> Built:
    steps = _BuildSteps(job)

    def fill(folder: Path) -> None:
        with _failed_source_kept(job, cache, folder):
            steps.write(folder)

    folder = cache.publish(key, fill)
    if switch("keep_cpp"):
        cache.keep_source("kept", job.func.name, job.files(folder).source)
    try:
        return steps.load(folder, None)
    except BuildError:
        if job.files(folder).library.exists():
            raise
        return _build_uncached(job)  # others have made room for theirs meanwhile


def _build_uncached(job: Job) -> Built:
    owner = tempfile.TemporaryDirectory(prefix="tile-ascend-")
    folder = Path(owner.name)
    cache = kernel_cache()
    steps = _BuildSteps(job)
    with _failed_source_kept(job, cache, folder):
        steps.write(folder)
    if switch("keep_cpp"):
        cache.keep_source("kept", job.func.name, job.files(folder).source)
    return steps.load(folder, owner)


@contextmanager
def _failed_source_kept(job: Job, cache: KernelCache, folder: Path) -> Iterator[None]:
    """A source that does not compile outlives its folder, and the error names where it is."""
    try:
        yield
    except BuildError as error:
        source = job.files(folder).source
        if not source.is_file():
            raise
        kept = cache.keep_source("failed", job.func.name, source)
        message = f"{error.message.replace(str(source), str(kept))}\nsource: {kept}"
        told = BuildError(error.slug, message, error.loc, error.hint)
        lines = source.read_text().splitlines()
        raise refused_source(told, job.func.name, lines, job.func) from None


class _BuildSteps:
    """The steps of one build, with their times."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.timings = Timings()
        self.lowered: Func | None = None
        self.signature: Signature | None = None
        self.proven = wants_proof()

    def write(self, folder: Path) -> None:
        """Lower, emit and compile into the folder; `meta.json` comes last."""
        job, files = self.job, self.job.files(folder)
        clock = _StageClock()
        lowered = lower(job.func, job.target, job.options)
        warn(lowered.remarks)
        if self.proven:
            prove(job.func, lowered, job.target)
        lowering = clock.lap()
        self.lowered = lowered
        self.signature = signature_of(lowered, len(job.func.params))
        files.source.write_text(emitted(lowered, job.target, job.generator))
        files.entry.write_text(job.generator.entry(lowered))
        files.lowered.write_text(print_func(lowered))
        emit = clock.lap()
        sources = (files.source, files.entry)
        job.device.compile(sources, files.library, job.generator.headers, job.target)
        self.timings = Timings(lower=lowering, emit=emit, compile=clock.lap())
        meta = {
            "schema": SCHEMA,
            "name": job.name,
            "signature": self.signature.to_json(),
            "target": job.target.name,
            "language": job.generator.language,
            "options": repr(_of_result(job.options)),
            "device": job.device.name,
            "compiler": job.device.identity(),
            "proven": self.proven,
            "remarks": [
                (r.slug, r.message, r.loc and (r.loc.file, r.loc.line, r.loc.column), r.hint)
                for r in lowered.remarks
            ],
        }
        (folder / META).write_text(json.dumps(meta, indent=2) + "\n")

    def load(self, folder: Path, owner: Any) -> Built:
        clock = _StageClock()
        files = self.job.files(folder)
        assert self.signature is not None, "write() ran"
        launch = self.job.device.load(files, self.signature, self.job.compiled, self.job.target)
        timings = replace(self.timings, load=clock.lap())
        remarks = self.lowered.remarks if self.lowered is not None else ()
        return Built(
            files, self.signature, launch, timings, self.lowered, owner, remarks, self.proven
        )


class _StageClock:
    """A stop watch: seconds since the last lap."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        return seconds


def _print_times(result: PassResult) -> None:
    for record in result.records:
        note = "" if record.changed else "  (no change)"
        print(f"{record.seconds * 1e3:8.2f} ms  {record.name}{note}", file=sys.stderr)


@contextmanager
def _sources_attached(func: Func) -> Iterator[None]:
    """Errors that name a place in the kernel show its line."""
    try:
        yield
    except TileError as error:
        raise error.with_sources(func.sources) from error.__cause__
