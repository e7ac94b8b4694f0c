"""The answer of the judge: one document, whose JSON form judgement.schema.json describes."""

from __future__ import annotations

import json
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from tile_ir.quick_dataclasses import dataclass

# Raised when a name goes or changes its meaning, not when one is added.
VERSION = 1
# The verdicts with exit code and meaning. 1 is an error of the command, 2 of its usage.
VERDICTS: dict[str, tuple[int, str]] = {
    "right": (0, "all cases agree with the reference, without a finding"),
    "wrong": (10, "a case differs from the reference"),
    "finding": (11, "the simulator found an error: a race, an access out of bounds, ..."),
    "refused": (12, "the candidate does not trace or compile"),
    "hang": (13, "the kernel waits for what never happens"),
    "crash": (14, "the process of the candidate or of its kernel died"),
    "time-limit": (15, "a process took longer than its limit"),
    "memory-limit": (16, "a process needed more memory, or answered more, than its limit"),
    "forbidden": (17, "the candidate tried what the fence forbids"),
    "cheating": (18, "the candidate imitates a result instead of computing it"),
    "reference-failed": (19, "the reference raised an error or exceeded a limit"),
    "no-reference": (20, "no finding, but nothing to compare the results with"),
    "failed": (21, "the judge could not decide: a bug of the compiler, or of this machine"),
}
SCHEMA = Path(__file__).parent / "judgement.schema.json"


@dataclass(frozen=True, slots=True)
class UsedReference:
    """The function that gave the expected results, and its origin: `request` or `candidate`."""

    name: str
    given_by: str


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A run with certain sizes. `kind` is given, edge or random; `verdict` is one of right, wrong,
    finding, refused, hang, time-limit, no-reference. Only a case that `counts` has a part in the
    verdict of the whole. `max_error` is the largest absolute difference."""

    kind: str
    sizes: dict[str, Any]
    inputs: tuple[str, ...]
    verdict: str
    message: str = ""
    counts: bool = True
    mismatched: int = 0
    elements: int = 0
    max_error: float | None = None


@dataclass(frozen=True, slots=True)
class JudgedTime:
    """Modelled microseconds of the first case on the device, alone and with launch; half of the
    published times of the regime are within the part `error` of the model."""

    microseconds: float
    with_launch: float
    error: float
    regime: str


@dataclass(frozen=True, slots=True)
class JudgedRoofline:
    """The share of the roofline that the first case reaches, the resource that limits the roofline,
    and the least microseconds it would need."""

    share: float
    resource: str
    least_microseconds: float
    operations: float
    bytes: float


@dataclass(frozen=True, slots=True)
class JudgedAdvice:
    """Why the kernel takes its time and what to change: the verdict of `tile-ascend report`.
    `bound` is the binding resource of the kernel as it is. `tried` are changes that were run."""

    bound: str
    what: str
    evidence: str
    do: str
    places: tuple[dict[str, Any], ...] = ()
    also: tuple[str, ...] = ()
    tried: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class FenceReport:
    """The fences around the process that executed the candidate: those in force, and those that
    this platform does not offer, with the reason."""

    in_force: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The whole answer. `traced`, `compiled` and `right` are None where that was not reached.
    `findings` have the form of `tile-ascend sim --json`; `phases` are seconds."""

    verdict: str
    reason: str
    file: str
    kernel: str
    chip: str = ""
    traced: bool | None = None
    compiled: bool | None = None
    right: bool | None = None
    reference: UsedReference | None = None
    seed: int = 0
    cases: tuple[JudgedCase, ...] = ()
    findings: tuple[dict[str, Any], ...] = ()
    time: JudgedTime | None = None
    roofline: JudgedRoofline | None = None
    advice: JudgedAdvice | None = None
    phases: dict[str, float] = field(default_factory=dict)
    fence: FenceReport = FenceReport()

    @property
    def exit_code(self) -> int:
        return VERDICTS[self.verdict][0]

    def to_json(self) -> dict[str, Any]:
        """The document."""
        head = {"version": VERSION, "verdict": self.verdict, "exit_code": self.exit_code}
        # Lists instead of tuples, and numbers that JSON has.
        body: dict[str, Any] = json.loads(json.dumps(_finite(asdict(self))))
        return {**head, **{k: v for k, v in body.items() if k != "verdict"}}


def _finite(value: Any) -> Any:
    """The value with None in place of floats that JSON has no form for."""
    match value:
        case dict():
            return {k: _finite(v) for k, v in value.items()}
        case list() | tuple():
            return [_finite(v) for v in value]
        case float() if value != value or value in (float("inf"), float("-inf")):
            return None
    return value
