"""Says which core runs each statement of an unscoped kernel with cube and vector work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tile_ir import (
    CORE_OF_MEMORY,
    Automatic,
    Body,
    Core,
    Diagnostic,
    Effect,
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
    bodies,
    core_of,
    loads,
    walk,
    with_bodies,
)
from tile_ir.opdef import Among
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.lane_dependence import done_by_values
from tile_passes.own_order import left_with
from tile_passes.passdef import ir_pass

CROSS_CORE = (Effect.SET_CROSS_FLAG, Effect.WAIT_CROSS_FLAG, Effect.SYNC_ALL)
BOTH = (Effect.PRINT, Effect.ASSERT)


@ir_pass(needs=Phase.TYPED)
def assign_cores(func: Func, target: Target) -> Func:
    """Put the statements of an unscoped kernel with work for both kinds of core into sections.

    Needs, gives: TYPED. Idea: an operation runs on the core of its memories; a flag or barrier that
    fits both cores belongs to the core of the statement before it. Kernels with scopes, or with
    work for one kind of core and no wait for a signal, stay as they are. If the source has no order
    between the cores, the compiler inserts it (`Automatic.CROSS`)
    (docs/language/rules.md#which-core). Limits: a flag before all work belongs to no core.
    """
    body = func.launch.body
    if any(isinstance(s, Section) for s in walk(body)):
        return func
    ours = _stores_of_vector(func)
    work = [(s, core) for s in walk(body) if (core := _core_of_work(s, ours)) is not None]
    effects = {s.opdef.effect for s in walk(body) if isinstance(s, Op)}
    kinds = {core for _, core in work}
    # What waits for a signal names no core: of one that has no work nobody thinks.
    if not kinds or (len(kinds) < 2 and Effect.WAIT_CROSS_FLAG not in effects):
        return func
    ordered = not effects.isdisjoint(CROSS_CORE)
    automatic = func.automatic if ordered else left_with(func, Automatic.CROSS)
    division = _Division(ours, kinds.pop() if len(kinds) == 1 else None)
    new = division.body(body)
    remarks = (*func.remarks, *division.remarks)
    launch = replace(func.launch, body=new)
    return replace(func, launch=launch, remarks=remarks, automatic=automatic)


def _stores_of_vector(func: Func) -> frozenset[Store]:
    """The stores that the vector cores do wherever they stand."""
    launch = func.launch
    if launch.threads == 1 and func.automatic & {Automatic.SYNC, Automatic.STORES}:
        # They go through tiles in ub, so that neighbours in a line of other blocks stay whole.
        return frozenset(s for s in walk(launch.body) if isinstance(s, Store))
    tiles = (a.buffer for a in launch.allocs if CORE_OF_MEMORY.get(a.buffer.memory) is Core.VECTOR)
    by_values = done_by_values(launch.body, (launch.lane, *tiles))
    return _stores_of_nests(launch.body).union(s for s in by_values if isinstance(s, Store))


def _stores_of_nests(body: Body) -> frozenset[Store]:
    """The elements that parallel nests store, which go through tiles in ub."""
    nests = (s for s in walk(body) if isinstance(s, For) and s.kind is LoopKind.PARALLEL)
    return frozenset(s for nest in nests for s in walk((nest,)) if isinstance(s, Store))


def _core_of_work(stmt: Stmt, ours: frozenset[Store]) -> Core | None:
    """The core that does the work of a statement itself; None where no core or any core may.
    `ours` are stores of the vector cores, if the cube core does not have the value."""
    match stmt:
        case Op() if stmt.opdef.effect in (Effect.DATA, Effect.DUMP):
            core = core_of(stmt)
            return None if core is Core.EITHER else core
        case Store(buffer=buffer):
            return _core_of_store(stmt, buffer.memory, stmt in ours)
    return None


def _core_of_store(store: Store, memory: Memory, ours: bool) -> Core | None:
    """Where the element or what it is made from lives; a scalar variable is kept by both cores."""
    if memory is Memory.VAR:
        return None
    if memory in CORE_OF_MEMORY:
        return CORE_OF_MEMORY[memory]
    read = {
        CORE_OF_MEMORY[load.buffer.memory]
        for load in loads(store)
        if load.buffer.memory in CORE_OF_MEMORY
    }
    if ours and Core.CUBE not in read:
        return Core.VECTOR
    return Core.VECTOR if Core.VECTOR in read else Core.CUBE


@dataclass(eq=False)
class _Division:
    """Goes over the text; `last` is the core of the statement before."""

    ours: frozenset[Store]
    last: Core | None = None
    remarks: list[Diagnostic] = field(default_factory=list)

    def body(self, body: Body) -> Body:
        result: list[Stmt] = []
        for stmt, core in ((s, c) for original in body for s, c in self.stmt(original)):
            before = result[-1] if result else None
            if core is None:
                result.append(stmt)
            elif isinstance(before, Section) and before.core is core:
                result[-1] = replace(before, body=(*before.body, stmt))
            else:
                result.append(Section(core, (stmt,), stmt.loc))
        return tuple(result)

    def stmt(self, stmt: Stmt) -> Iterator[tuple[Stmt, Core | None]]:
        """The statement with its core; None for what both keep. Nothing for what neither keeps."""
        core = self.own_core(stmt)
        if core is not None:
            self.last = core
            yield stmt, core
        elif isinstance(stmt, Op) and not _of_both(stmt):
            if self.last is not None:
                yield stmt, self.last
            else:
                self.remarks.append(_nobody(stmt))
        else:
            yield with_bodies(stmt, tuple(self.body(b) for b in bodies(stmt))), None

    def own_core(self, stmt: Stmt) -> Core | None:
        """The core a statement names by itself; a parallel nest is one statement if all of it
        has one core."""
        if isinstance(stmt, Op) and not _of_both(stmt):
            core = core_of(stmt)
            return None if core is Core.EITHER else core
        if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL:
            cores = {_core_of_work(s, self.ours) for s in walk((stmt,))} - {None}
            return cores.pop() if len(cores) == 1 else None
        return _core_of_work(stmt, self.ours)


def _of_both(op: Op) -> bool:
    """Whether every kind of core does an operation for itself: what the user sees, and what orders
    blocks or ranks, but for signals, which name their core."""
    if core_of(op) is not Core.EITHER and op.opdef.effect not in BOTH:
        return False
    return op.opdef.effect in BOTH or op.opdef.family == "ranks" or op.opdef.among is Among.BLOCK


def _nobody(op: Op) -> Diagnostic:
    return Diagnostic(
        "core-unknown",
        f"{op.opdef.name} stands before any work of a core, so that no core runs it",
        op.loc,
        'put it under T.Scope("C") or T.Scope("V")',
        "warning",
    )
