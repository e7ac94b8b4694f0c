"""Write the instructions of a plan among the statements of a section, or of a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from tile_ir import (
    OPS,
    Body,
    Const,
    Core,
    Expr,
    For,
    Loc,
    Op,
    Pipe,
    Region,
    binary,
    maximum,
    simplify,
    with_bodies,
)
from tile_passes.order.channels import AROUND, Action, Barrier, Counter, Do, Flag
from tile_passes.order.event_ids import Allocation
from tile_passes.order.tree import Block, Item, Repeat, Tree
from tile_passes.streams import items as streams


def written(tree: Tree, found: Allocation) -> Body:
    """Return the statements of a tree with the order of its places."""
    return _body(found, tree.root, tree.core)


def _body(found: Allocation, block: Block, within: Core) -> Body:
    plan = found.plan
    result: list[streams.Item] = []
    for item in block.items:
        before, behind = (plan.at(block, item.position, side) for side in (False, True))
        stmt = item.stmt
        if isinstance(item, Repeat):
            before = (*before, *plan.at(item.body, AROUND, False))
            behind = (*plan.at(item.body, AROUND, True), *behind)
        if item.blocks:
            stmt = with_bodies(stmt, tuple(_body(found, b, item.core) for b in item.blocks))
        result += _between(found, before, item)
        result.append(streams.Item(stmt, item.core, 0))
        result += _between(found, behind, item)
    result += _between(found, plan.at(block, len(block.items), False), None)
    return streams.closed(result, within)


def _between(
    found: Allocation, actions: Iterable[Action], at: Item | None
) -> Iterator[streams.Item]:
    for do, op in actions:
        match op:
            case Barrier(pipe=pipe):
                every = pipe is Pipe.ALL
                name, attrs = ("barrier_all", ()) if every else ("pipe_barrier", (pipe.value,))
                yield _instruction(name, (), attrs, op.reason.later.loc)
            case Counter():
                assert at is not None, "signals stand beside items"
                loc = op.home().loc if do.around else at.loc
                for _ in op.turns(do):
                    yield from _signal(found, op, do.sets, loc)
            case Flag(source=source, target=target):
                name, stmt = "wait_flag", op.reason.later
                if do.sets:
                    name, stmt = "set_flag", op.reason.earlier
                for event in _events(found, op, do):
                    yield _instruction(name, (event,), (source.value, target.value), stmt.loc)


def _events(found: Allocation, op: Flag, do: Do) -> Iterator[Expr]:
    """The events of this iteration, or those that are raised before a loop or taken back after."""
    first = found.events[op]
    if op.slots == 1 or (do.around and op.by_slot):
        yield from (Const(first + turn % op.slots) for turn in op.turns(do))
        return
    loop = op.block.loop
    assert loop is not None and isinstance(loop.stmt, For), "only counted loops have slots"
    start, stop, var = loop.stmt.start, loop.stmt.stop, loop.stmt.var
    count = {Do.PRIME: start, Do.DRAIN: maximum(start, stop)}.get(do, var)
    for turn in op.turns(do):
        yield simplify(binary("%", simplify(count + turn), op.slots)) + first


def _signal(found: Allocation, op: Counter, sets: bool, loc: Loc) -> Iterator[streams.Item]:
    """A cross-core flag; what the scalar unit has stored or is about to load leaves its cache."""
    assert isinstance(op.source, Core) and isinstance(op.target, Core), "cores have counters"
    number = Const(found.events[op])
    if sets:
        stored = (d.before for d in op.covers if d.before.pipe is Pipe.S and d.before.writes)
        yield from (_without_cache(a.region, loc, op.source) for a in islice(stored, 1))
        attrs = op.pipe.value, 1 if op.source is op.target else 2
        yield _instruction("set_cross_flag", (number,), attrs, loc, op.source)
        return
    yield _instruction("wait_cross_flag", (number,), ("",), loc, op.target)
    handed = (d.after for d in op.covers if d.before.writes)
    loaded = (a for a in handed if a.pipe is Pipe.S and not a.writes)
    yield from (_without_cache(a.region, loc, op.target) for a in islice(loaded, 1))


def _instruction(
    name: str,
    operands: tuple[Expr | Region, ...],
    attrs: tuple[str | int, ...],
    loc: Loc,
    core: Core = Core.EITHER,
) -> streams.Item:
    return streams.Item(Op(OPS[name], operands, attrs, loc), core, 0)


def _without_cache(region: Region, loc: Loc, core: Core) -> streams.Item:
    attrs = ("entire_data_cache", "cacheline_out")
    whole = Region.whole(region.buffer)
    return _instruction("datacachecleanandinvalid_experiment", (whole,), attrs, loc, core)
