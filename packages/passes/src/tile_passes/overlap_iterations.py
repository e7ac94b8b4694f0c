"""Leaves how far iterations of plain loops overlap to the model, where they move tiles."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import (
    Automatic,
    Body,
    Core,
    For,
    Func,
    LoopKind,
    Memory,
    Op,
    Phase,
    Section,
    Stmt,
    Store,
    Target,
    accesses,
    bodies,
    breaks,
    core_of,
    loads,
    walk,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import constant_trips
from tile_ir.quick_dataclasses import replace
from tile_passes.own_order import says_when
from tile_passes.parallel.nest_form import is_loop_of_lines
from tile_passes.passdef import ir_pass

# Loops whose iterations follow each other as the text has them.
PLAIN = (LoopKind.SERIAL, LoopKind.PERSISTENT)


@ir_pass(needs=Phase.TYPED)
def overlap_iterations(func: Func, target: Target) -> Func:
    """Turn plain loops that move tiles into pipelined loops, with the best number of stages.

    Needs, gives: TYPED. Idea: while this tile is computed, the next one can load and the last one
    be stored. `num_stages="auto"` gives tiles versions if they fit and the loop is modelled faster.
    The pass runs only if the kernel leaves it to the compiler (`Automatic.ITERATIONS`). Limits: no
    manually ordered kernels, no loops with `break`, no iterations that other cores wait for, and no
    loops around loops with work for both kinds of core, which overlap themselves.
    """
    if not {Automatic.SYNC, Automatic.ITERATIONS} <= func.automatic:
        return func
    return func.with_body(_body(func.launch.body))


def _body(body: Body) -> Body:
    return with_statements(body, (_stmt(stmt) for stmt in body))


def _stmt(stmt: Stmt) -> Stmt:
    new = with_bodies(stmt, tuple(map(_body, bodies(stmt))))
    if isinstance(new, For) and new.kind in PLAIN and _may_overlap(new):
        return replace(new, kind=LoopKind.PIPELINED, stages=0)
    return new


def _may_overlap(loop: For) -> bool:
    trips = constant_trips(loop)
    if (trips is not None and trips < 2) or any(breaks(loop.body)):
        return False
    work = [*_work(loop.body, Core.EITHER, None)]
    if any(says_when(op) for _, op, _ in work):
        return False
    over_both = {inner for core, _, inner in work if core is Core.CUBE} & {
        inner for core, _, inner in work if core is Core.VECTOR
    }
    if not over_both <= {None}:
        return False
    if any(_moves_tile(op) for _, op, _ in work):
        return True
    # Lines may become one nest of two dimensions yet.
    return not is_loop_of_lines(loop) and any(map(_loads_elements, walk(loop.body)))


def _work(body: Body, core: Core, inner: For | None) -> Iterator[tuple[Core, Op, For | None]]:
    """The operations of a body with their cores, and the outermost loop they are in."""
    for stmt in body:
        match stmt:
            case Op():
                yield core_of(stmt) if core is Core.EITHER else core, stmt, inner
            case Section():
                yield from _work(stmt.body, stmt.core, inner)
                continue
        around = stmt if inner is None and isinstance(stmt, For) else inner
        for each in bodies(stmt):
            yield from _work(each, core, around)


def _moves_tile(op: Op) -> bool:
    """Whether it moves a tile between gm and a memory of the chip."""
    read = {r.memory for r, access in accesses(op) if access.reads}
    written = {r.memory for r, access in accesses(op) if access.writes}
    chip = {Memory.GM, Memory.VAR}
    return (Memory.GM in read and not written <= chip) or (
        Memory.GM in written and not read <= chip
    )


def _loads_elements(stmt: Stmt) -> bool:
    """Whether a nest of T.Parallel brings elements of gm to a tile."""
    return (
        isinstance(stmt, For)
        and stmt.kind is LoopKind.PARALLEL
        and any(
            isinstance(s, Store)
            and s.buffer.memory is Memory.UB
            and any(e.buffer.memory is Memory.GM for e in loads(s))
            for s in walk(stmt.body)
        )
    )
