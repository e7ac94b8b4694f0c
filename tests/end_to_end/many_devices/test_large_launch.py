"""A launch of eight ranks that is as large as people write: what it takes in time and memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "distributed"

AG_GEMM = """
import resource, sys, time
sys.path[:0] = [{folder!r}, {folder!r} + "/.."]
import torch
from ag_gemm import ag_gemm
from tile_runtime import Ranks

R, M, N, K = 8, {rows}, 1024, 1024
kernel = ag_gemm(R, M, N, K, blocks=20)
torch.manual_seed(0)
a, b = torch.randn(R, M, K).half(), torch.randn(R, K, N).half()
c = [torch.zeros(R, M, N).half() for _ in range(R)]
with Ranks(R) as world:
    gathered = world.zeros((R, M, K), torch.float16)
    for rank in range(R):
        gathered[rank][rank] = a[rank]
    words = world.signals(R * -(-M // 16))
    start = time.process_time()
    world.launch(kernel, gathered, list(b), words, c, 1)
    taken = time.process_time() - start
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
for r in (0, 7):
    torch.testing.assert_close(c[r].float(), a.float() @ b[r].float(), rtol=2e-2, atol=0.2)
print(taken, memory)
"""


@pytest.mark.times
@pytest.mark.parametrize("rows", [128, 1024])
def test_all_gather_and_product_on_eight_ranks(rows: int) -> None:
    """Rows of each rank; all ranks multiply the rows of all: 20 s of two cores, 2 GiB."""
    code = AG_GEMM.format(folder=str(EXAMPLES), rows=rows)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    taken, memory = (float(word) for word in run.stdout.split()[-2:])
    assert taken < 40 and memory < 2, (taken, memory)
