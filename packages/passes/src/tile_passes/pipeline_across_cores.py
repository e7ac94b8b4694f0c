"""Skews pipelined loops over both kinds of core, so that neither waits for the other in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import groupby

from tile_ir import (
    Alloc,
    Automatic,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    If,
    KernelError,
    Let,
    LoopKind,
    Phase,
    Section,
    Stmt,
    Target,
    Var,
    binary,
    map_expressions,
    rewrite,
    substitute,
)
from tile_passes.analysis.memory_use import memory_max_live
from tile_passes.free_names import FreeNames
from tile_passes.memory.side_by_side import fit_side_by_side
from tile_passes.passdef import ir_pass
from tile_passes.pipelining.assign_stages import OneStage, Stages, assign_stages
from tile_passes.pipelining.in_versions import in_versions, with_versions
from tile_passes.pipelining.steps import Step

# Rounds that the last stage may be behind where the loop leaves it to the compiler.
MOST_BEHIND = 4


@ir_pass(needs=Phase.LOWERED)
def pipeline_across_cores(func: Func, target: Target) -> Func:
    """Let both kinds of core work on different rounds of a pipelined loop.

    Needs, gives: LOWERED. Idea: what one kind of core does with a value that comes back to it from
    the other belongs to a later stage, as many rounds behind as the way there and back takes: round
    `i` of the new loop has round `i` of stage 0 and round `i - 2` of stage 2. Workspaces and
    buffers that stages share get a version for each round in flight. The meaning in the order of
    the text stays, so that all later passes order it as any other loop. With `num_stages="auto"` as
    many rounds behind as the modelled times ask for and have room. Limits: the order between the
    cores is the compiler's, and no `order` or `stage` can be given; one pipelined loop that is not
    in another; nothing where a break leaves it, where a value goes round through both cores, or
    where the versions do not fit.
    """
    for loop in pipelined_loops(func.launch.body):
        stages = stages_that_fit(func, loop, target)
        if isinstance(stages, Stages):
            if loop.given:
                raise KernelError(
                    "loop-schedule",
                    "`order` and `stage` are for the statements of one kind of core, and this loop "
                    "has work for both",
                    loop.loc,
                    "leave them out: the compiler puts what waits for the other core into later "
                    "stages, at most `num_stages` of them",
                )
            func = _skewed(func, stages, target)
    return func


def pipelined_loops(body: Body) -> Iterator[For]:
    """Those over both kinds of core that are not in another one."""
    for stmt in body:
        match stmt:
            case For(kind=LoopKind.PIPELINED):
                yield stmt
            case For(body=inside):
                yield from pipelined_loops(inside)


def stages_that_fit(func: Func, loop: For, target: Target) -> Stages | OneStage:
    """The stages of a loop, or why it has one."""
    if not {Automatic.SYNC, Automatic.CROSS} <= func.automatic:
        return OneStage("the order of the pipes or of the cores is the author's", loop.loc)
    if loop.stages:
        return _that_fit(func, loop, target, max(1, loop.stages - 1))
    # "auto": as many as their modelled times need, and fewer where these do not fit.
    for most in range(MOST_BEHIND, 0, -1):
        found = _that_fit(func, loop, target, most)
        if isinstance(found, Stages):
            break
    return found


def _that_fit(func: Func, loop: For, target: Target, most: int) -> Stages | OneStage:
    stages = assign_stages(func, loop, target, most)
    if isinstance(stages, Stages):
        allocs = _of_buffers(func.launch.allocs, _with_versions(stages, target))
        grown = {b.memory for b in stages.versions if b.memory in target.capacity}
        # Nearly always all lie side by side: then nobody asks what is alive.
        if all(fit_side_by_side(allocs, m, target, True) for m in grown):
            return stages
        for memory, size in memory_max_live(_skewed(func, stages, target), target).items():
            if size > target.capacity[memory]:
                room = f"{size} bytes of {memory.value}, which has {target.capacity[memory]}"
                return OneStage(f"the versions of more stages take {room}", loop.loc)
    return stages


def _with_versions(stages: Stages, target: Target) -> dict[Buffer, Buffer]:
    return {
        b: with_versions(b, count, target.alignment.get(b.memory, 1))
        for b, count in stages.versions.items()
    }


def _of_buffers(allocs: tuple[Alloc, ...], new: Mapping[Buffer, Buffer]) -> tuple[Alloc, ...]:
    return tuple(replace(a, buffer=new[a.buffer]) if a.buffer in new else a for a in allocs)


def _skewed(func: Func, stages: Stages, target: Target) -> Func:
    loop = stages.loop
    new = _with_versions(stages, target)
    free = FreeNames.of(func)
    # A tensor of the author's has the size that its caller gave it: versions are another one.
    declared = [b for b in new if b in stages.declared]
    new |= {b: replace(new[b], name=free.fresh(f"{b.name}_versions")) for b in declared}
    version = {
        old: (buffer, binary("%", loop.var, stages.versions[old])) for old, buffer in new.items()
    }
    bodies: list[Stmt] = []
    for stage in sorted(set(stages.stage.values())):
        body = in_versions(_body(stages, stage, free), version)
        if stages.last:
            body = map_expressions(body, partial(substitute, values={loop.var: loop.var - stage}))
            body = _where_it_runs(stages, stage, body)
        bodies += body
    skewed = replace(loop, stop=loop.stop + stages.last, body=tuple(bodies))
    first = {old: (buffer, Const(0)) for old, buffer in new.items()}
    body = rewrite(func.launch.body, lambda s: skewed if s is loop else s)
    allocs = _of_buffers(func.launch.allocs, new)
    params = (
        *(new.get(p, p) if isinstance(p, Buffer) and p not in declared else p for p in func.params),
        *(new[b] for b in declared),
    )
    return replace(func.with_body(in_versions(body, first), allocs=allocs), params=params)


def _where_it_runs(stages: Stages, stage: int, body: Body) -> Body:
    """The statements of a stage in the rounds of the new loop that are one of the old."""
    loop = stages.loop
    after, before = loop.var >= loop.start + stage, loop.var < loop.stop + stage
    if stage == 0:
        return (If(before, body, (), loop.loc),)
    if stage == stages.last:
        return (If(after, body, (), loop.loc),)
    return (If(binary("and", after, before), body, (), loop.loc),)


def _body(stages: Stages, stage: int, free: FreeNames) -> Body:
    """The statements of one stage, in sections; definitions have names of their own in each."""
    found: list[tuple[Step, Stmt]] = []
    names: dict[Var, Expr] = {}
    for step in stages.steps:
        if step in stages.stage and stages.stage[step] != stage:
            continue
        (stmt,) = map_expressions((step.stmt,), lambda e: substitute(e, names))
        if step not in stages.stage and isinstance(stmt, Let) and stage:
            var = replace(stmt.var, name=free.fresh(stmt.var.name))
            names[stmt.var] = var
            stmt = replace(stmt, var=var)
        found.append((step, stmt))
    body: list[Stmt] = []
    for core, group in groupby(found, key=lambda pair: pair[0].core):
        stmts = tuple(stmt for _, stmt in group)
        body += stmts if core is None else (Section(core, stmts, stmts[0].loc),)
    return tuple(body)


__all__ = ["pipeline_across_cores", "pipelined_loops", "stages_that_fit"]
