"""Running one script and noting what it did and how long it took."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.launches import VARIABLE, launches_in
from conformance.outcome import Kind, Outcome, outcome_of, passes_by_text
from conformance.scripts import EXIT_CODE_COUNTS, Task
from tile_runtime.tools.command_line.run import TIMED_OUT

PROGRAM = "import sys; from tile_runtime.tools.command_line import main; sys.exit(main())"
# So many times its seconds a script in many orders may take: one order is not stopped within.
_LONGEST = 5
# As what a defect of a script may show, besides a wrong result.
_READ_UNWRITTEN = ("never-written", "uninitialised-read")


@dataclass(frozen=True, slots=True)
class Result:
    """`fronts` are milliseconds to trace, lower and emit, one per kernel; `full_barriers` those of
    all pipes that were inserted in loops; `orders` the last line of a run in many orders; `launched`
    the kernels that ran, where that is noted: paths below the folder of scripts, and lines."""

    task: Task
    outcome: Outcome
    seconds: float = 0.0
    fronts: tuple[float, ...] = ()
    by_text: bool = False
    full_barriers: int = 0
    orders: str = ""
    launched: frozenset[tuple[str, int]] = frozenset()

    @property
    def passed(self) -> bool:
        return self.outcome.kind is Kind.PASS


@dataclass(frozen=True, slots=True)
class Limits:
    """What a script may use: seconds, and bytes of memory, so that a machine that others use stays
    usable."""

    seconds: float
    memory: int


def run_task(task: Task, check: str, limits: Limits, logs: Path, schedules: int = 0) -> Result:
    """Run it in its own folder, as upstream does; what it prints goes to a file in `logs`. With
    `schedules`, its kernels run in so many orders at every level, or in as many as the seconds
    suffice for (under_schedules.py)."""
    if task.needs:
        return Result(task, Outcome(Kind.NEEDS_NPU, detail=task.needs))
    if task.port:
        return Result(task, Outcome(Kind.NEEDS_PORTING, detail=task.port))
    log = logs / (task.title.replace("/", "__").replace(" ", "_") + ".log")
    command = [sys.executable, "-c", PROGRAM, "run", "--check", check, "--timeout", str(limits.seconds),
               task.path.name, *task.arguments]  # fmt: skip
    if task.sizes is not None:
        script = [str(Path(__file__).parent / "reduced.py"), *task.sizes, task.path.name]
        command = [*command[: -1 - len(task.arguments)], *script, *task.arguments]
    if schedules:
        command = [sys.executable, "-m", "conformance.under_schedules", str(schedules),
                   str(limits.seconds), task.path.name, *task.arguments]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        timings, launches = Path(folder) / "timings", Path(folder) / "launches"
        environment = {**os.environ, "TILE_TIMINGS": str(timings), VARIABLE: str(launches),
                       "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
        tests = str(Path(__file__).parents[1])
        path = [tests, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(path)
        if schedules:
            environment["TILE_LAX_CALLS"] = "1"
        started = time.perf_counter()
        # The command ends a script itself, if it is given a limit.
        wait = _LONGEST * limits.seconds if schedules else None
        code = run_child(command, task.path.parent, environment, log, limits.memory, wait)
        seconds = time.perf_counter() - started
        records = _records(timings)
        launched = launches_in(launches, _folder_of_scripts(task))
    output = log.read_text(errors="replace")
    by_code = task.sizes is not None or task.name in EXIT_CODE_COUNTS
    outcome = outcome_of(output, code, by_code)
    if task.defect and (outcome.kind is Kind.WRONG or outcome.slug in _READ_UNWRITTEN):
        outcome = Outcome(Kind.DEFECT, outcome.slug, outcome.place, task.defect)
    fronts = tuple(1e3 * (r["trace"] + r["lower"] + r["emit"]) for r in records)
    barriers = sum(r["full_barriers"] for r in records)
    orders = output.splitlines()[-1] if schedules and output and code != TIMED_OUT else ""
    return Result(
        task, outcome, seconds, fronts, passes_by_text(output), barriers, orders, launched
    )


def run_child(
    command: list[str], folder: Path, environment: dict[str, str], log: Path, memory: int,
    seconds: float | None = None,
) -> int:  # fmt: skip
    """Run a command with so much memory and time; its exit code. What it prints goes to the log."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=stream,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        # A script is started by this process later, and has its limits.
        resource.prlimit(process.pid, resource.RLIMIT_AS, (memory, memory))
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return TIMED_OUT


def _folder_of_scripts(task: Task) -> Path:
    """The folder that the task's name is below."""
    return task.path.resolve().parents[len(Path(task.name).parts) - 1]


def _records(file: Path) -> list[dict[str, Any]]:
    """What the switch `timings` notes, one for each kernel."""
    return list(map(json.loads, file.read_text().splitlines())) if file.is_file() else []
