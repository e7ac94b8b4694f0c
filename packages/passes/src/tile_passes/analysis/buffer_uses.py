"""What each statement reads and writes of the buffers, cut into pieces, as bits of numbers.

Not here: what follows from the order of statements (`liveness`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tile_ir import Buffer, Op, Region, Store
from tile_ir.expr import Const, constant_value
from tile_ir.machine import Memory
from tile_ir.nodes import Body, Operand, Stmt
from tile_ir.opdef import accesses, element_limit
from tile_ir.walk import bodies, loads

Bytes = tuple[int, int]

# A buffer used in more pieces than this is looked at as a whole.
_MAX_PIECES = 32


@dataclass(frozen=True, slots=True)
class Through:
    """Liveness before statements, from what is needed behind them: `gen`, what passes `normal` of
    that after them, and what passes `broken` of that after the loop they break."""

    gen: int = 0
    normal: int = -1
    broken: int = 0

    def then(self, later: Through) -> Through:
        return Through(
            self.gen | (later.gen & self.normal),
            later.normal & self.normal,
            self.broken | (later.broken & self.normal),
        )

    def needed(self, after: int, after_loop: int) -> int:
        return self.gen | (after & self.normal) | (after_loop & self.broken)


@dataclass(slots=True)
class Node:
    """A statement: what it touches itself, then the same as bits of pieces and of buffers."""

    stmt: Stmt
    reads: list[tuple[int, Bytes | None]]
    writes: list[tuple[int, Bytes | None]]
    inner: tuple[list[Node], ...]
    gen: int = 0
    kill: int = 0
    read: int = 0
    written: int = 0
    defined: int = 0
    fresh: int = 0  # scratch whose life begins before this statement
    through: Through = field(default_factory=Through)
    inside: list[Through] = field(default_factory=list)
    needed: int = 0
    reached: int = 0


class Uses:
    """Turns statements into nodes; `all` has them in textual order."""

    def __init__(self, buffers: dict[Buffer, tuple[int, int]]) -> None:
        self.buffers = buffers
        self.all: list[Node] = []

    def nodes(self, body: Body) -> list[Node]:
        result = []
        for stmt in body:
            node = Node(stmt, [], [], ())
            self.all.append(node)
            if not isinstance(stmt, Op) or not _is_constant(stmt):
                for load in loads(stmt):
                    if load.buffer in self.buffers:
                        node.reads.append((self.buffers[load.buffer][0], None))
            if isinstance(stmt, Op):
                scratch = _scratch(stmt)
                partial = element_limit(stmt) is not None
                for region, access in accesses(stmt):
                    if region.buffer in self.buffers:
                        root, size = self.buffers[region.buffer]
                        piece = None if region is scratch else _piece(region, size)
                        if access.reads and region is not scratch:
                            node.reads.append((root, piece))
                        if access.writes:
                            node.writes.append((root, None if partial else piece))
            elif isinstance(stmt, Store) and stmt.buffer in self.buffers:
                node.writes.append((self.buffers[stmt.buffer][0], None))
            node.inner = tuple(self.nodes(b) for b in bodies(stmt))
            result.append(node)
        return result


def _is_constant(op: Op) -> bool:
    """Whether all scalars of the operation are numbers, as they mostly are: it loads none."""
    for operand in op.operands:
        if isinstance(operand, Region):
            for s in operand.dims:
                if type(s.offset) is not Const or type(s.extent) is not Const:
                    return False
        elif operand is not None and type(operand) is not Const:
            return False
    return True


def _scratch(op: Op) -> Operand:
    """The operand that is working memory: what it held before does not matter."""
    return op.operand("scratch") if op.opdef.scratch(op) else None


def _piece(region: Region, size: int) -> Bytes | None:
    """The bytes of a region that is a run of whole rows known now, else None."""
    buffer = region.buffer
    if region.is_whole():
        return 0, size
    first, rest = region.dims[0], region.dims[1:]
    if buffer.memory is not Memory.UB and buffer.rank < 3:
        return None  # rows of a matrix in fractals do not lie together
    start, count, rows = map(constant_value, (first.offset, first.extent, buffer.shape[0]))
    if start is None or count is None or not rows or first.stride != 1:
        return None
    for s, d in zip(rest, buffer.shape[1:], strict=True):
        if constant_value(s.offset) != 0 or s.stride != 1 or s.extent != d:
            return None
    row = size // int(rows)
    return int(start) * row, int(start + count) * row


@dataclass(slots=True)
class Pieces:
    """Every buffer cut at the ends of what is read and written. The first piece of a buffer has
    the buffer's own number, further ones come after all buffers."""

    cuts: list[list[int]]
    bits: list[list[int]]
    owner: list[int]
    whole: list[int]
    count: int

    @staticmethod
    def of(nodes: Iterable[Node], sizes: Sequence[int]) -> Pieces:
        ends: list[set[int]] = [{0, size} for size in sizes]
        for node in nodes:
            for root, piece in (*node.reads, *node.writes):
                if piece is not None:
                    ends[root].update(piece)
        owner = list(range(len(sizes)))
        bits: list[list[int]] = []
        cuts: list[list[int]] = []
        for root, found in enumerate(ends):
            cut = sorted(found) if len(found) <= _MAX_PIECES else [0, sizes[root]]
            own = [root]
            for _ in cut[2:]:
                own.append(len(owner))
                owner.append(root)
            cuts.append(cut)
            bits.append(own)
        return Pieces(cuts, bits, owner, [bits_of(b) for b in bits], len(sizes))

    def number(self, node: Node) -> None:
        for root, piece in node.reads:
            node.gen |= self._of(root, piece, inside=False)
            node.read |= 1 << root
        for root, piece in node.writes:
            if piece is not None:
                node.kill |= self._of(root, piece, inside=True)
            node.written |= 1 << root
        for root, _ in node.writes:
            whole = self.whole[root]
            if node.kill & whole == whole and not node.read >> root & 1:
                node.defined |= 1 << root

    def _of(self, root: int, piece: Bytes | None, inside: bool) -> int:
        """The pieces of a buffer inside a run of bytes, or those that meet it."""
        if piece is None:
            return 0 if inside else self.whole[root]
        low, high = piece
        cut = self.cuts[root]
        found = 0
        for bit, start, end in zip(self.bits[root], cut, cut[1:], strict=False):
            if (low <= start and end <= high) if inside else (start < high and low < end):
                found |= 1 << bit
        return found

    def buffers(self, pieces: int) -> int:
        """The buffers that have one of the pieces."""
        found = pieces & ((1 << self.count) - 1)
        further = pieces >> self.count
        while further:
            low = further & -further
            found |= 1 << self.owner[self.count + low.bit_length() - 1]
            further ^= low
        return found


def numbers_in(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set, lowest first."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def bits_of(numbers: Iterable[int]) -> int:
    found = 0
    for n in numbers:
        found |= 1 << n
    return found
