"""Skew pipelined loops over both kinds of core, so that neither waits for the other in turn."""

from __future__ import annotations

from itertools import islice

from tile_ir import (
    Automatic,
    Diagnostic,
    For,
    Func,
    KernelError,
    Phase,
    Section,
    Target,
    rewrite,
    walk,
)
from tile_ir.quick_dataclasses import replace
from tile_passes.passdef import ir_pass
from tile_passes.pipelining.schedule import Stages
from tile_passes.pipelining.skew_loops import skew_loops
from tile_passes.pipelining.software_pipeline import loops_over_cores, pipeline_cores

_LEAVE_OUT = (
    "leave them out: the compiler puts what waits for the other core into later stages, at most "
    "`num_stages` of them"
)


@ir_pass(needs=Phase.LOWERED)
def pipeline_across_cores(func: Func, target: Target) -> Func:
    """Overlap iterations of a pipelined loop across both kinds of core.

    Needs, gives: LOWERED. Idea: work on a value that returns from the other kind of core belongs to
    a later stage, as many iterations behind as the way there and back takes. Iteration `i` of the
    new loop executes stage 2 of iteration `i - 2`. Workspaces and buffers shared by stages get a
    version per iteration in flight. The loop keeps its meaning in text order, so that later passes
    order it like any loop. `num_stages="auto"` uses the number of iterations that the time model
    chooses and that fits. In text for other chips `order` and `stage` are for one core that does
    all: there they have no effect. Limits: automatic order between the cores, without these lists;
    one pipelined loop outside other pipelined loops; no `break`, no dependence cycle through both
    cores, and versions that fit.
    """
    if Automatic.CORES in func.automatic:
        func = _without_lists(func)
    count = len(list(loops_over_cores(func.launch.body)))
    for number in range(count):
        # Versions of what two loops use change the other loop too: it is looked up anew.
        loop = next(islice(loops_over_cores(func.launch.body), number, None))
        stages = pipeline_cores(func, loop, target)
        if isinstance(stages, Stages):
            if loop.given:
                raise KernelError(
                    "loop-schedule",
                    "`order` and `stage` are for the statements of one kind of core, and this loop "
                    "has work for both",
                    loop.loc,
                    _LEAVE_OUT,
                )
            func = skew_loops(func, (stages,), target)
    return func


def _without_lists(func: Func) -> Func:
    """The function without the lists of loops over both kinds of core, and a remark for each."""
    given = [s for s in walk(func.launch.body) if isinstance(s, For) and _is_given_to_both(s)]
    if not given:
        return func
    body = rewrite(
        func.launch.body,
        lambda s: replace(s, given=()) if isinstance(s, For) and _is_given_to_both(s) else s,
    )
    return replace(func.with_body(body), remarks=(*func.remarks, *map(_unheard, given)))


def _is_given_to_both(loop: For) -> bool:
    cores = {s.core for s in walk(loop.body) if isinstance(s, Section)} if loop.given else ()
    return len(cores) > 1


def _unheard(loop: For) -> Diagnostic:
    message = "`order` and `stage` have no effect: this loop has work for both kinds of core"
    return Diagnostic("loop-schedule", message, loop.loc, _LEAVE_OUT, "warning")
