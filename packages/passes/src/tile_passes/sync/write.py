"""The statements of a section with the instructions of a plan among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tile_ir import OPS, For, If, Op, Section, While
from tile_ir.bounds import simplify
from tile_ir.expr import Const, Expr, binary, maximum
from tile_ir.location import Loc
from tile_ir.machine import Pipe
from tile_ir.nodes import Body, Stmt
from tile_passes.sync.fences import Action, Barrier, Do, Fence, Flag, Plan, Reason
from tile_passes.sync.tree import Block, Branch, Item, Leave, Repeat, Tree


def write_plan(section: Section, tree: Tree, plan: Plan) -> Section:
    """The section with its order."""
    return replace(section, body=_body(tree.root, plan)) if plan.pieces else section


def _body(block: Block, plan: Plan) -> Body:
    before, after = plan.before.get(block, {}), plan.after.get(block, {})
    result: list[Stmt] = []
    for item in block.items:
        result += _instructions(before.get(item.position, ()))
        if isinstance(item, Repeat):
            result += _rounds(item, plan, Do.PRIME)
        if isinstance(item, Leave):
            result += _instructions(plan.at_break(item))
        result += _statement(item, plan)
        if isinstance(item, Repeat):
            result += _rounds(item, plan, Do.DRAIN)
        result += _instructions(after.get(item.position, ()))
    return (*result, *_instructions(before.get(len(block.items), ())))


def _statement(item: Item, plan: Plan) -> Iterator[Stmt]:
    match item:
        case Branch(stmt=If() as stmt, then=then, orelse=orelse):
            yield replace(stmt, then=_body(then, plan), orelse=_body(orelse, plan))
        case Repeat(stmt=For() | While() as stmt, body=body):
            yield replace(stmt, body=_body(body, plan))
        case _:
            yield item.stmt


def _instructions(actions: Iterable[Action]) -> Iterator[Op]:
    for do, piece in actions:
        match piece:
            case Barrier(pipe=Pipe.ALL):
                yield Op(OPS["barrier_all"], (), (), _at(piece.reason, later=True))
            case Barrier(pipe=pipe):
                yield Op(OPS["pipe_barrier"], (), (pipe.value,), _at(piece.reason, later=True))
            case Fence():
                yield flag_op(piece, Const(piece.event), True)
                yield flag_op(piece, Const(piece.event), False)
            case Flag():
                match do:
                    case Do.SET:
                        yield flag_op(piece, _turn(piece, piece.distance), True)
                    case Do.WAIT:
                        yield flag_op(piece, _turn(piece, 0), False)
                    case Do.PRIME | Do.DRAIN:
                        for slot in range(piece.slots):
                            yield flag_op(piece, Const(piece.event + slot), do is Do.PRIME)


def _rounds(loop: Repeat, plan: Plan, do: Do) -> Iterator[Op]:
    """What is raised before a loop and taken back after it, of flags whose rounds matter."""
    stmt = loop.stmt
    for piece in plan.by_round.get(loop, ()):
        assert isinstance(stmt, For), "only counted loops have rounds"
        start = stmt.start if do is Do.PRIME else maximum(stmt.start, stmt.stop)
        for t in range(piece.distance):
            yield flag_op(piece, _event(piece, start + t), do is Do.PRIME)


def _turn(piece: Flag, ahead: int) -> Expr:
    """The event of this round, or of one ahead."""
    if piece.slots == 1:
        return Const(piece.event)
    loop = piece.block.loop
    assert loop is not None and isinstance(loop.stmt, For), "only counted loops have slots"
    return _event(piece, loop.stmt.var + ahead)


def _event(piece: Flag, count: Expr) -> Expr:
    return simplify(binary("%", simplify(count), piece.slots)) + piece.event


def flag_op(piece: Flag | Fence, event: Expr, sets: bool) -> Op:
    """One instruction of a flag, told at the statement it is for."""
    pipes = (piece.source.value, piece.target.value)
    name = "set_flag" if sets else "wait_flag"
    return Op(OPS[name], (event,), pipes, _at(piece.reason, later=not sets))


def _at(reason: Reason, later: bool) -> Loc:
    return (reason.later if later else reason.earlier).loc
