"""Build the tree of a section for its pipes, and that of a whole kernel for its cores.

For pipes, a loop whose variable appears as `i % m` where on-chip memory or event ids are chosen is
looked at modulo m: everything in it is an instance once for each residue, so that slots are
constants. For cores, sections are opened: every item names the cores that run it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from itertools import count
from operator import or_
from typing import TypeAlias

from tile_ir import (
    Automatic,
    Body,
    Break,
    Const,
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
    While,
    binary,
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
    interval,
    launch_ranges,
    loop_range,
    modulus_of,
    regions_of,
    rounds_in,
    rounds_of,
    touches_within,
    trips,
)
from tile_passes.order.sight import InResidue, Sight
from tile_passes.order.tree import (
    CORES,
    Block,
    Branch,
    Fact,
    Instance,
    Item,
    Leaf,
    LeafAccess,
    Order,
    Repeat,
    Residues,
    Tree,
    Work,
    round_by_round,
)
from tile_passes.streams.items import items

_ON_CHIP = frozenset({Memory.UB, Memory.L1, Memory.L0A, Memory.L0B, Memory.L0C, Memory.BT})


def build_tree(func: Func, section: Section, target: Target) -> Tree:
    """The tree of one section of a planned function."""
    builder = _PipeTree(func)
    root = builder.block(section.body, None, builder.start, section.core)
    pipes = target.pipes[section.core]
    masks = dict.fromkeys(pipes, 0)
    runs = [*_earlier_runs(builder.instances)]
    for bit, instance, _ in (*((i.bit, i, None) for i in builder.instances), *runs):
        masks[instance.item.pipe] |= 1 << bit
    unlikely = (i.then.below[-1] for i in root.walk() if isinstance(i, Branch) and i.unlikely)
    flat = all(i.blocks == () and not isinstance(i.stmt, Break) for i in root.items)
    return Tree(
        section.core,
        root,
        builder.start.known,
        builder.instances,
        runs,
        pipes,
        target.flag_pairs[section.core],
        masks,
        flat,
        reduce(or_, unlikely, 0),
        frozenset(b for b in written_buffers(func.launch.body) if b.memory is Memory.GM),
        # One of the user's may tell of anything; `insert_cross_core_sync` sets one on each pipe
        # that others await, but none runs on the scalar unit.
        frozenset({Pipe.S} if Automatic.CROSS in func.automatic else pipes),
    )


def core_tree(func: Func) -> Tree:
    """The tree of a lowered function, sections opened; its loops have no residues."""
    builder = _CoreTree(func)
    root = builder.block(func.launch.body, None, builder.start, Core.EITHER)
    return Tree(Core.EITHER, root, builder.start.known, leaves=builder.leaves)


def _earlier_runs(instances: list[Instance]) -> Iterator[Fact]:
    """A fact for every instance that may touch other bytes in each round of a loop that may be run
    more than once."""
    bits = count(len(instances))
    for instance in instances:
        loop = round_by_round(instance)
        if loop is not None and loop.block.loop is not None:
            yield next(bits), instance, loop


# Where an item stands, and its statement.
_At: TypeAlias = tuple[Block, int, Stmt]


class _Builder:
    """Builds blocks, loops and branches; subclasses say what the other statements are."""

    def __init__(self, func: Func, known: Ranges) -> None:
        self.func = func
        self.start = Sight(known, {}, [], ())
        # What has another value in each residue of a loop around it.
        self.varying: set[Var] = set()

    def item(self, at: _At, core: Core, sight: Sight) -> Item:
        """The item of a statement without blocks."""
        raise NotImplementedError

    def entered(self, item: Branch | Repeat, sight: Sight) -> Sight:
        """What is known in the blocks of a branch or loop, which are built next."""
        return replace(sight, path=(*sight.path, item.stmt))

    def block(self, body: Body, owner: Branch | Repeat | None, sight: Sight, core: Core) -> Block:
        block = Block.inside(owner, len(sight.counted))
        for found in items(body, core):
            stmt, own = found.stmt, found.core
            at = block, len(block.items), stmt
            item: Item
            match stmt:
                case For(body=inside) | While(body=inside):
                    item = repeat = Repeat(*at, core=own)
                    block.items.append(repeat)
                    repeat.body = self.block(inside, repeat, self.entered(repeat, sight), own)
                case If(condition=condition, then=then, orelse=orelse):
                    item = branch = Branch(*at, core=own)
                    block.items.append(branch)
                    inner = self.entered(branch, sight)
                    branch.then = self.block(then, branch, inner.where(condition, True), own)
                    branch.orelse = self.block(orelse, branch, inner.where(condition, False), own)
                case _:
                    item = self.item(at, own, sight)
                    block.items.append(item)
            block.below.append(block.below[-1] | item.bits)
            if isinstance(stmt, Let):
                sight = self.behind(stmt, sight)
        return block

    def behind(self, stmt: Let, sight: Sight) -> Sight:
        """What is known behind a definition."""
        if not stmt.var.dtype.is_integer:
            return sight
        known = {**sight.known, stmt.var: interval(stmt.value, sight.known)}
        values = sight.values
        if not reads_memory(stmt.value):
            values = {**values, stmt.var: stmt.value}
            if self.varies(stmt.value):
                self.varying.add(stmt.var)
        return replace(sight, known=known, values=values, path=(*sight.path, stmt))

    def varies(self, expr: Expr) -> bool:
        """Whether its value depends on the residues of the loops around it."""
        if isinstance(expr, Const):
            return False
        return any(part in self.varying for part in walk_expr(expr) if isinstance(part, Var))


class _PipeTree(_Builder):
    def __init__(self, func: Func) -> None:
        scalars: Ranges = {p: EVERYTHING for p in func.params if isinstance(p, Var)}
        super().__init__(func, scalars | launch_ranges(func))
        self.addresses = {a.buffer: a.address for a in func.launch.allocs if a.address is not None}
        self.instances: list[Instance] = []

    def item(self, at: _At, core: Core, sight: Sight) -> Item:
        *_, stmt = at
        match stmt:
            case Break():
                return Item(*at, core=core)
            case Op() if stmt.opdef.effect is Effect.SET_CROSS_FLAG:
                # It speaks for one pipe, but what it tells other cores is that they may use gm: all
                # this core did there before, on any pipe that is told of, must be done.
                signal = Work(*at, Pipe(stmt.attr("pipe")), True, {}, sight.path, core=core)
                for residues, bounds in sight.each_residue:
                    self.instance(signal, residues, (), bounds)
                return signal
            case Op() if stmt.opdef.effect in ORDERING:
                order = Order(*at, core=core)
                if stmt.opdef.effect in (Effect.SET_FLAG, Effect.WAIT_FLAG):
                    self.event_ids(order, sight)
                return order
            case Op():
                return self.work(at, pipe_of(stmt), stmt.opdef.in_order, core, sight)
        return self.work(at, Pipe.S, False, core, sight)

    def entered(self, item: Branch | Repeat, sight: Sight) -> Sight:
        match item, item.stmt:
            case Repeat() as repeat, For() as loop:
                return self.loop(repeat, loop, sight)
            case Branch() as branch, If(condition=condition, then=then, unlikely=unlikely):
                whole = resolved(condition, sight.values)
                branch.taken = decided(whole, sight.known, sight.facts)
                branch.turns = self.turns(condition, sight) if branch.taken is None else {}
                leaves = any(isinstance(s, Break) for s in walk_statements(then))
                branch.unlikely = unlikely and not leaves
        return super().entered(item, sight)

    def loop(self, repeat: Repeat, stmt: For, sight: Sight) -> Sight:
        """Find out how often the loop runs, and with which residues."""
        known, values, counted = sight.known, sight.values, sight.counted
        path: tuple[Stmt, ...] = (*sight.path, stmt)
        start, stop = constant_value(stmt.start), constant_value(stmt.stop)
        least, repeat.most, _ = trips(stmt, known, values, sight.facts)
        repeat.runs = least >= 1
        span = loop_range(stmt, known, repeat.most)
        repeat.modulus = m = modulus_of(stmt, values)
        repeat.wraps = start is None or repeat.most > m
        repeat.entries = tuple(range(m)) if start is None else (start % m,)
        repeat.ends = tuple(range(m))
        if start is not None and stop is not None:
            repeat.ends = ((stop - 1) % m,) if start < stop else ()
        if m > 1:
            rounds = rounds_of(stmt.var)
            path = (*sight.path, _in_rounds(stmt, rounds, m))
            turns = [(j, rounds_in(span, j, m), rounds * m + j) for j in repeat.turns]
            counted = [*counted, (stmt.var, rounds, turns)]
            self.varying.add(stmt.var)
        facts = (*sight.facts, *facts_in(stmt, values))
        return Sight({**known, stmt.var: span}, values, counted, path, facts)

    def turns(self, condition: Expr, sight: Sight) -> dict[Residues, bool]:
        """Whether a condition holds, for the combinations of residues in which that is certain."""
        if not self.varies(condition):
            return {}
        found = {
            residues: decided(bounds.spelled(condition), bounds.known)
            for residues, bounds in sight.each_residue
        }
        return {residues: truth for residues, truth in found.items() if truth is not None}

    def work(self, at: _At, pipe: Pipe, in_order: bool, core: Core, sight: Sight) -> Item:
        """An item for the statement; instances for it if it touches anything."""
        item = Work(*at, pipe, in_order, {}, sight.path, core=core)
        for (residues, bounds), found in self.touched(item.stmt, sight):
            if found:
                self.instance(item, residues, found, bounds)
        return item if item.instances else Item(*at, core=core)

    def touched(self, stmt: Stmt, sight: Sight) -> Iterator[tuple[InResidue, tuple[Touch, ...]]]:
        """What the statement touches in each combination of residues. Where these make numbers of
        all that varies, it touches the same as where they make the same numbers."""
        varying = [e for e in expressions(stmt) if self.varies(e)]
        found: dict[tuple[Expr, ...], tuple[Touch, ...]] = {}
        numbers = True
        for each in sight.each_residue:
            _, bounds = each
            key = tuple(map(bounds.spelled, varying)) if numbers else ()
            numbers = numbers and all(isinstance(e, Const) for e in key)
            known = found.get(key) if numbers else None
            if known is None:
                known = found[key] = touches_within(stmt, self.addresses, bounds)
            yield each, known

    def instance(
        self, item: Work, residues: Residues, touches: tuple[Touch, ...], bounds: Bounds
    ) -> None:
        found = Instance(len(self.instances), item, residues, touches, bounds)
        item.instances[residues] = found
        self.instances.append(found)

    def event_ids(self, order: Order, sight: Sight) -> None:
        assert isinstance(order.stmt, Op)
        event = order.stmt.operand("event_id")
        assert isinstance(event, Expr), "event ids are scalars"
        for residues, bounds in sight.each_residue:
            order.spans[residues] = interval(bounds.spelled(event), bounds.known)


class _CoreTree(_Builder):
    """`leaves` has what each core does in an item; `own` what only one core, or one lane, knows."""

    def __init__(self, func: Func) -> None:
        super().__init__(func, launch_ranges(func))
        self.leaves: dict[Item, tuple[Leaf, ...]] = {}
        self.own: set[Var] = set()
        self.regions: dict[Region, Region] = {}

    def block(self, body: Body, owner: Branch | Repeat | None, sight: Sight, core: Core) -> Block:
        block = super().block(body, owner, sight, core)
        match owner.stmt if owner is not None else None:
            case If(condition=c) | While(condition=c):
                block.private = self.knows_more(c)
            case For(start=start, stop=stop):
                block.private = self.knows_more(start) or self.knows_more(stop)
        return block

    def behind(self, stmt: Let, sight: Sight) -> Sight:
        if self.knows_more(stmt.value):
            self.own.add(stmt.var)
        return super().behind(stmt, sight)

    def knows_more(self, expr: Expr) -> bool:
        return any(
            p == self.func.launch.lane
            or p in self.own
            or (isinstance(p, Load) and p.buffer.memory in _ON_CHIP)
            for p in walk_expr(expr)
        )

    def item(self, at: _At, core: Core, sight: Sight) -> Item:
        item = Item(*at, core=core)
        self.leaf(item, sight)
        return item

    def entered(self, item: Branch | Repeat, sight: Sight) -> Sight:
        self.leaf(item, sight)
        if isinstance(item, Repeat) and isinstance(item.stmt, For):
            found = trips(item.stmt, self.start.known)
            item.runs, item.wraps, item.most = found.low >= 1, found.high > 1, found.high
        return super().entered(item, sight)

    def leaf(self, item: Item, sight: Sight) -> None:
        """Note the accesses of the item itself, for each core that runs it."""
        core, stmt = item.core, item.stmt
        if core is Core.EITHER and isinstance(stmt, Op):
            core = core_of(stmt)
        leaves = []
        accesses = [*regions_of(stmt)]
        for each in CORES if core is Core.EITHER else (core,):
            leaf = Leaf(item, each, sight.path)
            for found, way, unordered, pipe in accesses:
                region = self.regions.setdefault(found, found)
                its = leaf.gm if region.memory is Memory.GM else leaf.chip
                atomic, by = unordered and its is leaf.gm, Pipe.S if pipe is None else pipe
                if way.reads and not atomic:
                    its.append(LeafAccess(region, False, False, by))
                if way.writes:
                    its.append(LeafAccess(region, True, atomic, by))
            if leaf.gm or leaf.chip:
                leaves.append(leaf)
        if leaves:
            self.leaves[item] = tuple(leaves)


def _in_rounds(loop: For, rounds: Var, modulus: int) -> For:
    """The loop as one over rounds of all residues."""
    start, last = (binary("//", e, modulus) for e in (loop.start, loop.stop - 1))
    return replace(loop, var=rounds, start=start, stop=last + 1)
