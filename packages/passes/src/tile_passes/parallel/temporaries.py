"""Tile-sized buffers for what lies between the operations of one expression; given back, they are
used again by the next."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field

from tile_ir import (
    BLOCK_BYTES,
    REPEAT_BYTES,
    Alloc,
    Buffer,
    Const,
    DType,
    Expr,
    Load,
    Loc,
    Memory,
    Region,
    Slice,
    Stmt,
    buffer_bytes,
    constant_value,
    round_up,
    walk_expr,
    written_buffers,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.lowering.builder import Builder
from tile_passes.parallel.nest import NoRoom

# Left free for the scratch of single operations.
SCRATCH_BYTES = 8192


@dataclass(eq=False)
class Temporaries:
    builder: Builder
    allocs: list[Alloc] = field(default_factory=list)
    free: dict[tuple[DType, tuple[int, ...]], list[Buffer]] = field(
        default_factory=lambda: defaultdict(list)
    )
    taken: set[Buffer] = field(default_factory=set)
    held: set[Buffer] = field(default_factory=set)
    # Bytes of second versions of the tiles that are loaded, which are left while `sparing`.
    versions: int = 0
    spared: int = 0
    # Bytes of the user's that hold something while the nest at hand runs, where the others may
    # share theirs with tiles.
    busy: int | None = None

    def take(
        self, dtype: DType, extents: tuple[Expr, ...], sizes: tuple[int, ...], dense: bool, loc: Loc
    ) -> Region:
        """A tile of the extents in a buffer large enough for `sizes`. The rows of a matrix start
        at whole blocks unless it has to be dense; a vector has room for whole repeats."""
        unit = BLOCK_BYTES // dtype.size
        if len(sizes) == 1:
            shape: tuple[int, ...] = (round_up(max(sizes[0], 1), REPEAT_BYTES // dtype.size),)
        else:
            shape = (*sizes[:-1], sizes[-1] if dense else round_up(max(sizes[-1], 1), unit))
        buffer = self._buffer(dtype, shape, loc)
        return Region(buffer, tuple(Slice(Const(0), e) for e in extents))

    def _buffer(self, dtype: DType, shape: tuple[int, ...], loc: Loc) -> Buffer:
        waiting = self.free[dtype, shape]
        if waiting:
            buffer = waiting.pop()
        else:
            self._demand_room(math.prod(shape) * dtype.size)
            name = self.builder.fresh("tile")
            own = replace(loc, generated=True)
            buffer = Buffer(name, Memory.UB, dtype, tuple(Const(d) for d in shape), own)
            self.allocs.append(Alloc(buffer, loc))
        self.taken.add(buffer)
        return buffer

    def _demand_room(self, size: int) -> None:
        """Raise Unsuitable where the tile does not fit beside the user's buffers."""
        capacity = self.builder.target.capacity[Memory.UB] - SCRATCH_BYTES - self.spared
        free = capacity - _bytes(self.allocs) - self.builder.user_bytes.get(Memory.UB, 0)
        if self.busy is not None:
            now = [a for a in self.allocs if a.buffer in self.taken or a.buffer in self.held]
            free = max(free, capacity - _bytes(now) - self.busy)
        if size > free:
            raise NoRoom(size, max(free, 0))

    @contextmanager
    def sparing(self) -> Iterator[None]:
        """Leave the room of second versions of loaded tiles."""
        before, self.spared = self.spared, self.versions
        try:
            yield
        finally:
            self.spared = before

    def give_back(self, buffer: Buffer) -> None:
        """The buffer may hold something else from now on; other buffers are left alone."""
        if buffer in self.taken:
            self.taken.remove(buffer)
            self.free[buffer.dtype, buffer.static_shape() or ()].append(buffer)

    def keep(
        self, dtype: DType, extents: tuple[Expr, ...], sizes: tuple[int, ...], e: Expr, loc: Loc
    ) -> Buffer:
        """A tile for the values of an expression until the end of the nest, with rows as close as
        those of its operands."""
        widths = {
            constant_value(p.buffer.shape[-1])
            for p in walk_expr(e)
            if isinstance(p, Load) and p.buffer.shape
        }
        buffer = self.take(dtype, extents, sizes, widths == {sizes[-1]}, loc).buffer
        self.hold(buffer)
        return buffer

    def room(self, dtype: DType, sizes: tuple[int, ...], loc: Loc) -> Buffer:
        """A tile until the end of the nest, with rows at whole blocks. Raises NoRoom."""
        buffer = self.apart_in_banks(dtype, sizes, loc).buffer
        self.hold(buffer)
        return buffer

    def apart_in_banks(self, dtype: DType, sizes: tuple[int, ...], loc: Loc) -> Region:
        """A tile whose rows start in other banks than the rows before them: an odd number of blocks
        apart. Raises NoRoom."""
        unit = BLOCK_BYTES // dtype.size
        blocks = -(-max(sizes[-1], 1) // unit) | 1
        buffer = self._buffer(dtype, (*sizes[:-1], blocks * unit), loc)
        return Region(buffer, tuple(Slice(Const(0), Const(n)) for n in sizes))

    def hold(self, buffer: Buffer) -> None:
        """Keep a tile until `let_go`."""
        self.taken.remove(buffer)
        self.held.add(buffer)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Another nest inside this one, which lets go of its own tiles only."""
        mine, self.held = self.held, set()
        try:
            yield
        finally:
            self.held |= mine

    def let_go(self) -> None:
        """Behind a nest."""
        self.taken |= self.held
        self.held.clear()
        self.give_back_all()

    def unset(self, before: Iterable[Stmt]) -> frozenset[Buffer]:
        """The tiles of this nest that its statements have not written; those of a nest around it
        hold values."""
        return frozenset(self.held) - written_buffers(tuple(before))

    def forget_since(self, count: int) -> None:
        """Tiles beyond the first `count` were made for an attempt that failed."""
        gone = {a.buffer for a in self.allocs[count:]}
        self.held -= gone
        del self.allocs[count:]
        self.give_back_all()
        for waiting in self.free.values():
            waiting[:] = [b for b in waiting if b not in gone]

    def give_back_all(self) -> None:
        for alloc in self.allocs:  # sets of buffers have another order in every process
            self.give_back(alloc.buffer)
        self.taken.clear()


def _bytes(allocs: Iterable[Alloc]) -> int:
    return sum(round_up(buffer_bytes(a), BLOCK_BYTES) for a in allocs)
