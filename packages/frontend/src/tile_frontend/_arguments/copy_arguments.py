"""Build `T.copy` and `T.tile.atomic_add` from buffers, slices and start indices
(docs/rules/copies.md#extents)."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.build_op import build_op
from tile_frontend._arguments.copy_forms import RegisterExtents, copy_of_fractals, copy_with_stride
from tile_frontend._arguments.index_for_slice import checking_slices
from tile_frontend._arguments.operand_regions import side_of
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.trace import current, traced_number
from tile_frontend._tracing.values import Pending, Tile, shape_words
from tile_ir import OPS, Const, Expr, Load, Memory, Op, Region, Slice, constant_value, simplify


def copy(
    src: Any, dst: Any, enable_relu: Any, transpose: Any, pad_value: Any, unit_flag: Any,
    real_k: Any, real_n: Any, stride: Any, srcN: Any, nz: Any,
) -> Pending:  # fmt: skip
    """Move a tile; the memories of both sides decide how.

    `unit_flag` is about time and changes nothing here. `srcN`, which the first versions have third,
    is the distance of the tensor's rows: -1 and its last dimension are what the shape says; another
    one is a `stride`. `real_k` and `real_n` cut what goes to l0a and l0b to what a shorter product
    reads: its `k_actual` and `n_actual` say the same. With `stride` rows of the tile are so many
    elements apart in gm, from the start index on, whatever the shape of the tensor says. With `nz`
    gm has the matrix in the order of l1: [columns of fractals, rows of fractals, 16, 32 bytes].
    """
    if isinstance(enable_relu, int) and not isinstance(enable_relu, bool):
        srcN, enable_relu, transpose = enable_relu, transpose, False
    if srcN is not None and not _is_own_distance(srcN, src, dst):
        stride = srcN
    options = {"enable_relu": enable_relu, "transpose": transpose, "pad_value": pad_value}
    extents = {"real_k": real_k, "real_n": real_n}
    if stride is not None or nz:
        sides = side_of(src, "src", "copy"), side_of(dst, "dst", "copy")
        if stride is not None:
            return copy_with_stride(*sides, stride, options)
        return copy_of_fractals(*sides, options | extents)
    a, b = copy_regions(src, dst, transpose is True)
    registers = RegisterExtents.of(extents, bool(transpose))
    a, b = registers.cut(a, b, b.memory)
    given = {"src": a, "dst": b, **options}
    made = checking_slices((src, dst), (a, b), lambda: build_op(OPS["copy"], given, "copy"))
    if registers.sizes and b.memory is Memory.FRAGMENT and isinstance(made.stmt, Op):
        current("T.copy").decided_late[made.stmt] = registers.cut_open
    return made


def _is_own_distance(distance: Any, src: Any, dst: Any) -> bool:
    """Whether rows of the tensor in a copy are so far apart by its shape."""
    number = traced_number(distance)
    sides = [side_of(value, name, "copy") for value, name in ((src, "src"), (dst, "dst"))]
    tensors = [side.buffer for side in sides if side.buffer.memory is Memory.GM]
    return number == -1 or any(number == constant_value(t.shape[-1]) for t in tensors)


def atomic_add(dst: Any, src: Any) -> Pending:
    """Add a tile to a tensor, in its place among what other cores add."""
    a, b = copy_regions(src, dst, False, "atomic_add")
    return build_op(OPS["atomic_add"], {"dst": b, "src": a}, "tile.atomic_add")


def copy_regions(src: Any, dst: Any, transpose: bool, name: str = "copy") -> tuple[Region, Region]:
    """Full regions of both sides. A start index takes its extents from the other side."""
    a, b = side_of(src, "src", name), side_of(dst, "dst", name)
    match a, b:
        case Load(), Load():
            raise Fault(
                "copy-extent",
                f"{name}: both sides are single elements (`{a.buffer.name}` and `{b.buffer.name}`)",
                "slice one of them to say how much is copied",
                "dst",
            )
        case Load(), Region():
            return _from_start(a, b.extents, transpose), b
        case Region(), Load():
            return a, _from_start(b, a.extents, transpose)
        case Region(), Region():
            if isinstance(src, Tile) and isinstance(dst, Tile) and not transpose:
                _same_shape(src, dst, name)
            return a, b
    raise AssertionError("a side is a load or a region")


def _from_start(start: Load, extents: tuple[Expr, ...], transpose: bool) -> Region:
    """The trailing extents of the other side, with ones in front where the rank is higher."""
    if transpose and len(extents) >= 2:
        extents = (*extents[:-2], extents[-1], extents[-2])
    rank = len(start.indices)
    taken = extents[max(len(extents) - rank, 0) :]
    padded = (*(Const(1) for _ in range(rank - len(taken))), *taken)
    return Region(start.buffer, tuple(map(Slice, start.indices, padded)))


def _same_shape(src: Tile, dst: Tile, name: str) -> None:
    a, b = (tuple(simplify(d) for d in side.dims) for side in (src, dst))
    if a != b:
        raise Fault(
            "shape-mismatch",
            f"{name}: src `{src.name}` is [{shape_words(src)}], but dst `{dst.name}` is "
            f"[{shape_words(dst)}]",
            "slice one side, or give a start index, to say which part is copied",
            "dst",
        )
