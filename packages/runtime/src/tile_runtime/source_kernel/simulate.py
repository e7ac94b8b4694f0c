"""`simulate`: any Ascend C source on the simulator, isolated from the caller."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tile_ir import TARGETS, BuildError, CallError, KernelError, Loc, Target, did_you_mean
from tile_ir.switches import SWITCHES, switch
from tile_runtime.simulation_error import Fault, SimulationError
from tile_runtime.source_kernel.arguments import BUFFER, Cell, bind
from tile_runtime.source_kernel.compile_source import CompileOptions, compile_source
from tile_runtime.source_kernel.crash import fault_of
from tile_runtime.source_kernel.declaration import KernelDeclaration, find_kernel
from tile_runtime.source_kernel.host_code import without_host_code
from tile_runtime.source_kernel.host_stub import translation_unit
from tile_runtime.source_kernel.isolated_run import run_isolated
from tile_runtime.source_kernel.kernel_type import KERNEL_TYPES
from tile_runtime.source_kernel.kernel_type import kernel_type as inferred_type
from tile_runtime.source_kernel.run_files import BAD_ARGUMENT, RunFiles, RunOptions

# What a source given as text is called in reports.
TEXT_NAME = "<source>"
# Besides the arguments: memories and stacks of the blocks that are under way, and the kernel's own.
MEMORY_LIMIT = 4 << 30


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """What a run left.

    `outputs` maps the name of every array argument to its contents after the run: the caller's own
    array, written in place, or a new one if that is read-only or the run ended with a fault.
    `text` is what the kernel printed, `elapsed` the seconds it ran on the host.
    """

    outputs: Mapping[str, Any]
    text: str
    error: Fault | None
    elapsed: float
    _source: tuple[str, str] = field(repr=False, default=("", ""))

    def raise_for_error(self) -> None:
        """Raise SimulationError at the C++ line if the run ended with a fault."""
        if self.error is not None:
            raise _error(self.error, *self._source)


def simulate(
    source: str | os.PathLike[str],
    kernel: str | None,
    blocks: int,
    args: Mapping[str, Any] | Sequence[Any],
    *,
    check: str | None = None,
    seed: int | None = None,
    threads: int | None = None,
    soc: str | None = None,
    timeout: float | None = None,
    includes: Sequence[str | os.PathLike[str]] = (),
    defines: Sequence[str] = (),
    template: str | None = None,
    kernel_type: str | None = None,
    memory_limit: int = MEMORY_LIMIT,
) -> SimulationResult:
    """Run `blocks` blocks of a kernel of an Ascend C source (a path, or text of several lines).

    `args` are arrays and CPU tensors for pointers, numbers for scalars, bytes or structured values
    for structs, in order or by name. Options left out are the switches of the same name.
    `kernel` None is the only kernel of the source; `template` instantiates one: `add<half, 64>`.
    `kernel_type`, such as "KERNEL_TYPE_AIV_ONLY", is for kernels that do not say it themselves.

    Raises KernelError if kernel and arguments do not fit each other, BuildError if the source does
    not compile. What the kernel does wrong while it runs is in the result.
    """
    text, name, folder = _read(source)
    try:
        declared, expression = find_kernel(text, name, kernel, template)
        folders = [folder, *(Path(p).absolute() for p in includes)]
        type_ = declared.type if kernel_type is None else _checked_type(kernel_type)
        declared = replace(declared, type=type_ or inferred_type(text, declared.name, folders))
        cells = bind(declared, args)
        options = _run_options(blocks, check, seed, threads, soc, memory_limit)
    except KernelError as error:
        raise error.with_sources({name: text}) from None
    seconds = _seconds(timeout)
    unit = translation_unit(without_host_code(text), name, declared, expression, len(cells))
    compile_options = CompileOptions(tuple(folders[1:]), tuple(defines), folder)
    compiled = compile_source(unit, name, compile_options, text)
    files = RunFiles(options, cells)
    try:
        ended = run_isolated(compiled.library, files, seconds)
        record = ended.record
        if record.state == BAD_ARGUMENT and not ended.timed_out:
            raise _unfit(declared, record.argument, record.texts[1], {name: text})
        fault = fault_of(ended, cells, compiled.library, name, seconds)
        outputs = _outputs(files, cells, write_back=fault is None)
        return SimulationResult(
            outputs, record.texts[5] + ended.console, fault, record.elapsed, (name, text)
        )
    finally:
        files.close()


def _read(source: str | os.PathLike[str]) -> tuple[str, str, Path]:
    """Text, name in reports, and the folder quoted includes start from."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return source, TEXT_NAME, Path.cwd()
    path = Path(source)
    try:
        return path.read_text(errors="replace"), str(path), path.absolute().parent
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
    blocks: int,
    check: str | None,
    seed: int | None,
    threads: int | None,
    soc: str | None,
    memory_limit: int,
) -> RunOptions:
    level = switch("check") if check is None else check
    levels = SWITCHES["check"].choices  # in the order of TileChecks
    if level not in levels:
        raise CallError("check-level", f"check={level!r}: expected one of {', '.join(levels)}")
    target = _target(switch("soc") if soc is None else soc)
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
    return TARGETS[soc]


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


def _outputs(files: RunFiles, cells: Sequence[Cell], *, write_back: bool) -> dict[str, Any]:
    outputs: dict[str, Any] = {}
    for index, cell in enumerate(cells):
        if cell.kind != BUFFER or cell.target is None:
            continue
        memory = files.memory_after(index)
        if isinstance(cell.target, torch.Tensor):
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


def _error(fault: Fault, name: str, text: str) -> SimulationError:
    """The fault at its C++ line, as other errors are shown."""
    loc = None
    if fault.line:
        known = fault.file == name
        loc = Loc(fault.file, fault.line, _column(text, fault) if known else 1)
    where = [fault.api, f"block {fault.block}" if fault.core else "", fault.core]
    told = ", ".join(w for w in where if w)
    message = f"{fault.text} ({told})" if told else fault.text
    return SimulationError(fault, message, loc, None, {name: text})


def _column(text: str, fault: Fault) -> int:
    """Where the call stands in its line, from 1; the first word if it is not found."""
    lines = text.splitlines()
    if fault.line > len(lines):
        return 1
    line = lines[fault.line - 1]
    call = line.find(fault.api.split("::")[-1]) if fault.api else -1
    return 1 + (call if call >= 0 else len(line) - len(line.lstrip()))
