"""Build the tree of a section for its pipes, and that of a whole kernel for its cores.

For pipes, a loop whose variable chooses on-chip memory or event ids as `i % m` is unrolled by its
residues modulo m. Everything in it is an instance once for each residue, so that slots are
constants. For cores, sections are opened: every item names the cores that run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TypeAlias

from tile_ir import (
    CORE_OF_MEMORY,
    Automatic,
    Body,
    Break,
    Core,
    Effect,
    Expr,
    For,
    Func,
    If,
    Let,
    Load,
    Memory,
    Op,
    Pipe,
    Region,
    Section,
    Stmt,
    Target,
    Var,
    binary,
    bodies,
    constant_value,
    core_of,
    expressions,
    pipe_of,
    reads_memory,
    resolved,
    walk_expr,
    written_buffers,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis import (
    EVERYTHING,
    ORDERING,
    Bounds,
    Ranges,
    Touch,
    decided,
    facts_in,
    facts_of,
    interval,
    iterations_in,
    iterations_of,
    launch_ranges,
    loop_range,
    modulus_of,
    regions_of,
    touches_within,
    trips,
)
from tile_ir.quick_dataclasses import replace
from tile_passes.order.tree import (
    CORES,
    Block,
    Branch,
    Instance,
    Item,
    Leaf,
    LeafAccess,
    Order,
    Repeat,
    Residues,
    Sight,
    Tree,
    Work,
)
from tile_passes.streams.items import items


def build_tree(func: Func, section: Section, target: Target) -> Tree:
    """The tree of one section of a planned function."""
    builder = _PipeTree(func)
    root = builder.block(section.body, Block(), builder.start, section.core)
    pipes, instances = target.pipes[section.core], builder.instances
    masks: dict[Pipe | Core, int] = dict.fromkeys(pipes, 0)
    runs = [(len(instances) + i.bit, i, i.looks_back) for i in instances if i.looks_back]
    for bit, instance, _ in (*((i.bit, i, None) for i in instances), *runs):
        masks[instance.item.pipe] |= 1 << bit
    unlikely = (i.then.below[-1] for i in root.walk() if isinstance(i, Branch) and i.unlikely)
    return Tree(
        section.core,
        root,
        builder.start.known,
        instances,
        runs,
        pipes,
        target.flag_pairs[section.core],
        masks,
        flat=not any(i.blocks or isinstance(i.stmt, Break) for i in root.items),
        seldom=reduce(or_, unlikely, 0),
        written=frozenset(b for b in written_buffers(func.launch.body) if b.memory is Memory.GM),
        # One of the user's may tell of anything; `insert_cross_core_sync` sets one on each pipe
        # that others await, but none runs on the scalar unit.
        told=frozenset({Pipe.S} if Automatic.CROSS in func.automatic else pipes),
    )


def core_tree(func: Func) -> Tree:
    """The tree of a lowered function, sections opened; its loops have no residues."""
    builder = _CoreTree(func)
    root = builder.block(func.launch.body, Block(), builder.start, Core.EITHER)
    return Tree(Core.EITHER, root, builder.start.known)


# An item's block, its place there, its statement, core and sight.
_At: TypeAlias = tuple[Block, int, Stmt, Core, Sight]


class _Builder:
    """Builds blocks, loops and branches; subclasses say what the other statements are."""

    # Whether loops have residues.
    unrolls = False

    def __init__(self, func: Func, known: Ranges) -> None:
        self.func, self.start = func, Sight(known)

    def item(self, at: _At) -> Item:
        """The item of a statement without blocks."""
        return Item(*at)

    def leaves(self, item: Item) -> tuple[Leaf, ...]:
        """The work of each core in an item itself, where there are several cores."""
        return ()

    def entered(self, item: Item) -> Sequence[Sight]:
        """The facts in each block of a branch or loop; they are built next."""
        sight = item.sight
        if isinstance(item, Repeat) and isinstance(item.stmt, For):
            return [self.loop(item, item.stmt, sight)]
        return [replace(sight, path=(*sight.path, item.stmt)) for _ in bodies(item.stmt)]

    def block(self, body: Body, block: Block, sight: Sight, core: Core) -> Block:
        """Fill an empty block."""
        for found in items(body, core):
            stmt, own = found.stmt, found.core
            at = block, len(block.items), stmt, own, sight
            if inner := bodies(stmt):
                item: Item = Branch(*at) if isinstance(stmt, If) else Repeat(*at)
                sights = self.entered(item)
                item.blocks = tuple(Block(item) for _ in inner)
                for inside, empty, known in zip(inner, item.blocks, sights, strict=True):
                    self.block(inside, empty, known, own)
            else:
                item = self.item(at)
            item.leaves = self.leaves(item)
            block.items.append(item)
            block.below.append(block.below[-1] | item.bits)
            if isinstance(stmt, Let):
                sight = self.behind(stmt, sight)
        return block

    def loop(self, repeat: Repeat, stmt: For, sight: Sight) -> Sight:
        """Find the trip count of the loop, and its residues."""
        known, values, chosen = sight.known, sight.values, sight.chosen
        path: tuple[Stmt, ...] = (*sight.path, stmt)
        start, stop = constant_value(stmt.start), constant_value(stmt.stop)
        least, repeat.most, _ = trips(stmt, known, values, sight.facts)
        repeat.runs = least >= 1
        span = loop_range(stmt, known, repeat.most)
        repeat.modulus = m = modulus_of(stmt, values) if self.unrolls else 1
        repeat.entries = tuple(range(m)) if start is None else (start % m,)
        repeat.wraps = repeat.most > m or len(repeat.entries) > 1
        repeat.ends = tuple(range(m))
        if start is not None and stop is not None:
            repeat.ends = ((stop - 1) % m,) if start < stop else ()
        if m > 1:
            iterations = iterations_of(stmt.var)
            # The loop as one over iterations of all residues.
            first, last = (binary("//", e, m) for e in (stmt.start, stmt.stop - 1))
            around = replace(stmt, var=iterations, start=first, stop=last + 1)
            path, known = (*sight.path, around), {**known, iterations: loop_range(around, known)}
            turns = [(j, iterations_in(span, j, m), iterations * m + j) for j in repeat.turns]
            chosen = [
                ((*residues, j), {**ranges, iterations: among}, {**given, stmt.var: value})
                for residues, ranges, given in chosen
                for j, among, value in turns
            ]
        facts = (*sight.facts, *facts_in(stmt, values))
        return Sight({**known, stmt.var: span}, values, chosen, path, facts)

    def behind(self, stmt: Let, sight: Sight) -> Sight:
        """The facts behind a definition."""
        if not stmt.var.dtype.is_integer:
            return sight
        known = {**sight.known, stmt.var: interval(stmt.value, sight.known)}
        values = sight.values
        if not reads_memory(stmt.value):
            values = {**values, stmt.var: stmt.value}
        return replace(sight, known=known, values=values, path=(*sight.path, stmt))


class _PipeTree(_Builder):
    unrolls = True

    def __init__(self, func: Func) -> None:
        scalars: Ranges = {p: EVERYTHING for p in func.params if isinstance(p, Var)}
        super().__init__(func, scalars | launch_ranges(func))
        self.addresses = {a.buffer: a.address for a in func.launch.allocs if a.address is not None}
        self.instances: list[Instance] = []

    def item(self, at: _At) -> Item:
        _, _, stmt, _, sight = at
        match stmt:
            case Break():
                return Item(*at)
            case Op() if stmt.opdef.effect is Effect.SET_CROSS_FLAG:
                # It speaks for one pipe, but what it tells other cores is that they may use gm: all
                # this core did there before, on any pipe that is told of, must be done.
                signal = Work(*at, Pipe(stmt.attr("pipe")), True)
                for residues, bounds in sight.each_residue:
                    self.instance(signal, residues, (), bounds)
                return signal
            case Op() if stmt.opdef.effect in ORDERING:
                order = Order(*at)
                if stmt.opdef.effect in (Effect.SET_FLAG, Effect.WAIT_FLAG):
                    event = stmt.operand("event_id")
                    assert isinstance(event, Expr), "event ids are scalars"
                    for residues, bounds in sight.each_residue:
                        order.spans[residues] = interval(bounds.spelled(event), bounds.known)
                return order
            case Op():
                work = Work(*at, pipe_of(stmt), stmt.opdef.in_order)
            case _:
                work = Work(*at, Pipe.S, False)
        for residues, bounds in sight.each_residue:
            if touches := touches_within(stmt, self.addresses, bounds):
                self.instance(work, residues, touches, bounds)
        return work if work.instances else Item(*at)

    def entered(self, item: Item) -> Sequence[Sight]:
        sight = item.sight
        match item, item.stmt:
            case Branch() as branch, If(condition=condition, then=then, unlikely=unlikely):
                whole = resolved(condition, sight.values)
                branch.taken = decided(whole, sight.known, sight.facts)
                if branch.taken is None and len(sight.chosen) > 1:
                    each = ((r, b.spelled(condition), b.known) for r, b in sight.each_residue)
                    truths = ((residues, decided(e, known)) for residues, e, known in each)
                    branch.turns = {r: truth for r, truth in truths if truth is not None}
                leaves = any(isinstance(s, Break) for s in walk_statements(then))
                branch.unlikely = unlikely and not leaves
                sides = zip(super().entered(item), (True, False), strict=True)
                holds = ((s, facts_of(condition, value, s.values)) for s, value in sides)
                return [replace(s, facts=(*s.facts, *facts)) for s, facts in holds]
        return super().entered(item)

    def instance(
        self, item: Work, residues: Residues, touches: tuple[Touch, ...], bounds: Bounds
    ) -> None:
        found = Instance(len(self.instances), item, residues, touches, bounds)
        loop = item.block.loop
        if loop is not None and loop.modulus == 1 and isinstance(loop.stmt, For):
            offsets = (s.offset for touch in touches for s in found.region(touch).dims)
            if any(loop.stmt.var in walk_expr(offset) for offset in offsets):
                found.varies_in = loop
        item.instances[residues] = found
        self.instances.append(found)


class _CoreTree(_Builder):
    """`own` are the names whose values only one core, or one lane, has."""

    def __init__(self, func: Func) -> None:
        super().__init__(func, launch_ranges(func))
        self.own: set[Var] = set()
        self.regions: dict[Region, Region] = {}

    def behind(self, stmt: Let, sight: Sight) -> Sight:
        if self.knows_more(stmt.value):
            self.own.add(stmt.var)
        return super().behind(stmt, sight)

    def knows_more(self, expr: Expr) -> bool:
        return any(
            p == self.func.launch.lane
            or p in self.own
            or (isinstance(p, Load) and p.buffer.memory in CORE_OF_MEMORY)
            for p in walk_expr(expr)
        )

    def entered(self, item: Item) -> Sequence[Sight]:
        item.private = any(map(self.knows_more, expressions(item.stmt)))
        return super().entered(item)

    def leaves(self, item: Item) -> tuple[Leaf, ...]:
        core, stmt = item.core, item.stmt
        if core is Core.EITHER and isinstance(stmt, Op):
            core = core_of(stmt)
        for found, way, unordered, pipe in regions_of(stmt):
            region, by = self.regions.setdefault(found, found), pipe or Pipe.S
            its = item.gm if region.memory is Memory.GM else item.chip
            atomic = unordered and its is item.gm
            if way.reads and not atomic:
                its.append(LeafAccess(region, False, False, by))
            if way.writes:
                its.append(LeafAccess(region, True, atomic, by))
        cores = CORES if core is Core.EITHER else (core,)
        return tuple(Leaf(item, each) for each in cores) if item.gm or item.chip else ()
