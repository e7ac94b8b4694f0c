"""Write the errors for arrays that hold nothing when a hand-written kernel starts, and that it has
not written to their end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tile_ir import Loc
from tile_runtime.devices.output_gaps import gap_text
from tile_runtime.simulator.simulation_error import Fault, SimulationError
from tile_runtime.source_kernels.arguments import ArgumentCell
from tile_runtime.source_kernels.declaration import KernelDeclaration
from tile_runtime.source_kernels.fault_report import KernelSource

_HINT = (
    "write all of it; if it holds something when the kernel starts, give that: `--in {name}=...` "
    "with `--out {name}`, or leave it out of `unwritten`"
)


def gap_errors(
    gaps: Iterable[tuple[int, int, int, int]],
    cells: Sequence[ArgumentCell],
    kernel: KernelDeclaration,
    source: KernelSource,
) -> list[SimulationError]:
    """An error for each array with elements that nothing has written, at its parameter. `gaps` are
    numbers of cells, how many elements, and the first run of them."""
    return [
        _gap_error(cells[index], (count, first, end), kernel, source)
        for index, count, first, end in gaps
    ]


def _gap_error(
    cell: ArgumentCell, gap: tuple[int, int, int], kernel: KernelDeclaration, source: KernelSource
) -> SimulationError:
    text = gap_text(cell.name, tuple(cell.target.shape), *gap)
    loc = _place(cell, kernel)
    hint = _HINT.format(name=cell.name)
    file, line = (loc.file, loc.line) if loc is not None else ("", 0)
    fault = Fault("output-not-written", text, file, line, 0, "", "", hint)
    return SimulationError(fault, text, loc, hint, {source.name: source.text})


def _place(cell: ArgumentCell, kernel: KernelDeclaration) -> Loc | None:
    name = cell.name.partition("[")[0]
    return next((p.loc for p in kernel.parameters if p.name == name), kernel.loc)
