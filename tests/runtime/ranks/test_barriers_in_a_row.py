"""Two barriers in one launch: a core may come to the second while another is still at the first."""

from __future__ import annotations

import process_program
import pytest
import torch
from process_program import BLOCKS, N

from tile_ir.switches import override
from tile_runtime import Ranks

RANKS = 2


@pytest.mark.whole
@pytest.mark.parametrize("check", ["strict", "device"])
def test_cores_leave_a_barrier_at_different_times(check: str) -> None:
    kernel = process_program.gather(RANKS)
    for seed in range(3):
        with override(check=check, timeout=200), Ranks(RANKS, seed=seed) as world:
            x = [torch.arange(N, dtype=torch.float32) + 1000 * rank for rank in range(RANKS)]
            back = [torch.zeros(N) for _ in range(RANKS)]
            y, z = (world.zeros((RANKS, N), torch.float32) for _ in range(2))
            words, count = world.signals(RANKS * BLOCKS), world.signals(1)
            for step in (1, 2):
                world.launch(kernel, x, y, z, words, count, back, step)
            for rank in range(RANKS):
                assert torch.equal(y[rank], torch.stack(x))
                assert torch.equal(back[rank], x[rank])
