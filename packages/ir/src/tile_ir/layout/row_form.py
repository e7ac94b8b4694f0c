"""Describe elementwise operations on rows that do not touch, for instructions with steps.

Such an instruction steps from repeat to repeat, a row each (docs/hardware/units.md#repeats). The
requirements of the vector unit for its operands in ub are here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from tile_ir.diagnostics.errors import Diagnostic
from tile_ir.expr import ONE, Expr, constant_value
from tile_ir.layout.geometry import (
    BLOCK_BYTES,
    MAX_REPEATS,
    REPEAT_BYTES,
    active_dims,
    element_offset,
    is_contiguous,
    squeezed,
    strides,
)
from tile_ir.machine import Memory
from tile_ir.opdef import Op
from tile_ir.quick_dataclasses import dataclass
from tile_ir.regions import Region, Slice
from tile_ir.scalars.affine import linear_form, simplify
from tile_ir.target import Target

# A step is a byte, in blocks.
MOST_STEP = 255


@dataclass(frozen=True, slots=True)
class RowForm:
    """All operands as so many rows of so many elements. `pitches` has the elements from row to row
    of each region, in the order of the operands; a repeat takes up to `lanes` elements of a row."""

    rows: Expr
    columns: Expr
    pitches: tuple[int, ...]
    lanes: int

    @property
    def issues(self) -> int | None:
        """Instructions that take all rows, a repeat for each; None where sizes are not known."""
        rows, columns = constant_value(self.rows), constant_value(self.columns)
        if rows is None or columns is None:
            return None
        return -(-columns // self.lanes) * -(-rows // MAX_REPEATS)


@lru_cache(maxsize=16384)
def row_form(op: Op) -> RowForm | None:
    """The operation as rows at one distance for each operand, in whole blocks and within the reach
    of a step. None for all others, and for one that runs through consecutive elements."""
    if not op.opdef.by_rows(op):
        return None
    regions = [o for o in op.operands if isinstance(o, Region)]
    matrices = [r for r in regions if not is_run(r)]
    if all(map(is_contiguous, regions)) or len({squeezed(m) for m in matrices}) != 1:
        return None
    shape, outside = squeezed(matrices[0]), dims_outside(matrices)
    rows, columns = product(shape[:outside]), product(shape[outside:])
    pitches = [constant_value(columns) if is_run(r) else _pitch(r, outside) for r in regions]
    known = [p for p in pitches if p is not None]
    steps = [p * r.dtype.size for p, r in zip(known, regions, strict=False)]
    if len(known) < len(pitches) or any(
        s % BLOCK_BYTES or s > MOST_STEP * BLOCK_BYTES for s in steps
    ):
        return None
    lanes = REPEAT_BYTES // max(r.dtype.size for r in regions)
    return RowForm(rows, columns, tuple(known), lanes)


def is_run(region: Region) -> bool:
    """A contiguous region of a one-dimensional buffer: its elements can be cut into rows."""
    return region.buffer.rank == 1 and is_contiguous(region)


def dims_outside(matrices: Sequence[Region]) -> int:
    """Of regions of one shape, how many active dimensions stand before those that are contiguous in
    all of them."""
    rank = len(active_dims(matrices[0]))
    return next(n for n in range(rank + 1) if all(is_contiguous(_inside(m, n)) for m in matrices))


def product(extents: Sequence[Expr]) -> Expr:
    total: Expr = ONE
    for extent in extents:
        total = total * extent
    return simplify(total)


def _inside(region: Region, outside: int) -> Region:
    """The region with only one element in its first so many active dimensions."""
    fixed = active_dims(region)[:outside]
    dims = tuple(Slice(s.offset, ONE) if i in fixed else s for i, s in enumerate(region.dims))
    return Region(region.buffer, dims)


def _pitch(region: Region, outside: int) -> int | None:
    """Elements from row to row, where one number says it for all of the first active dimensions."""
    steps = [
        (simplify(strides(region.buffer)[d] * region.dims[d].stride), region.dims[d].extent)
        for d in active_dims(region)[:outside]
    ]
    for (outer, _), (inner, extent) in pairwise(steps):
        if outer != simplify(inner * extent):
            return None
    return constant_value(steps[-1][0])


@lru_cache(maxsize=16384)
def machine_form(op: Op, target: Target) -> tuple[Diagnostic, ...]:
    """Vector operands run through consecutive elements from a 32-byte boundary, or through rows in
    the steps of an instruction."""
    found: list[Diagnostic] = []
    for operand in () if op.opdef.inside_blocks else op.operands:
        if not isinstance(operand, Region) or operand.memory is not Memory.UB:
            continue
        name = operand.buffer.name
        in_one_run = (op.opdef.elementwise and row_form(op) is None) or op.opdef.flat
        if in_one_run and not is_contiguous(operand):
            message = f"{op.opdef.name}: `{name}` is not contiguous"
            found.append(Diagnostic("strided-operand", message, op.loc))
        misaligned = misalignment(operand, target)
        if misaligned is not None:
            message = f"{op.opdef.name}: `{name}` is used from byte {misaligned}, expected a "
            message += f"multiple of {target.alignment[Memory.UB]}"
            hint = "start slices of ub buffers at multiples of 32 bytes"
            found.append(Diagnostic("operand-alignment", message, op.loc, hint))
    return tuple(found)


def misalignment(region: Region, target: Target) -> int | None:
    """The byte at which a UB region starts if that is surely no multiple of a block, else None."""
    terms, constant = linear_form(element_offset(region))
    block = region.dtype.elements_in(target.alignment[Memory.UB])
    if all(factor % block == 0 for factor in terms.values()) and constant % block:
        return constant * region.dtype.bits // 8
    return None
