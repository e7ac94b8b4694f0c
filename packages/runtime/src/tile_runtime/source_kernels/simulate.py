"""`simulate`: any Ascend C source on the simulator, isolated from the caller."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from tile_ir import (
    DEFAULT_TARGET,
    TARGETS,
    BuildError,
    CallError,
    Diagnostic,
    KernelError,
    Target,
    did_you_mean,
)
from tile_ir.costs.timing import timing_of
from tile_ir.quick_dataclasses import dataclass, replace
from tile_ir.switches import SWITCHES, switch
from tile_runtime.simulator.simulation_error import Fault, SimulationError
from tile_runtime.simulator.timeline import Timeline, timeline_from
from tile_runtime.source_kernels.arguments import BUFFER, ArgumentCell, bind, is_tensor
from tile_runtime.source_kernels.compile_kernel_part import compile_kernel_part
from tile_runtime.source_kernels.compile_source import (
    CompiledSource,
    SourceOptions,
    compile_source,
)
from tile_runtime.source_kernels.core_macros import branches_of_no_core, core_macros
from tile_runtime.source_kernels.crash import fault_of
from tile_runtime.source_kernels.cxx_text import with_device_words
from tile_runtime.source_kernels.declaration import KernelDeclaration, find_kernel
from tile_runtime.source_kernels.fault_report import KernelSource, fault_error, fault_warning
from tile_runtime.source_kernels.host_stub import translation_unit
from tile_runtime.source_kernels.isolated_run import run_isolated
from tile_runtime.source_kernels.kernel_type import KERNEL_TYPES, included_headers
from tile_runtime.source_kernels.kernel_type import kernel_type as inferred_type
from tile_runtime.source_kernels.run_files import BAD_ARGUMENT, RUNNING, RunFiles, RunOptions
from tile_runtime.source_kernels.second_source import file_of_kernel, second_sources
from tile_runtime.source_kernels.unwritten_arrays import gap_errors

# What a source given as text is called in reports.
TEXT_NAME = "<source>"
_STRICT = SWITCHES["check"].choices.index("strict")
# Besides the arguments: memories and stacks of the blocks that are under way, and the kernel's own.
MEMORY_LIMIT = 4 << 30


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The results of a run.

    `outputs` maps the name of every array argument to its contents after the run. This is the
    caller's own array, written in place, or a new one if that is read-only or the run ended with a
    fault. `text` is the kernel's printed text, `elapsed` the seconds it ran on the host. `timeline`
    is the modelled time, if `time` is set and there is no fault. `warnings` report actions that
    work on a device but are waste or undocumented.
    """

    outputs: Mapping[str, Any]
    text: str
    error: Fault | None
    elapsed: float
    timeline: Timeline | None = field(repr=False, default=None)
    warnings: tuple[Diagnostic, ...] = ()
    _told: SimulationError | None = field(repr=False, default=None)

    @property
    def errors(self) -> tuple[SimulationError, ...]:
        """Everything that was wrong, in the order in which it happened."""
        return (self._told, *self._told.others) if self._told is not None else ()

    def behind(self, before: SimulationResult) -> SimulationResult:
        """This run with the errors of another one of the same kernel in front of its own."""
        told = {(e.slug, e.loc): e for e in (*before.errors, *self.errors)}
        if not told:
            return self
        first, *others = told.values()
        return replace(self, error=first.fault, _told=first.with_others(others))

    def raise_for_error(self) -> None:
        """Raise SimulationError at the C++ line if the run ended with a fault."""
        if self._told is not None:
            raise self._told.with_traceback(None)


def simulate(
    source: str | os.PathLike[str],
    kernel: str | None,
    blocks: int,
    args: Mapping[str, Any] | Sequence[Any],
    *,
    check: str | None = None,
    seed: int | None = None,
    starve: str | None = None,
    threads: int | None = None,
    time: bool | None = None,
    soc: str | None = None,
    timeout: float | None = None,
    first: bool | None = None,
    unwritten: Collection[str] = (),
    includes: Sequence[str | os.PathLike[str]] = (),
    defines: Sequence[str] = (),
    template: str | None = None,
    kernel_type: str | None = None,
    memory_limit: int = MEMORY_LIMIT,
) -> SimulationResult:
    """Run `blocks` blocks of a kernel of an Ascend C source (a path, or text of several lines).

    `args` are values of the parameters, in order or by name:

    * arrays and CPU tensors for pointers,
    * lists of arrays for dynamic inputs (ListTensorDesc; the outputs are `x[0]`, `x[1]`, ...),
    * numbers for scalars,
    * bytes or structured values for structs.

    Options left out are the switches of the same name. `starve` is a core that runs only when no
    other of its block can, `time` adds `result.timeline`, and `first` ends the run at the first
    error instead of at the last.
    `unwritten` names arrays that hold nothing when the kernel starts: reading what it has not
    written is an error, and they should be written to their end.
    `kernel` None is the only kernel of the source; `template` instantiates one: `add<half, 64>`.
    `kernel_type`, such as "KERNEL_TYPE_AIV_ONLY", is for kernels that do not say it themselves.

    Raises KernelError if kernel and arguments do not fit each other, BuildError if the source does
    not compile. Errors of the running kernel are in the result.
    """
    text, name, folder = _read(source)
    try:
        text, name, declared, expression = _find(source, text, name, folder, kernel, template)
        folders = [folder, *(Path(p).absolute() for p in includes)]
        if kernel_type is None:
            type_ = inferred_type(text, declared.name, folders, declared.type)
        else:
            type_ = _checked_type(kernel_type)
        declared = replace(declared, type=type_)
        cells = bind(declared, args, unwritten)
        target = _target(switch("soc") if soc is None else soc)
        options = _run_options(
            target, blocks, check, seed, starve, threads, time, memory_limit, first
        )
    except KernelError as error:
        raise error.with_sources({name: text}) from None
    seconds = _seconds(timeout)
    given = sum(not cell.listed for cell in cells)
    macros = (*core_macros(declared.type), *defines)
    compile_options = SourceOptions(tuple(folders[1:]), macros, folder)

    def library_of(part: str) -> CompiledSource:
        others = second_sources(text, declared.name, part, folders)
        unit = translation_unit(part, name, declared, expression, given, *others)
        return compile_source(unit, name, compile_options, text)

    wanted = (declared.name, *re.findall(r"\w+", expression))
    compiled, left_out = compile_kernel_part(text, name, wanted, library_of)
    program = _SourceProgram(
        compiled.library, cells, declared, KernelSource(name, text, folder), target, seconds
    )
    result, lost = program.run(options)
    if lost and not options.first:
        # The process took along what it had found before.
        before, _ = program.run(replace(options, first=True))
        result = result.behind(before)
    if result.error is not None:
        return result
    headers = included_headers(text, folders)
    texts = {name: text} | {str(path): header for path, header in headers.items()}
    branches = branches_of_no_core(declared.type, texts)
    return replace(result, warnings=(*left_out, *branches, *result.warnings))


@dataclass(frozen=True, slots=True)
class _SourceProgram:
    """A compiled kernel and its arguments; `seconds` is how long it may run."""

    library: Path
    cells: Sequence[ArgumentCell]
    declared: KernelDeclaration
    source: KernelSource
    target: Target
    seconds: float

    def run(self, options: RunOptions) -> tuple[SimulationResult, bool]:
        """Run the kernel. Return the result, and whether its process ended before its report."""
        source = self.source
        files = RunFiles(options, self.cells)
        try:
            ended = run_isolated(self.library, files, self.seconds)
            record = ended.record
            if record.state == BAD_ARGUMENT and not ended.timed_out:
                texts = {source.name: source.text}
                raise _unfit(self.declared, record.argument, record.texts[1], texts)
            fault = fault_of(ended, self.cells, self.library, source.name, self.seconds)
            gaps = gap_errors(
                record.gaps if fault is None else (), self.cells, self.declared, source
            )
            failed = fault is not None or (bool(gaps) and options.checks == _STRICT)
            outputs = _outputs(files, self.cells, write_back=not failed)
            text = record.texts[5] + ended.console
            if not failed:
                times = files.read_timeline()
                timeline = None if times is None else timeline_from(*times, self.target)
                warned = [fault_warning(w, source) for w in record.others]
                warned += [replace(e.diagnostic, severity="warning") for e in gaps]
                result = SimulationResult(
                    outputs, text, None, record.elapsed, timeline, tuple(warned)
                )
                return result, False
            found = gaps
            if fault is not None:
                found = [fault_error(each, source) for each in (fault, *record.others)]
            told = found[0].with_others(found[1:])
            result = SimulationResult(outputs, text, told.fault, record.elapsed, _told=told)
            return result, ended.timed_out or record.state == RUNNING
        finally:
            files.close()


def _find(
    source: str | os.PathLike[str],
    text: str,
    name: str,
    folder: Path,
    kernel: str | None,
    template: str | None,
) -> tuple[str, str, KernelDeclaration, str]:
    """The source that defines the kernel, which may be one beside the one given, its name in
    reports, the kernel and the expression that names it."""
    found, problem = None, None
    try:
        found = find_kernel(text, name, kernel, template)
    except KernelError as error:
        problem = error
    wanted = kernel or template or (found[0].name if found is not None else None)
    if wanted is not None and name != TEXT_NAME and (found is None or not found[0].defined):
        other = file_of_kernel(wanted, folder, Path(source))
        if other is not None:
            there = with_device_words(other.read_text(errors="replace"))
            return there, str(other), *find_kernel(there, str(other), kernel, template)
    if problem is not None:
        raise problem
    assert found is not None, "it is found, or there is a problem"
    return text, name, *found


def _read(source: str | os.PathLike[str]) -> tuple[str, str, Path]:
    """Text, name in reports, and the folder quoted includes start from."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return with_device_words(source), TEXT_NAME, Path.cwd()
    path = Path(source)
    try:
        text = with_device_words(path.read_text(errors="replace"))
        return text, str(path), path.absolute().parent
    except OSError as error:
        raise BuildError("no-source", f"{path} can not be read: {error.strerror}") from None


def _checked_type(name: str) -> str:
    if name not in KERNEL_TYPES:
        raise CallError(
            "kernel-type",
            f"no kernel type is called {name!r}: {', '.join(KERNEL_TYPES)}",
            hint=did_you_mean(name, KERNEL_TYPES),
        )
    return name


def _run_options(
    target: Target,
    blocks: int,
    check: str | None,
    seed: int | None,
    starve: str | None,
    threads: int | None,
    time: bool | None,
    memory_limit: int,
    first: bool | None,
) -> RunOptions:
    level = switch("check") if check is None else check
    levels = SWITCHES["check"].choices  # in the order of TileChecks
    if level not in levels:
        raise CallError("check-level", f"check={level!r}: expected one of {', '.join(levels)}")
    starved = switch("starve") if starve is None else starve
    cores = SWITCHES["starve"].choices  # in the order of TileOptions::starved
    if starved not in cores:
        expected = ", ".join(cores[1:])
        raise CallError("call-option", f"starve={starved!r}: expected one of {expected}")
    numbers = {
        "blocks": (blocks, 0xFFFFFFFF),
        "threads": (switch("threads") if threads is None else threads, 4096),
        "seed": (switch("seed") if seed is None else seed, (1 << 64) - 1),
        "memory_limit": (memory_limit, (1 << 63) - 1),
    }
    for name, (value, most) in numbers.items():
        if not isinstance(value, (int, np.integer)) or not 0 <= value <= most:
            raise CallError("call-option", f"{name}={value!r}: expected a number from 0 to {most}")
    return RunOptions(
        checks=levels.index(level),
        cube_cores=target.cube_cores,
        vector_cores=target.vector_cores,
        starved=cores.index(starved),
        first=switch("first") if first is None else first,
        timing=timing_of(target) if (switch("time") if time is None else time) else None,
        **{name: int(value) for name, (value, _) in numbers.items()},
    )


def _target(soc: str) -> Target:
    if soc not in TARGETS:
        raise CallError(
            "soc",
            f"no chip is called {soc!r}: {', '.join(TARGETS)}",
            None,
            did_you_mean(soc, TARGETS),
        )
    target = TARGETS[soc]
    if target.ai_core != DEFAULT_TARGET.ai_core:
        raise CallError(
            "soc",
            f"the simulator runs code for AI cores of {DEFAULT_TARGET.ai_core}, but {soc} has "
            f"those of {target.ai_core}",
        )
    return target


def _seconds(timeout: float | None) -> float:
    seconds = float(switch("timeout") if timeout is None else timeout)
    if not 0 <= seconds <= 1e6:
        raise CallError("call-option", f"timeout={timeout!r}: expected seconds, 0 for no limit")
    return seconds


def _unfit(
    kernel: KernelDeclaration, index: int, problem: str, sources: Mapping[str, str]
) -> CallError:
    """The error for an argument the C++ type of its parameter does not take."""
    parameter = kernel.parameters[min(index, len(kernel.parameters) - 1)]
    return CallError(
        "kernel-arguments", f"`{parameter.type} {parameter.name}` {problem}", parameter.loc,
        sources=sources,
    )  # fmt: skip


def _outputs(files: RunFiles, cells: Sequence[ArgumentCell], *, write_back: bool) -> dict[str, Any]:
    outputs: dict[str, Any] = {}
    for index, cell in enumerate(cells):
        if cell.kind != BUFFER or cell.target is None:
            continue
        memory = files.memory_after(index)
        if is_tensor(cell.target):
            import torch

            tensor = cell.target
            after = torch.empty_like(tensor, memory_format=torch.contiguous_format).detach()
            after.reshape(-1).view(torch.uint8).copy_(torch.from_numpy(memory))
            outputs[cell.name] = tensor.detach().copy_(after) if write_back else after
            continue
        array = cell.target
        result = memory.view(array.dtype).reshape(array.shape)
        if write_back and array.flags.writeable:
            array[...] = result
            result = array
        outputs[cell.name] = result
    return outputs
