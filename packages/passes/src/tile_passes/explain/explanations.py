"""Which passes can say what they decide and why; a pass that can has a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tile_ir import Automatic, Func, Target
from tile_passes.explain.between_cores import explain_signals, explain_streams, explain_workspaces
from tile_passes.explain.buffers import explain_buffers
from tile_passes.explain.grid import explain_grid
from tile_passes.explain.lanes import explain_lanes
from tile_passes.explain.memory import explain_memory
from tile_passes.explain.order import draw_sync, explain_sync
from tile_passes.explain.pipelines import explain_schedules, explain_stages
from tile_passes.explain.tiles import explain_tiles
from tile_passes.infer_memory import infer_memory
from tile_passes.inject_pipeline import inject_pipeline
from tile_passes.insert_cross_core_sync import insert_cross_core_sync
from tile_passes.insert_sync import insert_sync
from tile_passes.merge_streams import merge_streams
from tile_passes.pass_options import leaving
from tile_passes.persistent import persistent
from tile_passes.pipeline import apply_passes
from tile_passes.pipeline_across_cores import pipeline_across_cores
from tile_passes.place_buffers import place_buffers
from tile_passes.plan_workspace import plan_workspace
from tile_passes.retile_blocks import retile_blocks
from tile_passes.split_vector_lanes import split_vector_lanes

EXPLANATIONS: dict[str, Callable[[Func, Target], str]] = {
    place_buffers.name: explain_buffers,
    infer_memory.name: explain_memory,
    retile_blocks.name: explain_tiles,
    split_vector_lanes.name: explain_lanes,
    persistent.name: explain_grid,
    plan_workspace.name: explain_workspaces,
    merge_streams.name: explain_streams,
    pipeline_across_cores.name: explain_stages,
    insert_cross_core_sync.name: explain_signals,
    inject_pipeline.name: explain_schedules,
    insert_sync.name: explain_sync,
}


def explained(func: Func, names: Sequence[str], target: Target) -> Iterator[str]:
    """The decisions of each of the named passes and their reasons, of those with an explanation;
    `insert_sync` if none has one. The passes named before run first, and the
    order of pipes is left to the compiler."""
    func = leaving(func, (Automatic.SYNC,))
    telling = [name for name in names if name in EXPLANATIONS] or [insert_sync.name]
    done = 0
    for name in telling:
        before = names.index(name) if name in names else len(names)
        func = apply_passes(func, names[done:before], target)
        done = before
        yield EXPLANATIONS[name](func, target)


def drawn(func: Func, names: Sequence[str], target: Target) -> str:
    """`draw_sync` of a function behind the passes named before `insert_sync`."""
    before = names[: names.index(insert_sync.name)] if insert_sync.name in names else names
    func = leaving(func, (Automatic.SYNC,))
    return draw_sync(apply_passes(func, before, target), target)
