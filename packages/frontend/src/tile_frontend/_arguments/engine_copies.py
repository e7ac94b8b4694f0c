"""Build copies between ranks by an engine, which run beside the core, and waits for them.

Rules: docs/language/rules.md#engines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tile_frontend._arguments.build_op import build_op
from tile_frontend._arguments.element_nests import new_tile
from tile_frontend._arguments.rank_arguments import sides_of_move
from tile_frontend._arguments.rank_sides import sides_with_ranks
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import unexpected
from tile_frontend._tracing.trace import Trace, current
from tile_frontend._tracing.values import Pending
from tile_ir import (
    INT32,
    OPS,
    Const,
    Core,
    Expr,
    If,
    Region,
    constant_value,
    maximum,
    minimum,
    simplify,
)
from tile_ir.layout.geometry import active_dims, element_count
from tile_ir.layout.tile_copy import room_along

# The functions of the library go through so many bytes of ub.
_WORDS = 16


class EngineHandle:
    """A copy that the engine does: `T.wait` of it waits for all that the core has given to the
    engine so far."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def in_words(self) -> str:
        """The words for it in messages."""
        return "the handle of a copy by the engine"


def put_async(src: Any, dst: Any, pe: Any, n: Any = None) -> EngineHandle:
    """Let the engine (SDMA) copy `src` to `dst` of the rank `pe`, the first `n` elements or all,
    while the core continues. The result is a handle: `T.wait` of it waits for the copy. Until then
    the kernel must not touch either side. Both sides are contiguous."""
    return _given("put_async", *sides_with_ranks("put_async", src, dst, None, pe), n)


def get_async(src: Any, dst: Any, pe: Any, n: Any = None) -> EngineHandle:
    """Let the engine (SDMA) copy `src` of the rank `pe` to `dst`, as `T.put_async` does."""
    return _given("get_async", *sides_with_ranks("get_async", src, dst, pe, None), n)


def _given(name: str, src: Any, dst: Any, n: Any) -> EngineHandle:
    trace = current(f"T.{name}")
    a, b = sides_of_move(name, src, dst, n)
    _meet_block(name, trace)  # what the other cores of the block have left in the source is there
    a, b, count = _to_the_edge(a, b)
    copy = build_op(OPS["sdma_copy"], {"src": a, "dst": b, "through": _through()}, name)
    if (constant_value(count) or 0) <= 0:
        copy.stmt = If(count > 0, (copy.stmt,), (), copy.loc)
    trace.emit_pending(copy)
    return EngineHandle(trace)


def _to_the_edge(a: Region, b: Region) -> tuple[Region, Region, Expr]:
    """Both sides without the parts beyond the ends of their tensors, as other copies leave them
    out, and the number of elements left in the dimension that is cut. Sides of other shapes stay
    whole."""
    sides = [(region, next(iter(active_dims(region)), 0)) for region in (a, b)]
    extents = [simplify(region.dims[dim].extent) for region, dim in sides]
    if extents[0] != extents[1]:
        return a, b, simplify(element_count(a))
    count = extents[0]
    for region, dim in sides:
        count = minimum(count, room_along(region, dim))
    count = simplify(maximum(count, 0))
    cut = [_with_extent(region, dim, count) for region, dim in sides]
    return cut[0], cut[1], count


def _with_extent(region: Region, dim: int, extent: Expr) -> Region:
    dims = list(region.dims)
    dims[dim] = replace(dims[dim], extent=extent)
    return Region(region.buffer, tuple(dims))


def wait(handle: Any) -> Pending:
    """Wait until the copy of this handle, and all before it, have arrived."""
    trace = current("T.wait")
    if not isinstance(handle, EngineHandle):
        expected = "what T.put_async or T.get_async has returned"
        raise unexpected("wait: handle", handle, expected, argument="handle")
    if handle.trace is not trace:
        message = "wait: the handle is of another kernel"
        raise Fault("operand-kind", message, "wait in the kernel that copies", "handle")
    return sdma_quiet()


def sdma_quiet() -> Pending:
    """Wait until the engine has done all that this core has given to it."""
    trace = current("T.sdma_quiet")
    pending = build_op(OPS["sdma_wait"], {"through": _through()}, "wait")
    if not _of_whole_block(trace):
        return pending
    trace.emit_pending(pending, step=True)
    return _block_barrier("wait", trace)


def _through() -> Region:
    return new_tile(INT32, (Const(_WORDS),), "requests").whole


def _of_whole_block(trace: Trace) -> bool:
    """Whether one text describes all cores of a block, so that one of them uses the engine."""
    return trace.header is not None and trace.header.threads is not None


def _meet_block(name: str, trace: Trace) -> None:
    if _of_whole_block(trace):
        trace.emit_pending(_block_barrier(name, trace), step=True)


def _block_barrier(name: str, trace: Trace) -> Pending:
    return build_op(OPS["sync_block"], {"cubes": trace.core is Core.EITHER}, name)


def tput_async(dst: Any, src: Any, pe: Any, n: Any = None) -> EngineHandle:
    """`T.put_async`, destination first."""
    return put_async(src, dst, pe, n)


def tget_async(dst: Any, src: Any, pe: Any, n: Any = None) -> EngineHandle:
    """`T.get_async`, destination first."""
    return get_async(src, dst, pe, n)


def sdma_put_nbi(dst: Any, src: Any, nelems: Any, pe: Any) -> EngineHandle:
    """`T.put_async` of `nelems` elements, destination first."""
    return put_async(src, dst, pe, nelems)


def sdma_get_nbi(dst: Any, src: Any, nelems: Any, pe: Any) -> EngineHandle:
    """`T.get_async` of `nelems` elements, destination first."""
    return get_async(src, dst, pe, nelems)


FUNCTIONS = {"put_async": put_async, "get_async": get_async, "wait": wait}
# As PTO and the vendor's SHMEM library call them.
SPELLINGS_OF_ENGINES = {
    "TPUT_ASYNC": tput_async,
    "TGET_ASYNC": tget_async,
    "sdma_put_nbi": sdma_put_nbi,
    "sdma_get_nbi": sdma_get_nbi,
    "sdma_quiet": sdma_quiet,
}
