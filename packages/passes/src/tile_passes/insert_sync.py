"""Orders the pipes of every core by flags and barriers: what conflicts, and nothing else."""

from __future__ import annotations

from tile_ir import Automatic, Func, Phase, Target
from tile_passes.passdef import ir_pass
from tile_passes.sync.conflicts import conflicts
from tile_passes.sync.fences import Plan
from tile_passes.sync.search import Numbers, find_plan
from tile_passes.sync.sections import order_sections
from tile_passes.sync.settle import settle
from tile_passes.sync.tree import Tree
from tile_passes.sync.user_flags import check_user_flags


@ir_pass(needs=Phase.PLANNED, optional=True)
def insert_sync(func: Func, target: Target) -> Func:
    """Insert the flags and barriers that order all conflicting accesses of each core.

    Needs, gives: PLANNED. Idea: hazards between physical byte ranges; what each pipe surely knows
    to be complete, by facts that hold on all paths and in all rounds of loops; a flag from right
    after the earlier access to right before the later one, once for each slot of what is buffered
    several times; ids by colouring. Flags of the user stay and count. Limits: the order between
    cores is that of `insert_cross_core_sync` or of the user.
    """
    if Automatic.SYNC not in func.automatic:
        return func
    return order_sections(func, target, plan_section)


def plan_section(tree: Tree, target: Target) -> Plan:
    """What orders one section, with event ids.

    Raises KernelError where flags of the user's are wrong by themselves.
    """
    check_user_flags(tree)
    found = conflicts(tree)
    numbers = Numbers(tree.free_bit())
    plan = find_plan(tree, found, numbers)
    settle(tree, found, plan, numbers, target)
    return plan
