"""The scripts of many devices, run as a user runs them, at `strict`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from forked_python import run_python

from .rank_cases import FOLDER

PACKAGES = Path(__file__).parents[3] / "packages"


@pytest.mark.parametrize("script", sorted(p.stem for p in FOLDER.glob("*.py")))
def test_a_script_matches_torch_at_strict(script: str) -> None:
    paths = [str(p) for p in PACKAGES.glob("*/src")]
    environment = {
        **os.environ,
        "TILE_CHECK": "strict",
        "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]),
    }
    done = run_python([str(FOLDER / f"{script}.py")], env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines and all(line.endswith(": match") for line in lines), done.stdout
    assert not done.stderr, done.stderr
