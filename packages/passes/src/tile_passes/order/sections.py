"""Orders every section of a function by a plan of its own. How a plan is made stands elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from tile_ir import Func, Section, Target
from tile_passes.order.event_ids import Allocation
from tile_passes.order.tree import Tree
from tile_passes.order.unroll import build_tree
from tile_passes.order.write import write_plan
from tile_passes.scalar_reads import name_scalar_reads


def order_sections(func: Func, target: Target, plan: Callable[[Tree, Target], Allocation]) -> Func:
    """The planned function with the flags and barriers of the plan in each section."""
    func = name_scalar_reads(func)

    def ordered(section: Section) -> Section:
        tree = build_tree(func, section, target)
        return write_plan(section, tree, plan(tree, target))

    body = tuple(ordered(s) if isinstance(s, Section) else s for s in func.launch.body)
    changed = any(a is not b for a, b in zip(body, func.launch.body, strict=True))
    return func.with_body(body) if changed else func
