"""Count the kernels of a checkout that run right: by our own cases, or in a script that passes."""

from __future__ import annotations

import csv
import io
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import conformance.drivers
from conformance.drivers.case import Driver
from conformance.drivers.child import drivers_of
from conformance.kernels import FoundKernel, kernels
from conformance.outcome import Kind, Outcome
from conformance.run_driver import CaseResult, run_driver
from conformance.run_task import Limits, Result, run_task
from conformance.scripts import gpu_tasks

# Modules of the package that are no families.
_MECHANISM = ("case", "child", "formulas")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`by` says what the kernel was judged by; `why` what speaks against it."""

    kernel: FoundKernel
    right: bool
    by: str
    why: str = ""

    def __str__(self) -> str:
        if self.right:
            return f"{self.kernel.title}: right, by {self.by}"
        return f"{self.kernel.title}: NOT RIGHT, by {self.by}: {self.why}"


@dataclass(frozen=True, slots=True)
class Count:
    """What is counted in which checkout, and how; `jobs` files at a time."""

    examples: Path
    only: str
    check: str
    limits: Limits
    logs: Path
    jobs: int = 1

    def verdicts(self, families: Sequence[str]) -> Iterator[Verdict]:
        """One for each kernel, file by file. What no driver covers is judged by its script."""
        found = list(kernels(self.examples, self.only))
        driven = [
            (family, number, driver)
            for family in families
            for number, driver in enumerate(drivers_of(family))
        ]

        def of_file(file: str) -> list[Verdict]:
            here = [k for k in found if k.file == file]
            cases = [
                case
                for family, number, driver in driven
                if driver.file == file and any(driver.covers(k.title) for k in here)
                for case in self._driven(family, number, driver)
            ]
            return list(judge(here, cases, self._script))

        with ThreadPoolExecutor(self.jobs) as pool:
            for verdicts in pool.map(of_file, dict.fromkeys(k.file for k in found)):
                yield from verdicts

    def _driven(self, family: str, number: int, driver: Driver) -> list[CaseResult]:
        return run_driver(self.examples, family, number, driver, self.check, self.limits, self.logs)

    def _script(self, file: str) -> Result:
        (task,) = gpu_tasks(self.examples, file)
        return run_task(task, self.check, self.limits, self.logs)


def families() -> list[str]:
    """The modules with drivers, by name."""
    found = pkgutil.iter_modules(conformance.drivers.__path__)
    return [module.name for module in found if module.name not in _MECHANISM]


def judge(
    found: Sequence[FoundKernel], cases: Sequence[CaseResult], script: Callable[[str], Result]
) -> Iterator[Verdict]:
    """Verdicts on the kernels of one file. The script runs only if some of them have no case."""
    ran: Result | None = None
    for kernel in found:
        mine = [case for case in cases if case.driver.covers(kernel.title)]
        if mine:
            yield _by_cases(kernel, mine, found)
        else:
            ran = ran or script(kernel.file)
            yield _by_script(kernel, ran)


def _by_cases(
    kernel: FoundKernel, cases: Sequence[CaseResult], found: Sequence[FoundKernel]
) -> Verdict:
    """Right if all its cases are, and ran it. A case that ran only other kernels of its factory
    says nothing about this one."""
    others = [k for k in found if k.factory == kernel.factory and k != kernel]
    counting = [
        c
        for c in cases
        if kernel.launched_in(c.launched) or not any(k.launched_in(c.launched) for k in others)
    ]
    by = f"{len(counting)} case{'' if len(counting) == 1 else 's'}"
    bad = [c for c in counting if not c.passed]
    if bad:
        worst = min(bad, key=lambda c: c.outcome.kind is not Kind.WRONG)
        title = worst.driver.title(worst.row)
        return Verdict(kernel, False, by, f"{len(bad)} of them: {_what(worst.outcome)} [{title}]")
    if not any(kernel.launched_in(c.launched) for c in counting):
        return Verdict(kernel, False, by, "no case launches it")
    return Verdict(kernel, True, by)


def _by_script(kernel: FoundKernel, ran: Result) -> Verdict:
    if not ran.passed:
        return Verdict(kernel, False, "script", _what(ran.outcome))
    if not kernel.launched_in(ran.launched):
        return Verdict(kernel, False, "script", "the script passes without launching it")
    return Verdict(kernel, True, "script")


def _what(o: Outcome) -> str:
    return " ".join(filter(None, (o.kind.value, o.slug, o.place, o.detail)))


def total(verdicts: Sequence[Verdict], check: str) -> str:
    """The last line: how many of how many."""
    right = sum(v.right for v in verdicts)
    files = len({v.kernel.file for v in verdicts})
    return f"{right} of {len(verdicts)} kernels in {files} files are right at --check {check}"


def as_csv(verdicts: Sequence[Verdict]) -> str:
    """One row per kernel."""
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["file", "kernel", "lines", "right", "by", "why"])
    for v in verdicts:
        lines = " ".join(map(str, v.kernel.lines))
        writer.writerow([v.kernel.file, v.kernel.function, lines, v.right, v.by, v.why])
    return stream.getvalue()
