"""What `insert_sync` does to a function and why, as text and as a picture; nothing is inserted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tile_ir import Automatic, Func, Section, Target
from tile_passes.driver import run_passes
from tile_passes.insert_sync import insert_sync, plan_section
from tile_passes.pipeline import PIPELINE
from tile_passes.sync.build_tree import build_tree
from tile_passes.sync.conflicts import conflicts
from tile_passes.sync.explain import explain, kinds_covered
from tile_passes.sync.fences import Plan
from tile_passes.sync.scalar_reads import name_scalar_reads
from tile_passes.sync.tree import Tree


def explain_sync(func: Func, target: Target) -> str:
    """For every flag and barrier that `insert_sync` puts into the function: where it stands, the
    hazard it is for, and why there is no smaller one.

    A function before phase PLANNED is taken there first, its order left to the compiler. Raises
    what the passes raise.
    """
    lines: list[str] = []
    for tree, found, plan in _plans(func, target):
        lines += ["", *explain(tree, found, plan, func.loc.file)]
    head = f"{func.name} ({func.loc.file}:{func.loc.line})"
    return "\n".join([head, *(lines or ["", "no section to order"])]) + "\n"


def draw_sync(func: Func, target: Target) -> str:
    """An SVG with all hazards of the function beside the flags and barriers that order them."""
    from tile_passes.sync.drawing import draw
    from tile_passes.sync.graph import hazard_graph, kept_graph

    pictures = [
        (tree, hazard_graph(tree, found), kept_graph(tree, plan, kinds_covered(tree, found, plan)))
        for tree, found, plan in _plans(func, target)
    ]
    return draw(func.name, func.loc.file, pictures)


def _plans(func: Func, target: Target) -> Iterator[tuple[Tree, list[int], Plan]]:
    func = replace(func, automatic=func.automatic | {Automatic.SYNC})
    before = PIPELINE[: PIPELINE.index(insert_sync)]
    due = [
        p for p in before if (p.needs >= func.phase if p.gives is None else p.gives > func.phase)
    ]
    func = run_passes(func, due, target).func
    func = name_scalar_reads(func)
    for section in func.launch.body:
        if isinstance(section, Section):
            tree = build_tree(func, section, target)
            yield tree, conflicts(tree), plan_section(tree, target)
