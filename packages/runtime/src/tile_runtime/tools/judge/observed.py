"""Collect the observations of a candidate from the messages of its processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.child_processes.child_server import EndedChild
from tile_runtime.tools.judge.judgement import FenceReport, JudgedAdvice, UsedReference
from tile_runtime.tools.judge.request import JudgeRequest

Finding = dict[str, Any]
_MOST_EDGES = 4
# Of what a candidate says, so much is handed on: findings, and letters of a message.
_MOST_FINDINGS, _MOST_WORDS = 20, 2000
# What a factory is refused for that hands out results instead of a kernel.
_WITHOUT_KERNEL = "result-without-kernel"


@dataclass(frozen=True)
class TracedText:
    """The output of the process of the candidate. Its messages are not trusted: those of an
    unexpected form are left out. `accusations` are of cheating, or of forbidden calls."""

    ended: EndedChild
    kernels: tuple[dict[str, Any], ...] = ()
    refused_cases: tuple[dict[str, Any], ...] = ()
    name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    slug: str = ""
    findings: tuple[Finding, ...] = ()
    answered: bool = False
    accusations: tuple[tuple[str, str], ...] = ()
    fence: FenceReport = FenceReport()

    @staticmethod
    def of(ended: EndedChild, request: JudgeRequest) -> TracedText:
        # The first arguments, the given sizes, edges with what may stand for them, random ones.
        most = 1 + len(request.sizes) + _MOST_EDGES + request.random
        known: dict[str, Any] = {}
        accusations: list[tuple[str, str]] = []
        for message, _ in ended.messages:
            match message:
                case {"event": "fence", "in_force": list(), "missing": dict()}:
                    known.setdefault("fence", _fence(message))
                case {"event": "forbidden", "what": str(what)}:
                    accusations.append(("forbidden", f"it tried {what[:_MOST_WORDS]}"))
                case {"event": "cheating", "what": str(what)}:
                    accusations.append(("cheating", f"it {what[:_MOST_WORDS]}"))
                case {"event": "replaced", "names": [str(name), *_]}:
                    accusations.append(("cheating", f"it replaces `{name[:_MOST_WORDS]}`"))
                case {"event": "refused", "slug": str(slug), "findings": list(found)}:
                    findings = tuple(map(_of_form, filter(_is_finding, found)))[:_MOST_FINDINGS]
                    known |= {"slug": slug, "findings": findings, "answered": True}
                case {"event": "traced", "name": str(name), "kernels": list(kernels),
                      "refused": list(refused), "arguments": dict(arguments)}:  # fmt: skip
                    known |= {
                        "answered": True,
                        "name": name[:_MOST_WORDS],
                        "arguments": arguments,
                        "kernels": tuple(k for k in kernels if _is_kernel(k))[:most],
                        "refused_cases": tuple(r for r in refused if _is_refused(r))[:most],
                    }
        if known.get("slug") == _WITHOUT_KERNEL:
            accusations.append(("cheating", known["findings"][0]["message"]))
        return TracedText(ended, accusations=tuple(accusations), **known)


@dataclass(frozen=True)
class KernelRun:
    """The messages of the process that compiled and ran one kernel. `inputs` and
    `results` are by case; `outcomes` are the messages of all cases."""

    number: int
    ended: EndedChild
    compiled: Mapping[str, Any] | None = None
    refused: Mapping[str, Any] | None = None
    inputs: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    outcomes: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    results: Mapping[int, bytes] = field(default_factory=dict)
    time: Mapping[str, Any] | None = None

    @staticmethod
    def of(number: int, ended: EndedChild) -> KernelRun:
        known: dict[str, Any] = {"inputs": {}, "outcomes": {}, "results": {}}
        for message, data in ended.messages:
            match message["event"]:
                case "compiled" | "time" as event:
                    known[event] = message
                case "refused" | "no-text":
                    known["refused"] = message
                case "inputs":
                    known["inputs"][message["number"]] = message
                case "ran":
                    known["outcomes"][message["number"]] = message
                    known["results"].pop(message["number"], None)
                    if message["outcome"] == "ran":
                        known["results"][message["number"]] = data
        return KernelRun(number, ended, **known)

    @property
    def compile_seconds(self) -> float:
        return float(self.compiled["seconds"]) if self.compiled else self.ended.seconds

    @property
    def run_seconds(self) -> float:
        return max(0.0, self.ended.seconds - self.compile_seconds)


@dataclass(frozen=True)
class Observed:
    """All that was found out about a candidate."""

    traced: TracedText
    runs: tuple[KernelRun, ...] = ()
    expected: Mapping[tuple[int, int], Any] = field(default_factory=dict)
    reference: UsedReference | None = None
    reference_problem: str = ""
    seed: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)
    advice: JudgedAdvice | None = None
    no_advice: str = ""
    cpu: float = 0.0


def advice_of(ended: EndedChild) -> JudgedAdvice | None:
    """The advice among messages that are not trusted, if there is one of the right form."""
    for message, _ in ended.messages:
        match message:
            case {
                "event": "advice", "bound": str(bound), "what": str(what), "do": str(do),
                "evidence": str(evidence), "places": list(places), "also": list(also),
                "tried": list(tried),
            }:  # fmt: skip
                shown = tuple(p for p in places if _is_place(p))
                runs = tuple(t for t in tried if _is_tried(t))
                return JudgedAdvice(bound, what, evidence, do, shown, (*map(str, also),), runs)
    return None


def _is_place(value: Any) -> bool:
    match value:
        case {"file": str(), "line": int()} if len(value) == 2:
            return True
    return False


def _is_tried(value: Any) -> bool:
    match value:
        case {"change": str(), "microseconds": int() | float() | None, "problem": str(),
              "best": bool()} if len(value) == 4:  # fmt: skip
            return True
    return False


def _fence(message: Mapping[str, Any]) -> FenceReport:
    missing = {str(k): str(v) for k, v in message["missing"].items()}
    return FenceReport(tuple(map(str, message["in_force"])), missing)


# What may be left out of a finding.
_OPTIONAL: dict[str, type] = {"block": int, "core": str, "api": str}


def _of_form(found: Finding) -> Finding:
    """A finding with the names of the schema alone."""
    known = {name: found[name] for name in _FINDING}
    more = {n: found.get(n) if isinstance(found.get(n), t) else None for n, t in _OPTIONAL.items()}
    return {**known, **more}


_FINDING: dict[str, type | tuple[type, ...]] = {
    "kind": str, "severity": str, "file": (str, type(None)), "line": (int, type(None)),
    "column": (int, type(None)), "message": str, "hint": (str, type(None)), "places": list,
}  # fmt: skip


def _is_finding(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() >= _FINDING.keys()
        and all(isinstance(value[name], kind) for name, kind in _FINDING.items())
        and len(value["message"]) <= _MOST_WORDS
        and value["severity"] in ("error", "warning", "note")
        and all(_is_noted(place) for place in value["places"])
    )


def _is_noted(value: Any) -> bool:
    match value:
        case {"file": str() | None, "line": int() | None, "column": int() | None,
              "message": str()} if len(value) == 4:  # fmt: skip
            return True
    return False


def _is_kernel(value: Any) -> bool:
    match value:
        case {"kind": "given" | "edge" | "random", "sizes": dict(), "symbols": list(symbols),
              "kernel": dict()}:  # fmt: skip
            return all(isinstance(one, dict) for one in symbols)
    return False


def _is_refused(value: Any) -> bool:
    match value:
        case {"kind": "given" | "edge" | "random", "sizes": dict(), "message": str(message)}:
            return len(message) <= _MOST_WORDS
    return False
