"""Where the order of the reduced graph goes: one sync op per edge, the signal after the source, the
wait before the sink, in the block that is their nearest common dominator.

Needs: the edges that are left, and the plan so far. Gives: the plan with ops for them. Every other
place is a transformation with a name and a condition of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from tile_ir import Pipe
from tile_ir.quick_dataclasses import replace
from tile_passes.order.channels import Barrier, Flag, Pair, Plan, Reason, SyncOp, point_to_point
from tile_passes.order.dependence_graph import Edge
from tile_passes.order.tree import Block, Branch, Tree


def place(tree: Tree, plan: Plan, edges: Iterable[Edge]) -> Plan:
    """The plan with ops for these edges; a full barrier where all ops of one are there already."""
    there = {op for op in plan.ops if not (isinstance(op, Flag) and op.local)}
    placed: dict[SyncOp, list[Edge]] = {}
    for edge in edges:
        if edge.before_branch and (moved := wait_before_branch(tree, plan, edge)):
            plan, flag = moved
            placed.setdefault(flag, [*flag.reason.edges]).append(edge)
            continue
        ops = ops_for(tree, plan.closed, edge)
        if there.issuperset(ops):
            reason = replace(ops[0].reason, why="a flag for it does not order all iterations")
            ops = (Barrier(Pipe.ALL, edge.later.item.block, edge.later.item.position, reason),)
        for op in ops:
            placed.setdefault(op, []).append(edge)
    return plan.with_ops(
        *(
            replace(op, reason=replace(op.reason, edges=tuple(found)))
            for op, found in placed.items()
        )
    )


def ops_for(tree: Tree, closed: frozenset[Pair], edge: Edge) -> tuple[SyncOp, ...]:
    """The ops that order an edge: a barrier of its pipe, or a flag. At an unlikely branch, one pipe
    waits for all earlier work of the other. It does so too where there are no such flags, by way of
    a third pipe; or else all pipes do."""
    reason = Reason(edge.earlier, edge.later.item)
    source, target = edge.source, edge.target
    block, first, position, distance, slots = edge.block, edge.first, edge.then, 0, 1
    if source is target:
        if not edge.unlikely and not edge.distance:
            block, position = behind_branch(edge)
        return (Barrier(source, block, position, reason),)
    if edge.distance:
        block, first, position, distance, slots = across_iterations(edge)
    gap = block, position, False
    if _has_flags(tree, closed, source, target):
        if edge.unlikely or (edge.distance and between_iterations(tree, edge)):
            return (point_to_point(source, target, gap, reason),)
        return (Flag(source, target, block, first, position, distance, slots, reason),)
    pair = f"{source.value} to {target.value}"
    if (source, target) in closed:
        reason = replace(reason, why=f"no event ids are left from {pair}")
        return (Barrier(Pipe.ALL, block, position, reason),)
    reason = replace(reason, why=f"the core has no flags from {pair}")
    # What the scalar unit waits for holds back all pipes: it comes last.
    for via in sorted(tree.pipes, key=lambda pipe: pipe is Pipe.S):
        if _has_flags(tree, closed, source, via) and _has_flags(tree, closed, via, target):
            return (
                point_to_point(source, via, gap, reason),
                point_to_point(via, target, gap, reason, turn=1),
            )
    return (Barrier(Pipe.ALL, block, position, reason),)


def _has_flags(tree: Tree, closed: frozenset[Pair], source: Pipe, target: Pipe) -> bool:
    """Whether there are flags between two pipes, and ids left."""
    return (source, target) in tree.flag_pairs and (source, target) not in closed


def between_iterations(tree: Tree, edge: Edge) -> bool:
    """Whether no work stands between the source in one iteration and the sink in the next, and none
    of the source's pipe before the loop, which is the outermost. A set and wait at the head of the
    loop then orders the same as a flag raised before it."""
    block, (loop, *around) = edge.block, edge.block.loops()
    between = block.bits(edge.first + 1, len(block.items)) | block.bits(0, edge.then)
    before = loop.block.bits(0, loop.position) & tree.masks[edge.source]
    return block is loop.body and loop.modulus == 1 and not (around or between or before)


def across_iterations(edge: Edge) -> tuple[Block, int, int, int, int]:
    """Block, places, distance and slots of a flag that is raised before the loop (`Flag.home`), and
    of which each iteration takes one and gives one back, or breaks by way of `Plan.at`."""
    block, first, then, distance = edge.block, edge.first, edge.then, edge.distance
    loop = block.loop
    assert loop is not None, "only loops carry"
    if first < then:
        # Set before it is waited for, in the same iteration but for a later one: which flag is
        # meant depends on the iteration, so that it belongs to the body of the loop.
        block = loop.body
        first, then = block.place(edge.earlier), block.place(edge.later.item)
    if first < then:
        slots = next(s for s in divisors(loop.modulus) if s > distance)
    elif block is loop.body:
        # Each iteration takes and gives back the flag of its slot; a shorter distance orders more.
        slots = distance = max(s for s in divisors(loop.modulus) if s <= distance)
    else:
        slots = distance = math.gcd(loop.modulus, distance)
    return block, first, then, distance, slots


def behind_branch(edge: Edge) -> tuple[Block, int]:
    """Where a barrier goes: before the later item, but at the end of the branch in which the
    earlier one stands, so that nothing waits where that branch is not taken. Legal, since the pipe
    does nothing else in between that the later item could need ordered."""
    block, position = edge.block, edge.then
    item = edge.block.items[edge.first]
    while isinstance(item, Branch):
        block = item.then if item.then.holds(edge.earlier) else item.orelse
        position = len(block.items)
        item = block.items[block.place(edge.earlier)]
    return block, position


def wait_before_branch(tree: Tree, plan: Plan, edge: Edge) -> tuple[Plan, Flag] | None:
    """The plan without a flag that is waited for behind an unlikely branch, and that flag waited
    for before it: one wait serves both. Legal where the pipe has no likely work between the two
    places, which would be held back, and where the set still comes first or still comes after."""
    owner = edge.block.owner
    assert owner is not None, "a branch"
    around, position = owner.block, owner.position
    for op in plan.ops:
        if (
            isinstance(op, Flag)
            and (op.source, op.target, op.block) == (edge.source, edge.target, around)
            and position < op.wait_before
            and (op.set_after < position) == op.set_first
            and not around.bits(position, op.wait_before) & tree.masks[edge.target] & ~tree.seldom
        ):
            return plan.without(op), replace(op, wait_before=position)
    return None


def divisors(number: int) -> Iterator[int]:
    """All of them, the smallest first."""
    return (d for d in range(1, number + 1) if number % d == 0)
