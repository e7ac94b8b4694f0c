"""Explain the sync ops of `insert_sync`, as text and as a picture; nothing is inserted.
The words are those of `paragraphs`, the lines those of `drawing`."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import Automatic, Func, Section, Target
from tile_passes.explain.wording import page
from tile_passes.insert_sync import insert_sync, plan_section
from tile_passes.order.conflicts import conflicts
from tile_passes.order.event_ids import Allocation
from tile_passes.order.tree import Tree
from tile_passes.order.unroll import build_tree
from tile_passes.pass_options import leaving
from tile_passes.pipeline import taken_to
from tile_passes.scalar_reads import name_scalar_reads


def explain_sync(func: Func, target: Target) -> str:
    """For every flag and barrier that `insert_sync` puts into the function: where it stands, the
    dependences it is for, and why there is no smaller one.

    A function before phase PLANNED is taken there first, its order left to the compiler. Raises
    what the passes raise.
    """
    from tile_passes.explain.paragraphs import explain

    lines: list[str] = []
    for tree, found in _allocations(func, target):
        lines += ["", *explain(tree, conflicts(tree), found, func.loc.file)]
    return page(func, lines, "no section to order")


def draw_sync(func: Func, target: Target) -> str:
    """An SVG with all dependences of the function beside the sync ops that order them."""
    from tile_passes.explain.drawing import draw
    from tile_passes.order.dependence_graph import dependence_graph

    pictures = [
        (tree, dependence_graph(tree, conflicts(tree)), found)
        for tree, found in _allocations(func, target)
    ]
    return draw(func.name, func.loc.file, pictures)


def _allocations(func: Func, target: Target) -> Iterator[tuple[Tree, Allocation]]:
    func = leaving(func, (Automatic.SYNC,))
    func = name_scalar_reads(taken_to(func, insert_sync, target))
    for section in func.launch.body:
        if isinstance(section, Section):
            tree = build_tree(func, section, target)
            yield tree, plan_section(tree, target)
