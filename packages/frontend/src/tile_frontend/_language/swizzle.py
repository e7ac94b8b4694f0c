"""Order the tiles of a matrix product among blocks: `T.use_swizzle`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tile_frontend._language.scalar_functions import ceildiv, if_then_else, maximum, minimum
from tile_frontend._tracing.scalars import Scalar, known_integer, unexpected
from tile_frontend._tracing.trace import current
from tile_ir import Expr, walk_expr


class SwizzledBlock(Scalar):
    """A remapped block. In scripts of 2025 the call is a statement: from there on the index of the
    block is this number, and a loop skips iterations where it is none of the `tiles`."""

    __slots__ = ("in_loop", "tiles")

    def __init__(self, expr: Expr, tiles: Any, in_loop: bool) -> None:
        super().__init__(expr)
        self.tiles = tiles
        self.in_loop = in_loop

    @property
    def has_tile(self) -> Any:
        return self < self.tiles


def _as_earlier(today: Callable[..., Any]) -> Callable[..., Any]:
    """Other versions have the function without the block, which is the one that runs then, or with
    the size of a panel alone: that concerns time."""

    @wraps(today)
    def use_swizzle(*args: Any, **kwargs: Any) -> Any:
        if "panel_size" in kwargs or (len(args) == 1 and not kwargs.keys() - {"order", "enable"}):
            return None
        if len(args) == 5 and not kwargs.keys() & {"cid", *_SIZES}:
            trace = current("T.use_swizzle")
            if trace.header is not None and not _depends(args[0], trace.header.block):
                return today(Scalar(trace.header.block), *args, **kwargs)
        return today(*args, **kwargs)

    return use_swizzle


_SIZES = ("M", "N", "K", "block_M", "block_N")


def _depends(value: Any, on: Expr) -> bool:
    return isinstance(value, Scalar) and any(part == on for part in walk_expr(value.expr))


@_as_earlier
def use_swizzle(
    cid: Any, M: Any, N: Any, K: Any, block_M: Any, block_N: Any,
    off: int = 1, dir: int = 0, in_loop: bool = False,
) -> Any:  # fmt: skip
    """Block `cid` of a matrix product remapped for cache reuse: the tile number m * columns + n.

    Tiles are visited in groups of `off` rows (dir 0) or columns (dir 1), every second group
    backwards; the last group may be smaller, so that each tile is visited once for any size. Blocks
    beyond the last tile keep their numbers, so that a guard behind this stops them too. `K` does
    not change the order. As a statement of its own, it gives the index of the block this number up
    to the end of the block of text; with `in_loop`, iterations without a tile are skipped.
    """
    size, direction = known_integer(off), known_integer(dir)
    if size is None or size < 1:
        raise unexpected("off", off, "a Python int of at least 1", slug="swizzle-offset")
    if direction not in (0, 1):
        raise unexpected("dir", dir, "0 or 1", slug="swizzle-offset")
    rows, columns = ceildiv(M, block_M), ceildiv(N, block_N)
    grouped, across = (rows, columns) if direction == 0 else (columns, rows)
    group = cid // (size * across)
    inside = cid - group * size * across
    width = maximum(minimum(size, grouped - group * size), 1)
    along = group * size + inside % width
    step = inside // width
    backwards = group % 2 == 1
    other = if_then_else(backwards, across - 1 - step, step)
    m, n = (along, other) if direction == 0 else (other, along)
    tile = if_then_else(cid < rows * columns, m * columns + n, cid)
    return SwizzledBlock(tile.expr, rows * columns, in_loop) if isinstance(tile, Scalar) else tile
