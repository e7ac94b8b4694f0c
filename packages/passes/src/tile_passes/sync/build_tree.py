"""Makes the tree of a section.

A loop whose variable appears as `i % m` where on-chip memory or event ids are chosen is looked at
modulo m: everything in it is an instance once for each residue, so that slots are constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tile_ir import Effect, For, Func, If, Let, Memory, Op, Section, Target, While
from tile_ir.analysis.accesses import touches
from tile_ir.analysis.affine import resolved, simplify
from tile_ir.analysis.branch_feasibility import surely_taken
from tile_ir.analysis.intervals import (
    EVERYTHING,
    Interval,
    Ranges,
    interval,
    launch_ranges,
    loop_range,
)
from tile_ir.analysis.residues import ORDERING, modulus_of, rounds_in, rounds_of
from tile_ir.analysis.trip_count import surely_runs, trips
from tile_ir.expr import Expr, Var, binary, constant_value, reads_memory, walk
from tile_ir.machine import Pipe
from tile_ir.nodes import Automatic, Body, Break, Stmt
from tile_ir.opdef import pipe_of
from tile_ir.walk import expressions, written_buffers
from tile_ir.walk import walk as walk_statements
from tile_passes.sync.tree import (
    Block,
    Branch,
    EarlierRun,
    Instance,
    Leave,
    Order,
    Plain,
    Repeat,
    Residues,
    Tree,
    Work,
    round_by_round,
)


def build_tree(func: Func, section: Section, target: Target) -> Tree:
    """The tree of one section of a planned function."""
    builder = _Builder(func)
    root = builder.block(section.body, None, None, builder.ranges, {}, [], ())
    pipes = target.pipes[section.core]
    masks = dict.fromkeys(pipes, 0)
    for instance in builder.instances:
        masks[instance.item.pipe] |= 1 << instance.bit
    runs = _earlier_runs(builder.instances)
    for run in runs:
        masks[run.instance.item.pipe] |= 1 << run.bit
    _count_bits(root)
    flat = all(isinstance(i, (Work, Plain, Order)) for i in root.items)
    return Tree(
        section.core,
        root,
        builder.instances,
        runs,
        pipes,
        target.flag_pairs[section.core],
        masks,
        builder.ranges,
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
    found = 0
    for item in block.items:
        match item:
            case Branch(unlikely=True, then=then):
                found |= then.below[-1] | _seldom(item.orelse)
            case Branch(then=then, orelse=orelse):
                found |= _seldom(then) | _seldom(orelse)
            case Repeat(body=body):
                found |= _seldom(body)
    return found


@dataclass(slots=True)
class _Residue:
    """A loop looked at modulo m, the variable that counts its rounds of m iterations, and `turns`:
    the residues it comes to."""

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
        self.instances: list[Instance] = []
        # What has another value in each residue of a loop around it.
        self.varying: set[Var] = set()

    def block(
        self,
        body: Body,
        owner: Branch | Repeat | None,
        loop: Repeat | None,
        known: Ranges,
        values: Mapping[Var, Expr],
        counted: list[_Residue],
        path: tuple[Stmt, ...],
    ) -> Block:
        block = Block(owner, loop, 0 if owner is None else owner.block.depth + 1, len(counted))
        for stmt in body:
            context = (known, values, counted, path)
            match stmt:
                case For() | While():
                    self.loop(block, stmt, *context)
                case If():
                    taken = surely_taken(stmt.condition, _loops_around(block), values, known)
                    branch = Branch(block, len(block.items), stmt, taken)
                    block.items.append(branch)
                    inner = (known, values, counted, (*path, stmt))
                    branch.then = self.block(stmt.then, branch, loop, *inner)
                    branch.orelse = self.block(stmt.orelse, branch, loop, *inner)
                    leaves = any(isinstance(s, Break) for s in walk_statements(stmt.then))
                    branch.unlikely = stmt.unlikely and not leaves
                case Break():
                    leave = Leave(block, len(block.items), stmt)
                    assert loop is not None, "the verifier knows"
                    leave.loop = loop
                    block.items.append(leave)
                case Op() if stmt.opdef.effect is Effect.SET_CROSS_FLAG:
                    self.signal(block, stmt, counted, path)
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
                if not reads_memory(stmt.value):
                    values = {**values, stmt.var: stmt.value}
                    if self.varies(stmt):
                        self.varying.add(stmt.var)
        return block

    def work(
        self,
        block: Block,
        stmt: Stmt,
        pipe: Pipe,
        in_order: bool,
        known: Ranges,
        values: Mapping[Var, Expr],
        counted: list[_Residue],
        path: tuple[Stmt, ...],
    ) -> None:
        """An item for the statement; instances for it if it touches anything."""
        item = Work(block, len(block.items), stmt, pipe, in_order, {}, path)
        varies = self.varies(stmt)
        found = () if varies else touches(stmt, self.addresses, known, values)
        for residues, ranges, chosen in _each_residue(counted, known, values):
            if varies:
                found = touches(stmt, self.addresses, ranges, chosen)
            if found:
                instance = Instance(len(self.instances), item, residues, found, chosen)
                item.instances[residues] = instance
                self.instances.append(instance)
        if item.instances:
            block.items.append(item)
        else:
            block.items.append(Plain(block, len(block.items), stmt))

    def varies(self, stmt: Stmt) -> bool:
        """Whether what it says depends on the residues of the loops around it."""
        parts = (part for expr in expressions(stmt) for part in walk(expr))
        return any(part in self.varying for part in parts if isinstance(part, Var))

    def signal(
        self, block: Block, stmt: Op, counted: list[_Residue], path: tuple[Stmt, ...]
    ) -> None:
        """A signal to other cores. It speaks for one pipe, but what it tells them is that they may
        use gm: all this core did there before, on any pipe that is told of, must be done."""
        item = Work(block, len(block.items), stmt, Pipe(stmt.attr("pipe")), True, {}, path)
        block.items.append(item)
        for residues, _, _ in _each_residue(counted, {}, {}):
            item.instances[residues] = Instance(len(self.instances), item, residues, (), {})
            self.instances.append(item.instances[residues])

    def event_ids(
        self,
        order: Order,
        known: Ranges,
        values: Mapping[Var, Expr],
        counted: list[_Residue],
        path: tuple[Stmt, ...],
    ) -> None:
        assert isinstance(order.stmt, Op)
        event = order.stmt.operand("event_id")
        assert isinstance(event, Expr), "event ids are scalars"
        for residues, ranges, chosen in _each_residue(counted, known, values):
            found = interval(simplify(resolved(event, chosen)), ranges)
            order.ids[residues] = int(found.low) if found.low == found.high else None
            order.spans[residues] = found

    def loop(
        self,
        block: Block,
        stmt: For | While,
        known: Ranges,
        values: Mapping[Var, Expr],
        counted: list[_Residue],
        path: tuple[Stmt, ...],
    ) -> None:
        repeat = Repeat(block, len(block.items), stmt)
        block.items.append(repeat)
        inside: tuple[Stmt, ...] = (*path, stmt)
        if isinstance(stmt, For):
            span = loop_range(stmt, known)
            start, stop = constant_value(stmt.start), constant_value(stmt.stop)
            repeat.runs = surely_runs(stmt, known, values, _loops_around(block))
            repeat.most = trips(stmt, known, values).high
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
                inside = (*path, _in_rounds(stmt, rounds, m))
                counted = [*counted, _Residue(stmt.var, rounds, m, span, repeat.turns)]
                self.varying.add(stmt.var)
        repeat.body = self.block(stmt.body, repeat, repeat, known, values, counted, inside)


def _loops_around(block: Block) -> Iterator[For]:
    loop = block.loop
    while loop is not None:
        if isinstance(loop.stmt, For):
            yield loop.stmt
        loop = loop.block.loop


def _in_rounds(loop: For, rounds: Var, modulus: int) -> For:
    """The loop as one over rounds of all residues."""
    start, last = (binary("//", e, modulus) for e in (loop.start, loop.stop - 1))
    return replace(loop, var=rounds, start=start, stop=last + 1)


def _each_residue(
    counted: list[_Residue], known: Ranges, values: Mapping[Var, Expr]
) -> Iterator[tuple[Residues, Ranges, Mapping[Var, Expr]]]:
    """Every combination of residues, with what is known of variables in it."""
    if not counted:
        yield (), known, values
        return
    p, rest = counted[-1], counted[:-1]
    for residues, ranges, chosen in _each_residue(rest, known, values):
        for j in p.turns:
            within = {**ranges, p.rounds: rounds_in(p.span, j, p.modulus)}
            yield (*residues, j), within, {**chosen, p.var: p.rounds * p.modulus + j}


def _count_bits(block: Block) -> int:
    """Fill `below` of the block and all inside; returns the bits of all its instances."""
    total = 0
    block.below = [0]
    for item in block.items:
        match item:
            case Work(instances=instances):
                for instance in instances.values():
                    total |= 1 << instance.bit
            case Branch(then=then, orelse=orelse):
                total |= _count_bits(then) | _count_bits(orelse)
            case Repeat(body=body):
                total |= _count_bits(body)
        block.below.append(total)
    return total
