"""What all opinions say about one mixed kernel: the meaning of its text, the interpreter with and
without flags, the static checkers, and the simulator with each core starved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tile_ir
from fuzz.kernels import argument_sets
from fuzz.machine import Outcome, run
from fuzz.machine.assemble import NotAssembled
from fuzz.mixed.together import MOST_WHILE_ROUNDS, run_together
from fuzz.verdict import Failure, joined, run_failure, same
from tile_checkers import check_memory, check_sync
from tile_ir import DEFAULT_TARGET, Buffer, Diagnostic, Func, KernelError, TileError
from tile_passes import PassOptions, run_passes
from tile_passes.pipeline import PIPELINE
from tile_passes.simplify import simplify
from tile_passes.streams.handovers import find_handovers
from tile_passes.streams.items import definitions, gm_accesses
from tile_runtime.launcher.native import launcher

# Sets of arguments, one for each trip count from 0 to 4, and how many of them are interpreted.
SETS, COMPARED = 5, 2
UNPROVED = "sync-unproved"
# Which core runs only when no other can (0: none), and the seed of the others' order.
SCHEDULES = ((0, 0), (1, 1), (2, 2), (3, 3))
MORE_SCHEDULES = tuple((starved, seed) for seed in range(10, 15) for starved in range(4))


@dataclass(frozen=True)
class Stages:
    """A kernel on its way: merged into one text, with cross-core flags, and final."""

    merged: Func
    flagged: Func
    final: Func


@dataclass(frozen=True)
class Judged:
    """`refused` is the slug of the compiler's own error, and `unproved` what `check_sync` says where
    it gives up: neither is a failure."""

    stages: Stages | None = None
    failure: Failure | None = None
    refused: str = ""
    message: str = ""
    unproved: str = ""


def judge(
    func: Func,
    seed: int,
    *,
    meant: Func | None = None,
    compared: int = COMPARED,
    schedules: Sequence[tuple[int, int]] = SCHEDULES,
) -> Judged:
    """What is wrong with a mixed kernel. `meant` is a kernel whose text says what this one's means,
    where that is not its own text from top to bottom."""
    try:
        stages = lowered(func)
    except KernelError as error:
        return Judged(refused=error.slug, message=str(error))
    except TileError as error:
        return Judged(failure=Failure(f"pass {error.slug}", str(error)))
    arguments = argument_sets(func, seed, SETS)
    try:
        expected = [meaning(func, meant, stages, a) for a in arguments[:compared]]
    except TileError as error:
        return Judged(stages, Failure(f"interpreter {error.slug}", str(error)))
    failures = [
        _flags_problem(stages.flagged, arguments, expected),
        static_problem(stages.final),
        run_problem(stages.final, arguments, expected, schedules),
    ]
    given_up = (d for d in check_sync(stages.final) if d.slug == UNPROVED)
    unproved = next((f"{d.message} at {d.loc}" for d in given_up), "")
    return Judged(stages, joined([f for f in failures if f is not None]), unproved=unproved)


def lowered(func: Func) -> Stages:
    kept: dict[str, Func] = {}

    def keep(p: Any, after: Func, changed: bool) -> None:
        kept[p.name] = after

    run_passes(func, PIPELINE, DEFAULT_TARGET, PassOptions(after_each=keep))
    names = ("merge_streams", "insert_cross_core_sync", PIPELINE[-1].name)
    return Stages(*(kept[name] for name in names))


def with_workspaces(func: Func, arguments: Sequence[Any]) -> list[Any]:
    """Copies of the arguments, and room for the workspaces that the compiler has added behind the
    tensors."""
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    added = func.params[len(given) :]
    for param in added:
        assert isinstance(param, Buffer), "only workspaces are added"
        given.append(np.full(param.static_shape() or (), 99, param.dtype.storage))
    return given


def interpreted(func: Func, arguments: Sequence[Any], in_text_order: bool) -> list[Any]:
    """The arguments after a run, without the compiler's workspaces."""
    arrays = with_workspaces(func, arguments)
    tile_ir.interpret(func, arrays, in_text_order=in_text_order, while_iterations=MOST_WHILE_ROUNDS)
    return arrays[: len(arguments)]


def hands_over(func: Func) -> bool:
    """Whether a tensor is taken for a handover, by which the text means something else than what it
    says from top to bottom. Conditions that are known are no part of the text
    (docs/language/rules.md#handovers)."""
    func = simplify.run(func, DEFAULT_TARGET)
    body = func.launch.body
    try:
        return bool(find_handovers(list(gm_accesses(body)), definitions(body)))
    except KernelError:
        return True


def meaning(func: Func, meant: Func | None, stages: Stages, arguments: Sequence[Any]) -> list[Any]:
    """The arguments after what the kernel means: its text from top to bottom, or, where a tensor is
    taken for a handover, the text that `merge_streams` makes of it."""
    if meant is None and hands_over(func):
        return interpreted(stages.merged, arguments, True)
    arrays = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    run_together(meant or func, arrays)
    return arrays


def _flags_problem(
    flagged: Func, arguments: list[list[Any]], expected: list[list[Any]]
) -> Failure | None:
    for number, (given, wanted) in enumerate(zip(arguments, expected, strict=False)):
        try:
            arrays = interpreted(flagged, given, False)
        except TileError as error:
            return Failure(f"interpreter with flags {error.slug}", str(error))
        name = difference(flagged, arrays, wanted)
        if name:
            return Failure("interpreter with flags", f"set {number}: `{name}` differs")
    return None


def difference(func: Func, found: Sequence[Any], expected: Sequence[Any]) -> str:
    """The name of the first tensor that differs, or nothing. A workspace with versions is not asked:
    rounds hand over in these."""
    names = {p.name for p in func.params}
    for param, x, y in zip(func.params, found, expected, strict=False):
        asked = f"{param.name}_versions" not in names
        if isinstance(x, np.ndarray) and asked and not same(x, y):
            return param.name
    return ""


def static_problem(final: Func) -> Failure | None:
    for name, checker in (("check_memory", check_memory), ("check_sync", check_sync)):
        for d in checker(final):
            if is_fault(d):
                return Failure(f"{name} {d.slug}", f"{d.message} at {d.loc}")
    return None


def is_fault(found: Diagnostic) -> bool:
    """Both vector cores doing the same is waste, and the kernel's own; a proof that was not found
    is counted apart."""
    return found.slug not in ("redundant-store", UNPROVED)


def run_problem(
    final: Func,
    arguments: list[list[Any]],
    expected: list[list[Any]],
    schedules: Sequence[tuple[int, int]],
) -> Failure | None:
    """What the simulator finds: faults, other results than the interpreter's, results that depend on
    the schedule."""
    given = [with_workspaces(final, a) for a in arguments]
    checks = launcher().CHECKS_STRICT
    first: list[list[Any]] | None = None
    for starved, seed in schedules:
        try:
            outcome = run(final, given, checks=checks, trace=256, seed=seed, starved=starved)
            if outcome.error is not None and outcome.error.kind == "redundant-store":
                # Vector cores that do the same store it twice, which is an error at `strict` alone.
                checks = launcher().CHECKS_DEVICE
                outcome = run(final, given, checks=checks, trace=256, seed=seed, starved=starved)
        except NotAssembled as error:
            return Failure("not assembled", str(error))
        failure = _outcome_problem(outcome, final, first or expected)
        if failure is not None:
            name = ("none", "aic", "aiv0", "aiv1")[starved]
            return Failure(failure.kind, f"starved {name}, seed {seed}: {failure.message}")
        first = [a[: len(arguments[0])] for a in outcome.arrays]
    return None


def _outcome_problem(outcome: Outcome, final: Func, expected: list[list[Any]]) -> Failure | None:
    failure = run_failure(outcome, final)
    if failure is not None:
        return failure
    for number, (x, y) in enumerate(zip(outcome.arrays, expected, strict=False)):
        name = difference(final, x, y)
        if name:
            return Failure("result", f"set {number}: `{name}` differs")
    return None
