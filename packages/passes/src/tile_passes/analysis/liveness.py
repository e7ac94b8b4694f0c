"""Which buffers hold something somebody still needs, at every statement of a function.

Two facts decide: a read may follow before all that it reads is written again (backward), and a
write may have come before (forward). Loops may run zero times, branches may be skipped, `break`
leaves early. What a loop writes round by round, or two branches between them, is needless where
the loop or the first branch begins (`sure_writes`). Where a branch or an operation that adds unless
a condition holds asks for it, the first turn of a loop is looked at for itself (`loop_turns`). Not
here: addresses, and whose bytes may be shared (`memory`, `in_place`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tile_ir import (
    Alloc,
    Body,
    Break,
    Buffer,
    Effect,
    For,
    If,
    Memory,
    Op,
    Section,
    Stmt,
    While,
    buffer_bytes,
)
from tile_passes.analysis.buffer_uses import Node, Pieces, Through, Uses, bits_of, numbers_in
from tile_passes.analysis.live_ranges import LiveRange
from tile_passes.analysis.loop_turns import Turns


class Point(NamedTuple):
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
    """Buffers by number, and statements in textual order. `ranges` are the points
    through which each buffer keeps its bytes."""

    buffers: tuple[Alloc, ...]
    points: tuple[Point, ...]
    ranges: tuple[LiveRange, ...]
    roots: dict[Buffer, int]


def liveness(allocs: Sequence[Alloc], body: Body) -> Liveness:
    """What the body needs of the buffers; an alias is its buffer.

    Scratch means nothing before the operation it was made for: its life begins anew where the
    statements that use it begin, in each round of the loops around them.
    """
    owners = tuple(a for a in allocs if a.alias_of is None and a.buffer.memory is not Memory.VAR)
    numbers = {a.buffer: i for i, a in enumerate(owners)}
    roots = {a.buffer: numbers[a.alias_of or a.buffer] for a in allocs if _on_chip(a)}
    sizes = [buffer_bytes(a) for a in owners]
    buffers = {a.buffer: (roots[a.buffer], buffer_bytes(a)) for a in allocs if _on_chip(a)}
    uses = Uses(buffers)
    nodes = uses.nodes(body)
    uses.look_closely(body, sizes)
    pieces = Pieces.of(uses.all, sizes)
    for node in uses.all:
        pieces.number(node)
    _begin_scratch(nodes, bits_of(i for i, a in enumerate(owners) if a.scratch), pieces)
    _backward(nodes, 0, 0, Turns())
    _, unwritten = _forward(nodes, 0)
    if unwritten:
        # Whoever reads what nothing wrote means what the memory held before.
        _forward(nodes, unwritten)
    points = tuple(_point(n, pieces) for n in uses.all)
    return Liveness(owners, points, _ranges(points, len(owners)), roots)


def _on_chip(alloc: Alloc) -> bool:
    return alloc.buffer.memory not in (Memory.VAR, Memory.GM)


def _begin_scratch(nodes: list[Node], scratch: int, pieces: Pieces) -> None:
    """Mark where the statements begin that use a piece of scratch: in the innermost block that has
    them all."""
    if not scratch:
        return
    total: dict[int, int] = {}
    for node in _all(nodes):
        for root in numbers_in((node.read | node.written) & scratch):
            total[root] = total.get(root, 0) + 1

    def count(block: list[Node]) -> dict[int, int]:
        here: dict[int, int] = {}
        first: dict[int, Node] = {}
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


def _all(nodes: list[Node]) -> Iterator[Node]:
    for node in nodes:
        yield from node.all()


def _row(block: list[Node], turns: Turns) -> Through:
    """What passes the statements of a block, one after another."""
    gen, normal, broken = Through()
    for node in reversed(block):
        first = _through(node, turns)
        gen = first.gen | (gen & first.normal)
        broken = first.broken | (broken & first.normal)
        normal &= first.normal
    return Through(gen, normal, broken)


def _through(node: Node, turns: Turns) -> Through:
    """What passes a statement, in these turns of the loops around it."""
    key = turns.among(node.asked)
    found = node.through.get(key)
    if found is None:
        gen, normal, broken = _own_through(node, turns)
        # What its rounds spare may still be read for how many there are.
        gen = gen & ~node.spared | node.gen
        keeps, old = ~node.filled, ~node.fresh
        found = Through(gen & keeps & old, normal & keeps & old, broken & old)
        node.through[key] = found
    return found


def _own_through(node: Node, turns: Turns) -> Through:
    match node.stmt:
        case For():
            now, then = _turns_of(node, turns)
            first = _row(node.inner[0], now)
            later = first if now is then else _row(node.inner[0], then)
            passes = first.normal | first.broken | (0 if node.runs else -1)
            return Through(node.gen | first.gen | (later.gen & first.normal), passes)
        case While():
            return Through(node.gen | _row(node.inner[0], turns).gen)
        case If():
            taken = [_row(b, turns) for b in _taken(node, turns)]
            gen, normal, broken = node.gen, 0, 0
            for way in taken:
                gen, normal, broken = gen | way.gen, normal | way.normal, broken | way.broken
            return Through(gen, normal, broken)
        case Section():
            return _row(node.inner[0], turns)
        case Break():
            return Through(0, 0, -1)
    adds = node.condition is None or not _decides(node, turns)
    return Through(node.gen | (node.added if adds else 0), ~node.kill)


def _turns_of(node: Node, turns: Turns) -> tuple[Turns, Turns]:
    """The first and any later turn of a loop: the same if nothing inside asks."""
    if not isinstance(node.stmt, For) or node.start is None:
        return turns, turns
    var = node.stmt.var
    return turns.of(var, node.start, first=True), turns.of(var, node.start, first=False)


def _taken(node: Node, turns: Turns) -> list[list[Node]]:
    """The branches that may be taken."""
    then, orelse = node.inner
    if node.condition is None or not node.asked:
        return [then, orelse]
    match _decides(node, turns):
        case True:
            return [then]
        case False:
            return [orelse]
    return [then, orelse]


def _decides(node: Node, turns: Turns) -> bool | None:
    """Whether its condition is certain in these turns, one way or the other."""
    key = turns.among(node.asked)
    if node.condition is not None and key not in node.decided:
        node.decided[key] = turns.decides(node.condition)
    return node.decided.get(key)


def _backward(nodes: list[Node], after: int, after_loop: int, turns: Turns) -> None:
    """Fill in what is needed after each statement in these turns of the loops around it; of a loop,
    at its head."""
    for node in reversed(nodes):
        before = _through(node, turns).needed(after, after_loop)
        match node.stmt:
            case For() | While():
                # A round ends at the head, which leads out or to the next one.
                first, later = _turns_of(node, turns)
                inside = _row(node.inner[0], later).gen
                head = after | inside
                if isinstance(node.stmt, While):
                    head |= node.gen
                if first is not later:
                    inside = _row(node.inner[0], first).gen
                node.needed |= head | inside
                for t in (first, later) if first is not later else (first,):
                    _backward(node.inner[0], head, after, t)
            case If() | Section():
                node.needed |= after
                for inner in node.inner if isinstance(node.stmt, Section) else _taken(node, turns):
                    node.needed |= _row(inner, turns).needed(after, after_loop)
                    _backward(inner, after, after_loop, turns)
            case _:
                node.needed |= after_loop if isinstance(node.stmt, Break) else after
        after = before


def _forward(nodes: list[Node], reached: int) -> tuple[int, int]:
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


def _written(nodes: list[Node]) -> int:
    found = 0
    for node in _all(nodes):
        found |= node.written
    return found


def _point(node: Node, pieces: Pieces) -> Point:
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


def _ranges(points: Sequence[Point], count: int) -> tuple[LiveRange, ...]:
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
