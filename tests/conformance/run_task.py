"""Running one script and noting what it did and how long it took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from conformance.outcome import Kind, Outcome, outcome_of, passes_by_text
from conformance.scripts import EXIT_CODE_COUNTS, Task

_PROGRAM = "import sys; from tile_runtime.cli import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Result:
    """`fronts` are milliseconds to trace, lower and emit, one per kernel."""

    task: Task
    outcome: Outcome
    seconds: float = 0.0
    fronts: tuple[float, ...] = ()
    by_text: bool = False

    @property
    def passed(self) -> bool:
        return self.outcome.kind is Kind.PASS


def run_task(task: Task, check: str, timeout: float, logs: Path) -> Result:
    """Run it in its own folder, as upstream does; what it prints goes to a file in `logs`."""
    if task.needs:
        return Result(task, Outcome(Kind.NEEDS_NPU, detail=task.needs))
    log = logs / (task.title.replace("/", "__").replace(" ", "_") + ".log")
    command = [sys.executable, "-c", _PROGRAM, "run", "--check", check, "--timeout", str(timeout),
               task.path.name, *task.arguments]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        timings = Path(folder) / "timings"
        environment = {**os.environ, "TILE_TIMINGS": str(timings), "PYTHONDONTWRITEBYTECODE": "1"}
        started = time.perf_counter()
        with log.open("wb") as stream:
            done = subprocess.run(
                command, cwd=task.path.parent, env=environment, stdin=subprocess.DEVNULL,
                stdout=stream, stderr=subprocess.STDOUT,
            )  # fmt: skip
        seconds = time.perf_counter() - started
        fronts = _fronts(timings)
    output = log.read_text(errors="replace")
    outcome = outcome_of(output, done.returncode, task.name in EXIT_CODE_COUNTS)
    return Result(task, outcome, seconds, fronts, passes_by_text(output))


def _fronts(file: Path) -> tuple[float, ...]:
    if not file.is_file():
        return ()
    records = map(json.loads, file.read_text().splitlines())
    return tuple(1e3 * (r["trace"] + r["lower"] + r["emit"]) for r in records)
