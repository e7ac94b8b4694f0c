"""Ranks that are processes of torch.distributed over gloo, with memory that they share."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from forked_python import forking_python, run_python
from started_processes import SETTINGS, free_port, started

from tile_ir import CallError
from tile_ir.switches import override
from tile_runtime import init_ranks

PROGRAM = Path(__file__).with_name("process_program.py")


def test_torchrun_gives_what_gloo_gives() -> None:
    """S-29: four processes, each of which begins with torch imported."""
    found = run_python(
        ["-m", "torch.distributed.run", "--nproc-per-node", "4", str(PROGRAM), "shared:fine"],
        env={**os.environ, **SETTINGS, "PYTHON_EXEC": forking_python()},
        seconds=280,
    )
    assert found.returncode == 0, found.stderr
    # Lines of several processes may come out as one.
    equal = re.findall(r"shared:fine, rank (\d): equal to gloo on 4 ranks", found.stdout)
    assert sorted(equal) == [*"0123"]


def _told(*what: str) -> list[dict[str, str]]:
    """What each of two processes says of each thing that they do, as `shared:raise`, one after the
    other; nobody waits for a time limit."""
    begin = time.monotonic()
    outputs = [process.result().stdout for process in started(2, PROGRAM, *what)]
    assert time.monotonic() - begin < 240
    return [dict(re.findall(r"(\w+:\w+), rank \d: (.*)", output)) for output in outputs]


def _go_wrong(told: list[dict[str, str]], transport: str) -> None:
    silent, raised = ([own[f"{transport}:{what}"] for own in told] for what in ("silent", "raise"))
    assert any("deadlock" in text and ">= 1" in text for text in silent)
    assert all("deadlock" in text or "rank-failed" in text for text in silent)
    assert "rank 1 failed: ValueError: the script is wrong" in raised[0]
    assert raised[1] == "the script is wrong"


def test_two_processes_and_what_goes_wrong_with_them() -> None:
    """S-8, S-29, S-31: other allocations, a signal that says nothing, a rank that raises, and one
    that is killed."""
    told = _told(
        "shared:fine", "shared:asymmetric", "shared:silent", "shared:raise", "messages:silent",
        "messages:raise", "messages:fine", "shared:kept", "messages:kept", "shared:kill",
    )  # fmt: skip
    for transport in ("shared", "messages"):
        failed = [own[f"{transport}:failed"] for own in told]
        assert "rank 1 failed: " in failed[0] and "not on rank 1" in failed[1]
        assert all(own[f"{transport}:kept"] == "goes on" for own in told)
    for own in told:
        assert own["shared:fine"] == own["messages:fine"] == "equal to gloo on 2 ranks"
        asymmetric = own["shared:asymmetric"]
        assert all(x in asymmetric for x in ("asymmetric", "(2, 1001)", "(2, 1000)"))
    _go_wrong(told, "shared")
    _go_wrong(told, "messages")
    assert "rank 1 failed: its process has ended" in told[0]["shared:kill"]


@pytest.mark.exhaustive
def test_a_killed_process_that_sends_messages() -> None:
    told = _told("messages:kill")
    assert "rank 1 failed: its process has ended" in told[0]["messages:kill"]


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
