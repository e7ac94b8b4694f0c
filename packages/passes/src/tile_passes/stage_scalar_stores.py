"""Lets copies carry to gm what the scalar unit would store there element by element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TypeGuard

from tile_ir import (
    TOLD,
    Automatic,
    Body,
    Core,
    Effect,
    Expr,
    For,
    Func,
    If,
    Let,
    Load,
    LoopKind,
    Memory,
    Op,
    Phase,
    Region,
    Section,
    Stmt,
    Store,
    Target,
    Var,
    While,
    bodies,
    breaks,
    buffers_of,
    rewrite,
    simplify,
    walk,
    walk_expr,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import Ranges, interval, launch_ranges, loop_range, ranges_inside, with_ranges
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.lane_dependence import is_of_one_lane
from tile_passes.analysis.own_lines import OwnLines
from tile_passes.analysis.unscoped_stores import (
    nobody_works,
    unscoped_stores_are_of_vector,
)
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.generated import mark_generated
from tile_passes.parallel.accesses import access
from tile_passes.parallel.attempts import Attempts, elements_read
from tile_passes.parallel.by_element import stored_to_tile
from tile_passes.parallel.nest import Unsuitable, domain_of
from tile_passes.parallel.temporaries import Temporaries
from tile_passes.passdef import ir_pass

_LOOPS = (LoopKind.SERIAL, LoopKind.UNROLL)
_ORDERS_NOTHING = (Effect.DATA, Effect.DUMP, *TOLD)


@ir_pass(needs=Phase.TYPED)
def stage_scalar_stores(func: Func, target: Target) -> Func:
    """Store elements of gm by copies, through a tile in ub that the scalar unit fills.

    Needs, gives: TYPED. Idea: the scalar unit stores whole lines of its data cache, which may hold
    elements of other cores; a copy stores the bytes of its elements only. One copy behind a loop,
    or two nested loops, stores the whole box. Single elements in loops stay with the scalar unit if
    no other core writes their lines, since the unit need not wait for copies. A manually ordered
    kernel must request the pass. Stores that one vector core could do as well as the cube core move
    to it if the block has no other work (docs/hardware/units.md#data-cache). Limits: tensors whose
    elements the kernel also reads stay with the scalar unit, as do stores of the cube core. An
    element that is read and updated once may go by a copy.
    """
    body = func.launch.body
    wanted = func.automatic & {Automatic.SYNC, Automatic.STORES}
    if not wanted or not any(_is_to_gm(s) for s in walk(body)):
        return func
    return _Stager(func, target).run()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a statement stands: whether the vector cores do its scalar stores (`ours`), or one of
    them does, and whether it is in a loop."""

    ours: bool
    one_lane: bool = False
    in_loop: bool = False

    def at(self, stmt: Stmt) -> _Place:
        if isinstance(stmt, Section):
            return replace(self, ours=stmt.core is Core.VECTOR)
        return self

    def inside(self, stmt: Stmt, number: int, lane: Var) -> _Place:
        """In a body of a statement."""
        match stmt:
            case For() | While():
                return replace(self, in_loop=True)
            case If():
                one_lane = self.one_lane or is_of_one_lane(stmt, number, lane)
                return replace(self, one_lane=one_lane)
        return self


@dataclass(eq=False)
class _Stager:
    func: Func
    target: Target

    def __post_init__(self) -> None:
        self.builder = Builder.for_func(self.func, self.target)
        self.temporaries = Temporaries(self.builder)
        trial = Builder.for_func(self.func, self.target)
        self.attempts = Attempts(self.temporaries, trial, elements_read(self.func))
        self.own_lines = OwnLines.in_function(self.func)

    def run(self) -> Func:
        launch = self.func.launch
        ours = unscoped_stores_are_of_vector(launch.body, launch.lane) or (
            launch.threads == 1 and nobody_works(launch.body)
        )
        body = self.body(launch.body, launch_ranges(self.func), _Place(ours))
        if body is launch.body:
            return self.func
        used = {buffer for stmt in walk(body) for buffer in buffers_of(stmt)}
        own = tuple(a for a in self.temporaries.allocs if a.buffer in used)
        new = replace(launch, body=body, allocs=(*launch.allocs, *own))
        return replace(self.func, launch=new)

    def body(self, body: Body, known: Ranges, place: _Place) -> Body:
        result: list[Stmt] = []
        for stmt, here in with_ranges(body, known):
            result += self.statement(stmt, here, place.at(stmt))
        return with_statements(body, result)

    def statement(self, stmt: Stmt, known: Ranges, place: _Place) -> Sequence[Stmt]:
        if isinstance(stmt, Store):
            return self.element(stmt, known, place) or (stmt,)
        copies: list[Stmt] = []
        if place.ours and isinstance(stmt, For) and stmt.kind in _LOOPS:
            stmt, copies = self.bursts_of(stmt, known)
        inside = ranges_inside(stmt, known)
        new = with_bodies(
            stmt,
            tuple(
                self.body(b, inside, place.inside(stmt, n, self.func.launch.lane))
                for n, b in enumerate(bodies(stmt))
            ),
        )
        if not place.in_loop:
            self.temporaries.let_go()
        return (new, *copies)

    def element(self, store: Store, known: Ranges, place: _Place) -> list[Stmt]:
        """The store as a copy of one element; nothing, where it stays."""
        if not place.ours or not self.attempts.may_be_copied(store):
            return []
        if place.in_loop and self.own_lines.has(store, place.one_lane):
            return []
        return list(mark_generated(self.func, tuple(self.attempts.element_copied(store, known))))

    def bursts_of(self, loop: For, known: Ranges) -> tuple[For, list[Stmt]]:
        """The loop with stores to tiles in place of those to boxes of gm, and the copies behind."""
        copies: list[Stmt] = []
        for loops, store in [*_stores_in(loop)]:
            found = self.burst(loops, store, known) if _may_wait(store, loop) else None
            if found is not None:
                filling, *copy = mark_generated(self.func, (found[0], *found[1]))
                loop = replace(loop, body=rewrite(loop.body, partial(_replaced, store, filling)))
                copies += copy
        return loop, copies

    def burst(
        self, loops: tuple[For, ...], store: Store, known: Ranges
    ) -> tuple[Store, list[Stmt]] | None:
        """The store of one element to a tile, and what copies the tile; None where that cannot
        be."""
        if not self.attempts.may_be_copied(store):
            return None
        inside = known
        for loop in loops:
            inside = {**inside, loop.var: loop_range(loop, inside)}
        filling: list[Store] = []
        try:
            _check_all_inside(access(store.buffer, store.indices, domain_of(loops)).region, known)
            statement = self.attempts.statement(
                store, domain_of(loops), inside, build=lambda s: filling.append(stored_to_tile(s))
            )
        except Unsuitable:
            return None
        self.temporaries.hold(filling[-1].buffer)
        return filling[-1], statement.steps


def _check_all_inside(region: Region, known: Ranges) -> None:
    """A copy is cut where its tensor ends, but an element that lies outside is an error. Raises
    Unsuitable where the box may leave the tensor."""
    for s, size in zip(region.dims, region.buffer.shape, strict=True):
        room = simplify(size - s.offset - (s.extent - 1) * s.stride)
        if interval(s.offset, known).low < 0 or interval(room, known).low < 1:
            raise Unsuitable("it may reach outside of the tensor")


def _is_to_gm(stmt: Stmt) -> TypeGuard[Store]:
    return isinstance(stmt, Store) and stmt.buffer.memory is Memory.GM


def _stores_in(loop: For) -> Iterator[tuple[tuple[For, ...], Store]]:
    """The stores to gm that every iteration of a loop does, and of one inside it, with these
    loops."""
    for stmt in loop.body:
        if _is_to_gm(stmt):
            yield (loop,), stmt
        elif isinstance(stmt, For) and stmt.kind in _LOOPS:
            for inner in stmt.body:
                if _is_to_gm(inner):
                    yield (loop, stmt), inner


def _may_wait(store: Store, loop: For) -> bool:
    """Whether storing the elements behind the loop has the same result, and the place of each
    can be computed there."""
    ops = (s for s in walk((loop,)) if isinstance(s, Op))
    if any(op.opdef.effect not in _ORDERS_NOTHING for op in ops):
        return False
    if any(True for s in walk((loop,)) if isinstance(s, For) for _ in breaks(s.body)):
        return False
    others = (s for s in walk(loop.body) if s is not store)
    if any(store.buffer in buffers_of(s) for s in others):
        return False
    return not any(_is_of_loop(part, loop) for e in store.indices for part in walk_expr(e))


def _is_of_loop(part: Expr, loop: For) -> bool:
    """Whether a part of an index may be another one behind the loop, or has no name there."""
    names = {s.var for s in walk(loop.body) if isinstance(s, Let)}
    return isinstance(part, Load) or (isinstance(part, Var) and part in names)


def _replaced(old: Stmt, new: Stmt, stmt: Stmt) -> Stmt:
    return new if stmt is old else stmt
