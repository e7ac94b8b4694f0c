"""Deal the tiles of a product out to the blocks of a launch, for scripts of the next chip, A5.

The objects keep the next tile in variables of the kernel. The order of tiles changes no result, so
it is that of their numbers here.
"""

from __future__ import annotations

from typing import Any

from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, scalar_expr, unexpected
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Cell, Tile
from tile_ir import INT32, Expr, Memory, Store, binary, ceildiv, minimum


class AscendTileScheduler:
    """The tiles of one matrix: `init(block)`, `while valid():`, `m_idx[0]`, `n_idx[0]`,
    `next_block()`. Arguments about their order have no effect."""

    def __init__(
        self, *, block_m: Any, block_n: Any, num_cores: Any, shape_m: Any, shape_n: Any,
        group_m: Any = 4, xor_n: Any = True, snake: Any = True, stateful: Any = True,
        name: Any = None,
    ) -> None:  # fmt: skip
        sizes = {"block_m": block_m, "block_n": block_n, "num_cores": num_cores,
                 "shape_m": shape_m, "shape_n": shape_n}  # fmt: skip
        self._sizes = {key: _integer(key, value) for key, value in sizes.items()}
        self._columns = ceildiv(self._sizes["shape_n"], self._sizes["block_n"])
        rows = ceildiv(self._sizes["shape_m"], self._sizes["block_m"])
        self._of_one = binary("*", rows, self._columns)
        self._next = _variable(name) if stateful else None

    def init(self, core_id: Any) -> None:
        """Begin with the first tile of a block."""
        self._store(_integer("core_id", core_id))

    def next_block(self) -> None:
        """Advance to the next tile of the block."""
        self._store(binary("+", self._number(), self._sizes["num_cores"]))

    def valid(self) -> Scalar:
        """Whether the block has a tile."""
        return Scalar(binary("<", self._number(), self._all()))

    def coord(self, block_idx: Any) -> tuple[Scalar, Scalar]:
        """The row and the column of a tile by its number."""
        number = binary("%", _integer("block_idx", block_idx), self._of_one)
        found = binary("//", number, self._columns), binary("%", number, self._columns)
        return Scalar(found[0]), Scalar(found[1])

    @property
    def linear_idx(self) -> tuple[Scalar]:
        return (Scalar(self._number()),)

    @property
    def m_idx(self) -> tuple[Scalar]:
        return (self.coord(Scalar(self._number()))[0],)

    @property
    def n_idx(self) -> tuple[Scalar]:
        return (self.coord(Scalar(self._number()))[1],)

    def get_actual_m(self, m_block_idx: Any) -> Scalar:
        """How many rows a tile has."""
        return self._left("m", m_block_idx)

    def get_actual_n(self, n_block_idx: Any) -> Scalar:
        """How many columns a tile has."""
        return self._left("n", n_block_idx)

    def _left(self, side: str, index: Any) -> Scalar:
        block = self._sizes[f"block_{side}"]
        begin = binary("*", _integer(f"{side}_block_idx", index), block)
        return Scalar(minimum(binary("-", self._sizes[f"shape_{side}"], begin), block))

    def _all(self) -> Expr:
        return self._of_one

    def _cell(self) -> Cell:
        if self._next is None:
            message = "this scheduler keeps no tile: it was made with stateful=False"
            raise Fault("block-order", message, "leave stateful out, or ask for coord(number)")
        return self._next

    def _number(self) -> Expr:
        return self._cell().expr

    def _store(self, value: Expr) -> None:
        trace = current("a scheduler of tiles")
        trace.emit(Store(self._cell().tile.buffer, (), value, trace.here))


class AscendBatchedTileScheduler(AscendTileScheduler):
    """The tiles of several matrices of one size, `num_groups` of them."""

    def __init__(self, *, num_groups: Any, **of_one: Any) -> None:
        super().__init__(**of_one)
        self._groups = _integer("num_groups", num_groups)

    def get_batch_idx(self) -> Scalar:
        """The matrix that the tile belongs to."""
        return Scalar(binary("//", self._number(), self._of_one))

    def _all(self) -> Expr:
        return binary("*", self._of_one, self._groups)


def _integer(name: str, value: Any) -> Expr:
    expr = scalar_expr(value)
    if not expr.dtype.is_integer:
        raise unexpected(name, value, "an integer")
    return expr


def _variable(name: Any) -> Cell:
    trace = current("a scheduler of tiles")
    tile = Tile(Memory.VAR, INT32, (), trace.here)
    trace.allocate(tile)
    cell = Cell(tile, 0)
    trace.name_cell(cell, name if isinstance(name, str) else "tile_number", trace.ANONYMOUS)
    return cell


SCHEDULERS = {c.__name__: c for c in (AscendTileScheduler, AscendBatchedTileScheduler)}
