"""The order of passes, all of them by name, and running them in that order. How one is run is in
`driver`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tile_ir import Automatic, Func, KernelError, Phase, Target, TileError, verify
from tile_ir.quick_dataclasses import replace
from tile_passes.accept_manual_sync import accept_manual_sync
from tile_passes.adopt_scratch import adopt_scratch
from tile_passes.assign_cores import assign_cores
from tile_passes.check_written import check_written
from tile_passes.deepen_products import deepen_products
from tile_passes.defer_epilogues import defer_epilogues
from tile_passes.distribute_loops import distribute_loops
from tile_passes.driver import check_known, run_passes
from tile_passes.flatten_places import flatten_places
from tile_passes.group_blocks import group_blocks
from tile_passes.guard_accesses import guard_accesses
from tile_passes.hand_over_fractals import hand_over_fractals
from tile_passes.hoist_invariants import hoist_invariants
from tile_passes.hold_own_elements import hold_own_elements
from tile_passes.infer_memory import infer_memory
from tile_passes.inject_pipeline import inject_pipeline
from tile_passes.insert_cross_core_sync import insert_cross_core_sync
from tile_passes.insert_sync import insert_sync
from tile_passes.join_iterations import join_iterations
from tile_passes.lower_tile_ops import lower_tile_ops
from tile_passes.merge_rows import merge_rows
from tile_passes.merge_streams import merge_streams
from tile_passes.narrow_block_barriers import narrow_block_barriers
from tile_passes.overlap_iterations import overlap_iterations
from tile_passes.pad_rows import pad_rows
from tile_passes.parallel.serial_forms import for_want_of_room
from tile_passes.pass_options import FOR_SPEED, PassOptions, PassResult, leaving, left_by
from tile_passes.passdef import Pass
from tile_passes.persistent import persistent
from tile_passes.pipeline_across_cores import pipeline_across_cores
from tile_passes.place_buffers import place_buffers
from tile_passes.plan_memory import plan_memory
from tile_passes.plan_workspace import plan_workspace
from tile_passes.remove_dead import remove_dead
from tile_passes.retile_blocks import retile_blocks
from tile_passes.settle_choices import settle_choices
from tile_passes.simplify import simplify
from tile_passes.split_cube_vector import split_cube_vector
from tile_passes.split_vector_lanes import split_vector_lanes
from tile_passes.split_webs import split_webs
from tile_passes.stage_carried_stores import stage_carried_stores
from tile_passes.stage_copies import stage_copies
from tile_passes.stage_scalar_stores import stage_scalar_stores
from tile_passes.tasks.split import task_loops, tasks_of
from tile_passes.use_unit_flags import use_unit_flags
from tile_passes.vectorize_parallel import vectorize_in_shared_room, vectorize_parallel

PIPELINE: tuple[Pass, ...] = (
    simplify,
    flatten_places,
    settle_choices,
    place_buffers,
    infer_memory,
    hold_own_elements,
    group_blocks,
    pad_rows,
    stage_copies,
    adopt_scratch,
    retile_blocks,
    check_written,
    split_vector_lanes,
    persistent,
    narrow_block_barriers,
    plan_workspace,
    assign_cores,
    merge_streams,
    overlap_iterations,
    merge_rows,
    vectorize_parallel,
    guard_accesses,
    stage_scalar_stores,
    deepen_products,
    lower_tile_ops,
    hoist_invariants,
    hand_over_fractals,
    join_iterations,
    distribute_loops,
    pipeline_across_cores,
    defer_epilogues,
    insert_cross_core_sync,
    split_cube_vector,
    simplify,
    remove_dead,
    stage_carried_stores,
    split_webs,
    inject_pipeline,
    plan_memory,
    use_unit_flags,
    insert_sync,
    accept_manual_sync,
)
PASSES: dict[str, Pass] = {p.name: p for p in PIPELINE}


def run_pipeline(func: Func, target: Target, options: PassOptions | None = None) -> PassResult:
    """From a traced kernel to IR that can be emitted. Where tiles of the compiler's have no room,
    they share it with those of the user's, or some of their rows are done at a time. Changes made
    for speed alone are left out where a kernel fails with them. Each task of a kernel that has
    tasks goes through by itself."""
    options = options or PassOptions()
    if task_loops(func):
        return _run_tasks(func, target, options)
    func = left_by(func, options)
    ways = _ways(func)
    for way in ways:
        try:
            found = _run(way, target, options)
        except KernelError:
            if way is ways[-1]:
                raise
            continue
        if not _is_poorer_for_neighbours(way, found):
            return found
    raise AssertionError("the last way has its own blocks")


def _ways(func: Func) -> list[Func]:
    """The function, and with less that is done for speed alone."""
    ways = [func]
    larger = frozenset({Automatic.NEIGHBOURS, Automatic.PITCHES})
    for less in (frozenset({Automatic.NEIGHBOURS}), larger, FOR_SPEED):
        automatic = func.automatic - less
        if automatic != ways[-1].automatic:
            ways.append(replace(func, automatic=automatic))
    return ways


def _is_poorer_for_neighbours(func: Func, found: PassResult) -> bool:
    """Whether blocks became one for speed alone, and something has no room now."""
    asked = Automatic.TILES in func.automatic or Automatic.NEIGHBOURS not in func.automatic
    changed = any(r.changed and r.name == retile_blocks.name for r in found.records)
    return changed and not asked and any(for_want_of_room(found.func))


def _run(func: Func, target: Target, options: PassOptions) -> PassResult:
    try:
        found = run_passes(func, PIPELINE, target, options)
        return _in_shared_room(func, found, target, options)
    except KernelError as error:
        if error.slug != "memory-overflow" or Automatic.TILES not in func.automatic:
            raise
        in_parts = _run_in_parts(func, target, options)
        if in_parts is None:
            raise
        return in_parts


def _run_tasks(func: Func, target: Target, options: PassOptions) -> PassResult:
    from tile_passes.tasks.join import joined  # most kernels have none

    done = [_run_task(task, target, options) for task in tasks_of(func)]
    records = tuple(record for result in done for record in result.records)
    if any(result.func.phase is not Phase.SYNCED for result in done):
        return PassResult(func, records)
    found = joined(func, [result.func for result in done], target)
    verify(found, target)
    return PassResult(found, records)


def _run_task(task: Func, target: Target, options: PassOptions) -> PassResult:
    try:
        return run_pipeline(task, target, options)
    except KernelError as error:
        if error.slug != "memory-overflow":
            raise
        message = f"the tiles of task `{task.name}` have no room: {error.message}"
        raise KernelError(
            "task-memory", message, error.loc, error.hint, sources=task.sources
        ) from None


def _in_shared_room(
    func: Func, found: PassResult, target: Target, options: PassOptions
) -> PassResult:
    """The result, or a better one: statements whose tiles found no room beside all others may find
    it where others hold nothing, unless memory can not be planned so. Tiles that share bytes wait
    for each other: where they are of sizes for this chip, some rows at a time are better than that.
    """
    scalar, _, in_pieces = lacking = for_want_of_room(found.func)
    of_other_chips = Automatic.TILES in func.automatic
    poor = scalar or (in_pieces and of_other_chips)
    if not poor or Automatic.MEMORY not in found.func.automatic:
        return found
    passes = _with(vectorize_parallel, vectorize_in_shared_room)
    try:
        other = run_passes(func, passes, target, options)
    except TileError:
        return found
    return other if for_want_of_room(other.func) < lacking else found


def _run_in_parts(func: Func, target: Target, options: PassOptions) -> PassResult | None:
    from tile_passes.retiling.split_tiles import splits  # most kernels need none of it

    before = run_passes(func, PIPELINE[: PIPELINE.index(retile_blocks)], target).func
    for split in splits(before, target):

        def instead(_: Func, __: Target, found: Func = split) -> Func:
            return found

        try:
            return run_passes(func, _with(retile_blocks, instead), target, options)
        except TileError:
            continue
    return None


def _with(one: Pass, run: Callable[[Func, Target], Func]) -> tuple[Pass, ...]:
    """The pipeline with another function for one of its passes."""
    return tuple(replace(p, run=run) if p is one else p for p in PIPELINE)


def taken_to(func: Func, last: Pass, target: Target) -> Func:
    """The function as a pass of the pipeline finds it, at whatever phase it is given."""
    before = PIPELINE[: PIPELINE.index(last)]
    due = [
        p for p in before if (p.needs >= func.phase if p.gives is None else p.gives > func.phase)
    ]
    return run_passes(func, due, target).func


def apply_passes(func: Func, names: Sequence[str], target: Target) -> Func:
    """Run named passes on any function, as `tile-ascend opt` does: naming `insert_sync` leaves the
    order of pipes to it, and naming `persistent` or `retile_blocks` requests it unless that is left
    to the model."""
    check_known(names, PASSES)
    asked = {_ASKED_BY[n] for n in names if n in _ASKED_BY}
    asked -= {a for left, a in _ASKED_INSTEAD.items() if left in func.automatic}
    func = leaving(func, asked)
    return run_passes(func, [PASSES[n] for n in names], target).func


# What naming a pass leaves to the compiler.
_ASKED_BY = {
    "insert_sync": Automatic.SYNC,
    "persistent": Automatic.BLOCKS,
    "retile_blocks": Automatic.TILES,
}
# Unless the same is left to the model.
_ASKED_INSTEAD = {Automatic.GRID: Automatic.BLOCKS, Automatic.NEIGHBOURS: Automatic.TILES}
