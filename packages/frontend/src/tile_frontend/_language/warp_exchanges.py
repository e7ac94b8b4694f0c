"""Keep what the threads of a warp give each other in a tile with an element for each thread."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NoReturn

from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, python_number, staged
from tile_frontend._tracing.trace import Trace
from tile_frontend._tracing.values import Tile
from tile_ir import DType, Expr, Load, Memory, Store, Var, as_expr, binary, select

WARP = 32
# Lane to lane: the number of the lane that a lane hears from.
SHUFFLES: dict[str, Callable[[Expr, Expr, int], Expr]] = {
    "shfl_xor": lambda lane, delta, width: binary("^", lane, delta),
    "shfl_down": lambda lane, delta, width: select(
        binary("<", lane + delta, width), lane + delta, lane
    ),
    "shfl_up": lambda lane, delta, width: select(binary(">=", lane, delta), lane - delta, lane),
    "shfl_sync": lambda lane, source, width: source % width,
}
REDUCTIONS = {f"warp_reduce_{kind}": f"reduce_{kind}"
              for kind in ("sum", "max", "min", "bitand", "bitor")}  # fmt: skip

OPTIONS = {"delta", "srcLane", "width", "mask"}


class WarpExchange:
    """One place in the text where the threads of a warp exchange values. The tile is made with the
    first value, which says its type."""

    def __init__(self, trace: Trace, name: str) -> None:
        self.trace, self.name = trace, name
        self.tiles: dict[str, Tile] = {}

    @property
    def reduces(self) -> str | None:
        """The reduction of the language for all warps at once."""
        return REDUCTIONS.get(self.name)

    def put(self, value: Any, _thread: Any) -> None:
        """Store the value of the thread."""
        trace, threads = self.trace, prod(self.trace.threads)
        if threads % WARP:
            message = f"T.{self.name}: {threads} threads are no whole warps"
            raise Fault("thread-program", message, f"launch a multiple of {WARP} threads")
        found = staged(lambda e: e, value).expr
        tile = self.tiles.get("values")
        if tile is None:
            # Each warp that is reduced is a row.
            warps = as_expr(threads // WARP)
            shape = (warps, as_expr(WARP)) if self.reduces else (as_expr(threads),)
            tile = self._tile("values", found.dtype, shape)
            if self.reduces:
                self._tile("results", found.dtype, (warps,))
        number = self._number()
        place = (number // WARP, number % WARP) if self.reduces else (number,)
        trace.emit(Store(tile.buffer, place, found, trace.here))

    def _tile(self, name: str, dtype: DType, shape: tuple[Expr, ...]) -> Tile:
        self.tiles[name] = tile = Tile(Memory.SHARED, dtype, shape, self.trace.here)
        self.trace.allocate(tile)
        return tile

    def values(self) -> Tile:
        """The tile of all values."""
        return self.tiles["values"]

    def results(self) -> Tile:
        """The tile with the result of each warp."""
        return self.tiles["results"]

    def stands_apart(self, call: str) -> NoReturn:
        message = f"`{call}` is for all threads of a warp, but stands where they differ"
        hint = "exchange above the branch, and use in it what each thread got"
        raise Fault("thread-program", message, hint)

    def get(
        self, _thread: Any, delta: Any = 0, width: Any = WARP, mask: Any = None,
        srcLane: Any = None,
    ) -> Scalar:  # fmt: skip
        """The value that the thread gets. All threads of the warp take part, whatever `mask`."""
        delta = delta if srcLane is None else srcLane
        if self.reduces:
            return Scalar(Load(self.results().buffer, (self._number() // WARP,)))
        part, number = python_number(width), self._number()
        if not isinstance(part, int) or part not in (2, 4, 8, 16, 32):
            message = f"T.{self.name}: width is {width}, expected 2, 4, 8, 16 or 32"
            raise Fault("attribute-value", message, None, "width")
        lane = number % part
        other = SHUFFLES[self.name](lane, staged(lambda e: e, delta).expr, part)
        return Scalar(Load(self.values().buffer, (number - lane + other,)))

    def _number(self) -> Var:
        thread = self.trace.thread
        if thread is None:
            message = f"T.{self.name}: elements of T.Parallel are no threads of a warp"
            hint = "keep the values in a tile and read the other element, or write T.reduce_sum"
            raise Fault("thread-program", message, hint)
        return thread.number
