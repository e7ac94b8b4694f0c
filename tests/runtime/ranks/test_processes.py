"""Ranks that are processes of torch.distributed over gloo, with memory that they share."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from started_processes import LIMIT, SETTINGS, started

from tile_ir import CallError
from tile_runtime import init_ranks

PROGRAM = Path(__file__).with_name("process_program.py")


def test_torchrun_gives_what_gloo_gives() -> None:
    """S-29: four processes."""
    found = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "4", PROGRAM, "fine"],
        env={**os.environ, **SETTINGS, "TILE_TIMEOUT": "60"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    # Lines of several processes may come out as one.
    assert sorted(re.findall(r"rank (\d) of 4: equal", found.stdout)) == [*"0123"]


def test_two_processes_and_what_goes_wrong_with_them() -> None:
    """S-8, S-29: other allocations, a signal that says nothing, a rank that raises."""
    processes = started(2, PROGRAM, "fine", "asymmetric", "silent", "raise")
    outputs = [p.communicate(timeout=120)[0] for p in processes]
    lines = [line for text in outputs for line in text.splitlines()]

    def told(what: str, rank: int) -> str:
        return next(x for x in lines if x.startswith(f"{what}, rank {rank}: "))

    assert all(f"rank {rank} of 2: equal" in text for rank, text in enumerate(outputs))
    for rank in range(2):
        assert "asymmetric" in told("asymmetric", rank)
        assert "(2, 1001)" in told("asymmetric", rank) and "(2, 1000)" in told("asymmetric", rank)
    silent = [told("silent", rank) for rank in range(2)]
    assert any("deadlock" in text and ">= 1" in text for text in silent)
    assert all("deadlock" in text or "rank-failed" in text for text in silent)
    assert "the script is wrong" in told("raise", 1)
    assert "rank 1 failed: ValueError: the script is wrong" in told("raise", 0)


def test_a_killed_rank_ends_the_others_in_time() -> None:
    first, second = started(2, PROGRAM, "kill")
    output, _ = second.communicate(timeout=120)
    killed = time.monotonic()
    output, _ = first.communicate(timeout=LIMIT + 20)
    assert time.monotonic() - killed < LIMIT + 10
    assert "did not signal in time" in output or "deadlock" in output


def test_without_a_group_there_are_no_ranks() -> None:
    """S-31."""
    with pytest.raises(CallError, match="no process group") as found:
        init_ranks()
    assert "torchrun" in str(found.value.hint)
