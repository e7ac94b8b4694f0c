"""Stores taken apart by trying: the first form that is legal, through tiles of the compiler's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from itertools import product

from tile_ir import (
    Buffer,
    For,
    Func,
    Memory,
    Stmt,
    Store,
    cast,
    is_constant,
    loads,
    simplify,
    walk,
)
from tile_ir.analysis import Ranges, constant_trips, loop_range
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.filled_boxes import Box, filled_boxes
from tile_passes.analysis.updated_once import updated_once
from tile_passes.lowering.builder import Builder
from tile_passes.parallel.by_element import stored_by_copy
from tile_passes.parallel.elements_outside import held_in_bounds, without_bounds
from tile_passes.parallel.exact_halves import rounded_once
from tile_passes.parallel.least_work import least
from tile_passes.parallel.logistic import as_quotients
from tile_passes.parallel.narrow_integers import fitted
from tile_passes.parallel.nest import Domain, Leaf, NoRoom, Unsuitable, domain_of
from tile_passes.parallel.parts_of_rows import parts_of_rows
from tile_passes.parallel.serial_forms import in_serial_loops
from tile_passes.parallel.temporaries import Temporaries
from tile_passes.parallel.vector_statement import VectorStatement

# Elements of a row that an instruction takes in less time than are gathered.
LEAST_ROW = 64


def elements_read(func: Func) -> frozenset[Buffer]:
    """The buffers of which the scalar unit reads elements, under whatever name, that may be stored
    before."""
    read = {x.buffer for s in walk(func.launch.body) for x in loads(s)} - updated_once(func)
    same = {a.buffer: a.alias_of for a in func.launch.allocs if a.alias_of is not None}
    owners = {same.get(b, b) for b in read}
    return frozenset(read | owners | {b for b, owner in same.items() if owner in owners})


def _has_gaps(store: Store, domain: Domain) -> bool:
    """Whether the rows of a domain lie apart in the tile that it stores to."""
    width, pitch = domain.extents[-1], store.buffer.shape[-1]
    return store.buffer.memory is Memory.UB and not is_constant(simplify(pitch - width), 0)


@dataclass(frozen=True, slots=True)
class Attempts:
    """For one function. `trial` is a builder of which trials of lowering rules use up names and
    scratch; it is forgotten. `elements_read`: see there. `zero_outside`, `in_part`: see
    `TileSteps`. `filled`: see `FilledBoxes`."""

    temporaries: Temporaries
    trial: Builder
    elements_read: frozenset[Buffer]
    zero_outside: bool = False
    filled: Mapping[Buffer, Box] = field(default_factory=dict)
    in_part: frozenset[Buffer] = frozenset()

    @classmethod
    def of(cls, func: Func, temporaries: Temporaries, trial: Builder, outside: bool) -> Attempts:
        """Those for a function; `outside` is `zero_outside`."""
        found = filled_boxes(func)
        return cls(temporaries, trial, elements_read(func), outside, found.boxes, found.in_part)

    def statement(
        self,
        store: Store,
        domain: Domain,
        known: Ranges,
        by_element: bool = False,
        by_gather: bool = False,
        slowly: bool = False,
        by_masks: bool = False,
        build: Callable[[VectorStatement], object] = VectorStatement.build,
    ) -> VectorStatement:
        """The steps with rows between operations packed, or else with rows at whole blocks; where
        elements outside of tensors are 0, without conditions that say so, or else with them. Raises
        Unsuitable."""
        given = cast(store.value, store.buffer.dtype)
        values = [without_bounds(given), given] if self.zero_outside else [given]
        reason: Unsuitable | None = None
        ways = (True, False) if len(domain.vars) == 2 else (True,)
        if by_gather and _has_gaps(store, domain):
            ways = ways[::-1]  # packed rows would be gathered to and from it
        for text, dense in product(dict.fromkeys(values), ways):
            value = rounded_once(as_quotients(fitted(text, known)), {})
            statement = VectorStatement(
                replace(store, value=value),
                domain,
                known,
                self.temporaries,
                self.trial,
                dense,
                by_element,
                by_gather,
                slowly,
                self.zero_outside,
                by_masks,
                self.in_part,
            )
            made = len(self.temporaries.allocs)
            try:
                build(statement)
                return statement
            except Unsuitable as problem:
                reason = problem if text is values[0] else reason
                self.temporaries.forget_since(made)
        assert reason is not None, "at least one attempt was made"
        raise reason

    def otherwise(
        self, store: Store, loops: tuple[For, ...], known: Ranges, problem: Unsuitable
    ) -> VectorStatement | list[Stmt]:
        """The store where plain operations on all of it fail for a reason: by long rows, with
        gathers, under conditions perhaps, or with operations that move element by element. Raises
        Unsuitable."""

        def by_rows() -> list[Stmt]:
            return self.row_by_row(store, loops, known)

        def gathered() -> list[Stmt]:
            return self.with_gathers(store, loops, known, problem)

        best, reason = least((by_rows, gathered), self.temporaries)
        if best is not None:
            return best[1]()
        assert reason is not None, "neither suits"
        made = len(self.temporaries.allocs)
        for slowly in (False, True):
            try:
                domain = domain_of(loops)
                return self.statement(store, domain, known, by_gather=not slowly, slowly=slowly)
            except Unsuitable as slow:
                self.temporaries.forget_since(made)
                reason = reason if reason.cure is not None else slow
        raise reason

    def anywhere(
        self, store: Store, loops: tuple[For, ...], known: Ranges, problem: Unsuitable
    ) -> list[Stmt]:
        """The store where rows may start inside a block: with gathers, or with all elements of both
        sides of its choices. Raises Unsuitable, for the reason of `problem`."""
        try:
            return self.with_gathers(store, loops, known, problem)
        except Unsuitable:
            self.temporaries.give_back_all()
        found = self.statement(store, domain_of(loops), known, by_masks=True)
        if found.conditions:
            raise problem
        return found.steps

    def row_by_row(self, store: Store, loops: tuple[For, ...], known: Ranges) -> list[Stmt]:
        """The store for one long row after another, where no element of these is gathered: a row
        moves at once, by whatever index it is found. Raises Unsuitable."""
        if len(loops) != 2 or (constant_trips(loops[1]) or 0) < LEAST_ROW:
            raise Unsuitable("it has no long rows")
        here = {**known, loops[0].var: loop_range(loops[0], known)}
        found = self.statement(store, domain_of(loops[1:]), here)
        if found.conditions:
            raise Unsuitable("its rows may start inside a block of 32 bytes")
        return in_serial_loops(loops[:1], found.steps)

    def with_gathers(
        self, store: Store, loops: tuple[For, ...], known: Ranges, problem: Unsuitable
    ) -> list[Stmt]:
        """The store with those lines gathered that no block starts with, or whose elements lie
        apart. Where tiles have no room for all rows, it takes as many as have room; where it is no
        operation on rows, it goes row by row. Raises Unsuitable, for the reason of `problem`."""
        for outside in range(len(loops)):
            made = len(self.temporaries.allocs)
            here = dict(known)
            for loop in loops[:outside]:
                here[loop.var] = loop_range(loop, here)
            try:
                steps = self._gathering(store, Leaf(loops[outside:], (), store), here)
                return in_serial_loops(loops[:outside], steps)
            except Unsuitable as reason:
                problem = reason if reason.cure is not None else problem
                no_room = isinstance(reason, NoRoom)
            self.temporaries.give_back_all()
            self.temporaries.forget_since(made)
            if no_room and len(loops) - outside == 2:
                leaf = Leaf(loops[outside:], (), store)
                parts = parts_of_rows(leaf, here, self._gathering, self.temporaries)
                if parts is not None:
                    return in_serial_loops(loops[:outside], parts[1])
        raise problem

    def _gathering(self, store: Store, leaf: Leaf, known: Ranges) -> list[Stmt]:
        """The store over a whole domain with gathers; where elements lie outside that a condition
        leaves out, those nearest to them are gathered. Raises Unsuitable."""
        domain, made = domain_of(leaf.loops), len(self.temporaries.allocs)
        try:
            return self._anywhere_gathered(store, domain, known)
        except NoRoom:
            raise
        except Unsuitable:
            held = replace(store, value=held_in_bounds(store.value, self.filled, known))
            if held.value == store.value:
                raise
        self.temporaries.give_back_all()
        self.temporaries.forget_since(made)
        return self._anywhere_gathered(held, domain, known, by_masks=True)

    def _anywhere_gathered(
        self, store: Store, domain: Domain, known: Ranges, by_masks: bool = False
    ) -> list[Stmt]:
        found = self.statement(store, domain, known, by_gather=True, by_masks=by_masks)
        if found.conditions:
            raise Unsuitable("its rows may start inside a block of 32 bytes")
        return found.steps

    def may_be_copied(self, store: Store) -> bool:
        """Whether the store is to gm, and the data cache of the scalar unit surely does not have
        the element, where it would be read."""
        return store.buffer.memory is Memory.GM and store.buffer not in self.elements_read

    def element_copied(self, store: Store, known: Ranges) -> list[Stmt]:
        """The store of one element to gm as a copy; nothing, where that cannot be."""
        if not self.may_be_copied(store):
            return []
        try:
            place = domain_of(())
            steps = self.statement(store, place, known, slowly=True, build=stored_by_copy).steps
        except Unsuitable:
            return []
        self.temporaries.give_back_all()
        return steps

    def values_copied(self, store: Store, loops: tuple[For, ...], known: Ranges) -> list[Stmt]:
        """The store of a nest of loops to gm by one copy, or by one for each row; nothing, where
        that cannot be."""
        if not self.may_be_copied(store):
            return []
        for outside in range(len(loops)):
            try:
                domain = domain_of(loops[outside:])
                found = self.statement(store, domain, known, slowly=True, build=stored_by_copy)
                steps = found.steps
            except Unsuitable:
                continue
            return in_serial_loops(loops[:outside], steps)
        return []
