"""`tile-ascend opt -p place_buffers --explain`: the life of each tile of both kinds of core."""

from __future__ import annotations

from pathlib import Path

import golden

import tile_ir
from tile_ir import DEFAULT_TARGET
from tile_passes.explain.explanations import explained


def test_the_life_of_a_tile_is_told() -> None:
    case = golden.read(Path(__file__).parent / "place_buffers" / "product_then_vector.tir")
    (text,) = explained(tile_ir.parse(case.source), ["place_buffers"], DEFAULT_TARGET)
    told = [line.split(": ", 1)[1] for line in text.splitlines() if line.startswith("  line")]
    assert told[0] == "gemm_v0 in l0c"
    assert "handed over from l0c to ub" in told[1:]


def test_a_tile_in_one_memory_is_none() -> None:
    case = golden.read(Path(__file__).parent / "persistent" / "fits.tir")
    (text,) = explained(tile_ir.parse(case.source), ["place_buffers"], DEFAULT_TARGET)
    assert "every tile is in one memory" in text
