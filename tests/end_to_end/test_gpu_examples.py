"""The examples that are written as for a GPU, run as a user runs them, at `strict`."""

from __future__ import annotations

import os
from pathlib import Path

import example_kernels
import pytest
from forked_python import tile_ascend

PACKAGES = Path(__file__).parents[2] / "packages"
SCRIPTS = sorted((example_kernels.EXAMPLES / "gpu").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_script_matches_torch(script: Path) -> None:
    paths = [str(p) for p in PACKAGES.glob("*/src")]
    path = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = tile_ascend("run", "--check", "strict", str(script), env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line]
    assert lines and set(lines[1::2]) == {"Kernel Output Match!"}


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 10
