"""Broadcast: one row or one column repeated over a matrix (docs/language/rules.md#reductions)."""

from __future__ import annotations

from typing import Any

from tile_ir.dtypes import INT8, INT64, UINT8, UINT64
from tile_ir.expr import constant_value
from tile_ir.layout.geometry import active_dims, is_contiguous
from tile_ir.lazy import np
from tile_ir.nodes import Op, Region
from tile_ir.opdef import AttrDef, Axes, Composite, OpDef, Problem, Scratch
from tile_ir.ops.axes import elements, labelled, whole
from tile_ir.ops.expand import column_scratch
from tile_ir.ops.reduce import is_packed
from tile_ir.ops.rules import (
    FILLABLE,
    UB,
    VECTOR,
    destination,
    one_matrix,
    same_dtype,
    scratch_operand,
    shape_text,
    source,
    static_matrix,
)
from tile_ir.quick_dataclasses import replace
from tile_ir.target import Target

# What no instruction repeats.
_BYTES = (INT8, UINT8)
_LONG = (INT64, UINT64)


def _axis_of_broadcast(op: Op) -> int | None:
    """0 to repeat one row downwards, 1 to repeat one column across, 2 for a plain copy."""
    src, dst = static_matrix_pair(op)
    if src is None or dst is None:
        return None
    axis = op.attr("axis")
    if axis is None:
        if src == dst:
            return 2
        if len(_extents(op.region("src"))) == 1:
            return 0 if src[1] == dst[1] else 1
        return 0 if src[0] == 1 and src[1] == dst[1] else 1
    if len(op.region("dst").dims) == 1:  # the columns of one row
        return 0 if src[0] * src[1] == dst[1] else 1
    return int(axis) % 2


def _extents(region: Region) -> tuple[int, ...]:
    return region.static_extents() or ()


def static_matrix_pair(op: Op) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    return static_matrix(op.region("src")), static_matrix(op.region("dst"))


def broadcast_axis(op: Op) -> int:
    axis = _axis_of_broadcast(op)
    assert axis is not None, "the verifier demands static shapes"
    return axis


def _broadcast_shapes(op: Op, target: Target) -> Problem | None:
    """src is one row, one column or one element of dst, in one run; sizes are fixed."""
    src, dst = static_matrix_pair(op)
    if src is None or dst is None:
        name = "src" if src is None else "dst"
        hint = "broadcast the whole tile, and use the part that is wanted"
        return op.problem(name, "shape-mismatch", "has a run-time shape", hint)
    for name in ("src", "dst"):
        if any(constant_value(e) != 1 for e in op.region(name).extents[:-2]):
            return one_matrix(op, name, target)
    given, rank = op.attr("axis"), len(op.region("dst").dims)
    legal = (0, -1) if rank == 1 else (0, 1, -1, -2)
    if given is not None and given not in legal:
        return Problem(
            "reduce-axis",
            f"broadcast: axis is {given} for a buffer of rank {rank}, expected one of "
            + ", ".join(map(str, legal)),
            "axis",
            "axes count the last two dimensions",
        )
    axis = broadcast_axis(op)
    count = src[0] * src[1]
    if count != {0: dst[1], 1: dst[0], 2: dst[0] * dst[1]}[axis]:
        name, first = op.region("src").buffer.name, ", ".join("0" * len(op.region("src").dims))
        filled = f"; for one value all over write T.tile.fill({op.region('dst').buffer.name}, "
        return Problem(
            "shape-mismatch",
            f"broadcast: src `{op.region('src').buffer.name}` has {shape_text(op.region('src'))}, "
            f"which does not fit dst `{op.region('dst').buffer.name}` [{dst[0]}, {dst[1]}]"
            + ("" if op.attr("axis") is None else f" along axis {op.attr('axis')}"),
            "src",
            "src is one row of dst (axis 0) or one column (axis 1)"
            + (f"{filled}{name}[{first}])" if count == 1 else ""),
        )
    turned = axis == 2 and not is_contiguous(op.region("dst"))
    if not is_contiguous(op.region("src")) or turned:
        hint = "copy the slice to a buffer of its own first"
        return op.problem("src", "shape-mismatch", "is not contiguous", hint)
    return None


def _broadcast_rows(op: Op, target: Target) -> Problem | None:
    """src is one row, one column or one element of dst, in one run; sizes are fixed, and rows of
    dst start at whole blocks."""
    return _broadcast_shapes(op, target) or one_matrix(op, "dst", target)


def broadcast_axes(op: Op) -> Axes:
    """Rows and columns of the result; the source has one of them."""
    src, dst = op.region("src"), op.region("dst")
    axis, given = broadcast_axis(op), active_dims(src)
    if axis == 2:
        return elements(op)
    if len(given) > 1:
        return whole(op)
    sides = dict(zip(range(len(dst.dims))[-2:], (0, 1)[-len(dst.dims) :], strict=False))
    return labelled(op, {"dst": sides, "src": {dim: 1 - axis for dim in given}})


def _broadcast(op: Op, dst: Any, src: Any, _scratch: Any) -> Any:
    rows, columns = (1, *dst.shape)[-2:]
    axis = broadcast_axis(op)
    if axis == 2:
        return src.reshape(dst.shape)
    grid = src.reshape(1, columns) if axis == 0 else src.reshape(rows, 1)
    return np.broadcast_to(grid, (rows, columns)).reshape(dst.shape)


def _broadcast_scratch(op: Op) -> tuple[Scratch, ...]:
    """Blocks of the values, where a column is repeated across."""
    _, dst = static_matrix_pair(op)
    if dst is None or broadcast_axis(op) != 1:
        return ()
    return (column_scratch(op.region("dst")),)


BROADCAST = OpDef(
    name="broadcast",
    family="reduce",
    doc="repeat the row or column src over dst; axis says which where the shapes do not",
    ascend_c="Brcb, Copy",
    operands=(destination("dst", UB, *FILLABLE), source("src"), scratch_operand()),
    attrs=(AttrDef("axis", int, None),),
    variant=lambda op: broadcast_of(op.region("dst")),
    placement=VECTOR,
    axes=broadcast_axes,
    meaning=_broadcast,
    dtype_rule=same_dtype,
    shape_rule=_broadcast_rows,
    scratch=_broadcast_scratch,
    instructions=lambda op: 2,
    chained=False,
)


def broadcast_of(dst: Region) -> str:
    """The operation that broadcasts to such a region; a composed one if no instruction does."""
    if dst.dtype in _LONG or (len(dst.dims) > 1 and is_packed(dst)):
        return "broadcast_packed"
    return "broadcast_bytes" if dst.dtype in _BYTES else "broadcast"


BYTE_BROADCAST = replace(
    BROADCAST,
    name="broadcast_bytes",
    spelling="broadcast",
    doc="repeat the row or column src of bytes over dst",
    ascend_c="Cast, Brcb, Copy",
    namespace=None,
    operands=(destination("dst", UB, *_BYTES), source("src")),
    meaning=lambda op, dst, src: _broadcast(op, dst, src, None),
    composite=Composite.YES,
    scratch=lambda op: (),
    instructions=lambda op: 4,
    chained=True,
    variant=None,
)

PACKED_BROADCAST = replace(
    BYTE_BROADCAST,
    name="broadcast_packed",
    doc="repeat the row or column src over dst, whose rows do not start at blocks of 32 bytes, or "
    "whose elements have 64 bits",
    ascend_c="scalar stores",
    operands=(destination("dst", UB, *FILLABLE, *_BYTES, *_LONG), source("src")),
    shape_rule=_broadcast_shapes,
    instructions=lambda op: 1,
    rate=(1, 1),
)

OPS = (BROADCAST, BYTE_BROADCAST, PACKED_BROADCAST)
