"""Turns one mixed body into one section for the cube core and one for the vector cores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tile_ir import (
    CORE_OF_MEMORY,
    TOLD,
    Body,
    Buffer,
    Core,
    Diagnostic,
    Effect,
    For,
    Func,
    If,
    KernelError,
    Let,
    Load,
    Memory,
    Op,
    Phase,
    Section,
    Stmt,
    Store,
    Target,
    Var,
    While,
    bodies,
    buffers_of,
    core_of,
    expressions,
    loads,
    rewrite,
    variables_of,
    walk_expr,
    with_bodies,
    written_buffers,
)
from tile_ir import walk as walk_body
from tile_ir.opdef import Among
from tile_ir.ops.sync import cores_with
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.lane_dependence import done_by_lanes
from tile_passes.analysis.unscoped_stores import outside_of, unscoped_stores_are_of_vector
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.LOWERED, gives=Phase.SPLIT)
def split_cube_vector(func: Func, target: Target) -> Func:
    """Copy the body once per kind of core, and keep the statements of that core in each copy.

    Needs: LOWERED. Gives: SPLIT. Idea: an operation runs on the core of its memories; statements
    without a core (barriers, cross-core flags, scalar variables) stay in both copies; empty control
    flow is removed. Output outside any scope is printed by the cores that have other work and can
    read it, or by both if no core has. A kernel that only synchronises with other ranks does so on
    the vector cores. Limits: a scalar store to gm outside any scope runs on the vector cores if
    they have other work or if it depends on the lane, else on the cube core.
    """
    body = func.launch.body
    by_lanes = done_by_lanes(body, func.launch.lane)
    vector_works = unscoped_stores_are_of_vector(body, func.launch.lane)
    anybodys = frozenset(s for s in outside_of(body, Core.CUBE, Core.VECTOR) if _prints(s))
    sections: list[Section] = []
    for core in (Core.CUBE, Core.VECTOR):
        kept = _keep(body, core, vector_works, target)
        scoped = any(isinstance(s, Section) and s.core is core for s in walk_body(body))
        if any(_is_work(s, scoped) for s in walk_body(kept)):
            own = _own_values(kept, core, anybodys)
            sections.append(Section(core, own, func.launch.loc))
    if not sections:
        kept = _keep(body, Core.VECTOR, vector_works, target)
        if any(_orders_ranks(s) for s in walk_body(kept)):
            sections.append(Section(Core.VECTOR, kept, func.launch.loc))
    working = [s for s in sections if any(_is_work(x, True, anybodys) for x in walk_body(s.body))]
    new = func.with_body(tuple(working or sections))
    of_cube = [s for section in sections if section.core is Core.CUBE for s in _work_of(section)]
    strange = next((s for s in of_cube if s in by_lanes), None)
    return new if strange is None else replace(new, remarks=(*new.remarks, _no_lane(strange)))


def _work_of(section: Section) -> Iterator[Op]:
    return (
        s for s in walk_body(section.body) if isinstance(s, Op) and s.opdef.effect is Effect.DATA
    )


def _no_lane(op: Op) -> Diagnostic:
    return Diagnostic(
        "lane-of-cube",
        "this statement runs on the cube core and depends on the number of the vector core, "
        "which is 0 there",
        op.loc,
        "the block has one cube core: let it do the work of both vector cores, without the number",
        "warning",
    )


# What only orders the work of a core: without any, there is nothing to order.
_BARRIERS = (Effect.BARRIER, Effect.SYNC_ALL)
_ORDER = (
    *_BARRIERS,
    Effect.SET_FLAG,
    Effect.WAIT_FLAG,
    Effect.AWAIT_SIGNAL,
    Effect.AWAIT_ENGINE,
)


def _orders_ranks(stmt: Stmt) -> bool:
    """Whether a statement waits for other ranks or meets them, though it does no work."""
    return isinstance(stmt, Op) and (
        stmt.opdef.effect is Effect.AWAIT_SIGNAL or stmt.opdef.among is Among.RANKS
    )


def _prints(stmt: Stmt) -> bool:
    return isinstance(stmt, Op) and stmt.opdef.effect in TOLD


def _is_work(stmt: Stmt, scoped: bool, anybodys: frozenset[Stmt] = frozenset()) -> bool:
    """Whether a section with only this statement is worth running; flags in a scope of the source
    are, since the author wrote them there, and the statements of `anybodys` are not."""
    match stmt:
        case Op() if stmt in anybodys:
            return False
        case Op():
            return stmt.opdef.effect not in (_BARRIERS if scoped else _ORDER)
        case Store(buffer=buffer):
            return buffer.memory is not Memory.VAR
        case While():
            return True
    return False


def _keep(body: Body, core: Core, vector_works: bool, target: Target) -> Body:
    result: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Op():
                if core_of(stmt) in (core, Core.EITHER) and core in cores_with(stmt, target):
                    result.append(stmt)
            case Store(buffer=buffer):
                if buffer.memory is Memory.VAR or _store_core(stmt, core, vector_works) is core:
                    result.append(stmt)
            case Section(core=owner, body=inner):
                if owner is core:
                    result.extend(
                        _keep(inner, core, core is Core.VECTOR, target)
                    )  # in a scope, gm stores are its own
            case _:
                inner_bodies = tuple(_keep(b, core, vector_works, target) for b in bodies(stmt))
                if not inner_bodies or any(inner_bodies):
                    result.append(with_bodies(stmt, inner_bodies))
    return tuple(result)


def _store_core(stmt: Store, core: Core, vector_works: bool) -> Core:
    if stmt.buffer.memory is Memory.GM:
        return Core.VECTOR if vector_works else Core.CUBE
    return CORE_OF_MEMORY.get(stmt.buffer.memory, core)


@dataclass(eq=False)
class _ForeignValues:
    """The names and scalar variables whose values one core can not have: made from elements that
    only the other core can read, or set where those decide. Each has a
    statement that makes it so."""

    core: Core
    names: dict[Var, Stmt] = field(default_factory=dict)
    variables: dict[Buffer, Stmt] = field(default_factory=dict)

    @staticmethod
    def of(body: Body, core: Core) -> _ForeignValues:
        found = _ForeignValues(core)
        known = -1
        while known < (known := len(found.names) + len(found.variables)):
            found._visit(body, None)
        return found

    def _visit(self, body: Body, decided: Stmt | None) -> None:
        """Add what statements make; `decided` is what around them branches on a foreign value."""
        for stmt in body:
            reason = stmt if self.used_by(stmt) else decided
            if reason is not None:
                if isinstance(stmt, Let):
                    self.names.setdefault(stmt.var, reason)
                for buffer in _variables_set((stmt,)):
                    self.variables.setdefault(buffer, reason)
            for inner in bodies(stmt):
                self._visit(inner, reason)

    def used_by(self, stmt: Stmt) -> bool:
        """Whether a statement itself uses such a value."""
        return not self.names.keys().isdisjoint(variables_of(stmt)) or any(
            self._is_read(load.buffer) for load in loads(stmt)
        )

    def _is_read(self, buffer: Buffer) -> bool:
        foreign = CORE_OF_MEMORY.get(buffer.memory, self.core) is not self.core
        return foreign or buffer in self.variables

    def source(self, stmt: Stmt) -> str:
        """Where the value comes from that a statement uses."""
        return next(self._sources(stmt, set()), "a value")

    def _sources(self, stmt: Stmt, seen: set[Stmt]) -> Iterator[str]:
        seen.add(stmt)
        parts = [p for e in expressions(stmt) for p in walk_expr(e)]
        read = [part.buffer for part in parts if isinstance(part, Load)]
        yield from (
            f"an element of `{b.name}`"
            for b in read
            if self._is_read(b) and b not in self.variables
        )
        made = [self.names.get(part) for part in parts if isinstance(part, Var)]
        made += [self.variables.get(buffer) for buffer in read]
        for earlier in made:
            if earlier is not None and earlier not in seen:
                yield from self._sources(earlier, seen)


def _variables_set(body: Body) -> Iterator[Buffer]:
    return (b for b in written_buffers(body) if b.memory is Memory.VAR)


def _foreign_value(stmt: Stmt, foreign: _ForeignValues) -> KernelError:
    """The error for a statement of a core that uses what only the other core can read."""
    core = foreign.core
    other = "cube" if core is Core.VECTOR else "vector"
    to_gm = f"store it to a tensor in gm on the {other} core, and load it from there on this one"
    tells = isinstance(stmt, Op) and stmt.opdef.effect in TOLD
    return KernelError(
        "foreign-value",
        f"this statement runs on the {core.value} core, but uses "
        f"{foreign.source(stmt)}, which only the {other} core can read",
        stmt.loc,
        f"move it to the scope of the {other} core" if tells else to_gm,
    )


def _own_values(body: Body, core: Core, anybodys: frozenset[Stmt]) -> Body:
    """The statements without names and variables for values only the other core can read, and
    without idle branches on them. Prints of them outside any scope (`anybodys`) are left to the
    other core. All other uses of such a value are errors."""
    foreign = _ForeignValues.of(body, core)

    def prints_foreign(stmt: Stmt) -> bool:
        """The address of a buffer counts, too."""
        return stmt in anybodys and (
            foreign.used_by(stmt)
            or any(CORE_OF_MEMORY.get(b.memory, core) is not core for b in buffers_of(stmt))
        )

    def sets_foreign(stmt: Stmt) -> bool:
        return isinstance(stmt, Store) and stmt.buffer in foreign.variables

    def works(stmt: Stmt) -> bool:
        return any(_is_work(s, True, anybodys) for b in bodies(stmt) for s in walk_body(b))

    for stmt in walk_body(body):
        if not foreign.used_by(stmt) or isinstance(stmt, Let) or sets_foreign(stmt):
            continue
        if stmt not in anybodys and (not isinstance(stmt, (If, For, While)) or works(stmt)):
            raise _foreign_value(stmt, foreign)

    def own(stmt: Stmt) -> Stmt | Body:
        match stmt:
            case Let(var=var) if var in foreign.names:
                return ()
            case Store() if sets_foreign(stmt):
                return ()
            case If() | For() | While() if foreign.used_by(stmt):
                return ()
            case Op() if prints_foreign(stmt):
                return ()
            case If(then=(), orelse=()) | For(body=()):
                return ()
        return stmt

    return rewrite(body, own)
