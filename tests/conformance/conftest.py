"""Shared by the tests of what runs the scripts of a checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from forked_python import run_python

from conformance import run_driver, run_task
from tile_runtime.scripts.child_imports import FOLDER


def run_in_a_fork(
    command: list[str], folder: Path, environment: dict[str, str], log: Path, memory: int,
    seconds: float | None = None,
) -> int:  # fmt: skip
    """Stand for `run_child`, for a script that needs no limit: `tile-ascend run`, by a process that
    begins with all imported."""
    _, *program, check_option, check, timeout_option, _ = command[:8]
    assert program == ["-c", run_task.PROGRAM, "run"]
    assert (check_option, timeout_option) == ("--check", "--timeout")
    path = os.pathsep.join((FOLDER, environment["PYTHONPATH"]))
    given = {"TILE_CHECK": check, "TILE_LAX_CALLS": "1", "PYTHONPATH": path}
    done = run_python(
        ["-m", "tile_runtime.scripts.process", *command[8:]],
        cwd=folder, env={**environment, **given},
    )  # fmt: skip
    log.write_text(done.stdout + done.stderr)
    return done.returncode


@pytest.fixture
def quick_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (run_driver, run_task):
        monkeypatch.setattr(module, "run_child", run_in_a_fork)
