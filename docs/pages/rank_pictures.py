"""Pictures of timed launches over several ranks, as SVG: two ways to gather, and a product whose
parts are sent while the next one is made."""

from __future__ import annotations

import sys
from types import ModuleType

import torch

from pages.markdown import ROOT
from tile_ir.switches import override
from tile_runtime import Ranks
from tile_runtime.scripts.module import load_script
from tile_runtime.simulator.rank_picture import rank_picture
from tile_runtime.simulator.rank_times import RankTimes

RANKS = 4
PAPER = "#ffffff"


def rank_pictures() -> dict[str, str]:
    """The pictures by their paths below docs/."""
    return {
        "pictures/gather_direct.svg": rank_picture(_gathered(ring=False), PAPER),
        "pictures/gather_ring.svg": rank_picture(_gathered(ring=True), PAPER),
        "pictures/gemm_rs.svg": rank_picture(_product(), PAPER),
    }


def _gathered(ring: bool) -> RankTimes:
    """A slice of 256 KiB of each rank to all."""
    n, blocks = 1 << 16, 12
    with Ranks(RANKS) as world, override(time=True):
        x = [torch.rand(n) for _ in range(RANKS)]
        y, words = world.zeros((RANKS, n), torch.float32), world.signals(RANKS * blocks)
        world.launch(_example("collectives").gather(RANKS, n, blocks, ring), x, y, words, 1)
        return _result(world)


def _product() -> RankTimes:
    """A product of 512 rows for each rank, of which each has a quarter of the inner dimension."""
    m, n, k, rows, columns, blocks = 512, 512, 512, 128, 128, 8
    kernel = _example("gemm_rs").gemm_rs(RANKS, m, n, k, rows, columns, blocks=blocks)
    with Ranks(RANKS) as world, override(time=True):
        a, b = torch.rand(RANKS, RANKS, m, k).half(), torch.rand(RANKS, k, n).half()
        c = [torch.zeros(m, n).half() for _ in range(RANKS)]
        parts = world.zeros((RANKS, m, n), torch.float16)
        words = world.signals(RANKS * (m // rows) * (n // columns))
        world.launch(kernel, list(a), list(b), parts, words, c, 1)
        return _result(world)


def _example(name: str) -> ModuleType:
    sys.path.append(str(ROOT / "examples"))  # for what examples share
    return load_script(ROOT / "examples" / "distributed" / f"{name}.py")


def _result(world: Ranks) -> RankTimes:
    assert world.times is not None, "the launch is timed"
    return world.times
