"""A section as blocks of items, and the sites that may touch memory. Says nothing about order.

A loop whose variable appears as `i % m` where on-chip memory or event ids are chosen is looked at
modulo m: everything in it is a site once for each phase, so that slots are constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tile_ir import Buffer, Effect, For, Func, If, Let, Memory, Op, Section, Store, While
from tile_ir.bounds import EVERYTHING, INF, Interval, interval, narrow, simplify
from tile_ir.expr import Const, Expr, Load, Var, binary, constant_value, walk
from tile_ir.location import Loc
from tile_ir.machine import PIPES_OF_CORE, Core, Pipe
from tile_ir.nodes import Body, Break, Region, Slice, Stmt
from tile_ir.opdef import accesses, pipe_of
from tile_ir.touched_bytes import Touch, resolved, touches
from tile_ir.walk import Ranges, launch_ranges, loop_range
from tile_ir.walk import walk as walk_statements
from tile_passes.sync.modulus import ORDERING, modulus_of

Phases = tuple[int, ...]
# Behind the name of a loop variable: the rounds of all phases. No user's name has it.
_ROUNDS = "'"


@dataclass(eq=False, slots=True)
class Site:
    """A statement that may touch memory, in one combination of phases of the loops around it.
    Signals to other cores touch nothing themselves."""

    bit: int
    item: Work
    phases: Phases
    touches: tuple[Touch, ...]
    values: Mapping[Var, Expr]

    def region(self, touch: Touch) -> Region:
        """What is touched, in this combination of phases."""
        dims = (
            Slice(resolved(s.offset, self.values), resolved(s.extent, self.values), s.stride)
            for s in touch.region.dims
        )
        return Region(touch.region.buffer, tuple(dims))


@dataclass(eq=False, slots=True)
class Item:
    """One statement of a block."""

    block: Block
    position: int
    stmt: Stmt

    @property
    def loc(self) -> Loc:
        return self.stmt.loc


@dataclass(eq=False, slots=True)
class Work(Item):
    """A statement that touches memory, on one pipe; `path` is what stands around and before it, for
    `regions_apart`."""

    pipe: Pipe
    in_order: bool
    sites: dict[Phases, Site] = field(default_factory=dict)
    path: tuple[Stmt, ...] = ()


@dataclass(eq=False, slots=True)
class Plain(Item):
    """A statement that touches no memory."""


@dataclass(eq=False, slots=True)
class Order(Item):
    """A flag or barrier of the user's. `ids` gives its event id for each phase, where constant, and
    `spans` what it may be."""

    ids: dict[Phases, int | None] = field(default_factory=dict)
    spans: dict[Phases, Interval] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Branch(Item):
    """`taken` says which side runs, where that is certain."""

    taken: bool | None = None
    then: Block = field(init=False)
    orelse: Block = field(init=False)


@dataclass(eq=False, slots=True)
class Repeat(Item):
    """A loop: `modulus` phases, of which it begins with one of `entries` and may end with one of
    `ends`; `runs` if it surely runs at least once, and `most` times; `wraps` if a phase may come
    twice."""

    body: Block = field(init=False)
    modulus: int = 1
    entries: tuple[int, ...] = (0,)
    ends: tuple[int, ...] = (0,)
    runs: bool = False
    wraps: bool = True
    most: float = INF

    @property
    def turns(self) -> tuple[int, ...]:
        """The phases it comes to, in the order in which it does."""
        m = self.modulus
        if len(self.entries) > 1:
            return self.entries
        return tuple((self.entries[0] + t) % m for t in range(int(min(m, self.most))))


@dataclass(eq=False, slots=True)
class Leave(Item):
    """A break out of `loop`."""

    loop: Repeat = field(init=False)


@dataclass(eq=False, slots=True)
class Block:
    """Items in order. `owner` is the branch or loop it belongs to, `loop` the innermost one around.
    `below[k]` holds the bits of all sites in the first k items."""

    owner: Branch | Repeat | None
    loop: Repeat | None
    depth: int
    items: list[Item] = field(default_factory=list)
    below: list[int] = field(default_factory=list)

    def holds(self, item: Work) -> bool:
        """Whether the item stands in this block or in one inside it."""
        return any(self.below[-1] >> site.bit & 1 for site in item.sites.values())

    def bits(self, first: int, end: int) -> int:
        """The sites in items [first, end)."""
        return self.below[end] & ~self.below[first]


@dataclass(eq=False, slots=True)
class Tree:
    """One section. `masks` holds the sites of each pipe as bits."""

    core: Core
    root: Block
    sites: list[Site]
    pipes: tuple[Pipe, ...]
    masks: dict[Pipe, int]
    ranges: Ranges
    flat: bool
    # Tensors that the kernel writes: what cores tell each other about.
    written: frozenset[Buffer]


def build_tree(func: Func, section: Section) -> Tree:
    """The tree of one section of a planned function."""
    builder = _Builder(func)
    root = builder.block(section.body, None, None, builder.ranges, {}, [], ())
    pipes = PIPES_OF_CORE[section.core]
    masks = dict.fromkeys(pipes, 0)
    for site in builder.sites:
        masks[site.item.pipe] |= 1 << site.bit
    _count_bits(root)
    flat = all(isinstance(i, (Work, Plain, Order)) for i in root.items)
    return Tree(
        section.core, root, builder.sites, pipes, masks, builder.ranges, flat, _written(func)
    )


def _written(func: Func) -> frozenset[Buffer]:
    found: set[Buffer] = set()
    for stmt in walk_statements(func.launch.body):
        match stmt:
            case Op():
                found.update(r.buffer for r, access in accesses(stmt) if access.writes)
            case Store(buffer=buffer):
                found.add(buffer)
    return frozenset(b for b in found if b.memory is Memory.GM)


@dataclass(slots=True)
class _Phase:
    """A loop looked at modulo m, the variable that counts its rounds of m iterations, and `turns`:
    the phases it comes to."""

    var: Var
    rounds: Var
    modulus: int
    span: Interval
    turns: tuple[int, ...]


class _Builder:
    def __init__(self, func: Func) -> None:
        scalars: Ranges = {p: EVERYTHING for p in func.params if isinstance(p, Var)}
        self.ranges = scalars | launch_ranges(func)
        self.addresses = {a.buffer: a.address for a in func.launch.allocs if a.address is not None}
        self.sites: list[Site] = []

    def block(
        self,
        body: Body,
        owner: Branch | Repeat | None,
        loop: Repeat | None,
        known: Ranges,
        values: Mapping[Var, Expr],
        phased: list[_Phase],
        path: tuple[Stmt, ...],
    ) -> Block:
        block = Block(owner, loop, 0 if owner is None else owner.block.depth + 1)
        for stmt in body:
            context = (known, values, phased, path)
            match stmt:
                case For() | While():
                    self.loop(block, stmt, *context)
                case If():
                    branch = Branch(block, len(block.items), stmt, _truth(stmt, known, values))
                    block.items.append(branch)
                    inner = (known, values, phased, (*path, stmt))
                    branch.then = self.block(stmt.then, branch, loop, *inner)
                    branch.orelse = self.block(stmt.orelse, branch, loop, *inner)
                case Break():
                    leave = Leave(block, len(block.items), stmt)
                    assert loop is not None, "the verifier knows"
                    leave.loop = loop
                    block.items.append(leave)
                case Op() if stmt.opdef.effect is Effect.SET_CROSS_FLAG:
                    self.signal(block, stmt, phased, path)
                case Op() if stmt.opdef.effect in ORDERING:
                    order = Order(block, len(block.items), stmt)
                    block.items.append(order)
                    if stmt.opdef.effect in (Effect.SET_FLAG, Effect.WAIT_FLAG):
                        self.event_ids(order, *context)
                case Op():
                    self.work(block, stmt, pipe_of(stmt), stmt.opdef.in_order, *context)
                case _:
                    self.work(block, stmt, Pipe.S, False, *context)
            if isinstance(stmt, Let) and stmt.var.dtype.is_integer:
                known = {**known, stmt.var: interval(stmt.value, known)}
                path = (*path, stmt)
                if not any(isinstance(e, Load) for e in walk(stmt.value)):
                    values = {**values, stmt.var: stmt.value}
        return block

    def work(
        self,
        block: Block,
        stmt: Stmt,
        pipe: Pipe,
        in_order: bool,
        known: Ranges,
        values: Mapping[Var, Expr],
        phased: list[_Phase],
        path: tuple[Stmt, ...],
    ) -> None:
        """An item for the statement; sites for it if it touches anything."""
        item = Work(block, len(block.items), stmt, pipe, in_order, {}, path)
        for phases, ranges, chosen in _each_phase(phased, known, values):
            found = touches(stmt, self.addresses, ranges, chosen)
            if found:
                site = Site(len(self.sites), item, phases, found, chosen)
                item.sites[phases] = site
                self.sites.append(site)
        if item.sites:
            block.items.append(item)
        else:
            block.items.append(Plain(block, len(block.items), stmt))

    def signal(self, block: Block, stmt: Op, phased: list[_Phase], path: tuple[Stmt, ...]) -> None:
        """A signal to other cores. It speaks for one pipe, but what it tells them is that they may
        use gm: all this core did there before, on any pipe, must be done."""
        item = Work(block, len(block.items), stmt, Pipe(stmt.attr("pipe")), True, {}, path)
        block.items.append(item)
        for phases, _, _ in _each_phase(phased, {}, {}):
            item.sites[phases] = Site(len(self.sites), item, phases, (), {})
            self.sites.append(item.sites[phases])

    def event_ids(
        self,
        order: Order,
        known: Ranges,
        values: Mapping[Var, Expr],
        phased: list[_Phase],
        path: tuple[Stmt, ...],
    ) -> None:
        assert isinstance(order.stmt, Op)
        event = order.stmt.operand("event_id")
        assert isinstance(event, Expr), "event ids are scalars"
        for phases, ranges, chosen in _each_phase(phased, known, values):
            found = interval(simplify(resolved(event, chosen)), ranges)
            order.ids[phases] = int(found.low) if found.low == found.high else None
            order.spans[phases] = found

    def loop(
        self,
        block: Block,
        stmt: For | While,
        known: Ranges,
        values: Mapping[Var, Expr],
        phased: list[_Phase],
        path: tuple[Stmt, ...],
    ) -> None:
        repeat = Repeat(block, len(block.items), stmt)
        block.items.append(repeat)
        inside: tuple[Stmt, ...] = (*path, stmt)
        if isinstance(stmt, For):
            span = loop_range(stmt, known)
            start, stop = constant_value(stmt.start), constant_value(stmt.stop)
            repeat.runs = start is not None and stop is not None and start < stop
            trips = interval(simplify(resolved(stmt.stop - stmt.start, values)), known)
            repeat.most = max(0, trips.high)
            repeat.modulus = modulus_of(stmt, values)
            known = {**known, stmt.var: span}
            m = repeat.modulus
            repeat.wraps = start is None or repeat.most > m
            repeat.entries = tuple(range(m)) if start is None else (start % m,)
            repeat.ends = tuple(range(m))
            if start is not None and stop is not None:
                repeat.ends = ((stop - 1) % m,) if start < stop else ()
            if m > 1:
                rounds = Var(stmt.var.name + _ROUNDS, stmt.var.dtype)
                inside = (*path, _in_rounds(stmt, rounds, m))
                phased = [*phased, _Phase(stmt.var, rounds, m, span, repeat.turns)]
        repeat.body = self.block(stmt.body, repeat, repeat, known, values, phased, inside)


def is_rounds(stmt: Stmt) -> bool:
    """Whether a statement of a path stands for the rounds of a loop with phases."""
    return isinstance(stmt, For) and stmt.var.name.endswith(_ROUNDS)


def _in_rounds(loop: For, rounds: Var, modulus: int) -> For:
    """The loop as one over rounds of all phases."""
    start, last = (binary("//", e, modulus) for e in (loop.start, loop.stop - 1))
    return replace(loop, var=rounds, start=start, stop=last + 1)


def _each_phase(
    phased: list[_Phase], known: Ranges, values: Mapping[Var, Expr]
) -> Iterator[tuple[Phases, Ranges, Mapping[Var, Expr]]]:
    """Every combination of phases, with what is known of variables in it."""
    if not phased:
        yield (), known, values
        return
    p, rest = phased[-1], phased[:-1]
    for phases, ranges, chosen in _each_phase(rest, known, values):
        for j in p.turns:
            low = -INF if p.span.low == -INF else -((j - p.span.low) // p.modulus)
            high = INF if p.span.high == INF else (p.span.high - j) // p.modulus
            counted = {**ranges, p.rounds: Interval(low, max(low, high))}
            yield (*phases, j), counted, {**chosen, p.var: p.rounds * p.modulus + j}


def _truth(stmt: If, known: Ranges, values: Mapping[Var, Expr]) -> bool | None:
    found = narrow(simplify(resolved(stmt.condition, values)), known)
    return bool(found.value) if isinstance(found, Const) else None


def _count_bits(block: Block) -> int:
    """Fill `below` of the block and all inside; returns the bits of all its sites."""
    total = 0
    block.below = [0]
    for item in block.items:
        match item:
            case Work(sites=sites):
                for site in sites.values():
                    total |= 1 << site.bit
            case Branch(then=then, orelse=orelse):
                total |= _count_bits(then) | _count_bits(orelse)
            case Repeat(body=body):
                total |= _count_bits(body)
        block.below.append(total)
    return total


def meeting(p: Item, q: Item) -> tuple[Block, int, int]:
    """The innermost block around both, and where in it each of them stands."""
    a, b = p.block, q.block
    i, j = p.position, q.position
    while a is not b:
        if a.depth >= b.depth:
            assert a.owner is not None
            i, a = a.owner.position, a.owner.block
        else:
            assert b.owner is not None
            j, b = b.owner.position, b.owner.block
    return a, i, j
