"""Build `T.dual_copy`: a tile on one side, the half of each vector core of a block on the other."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.build_op import side_of
from tile_frontend._arguments.copied_elements import moved
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending, Tile
from tile_ir import ZERO, Expr, Load, Memory, Region, Slice, Var, constant_value, simplify
from tile_ir.quick_dataclasses import replace


def vector_core(what: str) -> Var:
    """The number of the vector core, of which the text makes something: the launch is one of both,
    whether it has a name for it or not. A Fault in a launch of a single one."""
    trace = current(what)
    if trace.header is None or trace.header.threads == 1:
        message = f"{what} is about two vector cores, but the launch has one"
        raise Fault("launch-threads", message, "write `with T.MixedKernel(n) as (bx, sid)`")
    trace.header = replace(trace.header, threads=None)
    return trace.header.lane


def dual_copy(
    src: Any, dst: Any, *, unit_flag_ctrl: Any = None, l2_cache_ctrl: Any = None
) -> Pending:
    """Copy the half of each vector core: exactly one of the last two dimensions is twice as long on
    one side, and there each core has its half. `unit_flag_ctrl` and `l2_cache_ctrl` are about time.
    """
    a, b = _sides(src, dst)
    if a.memory is Memory.L0C and a.dtype != b.dtype:
        message = f"dual_copy: src `{a.buffer.name}` is {a.dtype}, but dst `{b.buffer.name}` is "
        message += f"{b.dtype}, and nothing converts on this way"
        raise Fault("dtype-mismatch", message, "copy it as it is, then write T.tile.cast", "dst")
    return moved(*_half_of_each(a, b, "T.dual_copy"), {})


# Where both vector cores of a block have a part of what the cube core has as a whole.
_CROSSING = {(Memory.L0C, Memory.UB), (Memory.UB, Memory.L1)}


def halves_of_tiles(src: Any, dst: Any) -> tuple[Region, Region] | None:
    """The half of each vector core, for whole tiles that cross the kinds of core; None unless one
    of the last two dimensions is twice as long on the side of the cube core."""
    if not isinstance(src, Tile) or not isinstance(dst, Tile):
        return None
    cube, own = (src, dst) if src.memory is Memory.L0C else (dst, src)
    if (src.memory, dst.memory) not in _CROSSING or len(cube.dims) != len(own.dims):
        return None
    unlike = [d for d in range(-len(cube.dims), 0) if simplify(cube.dims[d] - own.dims[d]) != ZERO]
    if len(unlike) != 1 or unlike[0] < -2 or not _twice(cube.dims[unlike[0]], own.dims[unlike[0]]):
        return None
    return _half_of_each(Region.whole(src.buffer), Region.whole(dst.buffer), "T.copy")


def _half_of_each(a: Region, b: Region, what: str) -> tuple[Region, Region]:
    lane, dim = vector_core(what), _halved(a, b)
    if _twice(a.extents[dim], b.extents[dim]):
        return _half(a, dim, b.extents[dim], lane), b
    return a, _half(b, dim, a.extents[dim], lane)


def _sides(src: Any, dst: Any) -> tuple[Region, Region]:
    """Both sides as regions: a start alone does not say whether it is that of a whole tile or of a
    half."""
    a, b = side_of(src, "src", "dual_copy"), side_of(dst, "dst", "dual_copy")
    for side, name in ((a, "src"), (b, "dst")):
        if isinstance(side, Load):
            message = f"dual_copy: {name} is an element of `{side.buffer.name}`"
            raise Fault("copy-extent", message, "slice it: extents say which half is meant", name)
    assert isinstance(a, Region) and isinstance(b, Region), "neither is an element"
    return a, b


def _halved(a: Region, b: Region) -> int:
    """The dimension, from the end, in which one side is twice as long."""
    ranks = len(a.dims), len(b.dims)
    dims = (-1,) if ranks == (1, 1) else (-2, -1) if min(ranks) >= 2 else ()
    x, y = a.extents, b.extents
    found = [d for d in dims if _twice(x[d], y[d]) or _twice(y[d], x[d])]
    if len(found) == 1:
        return found[0]
    sizes = [", ".join(str(constant_value(e) or "?") for e in side.extents) for side in (a, b)]
    message = f"dual_copy: src `{a.buffer.name}` is [{sizes[0]}], dst `{b.buffer.name}` "
    message += f"[{sizes[1]}]: exactly one of the last two dimensions is twice as long on one side"
    raise Fault("shape-mismatch", message, "give one side half the rows or half the columns", "dst")


def _twice(whole: Expr, half: Expr) -> bool:
    return constant_value(simplify(whole - half * 2)) == 0


def _half(region: Region, dim: int, extent: Expr, lane: Var) -> Region:
    """The half of one vector core."""
    dims = list(region.dims)
    dims[dim] = Slice(simplify(dims[dim].offset + lane * extent), extent, dims[dim].stride)
    return Region(region.buffer, tuple(dims))
