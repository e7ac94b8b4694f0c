"""Running the cases of a driver in children, and noting what became of each."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.drivers.case import Driver
from conformance.drivers.child import MARK
from conformance.launches import VARIABLE, launches_in
from conformance.outcome import Kind, Outcome, outcome_of
from conformance.run_task import PROGRAM, Limits, run_child

_CHILD = Path(__file__).parent / "drivers" / "child.py"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """`launched` are paths below the examples, and lines of `with T.Kernel`."""

    driver: Driver
    row: int
    outcome: Outcome
    seconds: float = 0.0
    launched: frozenset[tuple[str, int]] = frozenset()

    @property
    def passed(self) -> bool:
        return self.outcome.kind is Kind.PASS


def run_driver(
    examples: Path, family: str, number: int, driver: Driver, check: str, limits: Limits, logs: Path
) -> list[CaseResult]:
    """Run every row of a family's driver. A child runs rows until one of them ends it; the next
    child goes on behind that row. `limits` hold for a child."""
    found: list[CaseResult] = []
    while len(found) < len(driver.rows):
        first = len(found)
        name = driver.kernel.replace("/", "__").replace(":", "__")
        log = logs / f"{name}.{first}.log"
        command = [sys.executable, "-c", PROGRAM, "run", "--check", check, "--timeout",
                   str(limits.seconds), str(_CHILD), str(examples.resolve()), family, str(number),
                   str(first)]  # fmt: skip
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            launches = Path(folder) / "launches"
            environment = {**os.environ, VARIABLE: str(launches), "PYTHONDONTWRITEBYTECODE": "1",
                           "PYTHONPATH": os.pathsep.join(_path())}  # fmt: skip
            code = run_child(command, Path(folder), environment, log, limits.memory)
            output = log.read_text(errors="replace")
            for result in _results(driver, output, code):
                file = launches.with_name(f"launches.{result.row}")
                found.append(replace(result, launched=launches_in(file, examples)))
        if len(found) == first:  # it has not come to a row
            outcome = outcome_of(output, code or 1)
            found += [CaseResult(driver, r, outcome) for r in range(first, len(driver.rows))]
    return found


def _results(driver: Driver, output: str, code: int) -> Iterator[CaseResult]:
    begun: int | None = None
    for line in output.splitlines():
        if not line.startswith(MARK):
            continue
        record = json.loads(line[len(MARK) :])
        if record.get("begun"):
            begun = record["row"]
        else:
            begun = None
            yield CaseResult(driver, record["row"], _outcome(record), record["seconds"])
    if begun is not None:
        ended = outcome_of(output[output.rindex(MARK) :], code or 1)
        yield CaseResult(driver, begun, ended)


def _outcome(record: dict[str, Any]) -> Outcome:
    if "error" in record:
        kind = Kind.UNSUPPORTED if "place" in record else Kind.FAILED
        return Outcome(kind, record["slug"], record.get("place", ""), record["error"])
    if record["wrong"]:
        return Outcome(Kind.WRONG, detail=record["wrong"])
    return Outcome(Kind.PASS)


def _path() -> list[str]:
    """Where modules are imported from, the folder of this package first."""
    given = os.environ.get("PYTHONPATH")
    return [str(Path(__file__).parents[1]), *filter(None, [given])]
