"""Ranks that are processes of torch.distributed over gloo, with memory that they share."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from started_processes import SETTINGS, free_port, started

from tile_ir import CallError
from tile_ir.switches import override
from tile_runtime import init_ranks

PROGRAM = Path(__file__).with_name("process_program.py")


def test_torchrun_gives_what_gloo_gives() -> None:
    """S-29: four processes."""
    found = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "4", PROGRAM, "fine"],
        env={**os.environ, **SETTINGS},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    # Lines of several processes may come out as one.
    assert sorted(re.findall(r"rank (\d) of 4: equal", found.stdout)) == [*"0123"]


@pytest.mark.whole
@pytest.mark.parametrize("transport", ["shared", "messages"])
def test_two_processes_and_what_goes_wrong_with_them(transport: str) -> None:
    """S-8, S-29, S-31: other allocations, a signal that says nothing, a rank that raises, and one
    that is killed."""
    begin = time.monotonic()
    settings = {"TILE_TRANSPORT": transport}
    what = ("fine", "asymmetric", "silent", "raise", "kill")
    outputs = [
        process.communicate(timeout=280)[0]
        for process in started(2, PROGRAM, *what, settings=settings)
    ]
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
    assert "rank 1 failed: its process has ended" in told("kill", 0)
    assert time.monotonic() - begin < 240, "nobody has waited for the time limit"


def test_without_a_group_there_are_no_ranks() -> None:
    """S-31."""
    with pytest.raises(CallError, match="no process group") as found:
        init_ranks()
    assert "torchrun" in str(found.value.hint)


WHO = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "RANK": "0", "WORLD_SIZE": "2"}


@pytest.mark.whole
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"RANK": None, "WORLD_SIZE": None}, "RANK, WORLD_SIZE are not in the environment"),
        ({"WORLD_SIZE": None}, "WORLD_SIZE is not in the environment"),
        ({"RANK": "2"}, "RANK is 2 where WORLD_SIZE is 2"),
        ({"RANK": "first"}, "RANK='first': expected a number"),
        ({}, "the 2 processes of WORLD_SIZE did not all meet at 127.0.0.1"),
    ],
)
def test_wrong_variables_are_one_clear_error(
    wrong: dict[str, str | None], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-31: also where the other process never comes."""
    for name, value in {**WHO, "MASTER_PORT": str(free_port()), **wrong}.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    with override(timeout=1), pytest.raises(CallError, match=re.escape(message)):
        init_ranks(backend="gloo")
