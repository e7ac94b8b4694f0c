"""Say in words what each pipe of a core does, and how it spent the time of a run."""

from __future__ import annotations

from collections.abc import Iterable

from tile_runtime.tools.report.number_text import percent
from tile_runtime.tools.report.pipe_shares import PipeShare

# By kind of core and pipe (docs/hardware/index.md).
PIPE_WORDS = {
    ("aic", "S"): "scalar unit: addresses, loops, and what it hands to other pipes",
    ("aic", "M"): "cube unit: products of L0A and L0B, into L0C",
    ("aic", "MTE1"): "copies L1 to L0A, L0B and the bias table",
    ("aic", "MTE2"): "copies GM to L1",
    ("aic", "MTE3"): "copies L1 to GM",
    ("aic", "FIX"): "copies L0C to GM or L1, and converts on the way",
    ("aiv", "S"): "scalar unit: addresses, loops, single elements, and what it hands to others",
    ("aiv", "V"): "vector unit: computes in UB, 256 bytes a cycle",
    ("aiv", "MTE2"): "copies GM to UB",
    ("aiv", "MTE3"): "copies UB to GM or L1",
    ("aic", "SDMA"): "engine that copies between ranks without a core",
    ("aiv", "SDMA"): "engine that copies between ranks without a core",
}


def pipe_words(shares: Iterable[PipeShare], whole: float) -> dict[str, list[str]]:
    """Return for each pipe that took part, as `aiv MTE2`, what it does and its shares of the
    `whole` time in microseconds."""
    return {f"{s.core} {s.pipe}": [words_of(s), share_text(s, whole)] for s in shares}


def words_of(share: PipeShare) -> str:
    """Return what the pipe does."""
    return PIPE_WORDS.get((share.core, share.pipe), "")


def share_text(share: PipeShare, whole: float) -> str:
    """Return how the pipe spent the time, mean over the cores that took part."""
    waits = [f"waits for {reason} {percent(t, whole)}" for reason, t in share.waiting.items()]
    return ", ".join([f"busy {percent(share.busy, whole)} of the time", *waits])
