"""What each statement reads and writes of the buffers, cut into pieces, as bits of numbers.

Not here: what follows from the order of statements (`liveness`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tile_ir import (
    Access,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Memory,
    Op,
    Region,
    Stmt,
    Store,
    Unary,
    Var,
    accesses,
    bodies,
    constant_value,
    element_limit,
    loads,
)
from tile_ir.analysis import constant_trips, surely_runs
from tile_passes.analysis.loop_turns import Key, Names
from tile_passes.analysis.runs import Spans
from tile_passes.analysis.sure_writes import SureWrites

Bytes = tuple[int, int]

# A buffer used in more pieces than this is looked at as a whole.
_MAX_PIECES = 32
_NO_NAMES = Names()


class Through(NamedTuple):
    """Liveness before statements, from what is needed behind them: `gen`, what passes `normal` of
    that after them, and what passes `broken` of that after the loop they break."""

    gen: int = 0
    normal: int = -1
    broken: int = 0

    def needed(self, after: int, after_loop: int) -> int:
        return self.gen | (after & self.normal) | (after_loop & self.broken)


@dataclass(slots=True)
class Node:
    """A statement: what it touches itself, then the same as bits of pieces and of buffers.

    What it adds to it reads unless its `condition` holds; of a branch that is the condition of the
    branch. `start` is where a loop starts that has something inside that asks for its turn. `fills`
    is what it, or a group of statements it begins, writes before it reads it, and `spares` what a
    loop does not read from before itself (`sure_writes`).
    """

    stmt: Stmt
    reads: list[tuple[int, Bytes | None]]
    adds: list[tuple[int, Bytes | None]]
    writes: list[tuple[int, Bytes | None]]
    inner: tuple[list[Node], ...]
    fills: Sequence[tuple[int, Bytes]] = ()
    spares: Sequence[tuple[int, Bytes]] = ()
    condition: Expr | None = None
    start: Expr | None = None
    asked: frozenset[Var] = frozenset()
    runs: bool = False  # a loop that surely has a turn
    never: bool = False  # a loop that surely has none
    gen: int = 0
    added: int = 0
    kill: int = 0
    filled: int = 0
    spared: int = 0
    read: int = 0
    written: int = 0
    defined: int = 0
    fresh: int = 0  # scratch whose life begins before this statement
    through: dict[Key, Through] = field(default_factory=dict)
    decided: dict[Key, bool | None] = field(default_factory=dict)
    needed: int = 0
    reached: int = 0

    @property
    def touches(self) -> bool:
        """Whether it or a statement inside it touches a buffer."""
        return any(n.reads or n.adds or n.writes for n in self.all())

    def all(self) -> Iterator[Node]:
        """It and those inside it."""
        yield self
        for block in self.inner:
            for node in block:
                yield from node.all()


class Uses:
    """Turns statements into nodes; `all` has them in textual order."""

    def __init__(self, buffers: dict[Buffer, tuple[int, int]]) -> None:
        self.buffers = buffers
        self.all: list[Node] = []

    def nodes(self, body: Body, names: Names = _NO_NAMES) -> list[Node]:
        result = []
        for stmt in body:
            node = Node(stmt, [], [], [], ())
            self.all.append(node)
            if not isinstance(stmt, Op) or not _is_constant(stmt):
                for load in loads(stmt):
                    if load.buffer in self.buffers:
                        node.reads.append((self.buffers[load.buffer][0], None))
            if isinstance(stmt, Op):
                scratch = stmt.scratch
                partial = element_limit(stmt) is not None
                for region, access in accesses(stmt):
                    if region.buffer in self.buffers:
                        root, size = self.buffers[region.buffer]
                        piece = None if region is scratch else _piece(region, size)
                        if access.reads and region is not scratch:
                            self._reads(node, stmt, access, (root, piece), names)
                        if access.writes:
                            node.writes.append((root, None if partial else piece))
            elif isinstance(stmt, Store) and stmt.buffer in self.buffers:
                node.writes.append((self.buffers[stmt.buffer][0], None))
            inside = names.inside(stmt)
            if isinstance(stmt, For):
                node.runs = surely_runs(stmt, names.ranges, names.lets)
                node.never = not node.runs and constant_trips(stmt, names.lets) is not None
            node.inner = tuple(self.nodes(b, inside) for b in bodies(stmt))
            _ask(node, names)
            result.append(node)
            names = names.behind(stmt)
        return result

    def open(self, sizes: Sequence[int]) -> set[int]:
        """The buffers of which several statements together may surely write more than each of them
        does, or read less: what is written in parts, and what is touched where loops or branches
        are looked at more closely (`sure_writes`). Of the others `kill` says all there is to say,
        and of those that nobody reads nothing has to be said."""
        found: set[int] = set()
        read: set[int] = set()
        for node in self.all:
            found.update(root for root, piece in node.writes if piece != (0, sizes[root]))
            read.update(root for root, _ in (*node.reads, *node.adds))
            match node.stmt:
                case If(condition=Const() | Unary(op="not")):
                    closely = True
                case _:
                    closely = node.never
            if closely:
                inside = node.all()
                found.update(root for n in inside for root, _ in (*n.reads, *n.adds, *n.writes))
        return found & read

    def look_closely(self, body: Body, sizes: Sequence[int]) -> None:
        """Fill in what groups of statements write, and rounds of loops do not read."""
        open_ = self.open(sizes)
        if not open_:
            return
        roots = {b: its for b, its in self.buffers.items() if its[0] in open_}
        sure = SureWrites.of(body, roots, sizes)
        for node in self.all:
            node.fills = _listed(sure.found.get(id(node.stmt), {}))
            node.spares = _listed(sure.unread.get(id(node.stmt), {}))

    def _reads(
        self, node: Node, op: Op, access: Access, use: tuple[int, Bytes | None], names: Names
    ) -> None:
        """What is read in every execution, or unless a condition holds."""
        unless = op.opdef.overwrites(op) if access.writes else None
        if unless is None:
            node.reads.append(use)
        elif not isinstance(unless, Const):
            node.adds.append(use)
            node.condition = names.spelled(unless)
        elif not unless.value:
            node.reads.append(use)


def _listed(found: Mapping[int, Spans]) -> list[tuple[int, Bytes]]:
    return [(root, span) for root, spans in found.items() for span in spans]


def _ask(node: Node, names: Names) -> None:
    """Of which loops around it a node asks for the turn: for its own condition, or inside it."""
    stmt = node.stmt
    if isinstance(stmt, If) and node.touches:
        node.condition = names.spelled(stmt.condition)
    asked = set() if node.condition is None else set(names.asked(node.condition))
    asked.update(v for block in node.inner for n in block for v in n.asked)
    if isinstance(stmt, For) and stmt.var in asked:
        node.start = names.spelled(stmt.start)
        asked.remove(stmt.var)
    node.asked = frozenset(asked)


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
            for root, piece in (
                *node.reads,
                *node.adds,
                *node.writes,
                *node.fills,
                *node.spares,
            ):
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
        for root, piece in node.adds:
            node.added |= self._of(root, piece, inside=False)
            node.read |= 1 << root
        for root, piece in node.writes:
            if piece is not None:
                node.kill |= self._of(root, piece, inside=True)
            node.written |= 1 << root
        for root, piece in node.fills:
            node.filled |= self._of(root, piece, inside=True)
        for root, piece in node.spares:
            node.spared |= self._of(root, piece, inside=True)
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
