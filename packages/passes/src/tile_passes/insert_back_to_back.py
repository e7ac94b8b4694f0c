"""Orders the pipes of every core as other compilers do, to see what `insert_sync` gains."""

from __future__ import annotations

from tile_ir import Automatic, Func, Phase, Target
from tile_passes.passdef import ir_pass
from tile_passes.sync.back_to_back import plan_back_to_back
from tile_passes.sync.sections import order_sections


@ir_pass(needs=Phase.PLANNED, optional=True)
def insert_back_to_back(func: Func, target: Target) -> Func:
    """Insert a set and its wait back to back, right before each consumer.

    Needs, gives: PLANNED. Idea: the dependences of `insert_sync`; whatever a pipe is not ordered
    after it waits for where it needs it. Limits: in no pipeline; measurements put it in the place
    of `insert_sync`.
    """
    if Automatic.SYNC not in func.automatic:
        return func
    return order_sections(func, target, plan_back_to_back)
