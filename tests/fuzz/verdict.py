"""What all opinions say about one kernel: the passes themselves, the static checkers, the simulator
at `strict`, the interpreter's results, and flags at other speeds of the pipes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tile_ir
from fuzz.barriers import barriers_everywhere
from fuzz.kernels import argument_sets, small_target
from fuzz.machine import Outcome, run
from fuzz.schedules import problem_of_schedules
from tile_checkers import check_memory, check_sync
from tile_ir import DEFAULT_TARGET, Func, KernelError, Phase, Target, TileError
from tile_ir.nodes import Body, Stmt
from tile_ir.traversal import rewrite, walk
from tile_passes import apply_passes
from tile_passes.pipeline import PASSES

Checker = Callable[[Func, Target], Sequence[Any]]
Order = Callable[[Func, Target], Func]
# Shares of the memory that the buffers would need side by side, tried one after another.
SHARES = (0.5, 0.75, 1.0)
# Sets of arguments: one for each trip count from 0 to 4; and how many of them are interpreted,
# which takes longer than everything else.
SETS, COMPARED = 5, 2
# Rounds of a `while` that nobody waits for: kernels made small may have endless ones.
MOST_WHILE_ROUNDS = 100


@dataclass(frozen=True)
class Failure:
    """Whose opinion it is, and what it says; of several that are joined with `+`, the first one's
    words."""

    kind: str
    message: str


@dataclass(frozen=True)
class Opinions:
    """How a planned function is ordered, and who checks the result; whether it also runs."""

    order: Order
    checkers: tuple[tuple[str, Checker], ...] = ()
    runs: bool = True

    def of(self, kind: str) -> Opinions:
        """Those only that a kind of failure is about."""
        kinds = kind.split("+")
        kept = tuple(c for c in self.checkers if c[0] in kinds)
        return replace(self, checkers=kept, runs=len(kept) < len(kinds))


@dataclass(frozen=True)
class Checked:
    """A kernel on its way: final IR as far as it came, and what is wrong with it."""

    final: Func | None
    target: Target
    failure: Failure | None


def opinions() -> Opinions:
    """The order that passes insert, and the checkers of all they decide."""
    checkers = (("check_memory", check_memory), ("check_sync", check_sync))
    return Opinions(automatic_order(), checkers)


def automatic_order() -> Order:
    if "insert_sync" not in PASSES:
        return lambda func, target: barriers_everywhere(func)
    return lambda func, target: apply_passes(func, ["insert_sync", "accept_manual_sync"], target)


def check(
    func: Func, seed: int, by: Opinions, *, compared: int = COMPARED, tight: bool = False
) -> Checked:
    """What is wrong with a kernel, PIPELINED or SPLIT, after planning and ordering. It runs with all
    trip counts, and for `compared` of the sets of arguments its results are compared. `tight` plans
    into memories that are too small for all buffers side by side."""
    arguments = argument_sets(func, seed, SETS)
    try:
        expected = [_interpreted(func, a) for a in arguments[:compared]] if by.runs else []
    except TileError as error:
        return Checked(None, DEFAULT_TARGET, Failure(f"interpreter {error.slug}", str(error)))
    try:
        planned, target = plan(func, tight)
        final = by.order(planned, target)
        tile_ir.verify(final, target)
    except TileError as error:
        return Checked(None, DEFAULT_TARGET, Failure(f"pass {error.slug}", str(error)))
    failures = [
        *static_failures(final, target, by),
        _run_problem(final, arguments, expected) if by.runs else None,
        same_statements(planned, final),
    ]
    return Checked(final, target, joined([f for f in failures if f is not None]))


def joined(failures: Sequence[Failure]) -> Failure | None:
    """All at once, so that kinds say who sees what nobody else does."""
    if not failures:
        return None
    return Failure("+".join(f.kind for f in failures), failures[0].message)


def plan(func: Func, tight: bool) -> tuple[Func, Target]:
    """The function with addresses, in the smallest of a few memories that holds it."""
    passes = (
        ["plan_memory"] if func.phase is Phase.PIPELINED else ["inject_pipeline", "plan_memory"]
    )
    targets = [small_target(func, share) for share in SHARES] if tight else [DEFAULT_TARGET]
    for target in targets[:-1]:
        try:
            return apply_passes(func, passes, target), target
        except KernelError as error:
            if error.slug != "memory-overflow":
                raise
    try:
        return apply_passes(func, passes, targets[-1]), targets[-1]
    except KernelError:
        if not tight:
            raise
        # Scratch may not fit beside buffers that are alive.
        return apply_passes(func, passes, DEFAULT_TARGET), DEFAULT_TARGET


def static_failures(final: Func, target: Target, by: Opinions) -> list[Failure]:
    """The first error that each checker finds; both lanes doing the same is none."""
    found = (
        (name, next((p for p in checker(final, target) if p.severity == "error"), None))
        for name, checker in by.checkers
    )
    return [
        Failure(name, f"{p.slug}: {p.message} at {p.loc}") for name, p in found if p is not None
    ]


def _run_problem(final: Func, arguments: list[list[Any]], expected: list[Any]) -> Failure | None:
    outcome = run(final, arguments, trace=256)
    return run_failure(outcome, final) or difference(final, outcome.arrays, expected)


def run_failure(outcome: Outcome, final: Func) -> Failure | None:
    if outcome.error is not None:
        e = outcome.error
        return Failure(e.kind, f"set {e.block}, {e.core}, statement {e.line}: {e.text}")
    if outcome.early_set:
        where = statement(final, outcome.early_set)
        return Failure("early-set", f"statement {outcome.early_set} at {where.loc} may come early")
    for trace in outcome.traces:
        problem = problem_of_schedules(trace)
        if problem is not None:
            return Failure("schedule", problem)
    return None


def statement(func: Func, number: int) -> Stmt:
    for i, stmt in enumerate(walk(func.launch.body), 1):
        if i == number:
            return stmt
    raise IndexError(number)


def _interpreted(func: Func, arguments: Sequence[Any]) -> list[Any]:
    arrays = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    tile_ir.interpret(func, arrays, while_iterations=MOST_WHILE_ROUNDS)
    return arrays


def difference(final: Func, found: list[list[Any]], expected: list[Any]) -> Failure | None:
    for number, (a, b) in enumerate(zip(found, expected, strict=False)):
        for param, x, y in zip(final.params, a, b, strict=True):
            if isinstance(x, np.ndarray) and not same(x, y):
                return Failure("result", f"set {number}: `{param.name}` differs")
    return None


def same(x: Any, y: Any) -> bool:
    """Equal bit for bit, but for what bits a NaN has."""
    if x.dtype.kind == "f":
        bits = np.uint16 if x.itemsize == 2 else np.uint32
        return bool(np.all((x.view(bits) == y.view(bits)) | (np.isnan(x) & np.isnan(y))))
    return bool(np.array_equal(x, y))


def same_statements(planned: Func, final: Func) -> Failure | None:
    """Ordering adds flags and barriers and changes nothing else of what is done."""
    known = {a.buffer.name for a in planned.launch.allocs}
    before = [s for s in walk(planned.launch.body) if not is_sync(s)]
    # The condition of a `while` that reads memory is kept in a variable.
    after = [
        s
        for s in walk(final.launch.body)
        if not is_sync(s)
        and not (
            isinstance(s, tile_ir.Store)
            and s.buffer.memory is tile_ir.Memory.VAR
            and s.buffer.name not in known
        )
    ]
    kinds = [[(type(s).__name__, getattr(getattr(s, "opdef", None), "name", "")) for s in b]
             for b in (before, after)]  # fmt: skip
    work = [[k for k in each if k[0] in ("Op", "Store")] for each in kinds]
    return None if work[0] == work[1] else Failure("statements", "not the same work as before")


def is_sync(stmt: Stmt) -> bool:
    return isinstance(stmt, tile_ir.Op) and stmt.opdef.effect in (
        tile_ir.Effect.SET_FLAG,
        tile_ir.Effect.WAIT_FLAG,
        tile_ir.Effect.BARRIER,
    )


def without_sync(body: Body) -> Body:
    return rewrite(body, lambda s: () if is_sync(s) else s)


def as_input(final: Func) -> Func:
    """A final function as it was before planning and ordering."""
    allocs = tuple(replace(a, address=None) for a in final.launch.allocs)
    return final.with_body(without_sync(final.launch.body), allocs=allocs).at_phase(Phase.PIPELINED)
