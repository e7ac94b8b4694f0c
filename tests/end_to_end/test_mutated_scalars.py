"""Random scalars, among them all that have no meaning where they are used: every run ends in a result
or in a report, and the process lives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
REPORTS = {
    "right", "division-by-zero", "out-of-bounds", "time-out", "bad-argument", "misaligned",
    "uninitialised-read", "dirty-cache-line", "cache",
}  # fmt: skip


@pytest.mark.parametrize("runs", [200, pytest.param(3000, marks=pytest.mark.exhaustive, id="3000")])
def test_the_process_lives(runs: int) -> None:
    command = [sys.executable, "-m", "end_to_end.mutated_scalars", str(runs), "0"]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, (done.returncode, done.stderr[-3000:])
    ended = json.loads(done.stdout.splitlines()[-1])
    assert sum(ended.values()) == runs
    assert {"right", "division-by-zero", "out-of-bounds"} <= ended.keys() <= REPORTS, ended
