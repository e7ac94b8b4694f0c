"""Skew pipelined loops over both kinds of core, so that neither waits for the other in turn."""

from __future__ import annotations

from itertools import islice

from tile_ir import Func, KernelError, Phase, Target
from tile_passes.passdef import ir_pass
from tile_passes.pipelining.schedule import Stages
from tile_passes.pipelining.skew_loops import skew_loops
from tile_passes.pipelining.software_pipeline import loops_over_cores, pipeline_cores


@ir_pass(needs=Phase.LOWERED)
def pipeline_across_cores(func: Func, target: Target) -> Func:
    """Let both kinds of core work on different iterations of a pipelined loop.

    Needs, gives: LOWERED. Idea: what one kind of core does with a value that comes back to it from
    the other belongs to a later stage, as many iterations behind as the way there and back takes:
    iteration `i` of the new loop executes stage 2 of iteration `i - 2`. Workspaces and buffers that
    stages share get a version for each iteration in flight. The meaning in the order of the text
    stays, so that all later passes order it as any other loop. With `num_stages="auto"` as many
    iterations behind as the modelled times ask for and have room. Limits: the order between the
    cores is the compiler's, and no `order` or `stage` can be given; one pipelined loop that is not
    in another; nothing where a break leaves it, where a cycle of dependences goes through both
    cores, or where the versions do not fit.
    """
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
                    "leave them out: the compiler puts what waits for the other core into later "
                    "stages, at most `num_stages` of them",
                )
            func = skew_loops(func, [stages], target)
    return func
