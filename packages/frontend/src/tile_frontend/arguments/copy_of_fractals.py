"""`T.copy(..., nz=True)`: tiles of a matrix that gm has in NZ order, as l1 has it
(docs/rules/copies.md#fractals)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tile_frontend.arguments.op_functions import build_op
from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.values import Pending
from tile_ir import FRACTAL_ROWS, OPS, Const, Expr, Load, Region, Slice, k0_elements, simplify
from tile_ir.ops.movement import is_fractals


def copy_of_fractals(src: Region | Load, dst: Region | Load, options: Mapping[str, Any]) -> Pending:
    """src is a tensor [columns of fractals, rows of fractals, 16, elements of 32 bytes], or the
    index of a first fractal; dst the l1 matrix of so many rows and columns. Nothing is cut at the
    edge of the tensor.

    Raises Fault for any other src, and for an option that this path has not.
    """
    for name, value in options.items():
        if value not in (None, False):
            raise Fault("copy-option", f"copy: {name} is not for tiles in NZ order", argument=name)
    if not isinstance(dst, Region):
        raise Fault(
            "copy-extent",
            f"copy: dst is an element of `{dst.buffer.name}`, expected a tile of l1",
            argument="dst",
        )
    fractals = _from_first(src, dst) if isinstance(src, Load) else src
    if not is_fractals(fractals):
        height, width = FRACTAL_ROWS, k0_elements(src.buffer.dtype)
        raise Fault(
            "shape-mismatch",
            f"copy: `{src.buffer.name}` has no fractals of {height} rows of {width} elements in "
            "gm, as nz=True says",
            f"its shape ends in [columns // {width}, rows // {height}, {height}, {width}], and "
            "whole fractals are copied",
            "src",
        )
    return build_op(OPS["copy_gm_l1_nz"], {"src": fractals, "dst": dst}, "copy")


def _from_first(first: Load, dst: Region) -> Region:
    """So many fractals as the tile has."""
    height, width = FRACTAL_ROWS, k0_elements(first.buffer.dtype)
    rows, columns = ((Const(1),) * 2 + dst.extents)[-2:]
    sizes: tuple[Expr, ...] = (
        simplify(columns // width), simplify(rows // height), Const(height), Const(width),
    )  # fmt: skip
    rank = len(first.indices)
    extents = (*(Const(1) for _ in range(rank - 4)), *sizes[-rank:])
    return Region(
        first.buffer, tuple(Slice(i, e) for i, e in zip(first.indices, extents, strict=True))
    )
