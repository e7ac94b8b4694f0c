"""What `pipeline_across_cores` decides of every pipelined loop, and why, as text."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import For, Func, Op, Target
from tile_ir.cost import cost
from tile_ir.nodes import Stmt
from tile_ir.opdef import pipe_of
from tile_passes.pipeline import taken_to
from tile_passes.pipeline_across_cores import (
    pipeline_across_cores,
    pipelined_loops,
    stages_that_fit,
)
from tile_passes.pipelining.assign_stages import OneStage


def explain_stages(func: Func, target: Target) -> str:
    """For each pipelined loop over both kinds of core: every statement with its stage, core, pipe
    and cycles, and the buffers that have versions; or why there is one stage.

    A function before phase LOWERED is taken there first. Raises what the passes raise.
    """
    func = taken_to(func, pipeline_across_cores, target)
    lines = [
        line
        for loop in pipelined_loops(func.launch.body)
        for line in ("", *_told(func, loop, target))
    ]
    head = f"{func.name} ({func.loc.file}:{func.loc.line})"
    return "\n".join([head, *(lines or ["", "no pipelined loop over both kinds of core"])]) + "\n"


def _told(func: Func, loop: For, target: Target) -> Iterator[str]:
    where = f"loop `{loop.var.name}` at line {loop.loc.line}"
    stages = stages_that_fit(func, loop, target)
    if isinstance(stages, OneStage):
        yield f"{where}: one stage, because {stages.reason} (line {stages.loc.line})"
        return
    used = len(set(stages.stage.values()))
    rounds = "a round" if stages.last == 1 else f"{stages.last} rounds"
    behind = f"{used} stages, the last {rounds} behind the first"
    yield f"{where}: {behind if stages.last else 'one stage, as nothing comes back'}"
    yield "stage  core    pipe   cycles  statement"
    for step in sorted(stages.stage, key=lambda s: stages.stage[s]):
        core = step.core.value if step.core else "both"
        pipe, cycles = _time(step.stmt, target)
        what = step.stmt.opdef.name if isinstance(step.stmt, Op) else "several"
        place = f"{what} (line {step.stmt.loc.line})"
        yield f"{stages.stage[step]:>5}  {core:<6}  {pipe:<5}  {cycles:>6}  {place}"
    versions = ", ".join(f"`{b.name}` {n}" for b, n in stages.versions.items())
    yield f"versions: {versions}"


def _time(stmt: Stmt, target: Target) -> tuple[str, str]:
    if not isinstance(stmt, Op):
        return "", ""
    return pipe_of(stmt).value, f"{cost(stmt, target).done:.0f}"
