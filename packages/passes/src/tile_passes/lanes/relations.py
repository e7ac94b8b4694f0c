"""Collect the constraints of a kernel's statements on splitting: which dimensions of ub buffers and
which loops go together, and which must stay whole, with the line that requires it.

A dimension and a loop go together where the loop's iterations write the places of the dimension;
two dimensions where an operation runs along them together (`OpDef.axes`).
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import NamedTuple

from tile_ir import (
    CORE_OF_MEMORY,
    Body,
    Buffer,
    Core,
    Effect,
    For,
    Func,
    Let,
    Loc,
    LoopKind,
    Memory,
    Op,
    Region,
    Slice,
    Stmt,
    Store,
    Var,
    While,
    bodies,
    breaks,
    constant_value,
    core_of,
    is_constant,
    loads,
    walk_expr,
)
from tile_ir.quick_dataclasses import dataclass
from tile_passes.analysis.liveness import carried_by_loops
from tile_passes.lanes.places import (
    Elsewhere,
    Names,
    OwnIteration,
    Touch,
    Whole,
    resolved,
    touches,
    trips,
    with_name,
)

# The trip count of a loop where nobody knows it.
USUAL_TRIPS = 8
SPLITTABLE = (LoopKind.SERIAL, LoopKind.UNROLL, LoopKind.PARALLEL, LoopKind.PIPELINED)


class Dim(NamedTuple):
    """A dimension of a ub buffer."""

    buffer: Buffer
    number: int


Node = Dim | For


class Reason(NamedTuple):
    """Why something stays whole; the text completes «because …»."""

    loc: Loc
    text: str


@dataclass(frozen=True, slots=True)
class Site:
    """A statement that touches buffers: the loops around it, and for every operand the label of
    each dimension (None: none). `along` has one dimension of each label that ub has; `meetings` is
    the number of barriers of all cores before it."""

    stmt: Stmt
    loops: tuple[For, ...]
    names: Names
    touches: tuple[Touch, ...]
    labels: tuple[tuple[int | None, ...] | None, ...]
    along: dict[int, Dim]
    work: int
    meetings: int = 0

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The loops and dimensions that the statement is repeated over, each of which may be split
        once."""
        return (*self.loops, *self.along.values())

    @property
    def is_lanes(self) -> bool:
        """Whether the statement is the vector cores'."""
        return not (isinstance(self.stmt, Op) and core_of(self.stmt) is Core.CUBE)


@dataclass(slots=True)
class Relations:
    ties: list[tuple[Node, Node]] = field(default_factory=list)
    # A loop that reads the places of a dimension: it may also read them all from a whole buffer.
    reads: list[tuple[For, Dim, Loc]] = field(default_factory=list)
    whole: dict[Node, Reason] = field(default_factory=dict)
    sizes: dict[Node, int] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    # Names of values that may differ from round to round.
    unknown: set[Var] = field(default_factory=set)
    # At how many barriers of all cores, outside of loops and branches, they have met so far.
    meetings: int = 0

    def keep_whole(self, node: Node, loc: Loc, text: str) -> None:
        self.whole.setdefault(node, Reason(loc, text))


def relations_of(func: Func) -> Relations:
    """Everything the text says; what follows from it is decided in `choice`."""
    found = Relations()
    for alloc in func.launch.allocs:
        shape = alloc.buffer.static_shape()
        if alloc.buffer.memory is not Memory.UB or shape is None:
            continue
        for number, size in enumerate(shape):
            dim = Dim(alloc.buffer, number)
            found.sizes[dim] = size
            if alloc.alias_of is not None:
                _alias(dim, alloc.alias_of, found)
            if alloc.address is not None:
                found.keep_whole(dim, alloc.loc, f"`{alloc.buffer.name}` is at a fixed address")
    _body(func.launch.body, (), {}, False, found, True)
    other_names = {a.alias_of for a in func.launch.allocs if a.alias_of is not None}
    shared = {a.buffer for a in func.launch.allocs if a.alias_of or a.address is not None}
    _carried(func, shared | other_names, found)
    return found


def _alias(dim: Dim, root: Buffer, found: Relations) -> None:
    """Two names of the same bytes: rows of as many bytes are rows under both."""
    buffer, text = dim.buffer, "names the same bytes in another form"
    same = _rows(buffer) == _rows(root)
    if dim.number == 0 and same:
        found.ties.append((Dim(root, 0), dim))
    else:
        found.keep_whole(dim, root.loc, f"`{root.name}` {text}")
    for other in range(int(same), root.rank):
        found.keep_whole(Dim(root, other), buffer.loc, f"`{buffer.name}` {text}")


def _rows(buffer: Buffer) -> tuple[int, int]:
    """The places of the first dimension, and the bits of each."""
    shape = buffer.static_shape() or (1,)
    return shape[0], math.prod(shape[1:]) * buffer.dtype.bits


def _body(
    body: Body,
    loops: tuple[For, ...],
    names: Names,
    repeated: bool,
    found: Relations,
    outermost: bool = False,
) -> None:
    for stmt in body:
        if outermost and isinstance(stmt, Op) and stmt.opdef.effect is Effect.SYNC_ALL:
            found.meetings += 1
        if isinstance(stmt, Let):
            names = with_name(names, stmt)
            if repeated and stmt.var not in names:
                found.unknown.add(stmt.var)
        _own(stmt, loops, names, found)
        if isinstance(stmt, For):
            _loop(stmt, found)
            _body(stmt.body, (*loops, stmt), names, True, found)
            continue
        for inner in bodies(stmt):
            _body(inner, loops, names, repeated or isinstance(stmt, While), found)


def _loop(loop: For, found: Relations) -> None:
    count, name = trips(loop), f"the loop over `{loop.var.name}`"
    if count is None:
        found.keep_whole(loop, loop.loc, f"{name} has no trip count, from 0 on, known now")
    elif loop.kind not in SPLITTABLE:
        found.keep_whole(loop, loop.loc, f"{name} is {loop.kind.value}")
    found.sizes[loop] = count or 0
    leave = next(breaks(loop.body), None)
    if leave is not None:
        found.keep_whole(loop, leave.loc, f"a break leaves {name}")


def _own(stmt: Stmt, loops: tuple[For, ...], names: Names, found: Relations) -> None:
    """Collect the constraints of the statement by itself."""
    if loops and (reason := _bound_to_one_core(stmt)) is not None:
        for loop in loops:
            found.keep_whole(loop, stmt.loc, reason)
    own = tuple(touches(stmt, loops, names))
    if not own and not isinstance(stmt, Op):
        return
    labels: tuple[tuple[int | None, ...] | None, ...] = ()
    if isinstance(stmt, Op) and any(t.buffer.memory is Memory.UB for t in own):
        axes = stmt.opdef.axes
        labels = axes(stmt) if axes is not None else ()
    along: dict[int, Dim] = {}
    for touch in own:
        if touch.buffer.memory is Memory.UB:
            _touch(stmt, touch, loops, labels, along, found)
    work = _elements(stmt) * math.prod(trips(loop) or USUAL_TRIPS for loop in loops)
    found.sites.append(Site(stmt, loops, names, own, labels, along, work, found.meetings))


_COUNTED = (
    Effect.SET_CROSS_FLAG,
    Effect.WAIT_CROSS_FLAG,
    Effect.SYNC_ALL,
    Effect.SIGNAL,
    Effect.AWAIT_SIGNAL,
    Effect.ENGINE,
    Effect.AWAIT_ENGINE,
)


def _bound_to_one_core(stmt: Stmt) -> str | None:
    """Why both lanes must go through all iterations of the loops around a statement."""
    if isinstance(stmt, Op):
        effect = stmt.opdef.effect
        if effect in _COUNTED:
            return f"{stmt.opdef.name} counts its iterations"
        if effect is Effect.SET_DEQ_SCALE:
            return f"what {stmt.opdef.name} sets is kept from one iteration to the next"
        if effect is Effect.DATA and core_of(stmt) is Core.CUBE:
            return f"the cube core runs {stmt.opdef.name} in each iteration"
        regions = [o for o in stmt.operands if isinstance(o, Region)]
        if effect is Effect.DATA and any(r.memory is Memory.L0C for r in regions):
            return "the cube core hands over a tile in each iteration"
    read = [load.buffer for load in loads(stmt)]
    if isinstance(stmt, Store):
        read.append(stmt.buffer)
    for buffer in read:
        if CORE_OF_MEMORY.get(buffer.memory) is Core.CUBE:
            return f"the cube core works on `{buffer.name}` in each iteration"
    return None


def _touch(
    stmt: Stmt,
    touch: Touch,
    loops: tuple[For, ...],
    labels: tuple[tuple[int | None, ...] | None, ...],
    along: dict[int, Dim],
    found: Relations,
) -> None:
    """Collect the ties of an access to a ub buffer, and the nodes it keeps whole."""
    name = touch.buffer.name
    own = labels[touch.operand] if touch.operand is not None and labels else None
    for number, place in enumerate(touch.places):
        dim, label = Dim(touch.buffer, number), own[number] if own else None
        match place:
            case OwnIteration(loop=loop) if touch.access.writes:
                found.ties.append((loop, dim))
            case OwnIteration(loop=loop):
                found.reads.append((loop, dim, stmt.loc))
            case Whole() if label is not None:
                if label in along:
                    found.ties.append((along[label], dim))
                along.setdefault(label, dim)
            case Whole() if found.sizes.get(dim, 1) > 1:
                assert isinstance(stmt, Op), "elements have places"
                found.keep_whole(
                    dim, stmt.loc, f"{stmt.opdef.name} needs dimension {number} of `{name}` whole"
                )
            case Elsewhere():
                what = _part(touch.slices[number], loops)
                found.keep_whole(
                    dim, stmt.loc, f"{what} of dimension {number} of `{name}` is used here"
                )
                if label is not None:
                    found.ties.append((along.setdefault(label, dim), dim))


def _part(places: Slice, loops: tuple[For, ...]) -> str:
    """Places that are neither all of a dimension nor one for each iteration, in words."""
    if not is_constant(places.extent, 1):
        return "a part"
    variables = {loop.var for loop in loops}
    follows = any(part in variables for part in walk_expr(places.offset) if isinstance(part, Var))
    return "an index other than the loop variable" if follows else "a single index"


def _elements(stmt: Stmt) -> int:
    """Elements a statement works on, at most."""
    most = 1
    for operand in stmt.operands if isinstance(stmt, Op) else ():
        if isinstance(operand, Region) and operand.memory is Memory.UB:
            sizes = [constant_value(s.extent) or 1 for s in operand.dims]
            most = max(most, math.prod(sizes))
    return most


def _carried(func: Func, renamed: set[Buffer], found: Relations) -> None:
    """Keep loops whole that hand a value from one iteration to the next, or on behind them. A read
    by any of several names of the same bytes counts."""
    loops = {loop for site in found.sites for loop in site.loops}
    if not loops:
        return
    static = [a for a in func.launch.allocs if a.buffer.static_shape() is not None]
    kept = carried_by_loops(static, func.launch.body, loops)
    for site in found.sites:
        for touch in site.touches:
            buffer = touch.buffer
            if not touch.access.writes or buffer.memory not in (Memory.UB, Memory.VAR):
                continue
            iterations = [p.loop for p in touch.places if isinstance(p, OwnIteration)]
            places = zip(touch.places, touch.slices, strict=True)
            offsets = [resolved(s.offset, site.names) for p, s in places if p == Elsewhere()]
            # Of a buffer of slots rows are split, not the iterations that take the slots in turn.
            in_turn = {part for offset in offsets for part in walk_expr(offset)}
            for loop in site.loops:
                carried = buffer in kept[loop] or buffer in renamed or loop.var in in_turn
                if carried and loop not in iterations:
                    found.keep_whole(
                        loop,
                        site.stmt.loc,
                        f"`{buffer.name}` keeps its value from iteration to iteration",
                    )
