"""Loop over the threads of a GPU's block, and declare what each of them has one of."""

from __future__ import annotations

from math import prod
from typing import Any

from tile_frontend._language.allocation import alloc_var
from tile_frontend._language.loops import Loop, Run
from tile_frontend._language.thread_updates import racing_update
from tile_frontend._tracing.one_thread import OneThread
from tile_frontend._tracing.scalars import Scalar
from tile_frontend._tracing.trace import Trace, current
from tile_frontend._tracing.values import Cell
from tile_ir import (
    TOLD,
    Buffer,
    Const,
    KernelError,
    Loc,
    LoopKind,
    Memory,
    Op,
    Stmt,
    Store,
    Var,
    walk,
    written_buffers,
)
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThreadLoop(Loop):
    """A parallel loop whose iterations are the threads of a block."""

    def emit(self, trace: Trace, names: tuple[str, ...], loc: Loc, run: Run) -> None:
        def run_thread(variables: tuple[Scalar, ...]) -> None:
            (thread,) = (v.expr for v in variables)
            assert isinstance(thread, Var), "a loop has a variable"
            trace.thread = here = OneThread(thread)
            with trace.block() as body:
                run(variables)
            trace.thread = None
            _check_operations(trace, body)
            _check_updates(trace, body, here)
            for stmt in body:
                trace.emit(stmt)

        Loop.emit(self, trace, names, loc, run_thread)


def thread_loop(trace: Trace) -> ThreadLoop:
    return ThreadLoop("Parallel", LoopKind.PARALLEL, ((Const(0), Const(prod(trace.threads))),))


def private_var(*args: Any, **named: Any) -> Cell:
    """A variable that each thread has one of, declared outside of loops over the threads."""
    cell = alloc_var(*args, **named)
    current("alloc_var").private.add(cell.tile)
    return cell


def _check_operations(trace: Trace, body: list[Stmt]) -> None:
    """Raise KernelError for an operation on tiles, which the block has, among what a thread does:
    a macro that is given a thread number may hold one."""
    for stmt in walk(tuple(body)):
        if not isinstance(stmt, Op) or stmt.opdef.atomic or stmt.opdef.effect in TOLD:
            continue
        if any(_is_shared(trace, buffer) for buffer in written_buffers((stmt,))):
            raise KernelError(
                "thread-program",
                f"T.{stmt.opdef.name} is for all threads of the block, but stands in what each "
                "thread does on its own",
                stmt.loc,
                "pass no thread number to the macro, and ask for it inside",
            )


def _is_shared(trace: Trace, buffer: Buffer) -> bool:
    return buffer.memory is not Memory.VAR and not trace.private.holds(buffer)


def _check_updates(trace: Trace, body: list[Stmt], thread: OneThread) -> None:
    """Raise KernelError for updates of shared elements that would be lost."""

    def is_shared(store: Store) -> bool:
        mine = any(store is assigned for assigned in thread.assigned)
        return mine and _is_shared(trace, store.buffer)

    store = racing_update(body, is_shared, thread.number, prod(trace.threads))
    if store is not None:
        name = store.buffer.name
        raise KernelError(
            "thread-program",
            f"other threads may write `{name}` between the read and the write of this update",
            store.loc,
            f"write T.atomic_add({name}[...], value), give each thread an element of its own, or "
            "keep the value in a variable and store it behind T.sync_threads()",
        )
