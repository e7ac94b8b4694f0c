"""Transform the tile IR: the passes, their order and the driver that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_passes.pass_options import PassOptions as PassOptions
from tile_passes.pass_options import PassRecord as PassRecord
from tile_passes.pass_options import PassResult as PassResult
from tile_passes.pass_options import leaving as leaving
from tile_passes.pass_options import left_by as left_by
from tile_passes.passdef import Pass as Pass

if TYPE_CHECKING:
    from tile_passes.driver import run_passes as run_passes
    from tile_passes.explain.explanations import EXPLANATIONS as EXPLANATIONS
    from tile_passes.explain.explanations import drawn as drawn
    from tile_passes.explain.explanations import explained as explained
    from tile_passes.explain.lanes import explain_lanes as explain_lanes
    from tile_passes.explain.memory import explain_memory as explain_memory
    from tile_passes.explain.order import draw_sync as draw_sync
    from tile_passes.explain.order import explain_sync as explain_sync
    from tile_passes.explain.tasks import explain_tasks as explain_tasks
    from tile_passes.pipeline import PASSES as PASSES
    from tile_passes.pipeline import PIPELINE as PIPELINE
    from tile_passes.pipeline import apply_passes as apply_passes
    from tile_passes.pipeline import run_pipeline as run_pipeline

# Resolved when first used: a kernel that is found in the cache runs no pass, and need not wait for
# them.
_HOME = {
    "EXPLANATIONS": "explain.explanations",
    "PASSES": "pipeline",
    "PIPELINE": "pipeline",
    "apply_passes": "pipeline",
    "draw_sync": "explain.order",
    "drawn": "explain.explanations",
    "explain_lanes": "explain.lanes",
    "explain_memory": "explain.memory",
    "explain_sync": "explain.order",
    "explain_tasks": "explain.tasks",
    "explained": "explain.explanations",
    "run_passes": "driver",
    "run_pipeline": "pipeline",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(f"tile_passes.{_HOME[name]}"), name)
    raise AttributeError(f"module 'tile_passes' has no attribute {name!r}")
