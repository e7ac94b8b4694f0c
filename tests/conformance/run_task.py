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

from conformance.outcome import Kind, Outcome, outcome_of, passes_by_text
from conformance.scripts import EXIT_CODE_COUNTS, Task
from tile_runtime.tools.command_line.run import TIMED_OUT

_PROGRAM = "import sys; from tile_runtime.tools.command_line import main; sys.exit(main())"
# So many times its seconds a script in many orders may take: one order is not stopped within.
_LONGEST = 5
# As what a defect of a script may show, besides a wrong result.
_READ_UNWRITTEN = ("never-written", "uninitialised-read")


@dataclass(frozen=True, slots=True)
class Result:
    """`fronts` are milliseconds to trace, lower and emit, one per kernel; `full_barriers` those of
    all pipes that were inserted in loops; `orders` the last line of a run in many orders."""

    task: Task
    outcome: Outcome
    seconds: float = 0.0
    fronts: tuple[float, ...] = ()
    by_text: bool = False
    full_barriers: int = 0
    orders: str = ""

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
    command = [sys.executable, "-c", _PROGRAM, "run", "--check", check, "--timeout", str(limits.seconds),
               task.path.name, *task.arguments]  # fmt: skip
    if task.sizes is not None:
        script = [str(Path(__file__).parent / "reduced.py"), *task.sizes, task.path.name]
        command = [*command[: -1 - len(task.arguments)], *script, *task.arguments]
    if schedules:
        command = [sys.executable, "-m", "conformance.under_schedules", str(schedules),
                   str(limits.seconds), task.path.name, *task.arguments]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        timings = Path(folder) / "timings"
        environment = {**os.environ, "TILE_TIMINGS": str(timings), "PYTHONDONTWRITEBYTECODE": "1"}
        if schedules:
            tests = str(Path(__file__).parents[1])
            path = [tests, *filter(None, [os.environ.get("PYTHONPATH")])]
            environment |= {"TILE_LAX_CALLS": "1", "PYTHONPATH": os.pathsep.join(path)}
        started = time.perf_counter()
        with log.open("wb") as stream:
            process = subprocess.Popen(
                command, cwd=task.path.parent, env=environment, stdin=subprocess.DEVNULL,
                stdout=stream, stderr=subprocess.STDOUT,
            )  # fmt: skip
            # The script is started by this process later, and has its limits.
            resource.prlimit(process.pid, resource.RLIMIT_AS, (limits.memory, limits.memory))
            try:
                # The command ends a script itself, if it is given a limit.
                code = process.wait(_LONGEST * limits.seconds if schedules else None)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                code = TIMED_OUT
        seconds = time.perf_counter() - started
        records = _records(timings)
    output = log.read_text(errors="replace")
    by_code = task.sizes is not None or task.name in EXIT_CODE_COUNTS
    outcome = outcome_of(output, code, by_code)
    if task.defect and (outcome.kind is Kind.WRONG or outcome.slug in _READ_UNWRITTEN):
        outcome = Outcome(Kind.DEFECT, outcome.slug, outcome.place, task.defect)
    fronts = tuple(1e3 * (r["trace"] + r["lower"] + r["emit"]) for r in records)
    barriers = sum(r["full_barriers"] for r in records)
    orders = output.splitlines()[-1] if schedules and output and code != TIMED_OUT else ""
    return Result(task, outcome, seconds, fronts, passes_by_text(output), barriers, orders)


def _records(file: Path) -> list[dict[str, Any]]:
    """What the switch `timings` notes, one for each kernel."""
    return list(map(json.loads, file.read_text().splitlines())) if file.is_file() else []
