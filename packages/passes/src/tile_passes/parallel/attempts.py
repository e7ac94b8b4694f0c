"""Stores taken apart by trying: the first form that is legal, through tiles of the compiler's."""

from __future__ import annotations

from collections.abc import Callable

from tile_ir import Body, Buffer, For, LoopKind, Memory, Stmt, Store, cast, loads, walk
from tile_ir.analysis import Ranges, loop_range
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.lowering.builder import Builder
from tile_passes.parallel.by_element import stored_by_copy
from tile_passes.parallel.narrow_integers import fitted
from tile_passes.parallel.nest import Domain, Unsuitable, domain_of
from tile_passes.parallel.temporaries import Temporaries
from tile_passes.parallel.vector_statement import VectorStatement


def elements_read(body: Body) -> frozenset[Buffer]:
    """The buffers of which the scalar unit reads elements."""
    return frozenset(x.buffer for s in walk(body) for x in loads(s))


@dataclass(frozen=True, slots=True)
class Attempts:
    """For one function. `trial` is a builder of which trials of lowering rules use up names and
    scratch; it is forgotten. `elements_read`: see there."""

    temporaries: Temporaries
    trial: Builder
    elements_read: frozenset[Buffer]

    def statement(
        self,
        store: Store,
        domain: Domain,
        known: Ranges,
        by_element: bool = False,
        by_gather: bool = False,
        build: Callable[[VectorStatement], object] = VectorStatement.build,
    ) -> VectorStatement:
        """The steps with rows between operations packed, or else with rows at whole blocks. Raises
        Unsuitable."""
        value = fitted(cast(store.value, store.buffer.dtype), known)
        store = replace(store, value=value)
        reason: Unsuitable | None = None
        for dense in (True, False) if len(domain.vars) == 2 else (True,):
            statement = VectorStatement(
                store, domain, known, self.temporaries, self.trial, dense, by_element, by_gather
            )
            made = len(self.temporaries.allocs)
            try:
                build(statement)
                return statement
            except Unsuitable as problem:
                reason = problem
                self.temporaries.forget_since(made)
        assert reason is not None, "at least one attempt was made"
        raise reason

    def with_gathers(
        self, store: Store, loops: tuple[For, ...], known: Ranges, problem: Unsuitable
    ) -> list[Stmt]:
        """The store with those lines gathered that no block starts with, or whose elements lie
        apart; row by row, where it is no operation on all rows. Raises Unsuitable, for the reason
        why it is not done without."""
        for outside in range(len(loops)):
            made = len(self.temporaries.allocs)
            here = dict(known)
            for loop in loops[:outside]:
                here[loop.var] = loop_range(loop, here)
            try:
                domain = domain_of(loops[outside:])
                found = self.statement(store, domain, here, by_gather=True)
            except Unsuitable:
                found = None
            if found is not None and not found.conditions:
                steps = found.steps
                for loop in reversed(loops[:outside]):
                    steps = [replace(loop, kind=LoopKind.SERIAL, body=tuple(steps))]
                return steps
            self.temporaries.give_back_all()
            self.temporaries.forget_since(made)
        raise problem

    def may_be_copied(self, store: Store) -> bool:
        """Whether the store is to gm, and the data cache of the scalar unit surely does not have
        the element, where it would be read."""
        return store.buffer.memory is Memory.GM and store.buffer not in self.elements_read

    def element_copied(self, store: Store, known: Ranges) -> list[Stmt]:
        """The store of one element to gm as a copy; nothing, where that cannot be."""
        if not self.may_be_copied(store):
            return []
        try:
            steps = self.statement(store, domain_of(()), known, build=stored_by_copy).steps
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
                steps = self.statement(store, domain, known, build=stored_by_copy).steps
            except Unsuitable:
                continue
            for outer in loops[:outside]:
                steps = [replace(outer, kind=LoopKind.SERIAL, body=tuple(steps))]
            return steps
        return []
