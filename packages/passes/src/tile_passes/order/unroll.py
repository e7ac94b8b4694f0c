"""Makes the tree of a section.

A loop whose variable appears as `i % m` where on-chip memory or event ids are chosen is looked at
modulo m: everything in it is an instance once for each residue, so that slots are constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import TypeAlias

from tile_ir import (
    Automatic,
    Body,
    Break,
    Const,
    Effect,
    Expr,
    For,
    Func,
    If,
    Let,
    Memory,
    Op,
    Pipe,
    Section,
    Stmt,
    Target,
    Var,
    While,
    binary,
    constant_value,
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
    Facts,
    Interval,
    Ranges,
    Touch,
    decided,
    facts_in,
    facts_of,
    interval,
    launch_ranges,
    loop_range,
    modulus_of,
    rounds_in,
    rounds_of,
    touches_within,
    trips,
)
from tile_passes.order.tree import (
    Block,
    Branch,
    EarlierRun,
    Instance,
    Item,
    Order,
    Repeat,
    Residues,
    Tree,
    Work,
    round_by_round,
)


def build_tree(func: Func, section: Section, target: Target) -> Tree:
    """The tree of one section of a planned function."""
    builder = _Builder(func)
    root = builder.block(section.body, None, _Sight(builder.ranges, {}, [], ()))
    pipes = target.pipes[section.core]
    masks = dict.fromkeys(pipes, 0)
    for instance in builder.instances:
        masks[instance.item.pipe] |= 1 << instance.bit
    runs = _earlier_runs(builder.instances)
    for run in runs:
        masks[run.instance.item.pipe] |= 1 << run.bit
    _count_bits(root)
    flat = all(i.blocks == () and not isinstance(i.stmt, Break) for i in root.items)
    return Tree(
        section.core,
        root,
        builder.ranges,
        builder.instances,
        runs,
        pipes,
        target.flag_pairs[section.core],
        masks,
        flat,
        _seldom(root),
        frozenset(b for b in written_buffers(func.launch.body) if b.memory is Memory.GM),
        # One of the user's may tell of anything; `insert_cross_core_sync` sets one on each pipe
        # that others await, but none runs on the scalar unit.
        frozenset({Pipe.S} if Automatic.CROSS in func.automatic else pipes),
    )


def _earlier_runs(instances: list[Instance]) -> list[EarlierRun]:
    """A fact for every instance that may touch other bytes in each round of a loop that may be run
    more than once."""
    found: list[EarlierRun] = []
    for instance in instances:
        loop = round_by_round(instance)
        if loop is not None and loop.block.loop is not None:
            found.append(EarlierRun(len(instances) + len(found), instance, loop))
    return found


def _seldom(block: Block) -> int:
    if isinstance(block.owner, Branch) and block.owner.unlikely and block is block.owner.then:
        return block.below[-1]
    return reduce(or_, (_seldom(inner) for item in block.items for inner in item.blocks), 0)


# One combination of residues, and what is known of expressions in it.
_InResidue: TypeAlias = tuple[Residues, Bounds]


# A loop looked at by residue: its variable, that which counts its rounds of all residues, and for
# each residue that it comes to, in which rounds, and the variable in terms of these.
_Counted: TypeAlias = tuple[Var, Var, list[tuple[int, Interval, Expr]]]


@dataclass(frozen=True)
class _Sight:
    """What is known where a statement stands: intervals and values of variables, the loops around
    it that are looked at by residue, all that stands around and before it, and what the loops and
    branches around it say."""

    known: Ranges
    values: Mapping[Var, Expr]
    counted: list[_Counted]
    path: tuple[Stmt, ...]
    facts: Facts = ()

    def within(self, branch: If, value: bool) -> _Sight:
        """What is known on the side of a branch on which its condition has a value."""
        facts = (*self.facts, *facts_of(branch.condition, value, self.values))
        return replace(self, path=(*self.path, branch), facts=facts)

    @cached_property
    def each_residue(self) -> list[_InResidue]:
        """Every combination of residues, with what is known of variables in it."""
        found: list[tuple[Residues, Ranges, Mapping[Var, Expr]]] = [((), self.known, self.values)]
        for var, rounds, turns in self.counted:
            found = [
                ((*residues, residue), {**ranges, rounds: span}, {**chosen, var: value})
                for residues, ranges, chosen in found
                for residue, span, value in turns
            ]
        return [(residues, Bounds(ranges, chosen)) for residues, ranges, chosen in found]


class _Builder:
    def __init__(self, func: Func) -> None:
        scalars: Ranges = {p: EVERYTHING for p in func.params if isinstance(p, Var)}
        self.ranges = scalars | launch_ranges(func)
        self.addresses = {a.buffer: a.address for a in func.launch.allocs if a.address is not None}
        self.instances: list[Instance] = []
        # What has another value in each residue of a loop around it.
        self.varying: set[Var] = set()

    def block(self, body: Body, owner: Branch | Repeat | None, sight: _Sight) -> Block:
        block = Block.inside(owner, len(sight.counted))
        for stmt in body:
            match stmt:
                case For() | While():
                    self.loop(block, stmt, sight)
                case If():
                    taken = decided(
                        resolved(stmt.condition, sight.values), sight.known, sight.facts
                    )
                    turns = self.turns(stmt.condition, sight) if taken is None else {}
                    branch = Branch(block, len(block.items), stmt, taken, turns)
                    block.items.append(branch)
                    branch.then = self.block(stmt.then, branch, sight.within(stmt, True))
                    branch.orelse = self.block(stmt.orelse, branch, sight.within(stmt, False))
                    leaves = any(isinstance(s, Break) for s in walk_statements(stmt.then))
                    branch.unlikely = stmt.unlikely and not leaves
                case Break():
                    block.items.append(Item(block, len(block.items), stmt))
                case Op() if stmt.opdef.effect is Effect.SET_CROSS_FLAG:
                    self.signal(block, stmt, sight)
                case Op() if stmt.opdef.effect in ORDERING:
                    order = Order(block, len(block.items), stmt)
                    block.items.append(order)
                    if stmt.opdef.effect in (Effect.SET_FLAG, Effect.WAIT_FLAG):
                        self.event_ids(order, sight)
                case Op():
                    self.work(block, stmt, pipe_of(stmt), stmt.opdef.in_order, sight)
                case _:
                    self.work(block, stmt, Pipe.S, False, sight)
            if isinstance(stmt, Let) and stmt.var.dtype.is_integer:
                sight = self.behind(stmt, sight)
        return block

    def behind(self, stmt: Let, sight: _Sight) -> _Sight:
        """What is known behind a definition."""
        known = {**sight.known, stmt.var: interval(stmt.value, sight.known)}
        values = sight.values
        if not reads_memory(stmt.value):
            values = {**values, stmt.var: stmt.value}
            if self.varies(stmt.value):
                self.varying.add(stmt.var)
        return replace(sight, known=known, values=values, path=(*sight.path, stmt))

    def work(self, block: Block, stmt: Stmt, pipe: Pipe, in_order: bool, sight: _Sight) -> None:
        """An item for the statement; instances for it if it touches anything."""
        item = Work(block, len(block.items), stmt, pipe, in_order, {}, sight.path)
        for (residues, bounds), found in self.touched(stmt, sight):
            if found:
                instance = Instance(len(self.instances), item, residues, found, bounds)
                item.instances[residues] = instance
                self.instances.append(instance)
        if item.instances:
            block.items.append(item)
        else:
            block.items.append(Item(block, len(block.items), stmt))

    def touched(self, stmt: Stmt, sight: _Sight) -> Iterator[tuple[_InResidue, tuple[Touch, ...]]]:
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

    def turns(self, condition: Expr, sight: _Sight) -> dict[Residues, bool]:
        """Whether a condition holds, for the combinations of residues in which that is certain."""
        if not self.varies(condition):
            return {}
        found = {
            residues: decided(bounds.spelled(condition), bounds.known)
            for residues, bounds in sight.each_residue
        }
        return {residues: truth for residues, truth in found.items() if truth is not None}

    def varies(self, expr: Expr) -> bool:
        """Whether its value depends on the residues of the loops around it."""
        if isinstance(expr, Const):
            return False
        return any(part in self.varying for part in walk_expr(expr) if isinstance(part, Var))

    def signal(self, block: Block, stmt: Op, sight: _Sight) -> None:
        """A signal to other cores. It speaks for one pipe, but what it tells them is that they may
        use gm: all this core did there before, on any pipe that is told of, must be done."""
        item = Work(block, len(block.items), stmt, Pipe(stmt.attr("pipe")), True, {}, sight.path)
        block.items.append(item)
        for residues, bounds in sight.each_residue:
            item.instances[residues] = Instance(len(self.instances), item, residues, (), bounds)
            self.instances.append(item.instances[residues])

    def event_ids(self, order: Order, sight: _Sight) -> None:
        assert isinstance(order.stmt, Op)
        event = order.stmt.operand("event_id")
        assert isinstance(event, Expr), "event ids are scalars"
        for residues, bounds in sight.each_residue:
            found = interval(bounds.spelled(event), bounds.known)
            order.ids[residues] = int(found.low) if found.low == found.high else None
            order.spans[residues] = found

    def loop(self, block: Block, stmt: For | While, sight: _Sight) -> None:
        known, values, counted, facts = sight.known, sight.values, sight.counted, sight.facts
        repeat = Repeat(block, len(block.items), stmt)
        block.items.append(repeat)
        inside: tuple[Stmt, ...] = (*sight.path, stmt)
        if isinstance(stmt, For):
            start, stop = constant_value(stmt.start), constant_value(stmt.stop)
            least, repeat.most, _ = trips(stmt, known, values, facts)
            repeat.runs = least >= 1
            facts = (*facts, *facts_in(stmt, values))
            span = loop_range(stmt, known, repeat.most)
            repeat.modulus = modulus_of(stmt, values)
            known = {**known, stmt.var: span}
            m = repeat.modulus
            repeat.wraps = start is None or repeat.most > m
            repeat.entries = tuple(range(m)) if start is None else (start % m,)
            repeat.ends = tuple(range(m))
            if start is not None and stop is not None:
                repeat.ends = ((stop - 1) % m,) if start < stop else ()
            if m > 1:
                rounds = rounds_of(stmt.var)
                inside = (*sight.path, _in_rounds(stmt, rounds, m))
                turns = [(j, rounds_in(span, j, m), rounds * m + j) for j in repeat.turns]
                counted = [*counted, (stmt.var, rounds, turns)]
                self.varying.add(stmt.var)
        inner = _Sight(known, values, counted, inside, facts)
        repeat.body = self.block(stmt.body, repeat, inner)


def _in_rounds(loop: For, rounds: Var, modulus: int) -> For:
    """The loop as one over rounds of all residues."""
    start, last = (binary("//", e, modulus) for e in (loop.start, loop.stop - 1))
    return replace(loop, var=rounds, start=start, stop=last + 1)


def _count_bits(block: Block) -> int:
    """Fill `below` of the block and all inside; returns the bits of all its instances."""
    total = 0
    block.below = [0]
    for item in block.items:
        if isinstance(item, Work):
            total |= sum(1 << instance.bit for instance in item.instances.values())
        for inner in item.blocks:
            total |= _count_bits(inner)
        block.below.append(total)
    return total
