"""From what was observed of a candidate to a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.tools.judge.children import EndedChild
from tile_runtime.tools.judge.compare_results import compare_results, unpacked
from tile_runtime.tools.judge.judgement import (
    FenceReport,
    JudgedAdvice,
    JudgedCase,
    JudgedRoofline,
    JudgedTime,
    Judgement,
    UsedReference,
)
from tile_runtime.tools.judge.request import JudgeRequest

Finding = dict[str, Any]
_MOST_EDGES = 4
# Verdicts of cases, the most serious first.
_SERIOUS = ("time-limit", "hang", "finding", "wrong")
# What a factory is refused for that hands out results instead of a kernel.
_WITHOUT_KERNEL = "result-without-kernel"


@dataclass(frozen=True)
class TracedText:
    """What came out of the process of the candidate. Its messages are not trusted: those of an
    unexpected form are left out. `accusations` are of cheating, or of what is forbidden."""

    ended: EndedChild
    kernels: tuple[dict[str, Any], ...] = ()
    refused_cases: tuple[dict[str, Any], ...] = ()
    name: str = ""
    slug: str = ""
    findings: tuple[Finding, ...] = ()
    answered: bool = False
    accusations: tuple[tuple[str, str], ...] = ()
    fence: FenceReport = FenceReport()

    @staticmethod
    def of(
        messages: Sequence[dict[str, Any]], ended: EndedChild, request: JudgeRequest
    ) -> TracedText:
        # The first arguments, the given sizes, edges with what may stand for them, random ones.
        most = 1 + len(request.sizes) + _MOST_EDGES + request.random
        known: dict[str, Any] = {}
        accusations: list[tuple[str, str]] = []
        for message in messages:
            match message:
                case {"event": "fence", "in_force": list(), "missing": dict()}:
                    known.setdefault("fence", _fence(message))
                case {"event": "forbidden", "what": str(what)}:
                    accusations.append(("forbidden", f"it tried {what}"))
                case {"event": "cheating", "what": str(what)}:
                    accusations.append(("cheating", f"it {what}"))
                case {"event": "replaced", "names": [str(name), *_]}:
                    accusations.append(("cheating", f"it replaces `{name}`"))
                case {"event": "refused", "slug": str(slug), "findings": list(found)}:
                    findings = tuple(f for f in found if _is_finding(f))
                    known |= {"slug": slug, "findings": findings, "answered": True}
                case {"event": "traced", "name": str(name), "kernels": list(kernels),
                      "refused": list(refused)}:  # fmt: skip
                    known |= {
                        "answered": True,
                        "name": name,
                        "kernels": tuple(k for k in kernels if _is_kernel(k))[:most],
                        "refused_cases": tuple(r for r in refused if _is_refused(r))[:most],
                    }
        if known.get("slug") == _WITHOUT_KERNEL:
            accusations.append(("cheating", known["findings"][0]["message"]))
        return TracedText(ended, accusations=tuple(accusations), **known)


@dataclass(frozen=True)
class KernelRun:
    """What the process told that compiled and ran one kernel. `inputs` and `results` are by case;
    `outcomes` are the messages of all cases."""

    number: int
    ended: EndedChild
    compiled: Mapping[str, Any] | None = None
    refused: Mapping[str, Any] | None = None
    inputs: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    outcomes: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    results: Mapping[int, bytes] = field(default_factory=dict)
    time: Mapping[str, Any] | None = None

    @staticmethod
    def of(
        number: int, messages: Sequence[tuple[dict[str, Any], bytes]], ended: EndedChild
    ) -> KernelRun:
        known: dict[str, Any] = {"inputs": {}, "outcomes": {}, "results": {}}
        for message, data in messages:
            match message["event"]:
                case "compiled" | "time" as event:
                    known[event] = message
                case "refused" | "no-text":
                    known["refused"] = message
                case "inputs":
                    known["inputs"][message["number"]] = message
                case "ran":
                    known["outcomes"][message["number"]] = message
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
    cpu: float = 0.0


def decide(request: JudgeRequest, observed: Observed) -> Judgement:
    """The verdict, with everything that it rests on."""
    traced, runs = observed.traced, observed.runs
    cases = [
        *(_case_of(request, observed, run, number) for run in runs for number in run.outcomes),
        *(
            JudgedCase(r["kind"], r["sizes"], (), "refused", r["message"])
            for r in traced.refused_cases
        ),
    ]
    verdict, reason = _verdict(request, observed, cases)
    first = runs[0] if runs else None
    findings = [*traced.findings]
    for run in runs:
        if run.refused and run.number == 0:
            findings += run.refused.get("findings", ())
        for outcome in run.outcomes.values():
            findings += outcome.get("findings", ())
    if first and first.compiled:
        findings += first.compiled["remarks"]
    told = first.time if first else None
    comparable = [c.verdict for c in cases if c.verdict in ("right", "wrong")]
    return Judgement(
        verdict, reason, request.file, traced.name or request.kernel,
        chip=str(first.compiled["chip"]) if first and first.compiled else "",
        traced=_known(traced.ended.how == "done" or None, bool(traced.kernels)),
        compiled=bool(first.compiled) if first else None,
        right=_is_right(verdict, comparable),
        reference=observed.reference,
        seed=observed.seed,
        cases=tuple(cases),
        findings=tuple(_distinct(findings)),
        time=JudgedTime(**told["time"]) if told else None,
        roofline=JudgedRoofline(**told["roofline"]) if told else None,
        advice=_advice(told["advice"]) if told else None,
        phases=dict(observed.phases),
        fence=traced.fence,
    )  # fmt: skip


def _known(reached: bool | None, value: bool) -> bool | None:
    return value if reached else None


def _is_right(verdict: str, comparable: Sequence[str]) -> bool | None:
    if verdict in ("wrong", "cheating"):
        return False
    return None if not comparable else "wrong" not in comparable


def _verdict(
    request: JudgeRequest, observed: Observed, cases: Sequence[JudgedCase]
) -> tuple[str, str]:
    """The verdict and its reason: the most serious of what was observed."""
    return (
        _problem_of_candidate(observed.traced)
        or _problem_of_sizes(request, observed.traced)
        or _problem_of_processes(observed.runs)
        or _constant(observed, observed.runs[0])
        or _problem_of_cases(observed, cases)
        or _without_problem(observed, cases)
    )


def _problem_of_candidate(traced: TracedText) -> tuple[str, str] | None:
    for kind in ("forbidden", "cheating"):
        for accused, what in traced.accusations:
            if accused == kind:
                return kind, what
    if traced.ended.how != "done":
        return traced.ended.how, f"while it was traced, {traced.ended.problem}"
    if not traced.answered:
        return "crash", "while it was traced, its process ended without an answer"
    if not traced.kernels:
        said = traced.findings[0]["message"] if traced.findings else "it handed out no kernel"
        return "refused", said
    return None


def _problem_of_sizes(request: JudgeRequest, traced: TracedText) -> tuple[str, str] | None:
    """Whether a size that the request gives has no kernel. Others may be refused."""
    for case in traced.refused_cases:
        if case["kind"] == "given":
            return "refused", f"given case{_sizes_text(case['sizes'])}: {case['message']}"
    first, *others = traced.kernels
    answered = len(first["symbols"]) + sum(kernel["kind"] == "given" for kernel in others)
    if answered < len(request.sizes):
        return "refused", f"of {len(request.sizes)} given sizes it has kernels for {answered}"
    return None


def _problem_of_processes(runs: Sequence[KernelRun]) -> tuple[str, str] | None:
    for run in runs:
        if run.refused is None and run.ended.how != "done":
            return run.ended.how, f"while its kernel ran, {run.ended.problem}"
        if run.refused and (run.number == 0 or run.refused.get("ours")):
            return _refusal(run.refused)
    return None


def _problem_of_cases(observed: Observed, cases: Sequence[JudgedCase]) -> tuple[str, str] | None:
    worst = [c for kind in _SERIOUS for c in cases if c.verdict == kind]
    if worst and worst[0].verdict != "wrong":
        return worst[0].verdict, _told(worst[0])
    if observed.reference_problem:
        return "reference-failed", observed.reference_problem
    if worst:
        return "wrong", _told(worst[0])
    first = observed.runs[0].outcomes.get(0, {})
    return ("refused", str(first["message"])) if first.get("outcome") == "refused" else None


def _without_problem(observed: Observed, cases: Sequence[JudgedCase]) -> tuple[str, str]:
    count = sum(case.verdict in ("right", "no-reference") for case in cases)
    ran = f"{count} case{'' if count == 1 else 's'}"
    if observed.reference is None:
        return "no-reference", f"{ran} without a finding; no reference to compare with"
    return "right", f"{ran} agree with `{observed.reference.name}`, without a finding"


def _refusal(refused: Mapping[str, Any]) -> tuple[str, str]:
    if refused["event"] == "no-text":
        return "refused", f"its kernel is no text of a kernel: {refused['problem']}"
    found = refused["findings"]
    message = found[0]["message"] if found else refused["slug"]
    return ("failed" if refused["ours"] else "refused"), f"{refused['slug']}: {message}"


def _constant(observed: Observed, run: KernelRun) -> tuple[str, str] | None:
    """Whether results stay the same with other inputs, and those of the reference do not."""
    if not {0, 1} <= run.results.keys() or run.outcomes[0]["outputs"] == []:
        return None
    expected = [observed.expected.get((run.number, number)) for number in (0, 1)]
    if None in expected or expected[0][1] == expected[1][1]:  # type: ignore[index]
        return None
    if run.results[0] != run.results[1] or not run.inputs[1]["again"]:
        return None
    return "cheating", "its results do not depend on its inputs, and those of the reference do"


def _case_of(request: JudgeRequest, observed: Observed, run: KernelRun, number: int) -> JudgedCase:
    about, outcome = run.inputs[number], run.outcomes[number]
    inputs = _recipe_text(about["recipe"])
    case = (about["kind"], about["sizes"], inputs)
    match outcome["outcome"]:
        case "slow":
            return JudgedCase(*case, "time-limit", outcome["message"])
        case "hang" | "finding" | "refused" as kind:
            return JudgedCase(*case, kind, outcome["message"])
    found = observed.expected.get((run.number, number))
    if found is None:
        return JudgedCase(*case, "no-reference")
    try:
        results = unpacked(outcome["outputs"], run.results[number])
        expected = unpacked(*found)
    except (ValueError, TypeError, KeyError) as error:
        return JudgedCase(*case, "wrong", f"the results can not be read: {error}")
    if len(expected) == outcome["returned"]:
        results = results[: outcome["returned"]]
    compared = compare_results(results, expected, request.rtol, request.atol)
    verdict = "right" if compared.right else "wrong"
    return JudgedCase(
        *case, verdict, compared.message, compared.mismatched, compared.elements,
        compared.max_error,
    )  # fmt: skip


def _recipe_text(recipe: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The inputs in words: `A float32[256, 256]`, `n = 2`."""
    return tuple(
        f"{one['name']} = {one['value']}"
        if "value" in one
        else f"{one['name']} {one['dtype']}{one['shape']}"
        for one in recipe
    )


def _told(case: JudgedCase) -> str:
    return f"{case.kind} case{_sizes_text(case.sizes)}: {case.message}"


def _sizes_text(sizes: Mapping[str, Any]) -> str:
    return "".join(f" {name}={value}" for name, value in sizes.items())


def _advice(told: Mapping[str, Any]) -> JudgedAdvice:
    lists = {name: tuple(told[name]) for name in ("places", "also", "tried")}
    return JudgedAdvice(told["bound"], told["what"], told["evidence"], told["do"], **lists)


def _distinct(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, each once: cases of several sizes have the same ones."""
    seen: dict[tuple[Any, ...], Finding] = {}
    for one in findings:
        seen.setdefault((one["kind"], one["file"], one["line"], one["column"]), one)
    return list(seen.values())


def _fence(message: Mapping[str, Any]) -> FenceReport:
    missing = {str(k): str(v) for k, v in message["missing"].items()}
    return FenceReport(tuple(map(str, message["in_force"])), missing)


_FINDING: dict[str, type | tuple[type, ...]] = {
    "kind": str, "severity": str, "file": (str, type(None)), "line": (int, type(None)),
    "column": (int, type(None)), "message": str, "hint": (str, type(None)), "places": list,
}  # fmt: skip


def _is_finding(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() >= _FINDING.keys()
        and all(isinstance(value[name], kind) for name, kind in _FINDING.items())
        and value["severity"] in ("error", "warning", "note")
    )


def _is_kernel(value: Any) -> bool:
    match value:
        case {"kind": "given" | "edge" | "random", "sizes": dict(), "symbols": list(symbols),
              "kernel": dict()}:  # fmt: skip
            return all(isinstance(one, dict) for one in symbols)
    return False


def _is_refused(value: Any) -> bool:
    match value:
        case {"kind": "given" | "edge" | "random", "sizes": dict(), "message": str()}:
            return True
    return False
