"""Start the ranks of the self-test: a process for each device, which run the examples together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from selftest.table import require_npu

PROGRAM = Path(__file__).with_name("rank_program.py")


def print_rank_table(ranks: int, pattern: str, on_npu: bool) -> int:
    """Run the examples of many devices whose names fit a pattern; 1 if one is wrong on any rank.
    BuildError without NPUs to run on."""
    if on_npu:
        require_npu()
    done = subprocess.run(
        [
            sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
            str(ranks), str(PROGRAM), "shared,messages", pattern.removeprefix("ranks/"),
        ],
        env={**os.environ, "TILE_TARGET": "npu" if on_npu else "sim", "OMP_NUM_THREADS": "1"},
        check=False,
    )  # fmt: skip
    return int(done.returncode != 0)
