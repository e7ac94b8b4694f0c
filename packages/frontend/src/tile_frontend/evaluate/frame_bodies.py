"""Running the body of a `with` inside its frame: each function opens the frame, hands the target's
values to `run`, and emits the statement that results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_frontend.language.kernel_frames import (
    BranchFrame,
    Frame,
    IfFrame,
    KernelFrame,
    ScopeFrame,
    flat_grid,
)
from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import Scalar, as_python
from tile_frontend.tracing.trace import Header, Trace
from tile_ir import Core, If, Loc, Section, is_constant

# Evaluates the body of the block, with the values its target is bound to.
Run = Callable[[tuple[Any, ...]], None]


def run_frame(
    trace: Trace, frame: Frame, names: tuple[str, ...] | None, loc: Loc, run: Run
) -> None:
    """Evaluate a block inside a frame. `names` are those of the `as` target, None without one."""
    match frame:
        case KernelFrame():
            _launch(trace, frame, names, loc, run)
        case ScopeFrame():
            _no_target(names, f'T.Scope("{frame.letter}")')
            _section(trace, frame, loc, run)
        case IfFrame():
            _no_target(names, "T.If")
            _branch_pair(trace, frame, loc, run)
        case BranchFrame():
            _no_target(names, f"T.{frame.name}")
            _branch(trace, frame, run)


def _no_target(names: tuple[str, ...] | None, what: str) -> None:
    if names is not None:
        raise Fault("with-target", f"{what} yields nothing", "leave out the `as` part", "target")


def _launch(
    trace: Trace, frame: KernelFrame, names: tuple[str, ...] | None, loc: Loc, run: Run
) -> None:
    if trace.header is not None:
        raise Fault(
            "kernel-twice",
            f"`{trace.name}` launches a second kernel, the first is at line "
            f"{trace.header.loc.line}",
            "write one @T.prim_func per launch",
        )
    expected = 2 if frame.threads is None else 1
    if names is not None and len(names) == 2 and frame.by_position:
        grid = flat_grid((as_python(frame.blocks), frame.threads))
        raise Fault(
            "with-target",
            f"the second number of T.Kernel is threads={frame.threads}, the vector cores of a "
            "block: it yields one index, found 2 names",
            f"for threads write `as cid`; for a grid {grid}",
            "target",
        )
    if names is not None and len(names) != expected:
        raise Fault(
            "with-target",
            f"T.Kernel {'without' if expected == 2 else 'with'} threads yields {expected} "
            f"{'indices' if expected == 2 else 'index'}, found {len(names)} "
            f"{'names' if len(names) != 1 else 'name'}",
            _one_index_each(names) if expected == 2 else "write `as cid`",
            "target",
        )
    given = dict(enumerate(names or ()))
    block = trace.loop_variable(_or_default(given.get(0), "cid"))
    lane = trace.loop_variable(_or_default(given.get(1), "vid"))
    trace.header = Header(frame.blocks, block, lane, frame.threads, loc)
    with trace.block() as body:
        if not is_constant(frame.blocks, 0):  # of no blocks, none runs anything
            run((Scalar(block), Scalar(lane))[:expected])
    trace.body = (*trace.prologue, *body)


def _one_index_each(names: tuple[str, ...]) -> str:
    """What to write where a launch without threads has too few or too many names."""
    first = _or_default(names[0] if names else None, "cid")
    hint = f"write `as ({first}, vid)`"
    if len(names) != 1:
        return hint
    return (
        f"{hint}: vid numbers the two vector cores of a block; with threads=2 one name is right, "
        "and the compiler gives each core its rows"
    )


def _or_default(name: str | None, default: str) -> str:
    return default if name is None or name == "_" else name


def _section(trace: Trace, frame: ScopeFrame, loc: Loc, run: Run) -> None:
    if trace.core is not Core.EITHER:
        raise Fault(
            "nested-scope",
            f'T.Scope("{frame.letter}") stands inside another scope',
            "end the outer scope first",
        )
    trace.core = frame.core
    try:
        with trace.block() as body:
            run(())
    finally:
        trace.core = Core.EITHER
    trace.emit(Section(frame.core, tuple(body), loc))


def _branch_pair(trace: Trace, frame: IfFrame, loc: Loc, run: Run) -> None:
    trace.branches.append(frame)
    try:
        with trace.block() as stray:
            run(())
    finally:
        trace.branches.pop()
    if stray:
        raise Fault(
            "branch-missing",
            "a statement stands in T.If, but in neither branch",
            "put it below `with T.Then():` or `with T.Else():`",
        )
    then, orelse = frame.branches.get("Then", ()), frame.branches.get("Else", ())
    trace.emit(If(frame.condition, then, orelse, loc))


def _branch(trace: Trace, frame: BranchFrame, run: Run) -> None:
    owner: IfFrame | None = trace.branches[-1] if trace.branches else None
    if owner is None:
        raise Fault(
            "branch-missing",
            f"T.{frame.name} stands in no T.If",
            "write `with T.If(cond), T.Then():`; T.Else stands inside the T.If block",
        )
    if frame.name in owner.branches:
        raise Fault("branch-twice", f"this T.If has a second T.{frame.name}")
    # A T.Then inside this branch needs a T.If of its own.
    trace.branches.append(None)
    try:
        with trace.block() as body:
            run(())
    finally:
        trace.branches.pop()
    owner.branches[frame.name] = tuple(body)
