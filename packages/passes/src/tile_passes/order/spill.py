"""Change a plan where event ids do not suffice, or a flag may be set while it is still set. Each
transformation keeps the dependences of its op ordered, and may lose further order of the op.

Where ids run out, it takes the first of `SPILLS` whose modelled time is about as good as any. The
list goes from the mostly cheapest to the mostly dearest one, and behind it flags of several
slots give ids of theirs. All pipes stop only where none of that is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tile_ir import Pipe
from tile_ir.quick_dataclasses import replace
from tile_passes.order.channels import Barrier, Flag, Plan, PlanGap, point_to_point
from tile_passes.order.placement import divisors
from tile_passes.order.tree import Tree

# What a spill may take longer than another that comes after it: it may make less of others needed.
TOLERANCE = 1.12


def spill(
    tree: Tree, plan: Plan, op: Flag, rivals: Sequence[Flag], price: Callable[[Plan], float]
) -> Plan:
    """The plan with fewer ids of the op's pair of pipes in use at once. Either the op changes, or
    one of its `rivals`, flags of several slots that are in flight when it is set."""
    tried = [step(tree, plan, op) for step in SPILLS if not op.at_once]
    tried += [step(tree, plan, r) for r in rivals for step in (fewer_ids, one_id_for_all_slots)]
    found = [less for less in tried if less is not None]
    if not found:
        against = _sync_against(tree, plan, op) if op.at_once else None
        return against or full_barrier(tree, plan, op)
    first = price(found[0])
    if len(found) == 1 or first <= price(plan.without(op)) * TOLERANCE:
        return found[0]  # what the others add to that plan makes none faster
    prices = [first, *map(price, found[1:])]
    return next(f for f, p in zip(found, prices, strict=True) if p <= min(prices) * TOLERANCE)


def merge(tree: Tree, plan: Plan, op: Flag) -> Plan | None:
    """One flag for two of a block, set at the later place and waited for at the earlier."""
    found = [
        p
        for p in plan.flags
        if p != op
        and not p.at_once
        and (p.pair, p.slots, p.distance) == (op.pair, op.slots, op.distance)
        and p.can_join(op)
    ]
    if not found:
        return None
    other = max(found, key=lambda p: p.set_after)
    why = "event ids ran out: one flag stands for several"
    reason = replace(op.reason, edges=op.reason.edges + other.reason.edges, why=why)
    return plan.without(op, other).with_ops(replace(op.joined(other), reason=reason))


def fewer_ids(tree: Tree, plan: Plan, op: Flag) -> Plan | None:
    """Some of the slots share an id: fewer iterations are in flight, but more than one."""
    loop = op.block.loop
    if loop is None:
        return None
    slots = max((d for d in divisors(loop.modulus) if d < op.slots), default=1)
    why = f"{slots} event ids for {op.slots} slots: ids allow no more"
    return _with_slots(plan, op, slots, why) if slots > 1 else None


def one_id_for_all_slots(tree: Tree, plan: Plan, op: Flag) -> Plan | None:
    """The same order, and more."""
    why = "one event id for all slots: ids or loops allow no more"
    return _with_slots(plan, op, 1, why) if op.slots > 1 else None


def _with_slots(plan: Plan, op: Flag, slots: int, why: str) -> Plan:
    distance = min(op.distance, slots - 1 if op.set_first else slots)
    reason = replace(op.reason, why=why)
    less = replace(op, distance=distance, slots=slots, most=slots, reason=reason)
    return plan.without(op).with_ops(less)


def raise_before_own_loop(tree: Tree, plan: Plan, op: Flag) -> Plan | None:
    """Not before all loops around: the id is free outside."""
    if not op.carried or op.local or op.home() is op.block.loop:
        return None
    reason = replace(op.reason, why="event ids ran out: raised before its own loop only")
    return plan.without(op).with_ops(replace(op, local=True, reason=reason))


def end_use_before(tree: Tree, plan: Plan, op: Flag) -> Plan | None:
    """A set and wait the other way ends the use of ids right before the flag is set."""
    if op.carried:
        return None
    return _sync_against(tree, plan, op)


def full_barrier(tree: Tree, plan: Plan, op: Flag) -> Plan:
    """A barrier of all pipes for the dependences of the op."""
    kind = "a set and wait" if op.at_once else "a flag"
    reason = replace(op.reason, why=f"no event id was left for {kind} {_words(op)}")
    return plan.without(op).with_ops(Barrier(Pipe.ALL, op.block, op.wait_before, reason))


SPILLS: tuple[Callable[[Tree, Plan, Flag], Plan | None], ...] = (
    merge,
    fewer_ids,
    one_id_for_all_slots,
    raise_before_own_loop,
    end_use_before,
)


def hold_back(tree: Tree, plan: Plan, early: Sequence[Flag]) -> Plan:
    """The plan with flags set only when their last wait is over."""
    more = [op for op in early if _more_turns(op)]
    # What holds one flag back may hold back the others too.
    for op in more or early[:1]:
        if slots := _more_turns(op):
            plan = plan.without(op).with_ops(replace(op, slots=slots))
        elif op.slots > 1 and op.carried:
            # What the loop took back when it was last left must be over when it is entered again.
            home = op.home()
            plan = (
                _sync_against(tree, plan, op, (home.block, home.position, False))
                or _answer(tree, plan, op)
                or one_id_for_all_slots(tree, plan, op)
                or plan
            )
        else:
            plan = _sync_against(tree, plan, op) or full_barrier(tree, plan, op)
    return plan


def _more_turns(op: Flag) -> int | None:
    """How many ids the iterations of the loop could take instead, if more."""
    loop = op.block.loop
    if op.at_once or loop is None or (op.carried and op.block is not loop.body):
        return None
    return next((s for s in divisors(loop.modulus) if op.slots < s <= op.most), None)


def _answer(tree: Tree, plan: Plan, op: Flag) -> Plan | None:
    """The source learns an iteration later that the target has waited, by a flag the other way."""
    loop = op.block.loop
    if loop is None or op.block is not loop.body or op.pair[::-1] not in tree.flag_pairs:
        return None
    slots = next(s for s in divisors(loop.modulus) if s > 1)
    why = f"flags {_words(op)} are set again, and their waits must be over"
    # No dependence: the flags of the op are set again.
    reason = replace(op.reason, edges=(), why=why)
    places = (op.wait_before, op.set_after)
    answer = Flag(op.target, op.source, op.block, *places, 1, slots, reason)
    return None if answer in plan.ops else plan.with_ops(answer)


def _sync_against(tree: Tree, plan: Plan, op: Flag, gap: PlanGap | None = None) -> Plan | None:
    """The source waits for all the target was given so far, at a gap before it sets the flag."""
    if op.pair[::-1] not in tree.flag_pairs:
        return None
    why = f"flags {_words(op)} are set again next, and their last waits must be over"
    turn = 0 if op.turn is None else op.turn - 1
    gap = gap or op.at_once or (op.block, op.set_after, True)
    reason = replace(op.reason, edges=(), why=why)
    against = point_to_point(op.target, op.source, gap, reason, turn)
    there = any(p.at_once and replace(p, turn=turn) == against for p in plan.flags)
    return None if there else plan.with_ops(against)


def give_up(tree: Tree, plan: Plan, ops: Iterable[Flag]) -> Plan:
    """Full barriers for these ops and for all that their pairs of pipes may still need."""
    for op in ops:
        plan = full_barrier(tree, plan, op).with_ops(closed=[op.pair])
    return plan


def _words(op: Flag) -> str:
    return f"{op.source.value} -> {op.target.value}"
