"""From what was observed of a candidate to a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tile_runtime.scripts.compare_results import follows
from tile_runtime.scripts.packed_results import Array, unpacked
from tile_runtime.tools.judge.judged_cases import (
    compared_results,
    counts,
    judged_cases,
    refusal,
)
from tile_runtime.tools.judge.judgement import (
    JudgedAdvice,
    JudgedCase,
    JudgedRoofline,
    JudgedTime,
    Judgement,
)
from tile_runtime.tools.judge.observed import Finding, KernelRun, Observed, TracedText
from tile_runtime.tools.judge.request import JudgeRequest

# Verdicts of cases, the most serious first.
_SERIOUS = ("time-limit", "hang", "finding", "wrong")


def decide(request: JudgeRequest, observed: Observed) -> Judgement:
    """The verdict, with everything that it rests on."""
    traced, runs = observed.traced, observed.runs
    cases = judged_cases(request, observed)
    verdict, reason = _verdict(request, observed, cases)
    first = runs[0] if runs else None
    findings = [*traced.findings]
    for run in runs:
        if run.refused and run.number == 0:
            findings += run.refused.get("findings", ())
        for outcome in run.outcomes.values() if counts(request, traced, run) else ():
            findings += outcome.get("findings", ())
    if first and first.compiled:
        findings += first.compiled["remarks"]
    told = first.time if first else None
    if observed.no_advice:
        reason += f"; {observed.no_advice}"
    comparable = [c.verdict for c in cases if c.counts and c.verdict in ("right", "wrong")]
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
        advice=observed.advice or (_advice(told["advice"]) if told else None),
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
    """The verdict and its reason: the most serious observation."""
    return (
        _problem_of_candidate(observed.traced)
        or _problem_of_sizes(request, observed.traced)
        or _problem_of_processes(request, observed)
        or _constant(observed, observed.runs[0], cases)
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
    answered = [*first["symbols"], *(k["sizes"] for k in others if k["kind"] == "given")]
    for sizes in map(dict, request.sizes):
        if sizes not in answered:
            return "refused", f"it has no kernel for the given case{_sizes_text(sizes)}"
    return None


def _problem_of_processes(request: JudgeRequest, observed: Observed) -> tuple[str, str] | None:
    for run in observed.runs:
        if not counts(request, observed.traced, run):
            continue
        if run.refused is None and run.ended.how != "done":
            return run.ended.how, f"while its kernel ran, {run.ended.problem}"
        if run.refused and (run.number == 0 or run.refused.get("ours")):
            return refusal(run.refused)
        if run.refused and observed.traced.kernels[run.number]["kind"] == "given":
            return refusal(run.refused)
    return None


def _problem_of_cases(observed: Observed, cases: Sequence[JudgedCase]) -> tuple[str, str] | None:
    worst = [c for kind in _SERIOUS for c in cases if c.counts and c.verdict == kind]
    if worst and worst[0].verdict != "wrong":
        return worst[0].verdict, _told(worst[0])
    if observed.reference_problem:
        return "reference-failed", observed.reference_problem
    if worst:
        return "wrong", _told(worst[0])
    first = observed.runs[0].outcomes.get(0, {})
    return ("refused", str(first["message"])) if first.get("outcome") == "refused" else None


def _without_problem(observed: Observed, cases: Sequence[JudgedCase]) -> tuple[str, str]:
    count = sum(case.counts and case.verdict in ("right", "no-reference") for case in cases)
    ran = f"{count} case{'' if count == 1 else 's'}"
    failed = [case for case in cases if case.verdict in _SERIOUS]
    rest = f"; but {_told(failed[0])}; have the factory refuse such sizes" if failed else ""
    if observed.reference is None:
        return "no-reference", f"{ran} without a finding, and no reference{rest}"
    return "right", f"{ran} agree with `{observed.reference.name}`, without a finding{rest}"


def _constant(
    observed: Observed, run: KernelRun, cases: Sequence[JudgedCase]
) -> tuple[str, str] | None:
    """Whether results of the first case do not follow its inputs, and those of the reference do.
    `cases` begin with the first case and the same one with other inputs."""
    if not {0, 1} <= run.results.keys() or not run.inputs[1]["again"]:
        return None
    expected = [observed.expected.get((run.number, number)) for number in (0, 1)]
    if None in expected or expected[0][1] == expected[1][1]:  # type: ignore[index]
        return None
    same = run.results[0] == run.results[1] and run.outcomes[0]["outputs"] != []
    right = all(case.verdict == "right" for case in cases[:2])
    if same or (right and not follows(*_of_both(run, expected))):
        return "cheating", "its results do not depend on its inputs, and those of the reference do"
    return None


def _of_both(run: KernelRun, expected: Sequence[Any]) -> list[list[tuple[str, Array]]]:
    """The results of the first two cases, which are right, then what was expected."""
    theirs = [unpacked(*one) for one in expected]
    return [*(compared_results(run, n, len(theirs[n])) for n in (0, 1)), *theirs]


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
