"""Turns the element statements of `T.Parallel` into vector operations on tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial

from tile_ir import (
    Automatic,
    Body,
    Diagnostic,
    Expr,
    For,
    Func,
    If,
    Load,
    LoopKind,
    Phase,
    Stmt,
    Store,
    Target,
    bodies,
    buffers_of,
    conjunction,
    walk,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import (
    Ranges,
    constant_trips,
    launch_ranges,
    loop_range,
    ranges_inside,
    with_ranges,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.elements_of_blocks import tensors_of_cores
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.generated import behind_all, mark_generated
from tile_passes.memory.overflow import overflow_by_tile
from tile_passes.parallel.attempts import Attempts
from tile_passes.parallel.boxes import leaves_in_boxes
from tile_passes.parallel.by_element import stored_by_copies
from tile_passes.parallel.classes_of_iterations import whole_or_by_classes
from tile_passes.parallel.columns_in_turn import ColumnsInTurn
from tile_passes.parallel.dependence import check_independent
from tile_passes.parallel.earlier_values import EarlierValues
from tile_passes.parallel.element_conditions import as_choices
from tile_passes.parallel.groups_of_stores import Groups, is_group, runs_of
from tile_passes.parallel.inner_loops import iterations_outside, overlapping
from tile_passes.parallel.joined_loops import over_places
from tile_passes.parallel.joined_stores import joined_stores
from tile_passes.parallel.kept_values import KeptValues
from tile_passes.parallel.nest import Leaf, NoRoom, Unsuitable, domain_of, leaves
from tile_passes.parallel.nest_form import (
    MOST_DIMENSIONS,
    is_loop_of_lines,
    is_parallel,
    takes_element_of_row,
)
from tile_passes.parallel.parts_of_rows import parts_of_rows
from tile_passes.parallel.private_values import (
    private_variables,
    with_private_tiles,
)
from tile_passes.parallel.scalar_unit import check_scalar_unit, has_foreign_functions
from tile_passes.parallel.serial_forms import (
    around,
    in_pieces,
    serial_nest,
    stays_scalar,
    under,
    what_it_is,
)
from tile_passes.parallel.shared_room import busy_bytes, bytes_of_versions
from tile_passes.parallel.statement_order import in_statement_order
from tile_passes.parallel.stores_in_boxes import in_boxes
from tile_passes.parallel.stores_of_fields import store_of_fields
from tile_passes.parallel.target_order import in_target_order
from tile_passes.parallel.temporaries import Temporaries
from tile_passes.parallel.unpacked import unpacked
from tile_passes.parallel.vector_statement import VectorStatement
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED)
def vectorize_parallel(func: Func, target: Target) -> Func:
    """Replace every `T.Parallel` nest by operations on whole tiles, or by serial loops.

    Needs, gives: TYPED. Idea: iterations are independent, so each store runs over the whole domain
    before the next. Its expression becomes operations on tiles of the compiler, row by row if an
    operation cannot take the whole domain. Rows that start inside a block, and elements that are
    not adjacent, are gathered. The op table and the lowering rules decide which operations are
    legal. Limits: a store without a vector operation, or a nest whose iterations may use each
    other's elements, becomes a serial loop, and a remark gives the reason.
    """
    if not any(is_parallel(s) for s in walk(func.launch.body)):
        return func
    return _Vectorizer(func, target).run()


def vectorize_in_shared_room(func: Func, target: Target) -> Func:
    """The same with tiles where buffers hold nothing then; `plan_memory` may find no such place."""
    return _Vectorizer(func, target, busy_bytes(func)).run()


@dataclass(eq=False)
class _Vectorizer:
    func: Func
    target: Target
    busy: Mapping[Stmt, int] = field(default_factory=dict)
    remarks: list[Diagnostic] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.builder = Builder.for_func(self.func, self.target)
        trial = Builder.for_func(self.func, self.target)
        self.temporaries = Temporaries(self.builder, versions=bytes_of_versions(self.func))
        outside = Automatic.BOUNDS in self.func.automatic
        self.attempts = Attempts.of(self.func, self.temporaries, trial, outside)
        aliases = (b for a in self.func.launch.allocs if a.alias_of for b in (a.buffer, a.alias_of))
        self.columns = ColumnsInTurn(self.builder.fresh, frozenset(aliases))
        self.kept = KeptValues(self.temporaries)
        self.groups = Groups(self.whole_or_rows, self.kept.keep, self.temporaries)
        self.values = EarlierValues.of(self.func)
        self.private = private_variables(self.func.launch.body)

    def run(self) -> Func:
        launch = self.func.launch
        body = self.body(launch.body, launch_ranges(self.func))
        used = {buffer for stmt in walk(body) for buffer in buffers_of(stmt)}
        made = (*self.temporaries.allocs, *self.columns.views.values())
        own = tuple(a for a in made if a.buffer in used)
        new = replace(launch, body=body, allocs=(*launch.allocs, *own))
        return replace(self.func, launch=new, remarks=(*self.func.remarks, *self.remarks))

    def body(self, body: Body, ranges: Ranges) -> Body:
        result: list[Stmt] = []
        outside = len(self.values.before)
        for stmt, known in with_ranges(body, ranges):
            self.temporaries.busy = self.busy.get(stmt, self.temporaries.busy)
            pieces = self.rows_at_once(stmt, known)
            if pieces is None and isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL:
                pieces = self.nest(stmt, known)
            if pieces is None:
                new, inside = overlapping(stmt, self.func.automatic), ranges_inside(stmt, known)
                pieces = (with_bodies(new, tuple(self.body(b, inside) for b in bodies(new))),)
            else:
                pieces = mark_generated(self.func, pieces)
            result += pieces
            self.values.before.append(stmt)
        del self.values.before[outside:]
        return with_statements(body, result)

    def nest(self, loop: For, known: Ranges) -> Body:
        """One nest: its statements one after another, or all together as serial loops."""
        try:
            private = with_private_tiles(loop, self.private, partial(self.kept.spread, known))
            parts = leaves(private, partial(self.kept.keep, known))
            parts, remarks = in_statement_order(
                parts, self.func.launch.allocs, partial(self.kept.keep, known), self.private
            )
        except Unsuitable as problem:
            self.temporaries.let_go()
            if len(loop.body) == 1 and is_parallel(loop.body[0]):
                inside = self.body(loop.body, {**known, loop.var: loop_range(loop, known)})
                return (replace(loop, kind=LoopKind.SERIAL, body=inside),)
            serial = serial_nest(loop)
            check_scalar_unit(serial, problem.reason)
            self.remarks.append(stays_scalar(problem.loc or loop.loc, problem))
            steps = stored_by_copies((serial,), known, self.attempts.element_copied)
            self.temporaries.let_go()
            return steps
        self.remarks += remarks
        found: list[Stmt] = []
        done: list[Leaf] = []
        for run in runs_of(parts):
            found += self.statements(run, known, done)
            done += run
        self.temporaries.let_go()
        return tuple(found)

    def statements(self, run: list[Leaf], known: Ranges, earlier: Sequence[Leaf]) -> list[Stmt]:
        """Statements of a nest over the same elements, together or one after another."""
        fields = store_of_fields(run)
        if fields is not None:
            return self.leaf(fields, known, earlier)
        if is_group(run):
            try:
                return self.groups.steps(run, known)
            except Unsuitable:
                self.temporaries.give_back_all()
        found: list[Stmt] = []
        for leaf in joined_stores(self.columns.in_one_row(run), self.temporaries.room):
            found += self.leaf(leaf, known, earlier)
            self.temporaries.give_back_all()
            earlier = (*earlier, leaf)
        return found

    def rows_at_once(self, stmt: Stmt, known: Ranges) -> Body | None:
        """A serial loop around one-dimensional nests as one nest of two dimensions, where its
        iterations are independent and every store is a vector operation over all rows."""
        if not is_loop_of_lines(stmt):
            return None
        made = len(self.temporaries.allocs)
        steps: list[Stmt] = []
        try:
            parts = leaves(replace(stmt, kind=LoopKind.PARALLEL), partial(self.kept.keep, known))
            check_independent(parts, self.func.launch.allocs)
            for run in runs_of(parts):
                steps += self.over_rows(run, known)
        except Unsuitable:
            self.temporaries.forget_since(made)
            self.temporaries.let_go()
            return None
        self.temporaries.let_go()
        if any(map(takes_element_of_row, parts)):
            return behind_all(self.func, tuple(steps), stmt.loc)
        return tuple(steps)

    def over_rows(self, run: list[Leaf], known: Ranges) -> list[Stmt]:
        """Stores over all rows, together or one after another. Raises Unsuitable."""
        if is_group(run):
            return self.groups.steps(run, known)
        steps: list[Stmt] = []
        for leaf in run:
            if leaf.guards or not isinstance(leaf.stmt, Store):
                raise Unsuitable("it holds more than stores")
            steps += self.vector(leaf.stmt, leaf, known)
            self.temporaries.give_back_all()
        return steps

    def leaf(self, leaf: Leaf, known: Ranges, earlier: Sequence[Leaf]) -> list[Stmt]:
        """One statement of a nest. Dimensions beyond those of a tile are serial loops around it."""
        if (steps := over_places(leaf, known, self.temporaries, self.whole_or_rows)) is not None:
            return under(leaf.guards, steps, leaf.stmt.loc)
        leaf = in_target_order(leaf)
        if len(leaf.loops) > MOST_DIMENSIONS:
            outer, *rest = leaf.loops
            inside = {**known, outer.var: loop_range(outer, known)}
            steps = self.leaf(replace(leaf, loops=tuple(rest)), inside, earlier)
            return [replace(outer, kind=LoopKind.SERIAL, body=tuple(steps))]
        return under(leaf.guards, self.unguarded(leaf, known, earlier), leaf.stmt.loc)

    def unguarded(self, leaf: Leaf, known: Ranges, earlier: Sequence[Leaf]) -> list[Stmt]:
        stmt = leaf.stmt
        if isinstance(stmt, If):
            return self.branch(stmt, leaf, known, earlier)
        turned = iterations_outside(leaf, leaf.ranges(known)) if isinstance(stmt, For) else None
        if turned is not None:
            with self.temporaries.apart():
                return [*self.body((turned,), known)]
        if not isinstance(stmt, Store):
            return [self.scalar_loop(leaf, known, Unsuitable(what_it_is(stmt)))]
        try:
            packed = unpacked(
                stmt, leaf, known, self.kept.keep, self.whole_or_rows, self.temporaries
            )
            return packed or self.vector(stmt, leaf, known, by_cases=True)
        except Unsuitable as found:
            problem = found
        try:
            if isinstance(problem, NoRoom):
                return self.in_parts(stmt, leaf, known, problem)
            if len(leaf.loops) == 2:
                return self.rows(stmt, leaf, known)
        except Unsuitable as found:
            problem = found
        steps = self.element_by_element(stmt, leaf, known, problem)
        self.remarks.append(stays_scalar(stmt.loc, problem))
        return steps

    def branch(self, stmt: If, leaf: Leaf, known: Ranges, earlier: Sequence[Leaf]) -> list[Stmt]:
        """A branch that differs from element to element: boxes, choices, or a scalar loop."""
        made = len(self.temporaries.allocs)
        boxes = leaves_in_boxes(leaf, known, partial(self.kept.keep, known))
        if boxes is not None:
            each = partial(self.leaf, known=known, earlier=earlier)
            found = in_boxes(boxes, known, self.whole_or_rows, each, self.temporaries)
            if found is not None:
                return found
        before = [around(e) for e in earlier if not e.guards]

        def keep(value: Expr) -> tuple[Store, Expr]:
            return self.kept.keep(known, value, leaf.loops, stmt.loc)

        def written(load: Load) -> bool:
            return self.values.are_there(load, domain_of(leaf.loops), before)

        def choices() -> list[Stmt]:
            steps: list[Stmt] = []
            unset = self.temporaries.unset(before)
            for store in as_choices(stmt, keep, written, unset, tensors_of_cores(self.func)):
                steps.extend(self.whole_or_rows(store, Leaf(leaf.loops, (), store), known))
                self.temporaries.give_back_all()
            return steps

        try:
            return whole_or_by_classes(leaf, known, choices, self.groups)
        except Unsuitable as problem:
            self.temporaries.forget_since(made)
            return [self.scalar_loop(leaf, known, problem)]

    def whole_or_rows(self, store: Store, leaf: Leaf, known: Ranges) -> list[Stmt]:
        """The store as vector operations over its domain or over its rows. Raises Unsuitable."""
        try:
            return self.vector(store, leaf, known)
        except Unsuitable:
            if len(leaf.loops) != 2:
                raise
        return self.rows(store, leaf, known)

    def vector(self, store: Store, leaf: Leaf, known: Ranges, by_cases: bool = False) -> list[Stmt]:
        """The store over its whole domain; element by element where an offset turns out to lie
        inside a block, if it may be done `by_cases`. Raises Unsuitable."""
        inside = leaf.ranges(known)
        try:
            found = self.attempts.statement(store, domain_of(leaf.loops), inside)
        except NoRoom:
            raise
        except Unsuitable as problem:
            reason = problem
        else:
            return self.tested(found, store, leaf, known, by_cases)

        def otherwise() -> list[Stmt]:
            other = self.attempts.otherwise(store, leaf.loops, inside, reason)
            if isinstance(other, VectorStatement):
                return self.tested(other, store, leaf, known, by_cases)
            return other

        return whole_or_by_classes(replace(leaf, stmt=store), known, otherwise, self.groups)

    def tested(
        self, found: VectorStatement, store: Store, leaf: Leaf, known: Ranges, by_cases: bool
    ) -> list[Stmt]:
        """The steps where their conditions hold, others elsewhere. Raises Unsuitable."""
        if not found.conditions:
            return found.steps
        inside = leaf.ranges(known)
        odd = Unsuitable(f"{'it' if by_cases else 'the rows'} may start inside a block of 32 bytes")
        self.temporaries.give_back_all()
        try:
            orelse = self.attempts.anywhere(store, leaf.loops, inside, odd)
        except Unsuitable:
            if not by_cases:
                raise
            self.temporaries.give_back_all()
            orelse = self.element_by_element(store, leaf, inside, odd)
        return [If(conjunction(found.conditions), tuple(found.steps), tuple(orelse), store.loc)]

    def element_by_element(
        self, store: Store, leaf: Leaf, known: Ranges, problem: Unsuitable
    ) -> list[Stmt]:
        """Lower a store that is no vector operation, or KernelError, for want of room perhaps."""
        loop, inside = around(leaf), leaf.ranges(known)
        if has_foreign_functions(loop):
            try:
                return self.attempts.statement(store, domain_of(leaf.loops), inside, True).steps
            except Unsuitable as last:
                problem = problem if isinstance(problem, NoRoom) else last
        overflow = None
        if isinstance(problem, NoRoom):
            overflow = overflow_by_tile(self.func, problem.size, store.loc, self.target)
        check_scalar_unit(loop, problem.reason, overflow)
        copied = self.attempts.values_copied(store, leaf.loops, inside)
        return copied or [*stored_by_copies((loop,), known, self.attempts.element_copied)]

    def in_parts(self, store: Store, leaf: Leaf, known: Ranges, problem: NoRoom) -> list[Stmt]:
        """As many rows at a time as there is room for, or elements of a line, with a remark. Raises
        Unsuitable."""
        outer, *inner = leaf.loops
        trips = constant_trips(outer) or 1
        found = parts_of_rows(leaf, known, self.vector, self.temporaries)
        if found is not None:
            if inner:  # of lines, instructions take parts in any case
                self.remarks.append(in_pieces(store, found[0], trips, problem, self.func))
            return found[1]
        if not inner:
            raise problem
        steps = self.rows(store, leaf, known)
        self.remarks.append(in_pieces(store, 1, trips, problem, self.func))
        return steps

    def rows(self, store: Store, leaf: Leaf, known: Ranges) -> list[Stmt]:
        """The outer variable as a serial loop around vectors along the inner one."""
        outer, inner = leaf.loops
        inside = {**known, outer.var: loop_range(outer, known)}
        steps = self.vector(store, Leaf((inner,), (), store), inside)
        return [replace(outer, kind=LoopKind.SERIAL, body=tuple(steps))]

    def scalar_loop(self, leaf: Leaf, known: Ranges, problem: Unsuitable) -> Stmt:
        """The statement element by element, with a remark. Raises KernelError."""
        loop = around(leaf)
        check_scalar_unit(loop, problem.reason)
        self.remarks.append(stays_scalar(leaf.stmt.loc, problem))
        return stored_by_copies((loop,), known, self.attempts.element_copied)[0]
