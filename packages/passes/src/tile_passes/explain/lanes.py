"""Explain the decision of `split_vector_lanes` for each buffer and each loop, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tile_ir import Buffer, For, Func, Loc, Target, walk
from tile_passes.explain.wording import page

if TYPE_CHECKING:
    from tile_passes.lanes.plan import LanePlan
    from tile_passes.lanes.relations import Node, Reason


def explain_lanes(func: Func, target: Target) -> str:
    """A line for every ub buffer and every loop of a function whose lanes are the compiler's."""
    if func.launch.threads != 2:
        return "the lanes of this kernel are its own\n"
    from tile_passes.lanes.blocks import with_blocks_of_lanes
    from tile_passes.lanes.plan import plan_lanes

    plan = plan_lanes(func, target)
    dealt = with_blocks_of_lanes(func, plan, target) is not None
    return page(func, ["", *_lines(func, plan, dealt)], "")


def lanes_of_buffers(func: Func, target: Target) -> dict[Loc, str]:
    """The part of each ub buffer that a vector core has, by the place of its allocation; nothing
    where the lanes are the kernel's own."""
    if func.launch.threads != 2:
        return {}
    from tile_passes.lanes.plan import plan_lanes

    plan = plan_lanes(func, target)
    return {buffer.loc: decision for buffer, decision in _decisions(func, plan)}


def _decisions(func: Func, plan: LanePlan) -> Iterator[tuple[Buffer, str]]:
    for alloc in func.launch.allocs:
        buffer = alloc.buffer
        dims = [n for n in plan.found.sizes if not isinstance(n, For) and n.buffer is buffer]
        if dims:
            yield buffer, _decision(dims, plan)


def _lines(func: Func, plan: LanePlan, dealt: bool) -> Iterator[str]:
    from tile_passes.lanes.plan import doubled_work

    reason = plan.alone
    if dealt and reason is None:
        work = doubled_work(plan)
        reason = max(work, key=lambda r: work[r])
    if reason is not None:
        who = "each vector core runs blocks of its own" if dealt else "one vector core works"
        yield f"{who}, because {_why(reason)}"
    for buffer, decision in _decisions(func, plan):
        yield f"`{buffer.name}` at line {buffer.loc.line}: {decision}"
    for stmt in walk(func.launch.body):
        if isinstance(stmt, For):
            yield f"loop `{stmt.var.name}` at line {stmt.loc.line}: {_decision([stmt], plan)}"


def _decision(nodes: Sequence[Node], plan: LanePlan) -> str:
    for node in nodes:
        if node in plan.choice.sizes:
            size = plan.choice.sizes[node]
            what = "iterations" if isinstance(node, For) else f"rows of dimension {node.number}"
            return f"split {what}: {size // 2} + {size - size // 2}"
    if plan.alone is not None:
        return "whole on one lane" + _because(nodes, plan)
    return "whole on both lanes" + _because(nodes, plan)


def _because(nodes: Sequence[Node], plan: LanePlan) -> str:
    large = [n for n in nodes if plan.found.sizes.get(n, 0) > 1]
    known = [n for n in [*large, *nodes] if n in plan.choice.whole]
    if known:
        return f", because {_why(plan.choice.whole[known[0]])}"
    return ", because other rows are split where it is used" if large else ", as it has one row"


def _why(reason: Reason) -> str:
    return f"{reason.text} (line {reason.loc.line})"
