"""The statements of a section with the instructions of a plan among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tile_ir import (
    OPS,
    Body,
    Const,
    Expr,
    For,
    If,
    Loc,
    Op,
    Pipe,
    Section,
    Stmt,
    While,
    binary,
    maximum,
    simplify,
)
from tile_passes.order.channels import Action, Barrier, Do, Flag, PointToPoint, Reason, Signal
from tile_passes.order.event_ids import Allocation
from tile_passes.order.tree import Block, Branch, Item, Leave, Repeat, Tree


def write_plan(section: Section, tree: Tree, found: Allocation) -> Section:
    """The section with its order."""
    return replace(section, body=_Writer(found).body(tree.root)) if found.plan.ops else section


@dataclass(frozen=True, slots=True)
class _Writer:
    found: Allocation

    def body(self, block: Block) -> Body:
        plan = self.found.plan
        result: list[Stmt] = []
        for item in block.items:
            result += self.between(plan.before(block, item.position))
            if isinstance(item, Repeat):
                result += self.rounds(item, Do.PRIME)
            if isinstance(item, Leave):
                result += self.between(plan.at_break(item))
            result += self.statement(item)
            if isinstance(item, Repeat):
                result += self.rounds(item, Do.DRAIN)
            result += self.between(plan.after(block, item.position))
        return (*result, *self.between(plan.before(block, len(block.items))))

    def statement(self, item: Item) -> Iterator[Stmt]:
        match item:
            case Branch(stmt=If() as stmt, then=then, orelse=orelse):
                yield replace(stmt, then=self.body(then), orelse=self.body(orelse))
            case Repeat(stmt=For() | While() as stmt, body=body):
                yield replace(stmt, body=self.body(body))
            case _:
                yield item.stmt

    def between(self, actions: Iterable[Action]) -> Iterator[Op]:
        for do, op in actions:
            match op:
                case Barrier(pipe=Pipe.ALL):
                    yield Op(OPS["barrier_all"], (), (), _at(op.reason, later=True))
                case Barrier(pipe=pipe):
                    yield Op(OPS["pipe_barrier"], (), (pipe.value,), _at(op.reason, later=True))
                case PointToPoint():
                    yield flag_op(op, Const(self.found.events[op]), True)
                    yield flag_op(op, Const(self.found.events[op]), False)
                case Flag():
                    match do:
                        case Do.SET:
                            yield flag_op(op, self.turn(op, op.distance), True)
                        case Do.WAIT:
                            yield flag_op(op, self.turn(op, 0), False)
                        case Do.PRIME | Do.DRAIN:
                            for slot in range(op.slots):
                                event = Const(self.found.events[op] + slot)
                                yield flag_op(op, event, do is Do.PRIME)

    def rounds(self, loop: Repeat, do: Do) -> Iterator[Op]:
        """What is raised before a loop and taken back after it, of flags whose rounds matter."""
        stmt = loop.stmt
        for flag in self.found.plan.by_round.get(loop, ()):
            assert isinstance(stmt, For), "only counted loops have rounds"
            start = stmt.start if do is Do.PRIME else maximum(stmt.start, stmt.stop)
            for t in range(flag.distance):
                yield flag_op(flag, self.event(flag, start + t), do is Do.PRIME)

    def turn(self, flag: Flag, ahead: int) -> Expr:
        """The event of this round, or of one ahead."""
        if flag.slots == 1:
            return Const(self.found.events[flag])
        loop = flag.block.loop
        assert loop is not None and isinstance(loop.stmt, For), "only counted loops have slots"
        return self.event(flag, loop.stmt.var + ahead)

    def event(self, flag: Flag, count: Expr) -> Expr:
        return simplify(binary("%", simplify(count), flag.slots)) + self.found.events[flag]


def flag_op(op: Signal, event: Expr, sets: bool) -> Op:
    """One instruction of a flag, told at the statement it is for."""
    pipes = (op.source.value, op.target.value)
    name = "set_flag" if sets else "wait_flag"
    return Op(OPS[name], (event,), pipes, _at(op.reason, later=not sets))


def _at(reason: Reason, later: bool) -> Loc:
    return (reason.later if later else reason.earlier).loc
