"""Start the ranks of the self-test: a process for each device, which run the examples together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tile_ir import BuildError
from tile_runtime.devices.choose_device import npu_problem

PROGRAM = Path(__file__).with_name("rank_program.py")


def print_rank_table(ranks: int, pattern: str, on_npu: bool) -> int:
    """Run the examples of many devices whose names fit a pattern; 1 if one is wrong on any rank.
    BuildError without NPUs to run on."""
    problem = npu_problem() if on_npu else None
    if problem is not None:
        raise BuildError(
            "no-npu", f"--device npu needs an NPU, but {problem}",
            hint="`tile-ascend doctor` says what is missing; --device sim needs none",
        )  # fmt: skip
    done = subprocess.run(
        [
            sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
            str(ranks), str(PROGRAM), "shared,messages", pattern.removeprefix("ranks/"),
        ],
        env={**os.environ, "TILE_TARGET": "npu" if on_npu else "sim", "OMP_NUM_THREADS": "1"},
        check=False,
    )  # fmt: skip
    return int(done.returncode != 0)
