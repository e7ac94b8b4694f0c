"""Passes over the tile IR, the order they run in, and the driver that runs them."""

from tile_passes.driver import PassOptions, PassRecord, PassResult, run_passes
from tile_passes.explain.explanations import EXPLANATIONS, drawn, explained
from tile_passes.explain.lanes import explain_lanes
from tile_passes.explain.memory import explain_memory
from tile_passes.explain.order import draw_sync, explain_sync
from tile_passes.passdef import Pass
from tile_passes.pipeline import PASSES, PIPELINE, apply_passes, leaving, run_pipeline

__all__ = [
    "EXPLANATIONS",
    "PASSES",
    "PIPELINE",
    "Pass",
    "PassOptions",
    "PassRecord",
    "PassResult",
    "apply_passes",
    "draw_sync",
    "drawn",
    "explain_lanes",
    "explain_memory",
    "explain_sync",
    "explained",
    "leaving",
    "run_passes",
    "run_pipeline",
]
