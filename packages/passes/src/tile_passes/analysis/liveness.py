"""Which buffers hold something somebody still needs, at every statement of a function.

Two facts decide: a read may follow before all that it reads is written again (backward), and a
write may have come before (forward). Loops may run zero times, branches may be skipped, `break`
leaves early. Not here: addresses, and whose bytes may be shared (`placement`, `in_place`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tile_ir import Alloc, Buffer, For, If, Op, Region, Section, Store, While
from tile_ir.expr import Const, constant_value
from tile_ir.footprint import buffer_bytes
from tile_ir.machine import Memory
from tile_ir.nodes import Body, Break, Operand, Stmt
from tile_ir.opdef import Effect, accesses, element_limit
from tile_ir.walk import bodies, loads

Bytes = tuple[int, int]
Spans = tuple[tuple[int, int], ...]

# A buffer used in more pieces than this is looked at as a whole.
_MAX_PIECES = 32


@dataclass(frozen=True, slots=True)
class Point:
    """What holds at one statement. Sets are bits by the number of the buffer: those the statement
    touches, reads, writes completely, and those needed after it."""

    stmt: Stmt
    touched: int
    read: int
    defined: int
    needed: int
    held: int


@dataclass(frozen=True, slots=True)
class Liveness:
    """Buffers by number, and statements in textual order. `spans` are the intervals of points, both
    ends included, through which each buffer keeps its bytes."""

    buffers: tuple[Alloc, ...]
    points: tuple[Point, ...]
    spans: tuple[Spans, ...]
    roots: dict[Buffer, int]

    def meet_only_at(self, a: int, b: int, points: Collection[int]) -> bool:
        """Whether no other point needs both buffers."""
        for low, high in self.spans[a]:
            for start, end in self.spans[b]:
                first, last = max(low, start), min(high, end)
                if last - first >= len(points):
                    return False
                if any(p not in points for p in range(first, last + 1)):
                    return False
        return True


def liveness(allocs: Sequence[Alloc], body: Body) -> Liveness:
    """What the body needs of the buffers; an alias is its buffer.

    Scratch means nothing before the operation it was made for: its life begins anew where the
    statements that use it begin, in each round of the loops around them.
    """
    owners = tuple(a for a in allocs if a.alias_of is None and a.buffer.memory is not Memory.VAR)
    numbers = {a.buffer: i for i, a in enumerate(owners)}
    roots = {a.buffer: numbers[a.alias_of or a.buffer] for a in allocs if _on_chip(a)}
    sizes = [buffer_bytes(a) for a in owners]
    uses = _Uses({a.buffer: (roots[a.buffer], buffer_bytes(a)) for a in allocs if _on_chip(a)})
    nodes = uses.nodes(body)
    pieces = _Pieces.of(uses.all, sizes)
    for node in uses.all:
        pieces.number(node)
    _begin_scratch(nodes, _bits(i for i, a in enumerate(owners) if a.scratch), pieces)
    _summarise(nodes)
    _backward(nodes, 0, 0)
    _, unwritten = _forward(nodes, 0)
    if unwritten:
        # Whoever reads what nothing wrote means what the memory held before.
        _forward(nodes, unwritten)
    points = tuple(_point(n, pieces) for n in uses.all)
    return Liveness(owners, points, _spans(points, len(owners)), roots)


def _on_chip(alloc: Alloc) -> bool:
    return alloc.buffer.memory is not Memory.VAR


@dataclass(frozen=True, slots=True)
class _Through:
    """Liveness before statements, from what is needed behind them: `gen`, what passes `normal` of
    that after them, and what passes `broken` of that after the loop they break."""

    gen: int = 0
    normal: int = -1
    broken: int = 0

    def then(self, later: _Through) -> _Through:
        return _Through(
            self.gen | (later.gen & self.normal),
            later.normal & self.normal,
            self.broken | (later.broken & self.normal),
        )

    def needed(self, after: int, after_loop: int) -> int:
        return self.gen | (after & self.normal) | (after_loop & self.broken)


@dataclass(slots=True)
class _Node:
    """A statement: what it touches itself, then the same as bits of pieces and of buffers."""

    stmt: Stmt
    reads: list[tuple[int, Bytes | None]]
    writes: list[tuple[int, Bytes | None]]
    inner: tuple[list[_Node], ...]
    gen: int = 0
    kill: int = 0
    read: int = 0
    written: int = 0
    defined: int = 0
    fresh: int = 0  # scratch whose life begins before this statement
    through: _Through = field(default_factory=_Through)
    inside: list[_Through] = field(default_factory=list)
    needed: int = 0
    reached: int = 0


class _Uses:
    """Turns statements into nodes; `all` has them in textual order."""

    def __init__(self, buffers: dict[Buffer, tuple[int, int]]) -> None:
        self.buffers = buffers
        self.all: list[_Node] = []

    def nodes(self, body: Body) -> list[_Node]:
        result = []
        for stmt in body:
            node = _Node(stmt, [], [], ())
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
class _Pieces:
    """Every buffer cut at the ends of what is read and written. The first piece of a buffer has
    the buffer's own number, further ones come after all buffers."""

    cuts: list[list[int]]
    bits: list[list[int]]
    owner: list[int]
    whole: list[int]
    count: int

    @staticmethod
    def of(nodes: Iterable[_Node], sizes: Sequence[int]) -> _Pieces:
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
        return _Pieces(cuts, bits, owner, [_bits(b) for b in bits], len(sizes))

    def number(self, node: _Node) -> None:
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


def _begin_scratch(nodes: list[_Node], scratch: int, pieces: _Pieces) -> None:
    """Mark where the statements begin that use a piece of scratch: in the innermost block that has
    them all."""
    if not scratch:
        return
    total: dict[int, int] = {}
    for node in _all(nodes):
        for root in numbers_in((node.read | node.written) & scratch):
            total[root] = total.get(root, 0) + 1

    def count(block: list[_Node]) -> dict[int, int]:
        here: dict[int, int] = {}
        first: dict[int, _Node] = {}
        for node in block:
            found = {root: 1 for root in numbers_in((node.read | node.written) & scratch)}
            for inner in node.inner:
                for root, n in count(inner).items():
                    found[root] = found.get(root, 0) + n
            for root, n in found.items():
                here[root] = here.get(root, 0) + n
                first.setdefault(root, node)
        for root in [r for r, n in here.items() if n == total[r]]:
            first[root].fresh |= pieces.whole[root]
            del here[root]
        return here

    count(nodes)


def _all(nodes: list[_Node]) -> Iterator[_Node]:
    for node in nodes:
        yield node
        for inner in node.inner:
            yield from _all(inner)


def _summarise(nodes: list[_Node]) -> _Through:
    """Fill in what passes each statement, innermost first; the answer is for all in a row."""
    for node in nodes:
        node.inside = [_summarise(b) for b in node.inner]
        node.through = _Through(0, ~node.fresh, 0).then(_through(node, node.inside))
    result = _Through()
    for node in reversed(nodes):
        result = node.through.then(result)
    return result


def _through(node: _Node, inside: list[_Through]) -> _Through:
    match node.stmt:
        case For():
            (body,) = inside
            passes = body.normal | body.broken | (0 if _runs(node.stmt) else -1)
            return _Through(node.gen | body.gen, passes)
        case While():
            (body,) = inside
            return _Through(node.gen | body.gen)
        case If():
            then, orelse = inside
            return _Through(
                node.gen | then.gen | orelse.gen,
                then.normal | orelse.normal,
                then.broken | orelse.broken,
            )
        case Section():
            return inside[0]
        case Break():
            return _Through(0, 0, -1)
    return _Through(node.gen, ~node.kill)


def _runs(loop: For) -> bool:
    """Whether a loop surely runs at least once."""
    start, stop = constant_value(loop.start), constant_value(loop.stop)
    return start is not None and stop is not None and start < stop


def _backward(nodes: list[_Node], after: int, after_loop: int) -> None:
    """Fill in what is needed after each statement; of a loop, at its head."""
    for node in reversed(nodes):
        before = node.through.needed(after, after_loop)
        match node.stmt:
            case For() | While():
                # A round ends at the head, which leads out or to the next one.
                head = after | node.inside[0].needed(after, after)
                if isinstance(node.stmt, While):
                    head |= node.gen
                _backward(node.inner[0], head, after)
                node.needed = head
            case If() | Section():
                for inner in node.inner:
                    _backward(inner, after, after_loop)
                node.needed = after
                for through in node.inside:
                    node.needed |= through.needed(after, after_loop)
            case _:
                node.needed = after_loop if isinstance(node.stmt, Break) else after
        after = before


def _forward(nodes: list[_Node], reached: int) -> tuple[int, int]:
    """Fill in which buffers may have been written by the end of each statement; gives those at the
    end, and those that are read where none was."""
    unwritten = 0
    for node in nodes:
        if isinstance(node.stmt, (For, While)):
            reached |= _written(node.inner[0])
        unwritten |= node.read & ~reached
        reached |= node.written
        node.reached = reached
        ends = reached
        for inner in node.inner:
            end, missing = _forward(inner, reached)
            ends |= end
            unwritten |= missing
        reached = ends
    return reached, unwritten


def _written(nodes: list[_Node]) -> int:
    found = 0
    for node in _all(nodes):
        found |= node.written
    return found


def _point(node: _Node, pieces: _Pieces) -> Point:
    needed = pieces.buffers(node.needed)
    touched = node.read | node.written
    return Point(
        node.stmt,
        touched,
        node.read,
        node.defined if _is_data(node.stmt) else 0,
        needed,
        touched | (needed & node.reached),
    )


def _is_data(stmt: Stmt) -> bool:
    return isinstance(stmt, Op) and stmt.opdef.effect is Effect.DATA


def _spans(points: Sequence[Point], count: int) -> tuple[Spans, ...]:
    result: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    start = [0] * count
    before = 0
    for position, held in enumerate((*(p.held for p in points), 0)):
        for number in numbers_in(before ^ held):
            if held >> number & 1:
                start[number] = position
            else:
                result[number].append((start[number], position - 1))
        before = held
    return tuple(map(tuple, result))


def numbers_in(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set, lowest first."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def _bits(numbers: Iterable[int]) -> int:
    found = 0
    for n in numbers:
        found |= 1 << n
    return found
