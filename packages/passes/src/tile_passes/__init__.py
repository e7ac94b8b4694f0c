"""Passes over the tile IR, the order they run in, and the driver that runs them."""

from tile_passes.driver import PassOptions, PassRecord, PassResult, run_passes
from tile_passes.explain_sync import draw_sync, explain_sync
from tile_passes.passdef import Pass
from tile_passes.pipeline import PASSES, PIPELINE, apply_passes, run_pipeline

__all__ = [
    "PASSES",
    "PIPELINE",
    "Pass",
    "PassOptions",
    "PassRecord",
    "PassResult",
    "apply_passes",
    "draw_sync",
    "explain_sync",
    "run_passes",
    "run_pipeline",
]
