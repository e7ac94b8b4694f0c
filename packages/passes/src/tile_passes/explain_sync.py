"""What `insert_sync` does to a function and why, as text and as a picture; nothing is inserted."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import Func, Phase, Section, Target
from tile_passes.driver import PassOptions
from tile_passes.insert_sync import plan_section
from tile_passes.pipeline import run_pipeline
from tile_passes.plan_memory import plan_memory
from tile_passes.sync.conflicts import conflicts
from tile_passes.sync.explain import explain, kinds_covered
from tile_passes.sync.fences import Plan
from tile_passes.sync.scalar_reads import name_scalar_reads
from tile_passes.sync.tree import Tree, build_tree
from tile_passes.sync.user_flags import check_user_flags


def explain_sync(func: Func, target: Target, options: PassOptions | None = None) -> str:
    """For every flag and barrier that `insert_sync` puts into the function: where it stands, the
    hazard it is for, and why there is no smaller one.

    A function before phase PLANNED is taken there first, with `options`. Raises what the passes
    raise.
    """
    lines: list[str] = []
    for tree, found, plan in _plans(func, target, options):
        lines += ["", *explain(tree, found, plan, func.loc.file)]
    head = f"{func.name} ({func.loc.file}:{func.loc.line})"
    return "\n".join([head, *(lines or ["", "no section to order"])]) + "\n"


def draw_sync(func: Func, target: Target, options: PassOptions | None = None) -> str:
    """An SVG with all hazards of the function beside the flags and barriers that order them."""
    from tile_passes.sync.drawing import draw
    from tile_passes.sync.graph import hazard_graph, kept_graph

    pictures = [
        (tree, hazard_graph(tree, found), kept_graph(tree, plan, kinds_covered(tree, found, plan)))
        for tree, found, plan in _plans(func, target, options)
    ]
    return draw(func.name, func.loc.file, pictures)


def _plans(
    func: Func, target: Target, options: PassOptions | None
) -> Iterator[tuple[Tree, list[int], Plan]]:
    if func.phase < Phase.PLANNED:
        before = options or PassOptions()
        stop = PassOptions(before.skip, before.automatic, stop_after=plan_memory.name)
        func = run_pipeline(func, target, stop).func
    func = name_scalar_reads(func)
    for section in func.launch.body:
        if isinstance(section, Section):
            tree = build_tree(func, section)
            check_user_flags(tree)
            yield tree, conflicts(tree), plan_section(tree, target)
