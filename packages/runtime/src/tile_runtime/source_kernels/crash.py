"""Convert the end of a kernel's process to a fault: reports of the simulator, signals, exits."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

from tile_ir import BuildError
from tile_runtime.simulator.simulation_error import Fault
from tile_runtime.source_kernels.arguments import ArgumentCell
from tile_runtime.source_kernels.compile_source import addresses_to_lines
from tile_runtime.source_kernels.isolated_run import Ended
from tile_runtime.source_kernels.run_files import (
    BAD_ARGUMENT,
    CANNOT_LOAD,
    FINISHED,
    OUT_OF_MEMORY,
    RUNNING,
    STARTING,
    WROTE_OUTSIDE,
)

_CORES = ("aic", "aiv0", "aiv1")
_PAGE = 4096


def fault_of(
    ended: Ended, cells: Sequence[ArgumentCell], library: Path, source: str, timeout: float
) -> Fault | None:
    """The fault of a run, None for a clean one. BuildError if the library could not be loaded."""
    record = ended.record
    if ended.timed_out:
        text = f"the kernel was still running after {timeout:g} s and was stopped"
        return _told("time-out", text, ended, library, source)
    if record.state == CANNOT_LOAD:
        raise BuildError("kernel-load", record.texts[1])
    if record.state == OUT_OF_MEMORY:
        return _told("out-of-memory", "the simulation ran out of memory", ended, library, source)
    if record.state == WROTE_OUTSIDE:
        text = f"a raw pointer wrote {_beside(ended, cells)}"
        return Fault("out-of-bounds", text, "", 0, 0, "", "raw pointer")
    if record.state == FINISHED:
        if not record.has_fault:
            return None
        kind, text, file, core, api = record.texts[:5]
        return Fault(kind, text, file, record.line, record.block, core, api, record.texts[6])
    assert record.state != BAD_ARGUMENT, "told by the caller"
    return _crash(ended, cells, library, source)


def _crash(ended: Ended, cells: Sequence[ArgumentCell], library: Path, source: str) -> Fault:
    """The fault of a process that ended without a word of the simulator."""
    record = ended.record
    number = record.signal or -ended.code
    if number <= 0:
        code = record.exit_code if ended.code == 2 and record.state == RUNNING else ended.code
        what = "the kernel" if record.state == RUNNING else "the simulator's process"
        return _told(
            "exit", f"{what} ended the process with exit code {code}", ended, library, source
        )
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if record.state == STARTING or record.in_simulator:
        text = (
            f"{name} in the simulator itself: a fault of the simulator, unless the kernel "
            "overwrote memory of the process"
        )
        return _told("internal-error", text, ended, library, source)
    kind, text = _meaning(number, name, ended, cells)
    return _told(kind, text, ended, library, source)


def _meaning(
    number: int, name: str, ended: Ended, cells: Sequence[ArgumentCell]
) -> tuple[str, str]:
    record = ended.record
    if number in (signal.SIGSEGV, signal.SIGBUS):
        if record.on_stack:
            return "stack-overflow", "the kernel used up the stack of its core (1 MiB)"
        if 0 <= record.nearest_buffer < len(cells):
            return "out-of-bounds", f"a raw pointer touches {_beside(ended, cells)}"
        if record.signal and record.fault_address < _PAGE:
            return "segmentation-fault", "the kernel follows a null pointer"
        where = f"address {record.fault_address:#x}" if record.signal else "an unknown address"
        return "segmentation-fault", f"the kernel touches {where}, which is no memory ({name})"
    if number == signal.SIGABRT:
        said = ended.console.strip().splitlines()
        return "abort", "the kernel called abort()" + (f": {said[-1][:300]}" if said else "")
    if number == signal.SIGFPE:
        return "division-by-zero", "an integer division by zero or overflow (SIGFPE)"
    if number in (signal.SIGILL, signal.SIGTRAP):
        text = f"the kernel reached code that can not run ({name}), such as the end of a function"
        return "illegal-instruction", f"{text} that returns no value"
    if number == signal.SIGXFSZ:
        return "too-much-output", "the kernel wrote over 64 MiB to its console"
    if number == signal.SIGKILL:
        return "killed", "the system killed the process, as it does when memory runs out"
    return "signal", f"the process ended with {name}"


def _beside(ended: Ended, cells: Sequence[ArgumentCell]) -> str:
    record = ended.record
    cell = cells[record.nearest_buffer]
    return (
        f"byte {record.nearest_offset} of GM buffer '{cell.name}', "
        f"which has {cell.memory.nbytes} bytes"
    )


def _told(kind: str, text: str, ended: Ended, library: Path, source: str) -> Fault:
    """The fault with core and line as far as the process recorded them."""
    record = ended.record
    core = _CORES[record.core] if record.has_core and record.core < len(_CORES) else ""
    line = _line_in(source, addresses_to_lines(library, record.frames))
    if record.last_api:
        text += f"; the last call of this core was {record.last_api}"
        text += f" at {record.last_file}:{record.last_line}" if record.last_line else ""
    return Fault(kind, text, source if line else "", line, record.block, core, "")


def _line_in(source: str, frames: Sequence[Sequence[tuple[str, int]]]) -> int:
    """The innermost line of the user's file; 0 if there is none."""
    for places in frames:
        for file, line in places:
            if file == source or file.endswith("/" + source.removeprefix("./")):
                return line
    return 0
