"""Orders the pipes of every core by flags and barriers: what conflicts, and nothing else."""

from __future__ import annotations

from tile_ir import Automatic, Func, Phase, Target, has_generated
from tile_passes.order.conflicts import conflicts, with_generated
from tile_passes.order.event_ids import Allocation
from tile_passes.order.plan_section import order_sections, plan_for, plan_section
from tile_passes.order.tree import Tree
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.PLANNED, optional=True)
def insert_sync(func: Func, target: Target) -> Func:
    """Insert the flags and barriers that order all conflicting accesses of each core.

    Needs, gives: PLANNED. Idea: the dependences between accesses of physical bytes, loops unrolled
    to the residues that slots go by; what is left of them after transitive reduction; a flag for
    each, from right after the earlier access to right before the later one, once for each slot of
    what is buffered several times; event ids by colouring an interference graph. Flags of the user
    stay and count; in a manually ordered kernel only generated statements are ordered. Limits:
    whether the user's flags are right is for `check_sync` to say; the order between cores is that
    of `insert_cross_core_sync` or of the user.
    """
    if Automatic.SYNC in func.automatic:
        return order_sections(func, target, plan_section)
    if not has_generated(func.launch.body):
        return func

    def plan(tree: Tree, target: Target) -> Allocation:
        return plan_for(tree, conflicts(tree, with_generated(tree)), target)

    return order_sections(func, target, plan)
