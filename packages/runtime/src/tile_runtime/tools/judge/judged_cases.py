"""The cases of a candidate, each with its verdict, and whether it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tile_ir.quick_dataclasses import replace
from tile_runtime.scripts.compare_results import compare_results
from tile_runtime.scripts.packed_results import Array, unpacked
from tile_runtime.tools.judge.judgement import JudgedCase
from tile_runtime.tools.judge.observed import KernelRun, Observed, TracedText
from tile_runtime.tools.judge.request import JudgeRequest


def judged_cases(request: JudgeRequest, observed: Observed) -> list[JudgedCase]:
    """All cases, also those that the candidate refuses."""
    cases = [case for run in observed.runs for case in _cases_of(request, observed, run)]
    return cases + [
        JudgedCase(refused["kind"], refused["sizes"], (), "refused", refused["message"])
        for refused in observed.traced.refused_cases
    ]


def counts(request: JudgeRequest, traced: TracedText, run: KernelRun) -> bool:
    """Whether the cases of a kernel decide: those of the first arguments and of given sizes do, and
    others only with `every_size`."""
    is_given = traced.kernels[run.number]["kind"] == "given"
    return run.number == 0 or is_given or request.every_size


def refusal(refused: Mapping[str, Any]) -> tuple[str, str]:
    if refused["event"] == "no-text":
        return "refused", f"its kernel is no text of a kernel: {refused['problem']}"
    found = refused["findings"]
    message = found[0]["message"] if found else refused["slug"]
    return ("failed" if refused["ours"] else "refused"), f"{refused['slug']}: {message}"


def _cases_of(request: JudgeRequest, observed: Observed, run: KernelRun) -> list[JudgedCase]:
    """The cases of one kernel; one for a kernel that does not compile for its sizes."""
    decides = counts(request, observed.traced, run)
    if run.number and not run.outcomes:
        printed = observed.traced.kernels[run.number]
        said = refusal(run.refused)[1] if run.refused else run.ended.problem
        return [JudgedCase(printed["kind"], printed["sizes"], (), "refused", said, decides)]
    found = (_case_of(request, observed, run, number) for number in run.outcomes)
    return [replace(case, counts=decides) for case in found]


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
        expected = unpacked(*found)
        results = compared_results(run, number, len(expected))
    except (ValueError, TypeError, KeyError) as error:
        return JudgedCase(*case, "wrong", f"the results can not be read: {error}")
    tolerance = request.rtol, request.atol
    compared = compare_results(results, expected, *tolerance)
    verdict, message = "right" if compared.right else "wrong", compared.message
    returned = slice(outcome["returned"])
    own = compare_results(results[returned], expected[returned], *tolerance)
    if message and outcome["returned"] and own.right:
        message = f"{_written_text(about['recipe'])} differ from those of the reference: {message}"
    return JudgedCase(
        *case, verdict, message, True, compared.mismatched, compared.elements,
        compared.max_error,
    )  # fmt: skip


def compared_results(run: KernelRun, number: int, count: int) -> list[tuple[str, Array]]:
    """The results of a case that so many expected ones are compared with: those that the kernel
    returns, or all that it writes too. ValueError, TypeError or KeyError for what is none."""
    outcome = run.outcomes[number]
    results = unpacked(outcome["outputs"], run.results[number])
    return results[: outcome["returned"]] if count == outcome["returned"] else results


def _written_text(recipe: Sequence[Mapping[str, Any]]) -> str:
    """The inputs that the kernel writes, in words."""
    names = [f"`{one['name']}`" for one in recipe if one.get("written")]
    return f"the inputs {', '.join(names)} that the kernel writes"


def _recipe_text(recipe: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The inputs in words: `A float32[256, 256]`, `n = 2`."""
    return tuple(
        f"{one['name']} = {one['value']}"
        if "value" in one
        else f"{one['name']} {one['dtype']}{one['shape']}"
        for one in recipe
    )
