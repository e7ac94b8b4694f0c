"""Compile and run the text of a kernel: a job that never executes the code of a candidate."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tile_ir import IRError, TileError
from tile_ir.switches import override
from tile_runtime.jit_kernels.quick_compiler import quick_compiler
from tile_runtime.scripts.packed_results import packed
from tile_runtime.simulator.simulation_error import SimulationError
from tile_runtime.simulator.time_error import error_bar
from tile_runtime.tools.command_line.finding_formats import Found, finding_data, found_by
from tile_runtime.tools.judge.case_inputs import (
    input_recipe,
    make_inputs,
    supplied_recipe,
    symbols_of,
    unpacked_inputs,
)
from tile_runtime.tools.judge.printed_kernel import PrintedKernel
from tile_runtime.tools.judge.sizes import GIVEN, symbol_cases
from tile_runtime.tools.report.roofline import roofline
from tile_runtime.tools.report.timed_run import TimedRun, watch_timed_runs
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.verdict import verdict

if TYPE_CHECKING:
    from tile_runtime.jit_kernels.kernel import JITKernel

Send = Callable[..., None]
# Findings that mean that a kernel never ends.
_HANGS = frozenset({"deadlock", "flag-wait-without-set"})
_SLOW = frozenset({"time-out"})


def run_kernel(request: dict[str, Any], data: bytes, send: Send) -> None:
    """Send `compiled`, then for each case `inputs` and `ran` with the results; `time` after the
    first. `refused` where it does not compile."""
    switches = {
        "cache": False, "check": "strict", "target": "sim", "threads": request["threads"],
        "timeout": max(1, math.ceil(request["simulator_seconds"])), "cxx": quick_compiler()[0],
    }  # fmt: skip
    began = time.perf_counter()
    with override(**switches), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            kernel = PrintedKernel.from_json(request["kernel"]).compile()
        except TileError as error:
            _refuse(error, send)
            return
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            send({"event": "no-text", "problem": f"{type(error).__name__}: {error}"[:500]})
            return
        remarks = [finding_data(Found(remark)) for remark in kernel.remarks]
        send({"event": "compiled", "seconds": time.perf_counter() - began,
              "chip": kernel.target.name, "remarks": remarks})  # fmt: skip
        if "supplied" in request:
            _run_supplied(kernel, request, data, send)
        else:
            _run_cases(kernel, request, send)


def _refuse(error: TileError, send: Send) -> None:
    findings = [finding_data(each) for each in found_by(error)]
    ours = isinstance(error, IRError)
    send({"event": "refused", "slug": error.slug, "findings": findings, "ours": ours})


def _run_cases(kernel: JITKernel, request: dict[str, Any], send: Send) -> None:
    cases = symbol_cases(
        symbols_of(kernel), request["symbols"], request["edges"], request["random"],
        request["seed"],
    )  # fmt: skip
    # The first case runs again with other inputs: a result that stays the same is told.
    first = request["first"]
    wanted = [cases[0], *(cases if first else cases[1:])]
    for number, case in enumerate(wanted):
        sizes = {**request["sizes"], **case.named}
        about = {
            "event": "inputs", "number": number, "again": first and number == 1, "sizes": sizes,
            "kind": case.kind if case.sizes else request["kind"],
            "seed": request["input_seed"] + number,
        }  # fmt: skip
        timed = first and number == 0
        try:
            recipe = input_recipe(kernel, sizes)
        except TileError as error:
            _refuse_case({**about, "recipe": []}, error, send)
            continue
        inputs = make_inputs(recipe, about["seed"])
        _run_case(kernel, {**about, "recipe": recipe}, inputs, timed, send)


def _run_supplied(kernel: JITKernel, request: dict[str, Any], data: bytes, send: Send) -> None:
    """Run the cases whose inputs the request has."""
    offset = 0
    for number, case in enumerate(request["supplied"]):
        part, offset = data[offset : offset + case["bytes"]], offset + case["bytes"]
        first = request["first"] and number < 2
        about = {
            "event": "inputs", "number": number, "again": first and number == 1,
            "kind": GIVEN, "sizes": case["sizes"], "seed": case["seed"], "named": case["named"],
        }  # fmt: skip
        try:
            recipe = supplied_recipe(kernel, case["inputs"])
        except TileError as error:
            _refuse_case({**about, "recipe": []}, error, send)
            continue
        inputs = unpacked_inputs(recipe, part)
        _run_case(kernel, {**about, "recipe": recipe}, inputs, first and number == 0, send)


def _refuse_case(about: dict[str, Any], error: TileError, send: Send) -> None:
    send(about)
    message = f"{error.slug}: {error.message}"
    send({"event": "ran", "number": about["number"], "outcome": "refused", "message": message})


def _run_case(
    kernel: JITKernel, about: dict[str, Any], inputs: list[Any], timed: bool, send: Send
) -> None:
    """Run one case, and send its inputs, its results or its findings."""
    send(about)
    recipe = about["recipe"]
    runs: list[TimedRun] = []
    ran = {"event": "ran", "number": about["number"]}
    try:
        with override(time=timed), watch_timed_runs(runs.append):
            results = kernel(*inputs)
    except SimulationError as error:
        findings = [finding_data(each) for each in found_by(error)]
        slugs = {str(finding["kind"]) for finding in findings}
        outcome = "hang" if slugs & _HANGS else "slow" if slugs & _SLOW else "finding"
        decisive = {"hang": _HANGS, "slow": _SLOW}.get(outcome, frozenset({error.slug}))
        told = (f"{one['kind']}: {one['message']}" for one in findings if one["kind"] in decisive)
        message = next(told, f"{error.slug}: {error.message}")[:1000]
        send({**ran, "outcome": outcome, "findings": findings, "message": message})
        return
    except IRError as error:
        _refuse(error, send)
        return
    except TileError as error:  # a call that does not fit: the kernel refuses the size
        message = f"{error.slug}: {error.message}"[:1000]
        send({**ran, "outcome": "refused", "message": message})
        return
    returned = [] if results is None else results if isinstance(results, list) else [results]
    written = [t for t, one in zip(inputs, recipe, strict=True) if one.get("written")]
    described, data = packed([*returned, *written])
    send({**ran, "outcome": "ran", "outputs": described, "returned": len(returned)}, data)
    if timed and runs:
        send({"event": "time", **_times(runs)})


def _times(runs: list[TimedRun]) -> dict[str, Any]:
    """Modelled time, roofline and advice of the launches of a call; the slowest is explained."""
    roofs = [roofline(run) for run in runs]
    least = {part: sum(roof.least[part] for roof in roofs) for part in roofs[0].least}
    resource = max(least, key=lambda part: least[part])
    seconds = sum(roof.seconds for roof in roofs)
    slowest = max(runs, key=lambda run: run.timeline.microseconds)
    bar = error_bar(slowest.timeline)
    return {
        "time": {
            "microseconds": sum(run.timeline.microseconds for run in runs),
            "with_launch": sum(run.timeline.task_microseconds for run in runs),
            "error": bar.part,
            "regime": bar.regime,
        },
        "roofline": {
            "share": least[resource] / seconds if seconds > 0 else 0.0,
            "resource": resource,
            "least_microseconds": least[resource] * 1e6,
            "operations": sum(roof.operations for roof in roofs),
            "bytes": sum(roof.bytes for roof in roofs),
        },
        "advice": advice_data(slowest),
    }  # fmt: skip


def advice_data(run: TimedRun) -> dict[str, Any]:
    """Why a run took its time and what to change, as data."""
    why = verdict(Measures(run))
    return {
        "bound": why.bound,
        "what": why.what,
        "evidence": why.evidence,
        "do": why.do,
        "places": [{"file": file, "line": line} for file, line in why.places],
        "also": list(why.also),
        "tried": [],
    }
