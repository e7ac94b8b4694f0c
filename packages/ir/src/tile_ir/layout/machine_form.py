"""What the vector unit asks of operands in ub, and of nothing that is still to be lowered."""

from __future__ import annotations

from functools import lru_cache

from tile_ir.diagnostics.errors import Diagnostic
from tile_ir.layout.geometry import element_offset, is_contiguous
from tile_ir.layout.row_form import row_form
from tile_ir.machine import Memory
from tile_ir.nodes import Op, Region
from tile_ir.scalars.affine import linear_form
from tile_ir.target import Target


@lru_cache(maxsize=16384)
def machine_form(op: Op, target: Target) -> tuple[Diagnostic, ...]:
    """Vector operands run through consecutive elements from a 32-byte boundary, or through rows in
    the steps of an instruction."""
    found: list[Diagnostic] = []
    for operand in op.operands:
        if not isinstance(operand, Region) or operand.memory is not Memory.UB:
            continue
        name = operand.buffer.name
        in_one_run = (op.opdef.elementwise and row_form(op) is None) or op.opdef.flat
        if in_one_run and not is_contiguous(operand):
            found.append(
                Diagnostic(
                    "strided-operand", f"{op.opdef.name}: `{name}` is not contiguous", op.loc
                )
            )
        misaligned = misalignment(operand, target)
        if misaligned is not None:
            found.append(
                Diagnostic(
                    "operand-alignment",
                    f"{op.opdef.name}: `{name}` is used from byte {misaligned}, "
                    f"expected a multiple of {target.alignment[Memory.UB]}",
                    op.loc,
                    "start slices of ub buffers at multiples of 32 bytes",
                )
            )
    return tuple(found)


def misalignment(region: Region, target: Target) -> int | None:
    """The byte at which a UB region starts if that is surely no multiple of a block, else None."""
    terms, constant = linear_form(element_offset(region))
    block = region.dtype.elements_in(target.alignment[Memory.UB])
    if all(factor % block == 0 for factor in terms.values()) and constant % block:
        return constant * region.dtype.bits // 8
    return None
