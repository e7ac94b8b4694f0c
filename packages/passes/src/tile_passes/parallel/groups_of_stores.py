"""Do stores over the same elements together, some rows at a time. Values that several need are
computed once; tiles of few rows leave room for versions of loaded tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

from tile_ir import (
    Buffer,
    Expr,
    For,
    LoopKind,
    Stmt,
    Store,
    Var,
    as_expr,
    map_expressions,
    simplify,
    substitute,
    walk_expr,
)
from tile_ir.analysis import Ranges, constant_trips, loop_range
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.parallel.accesses import step_of
from tile_passes.parallel.joined_stores import joined_stores, take_turns
from tile_passes.parallel.least_work import Way, least
from tile_passes.parallel.nest import Leaf, loads_in
from tile_passes.parallel.parts_of_rows import Steps
from tile_passes.parallel.temporaries import Temporaries
from tile_passes.parallel.unpacked import KeepInTile
from tile_passes.parallel.values_of_several import shares_values, with_values_kept

# Numbers of parts that the rows of a group are divided into.
PARTS = (2, 4, 8)
# How much more work pays for loads that overlap.
WORTH = 1.25


@dataclass(frozen=True, slots=True)
class Groups:
    """For one function: how stores become steps, and values are kept."""

    steps_of: Steps
    keep: KeepInTile
    temporaries: Temporaries

    def steps(self, group: Sequence[Leaf], known: Ranges) -> list[Stmt]:
        """The stores one after another for all rows, or for as many at a time as is the least work
        where versions of loaded tiles have room. Raises Unsuitable."""
        if not group:  # no class of iterations takes a branch
            return []
        loops = group[0].loops
        same = len(loops) == 2 and all(x.loops == loops and not x.guards for x in group)
        rows = constant_trips(loops[0]) if same else None
        parts = [n for n in PARTS if rows and rows % n == 0 and rows > n]
        whole = partial(self._whole, group, known)
        ways = [whole, *(partial(self._in_parts, group, known, n) for n in parts)]
        spared, _ = least([partial(self._sparing, way) for way in ways], self.temporaries)
        tight, problem = least([whole], self.temporaries)
        if spared is not None and (tight is None or spared[0] <= WORTH * tight[0]):
            return spared[1]()
        if tight is None:
            assert problem is not None, "it was tried"
            raise problem
        return whole()

    def _sparing(self, way: Way) -> list[Stmt]:
        with self.temporaries.sparing():
            return way()

    def _whole(self, group: Sequence[Leaf], known: Ranges) -> list[Stmt]:
        steps: list[Stmt] = []
        joined = joined_stores(group, self.temporaries.room)
        for part in with_values_kept(joined, partial(self.keep, known)):
            assert isinstance(part.stmt, Store), "a group has stores"
            steps += self.steps_of(part.stmt, part, known)
            self.temporaries.give_back_all()
        return steps

    def _in_parts(self, group: Sequence[Leaf], known: Ranges, number: int) -> list[Stmt]:
        """Each part has as many rows as the others."""
        outer, *inner = group[0].loops
        count = (constant_trips(outer) or 0) // number
        builder = self.temporaries.builder
        part, row = builder.scalar(outer.var.name), builder.scalar(outer.var.name)
        loop = For(part, as_expr(0), as_expr(number), LoopKind.SERIAL, (), outer.loc)
        several = replace(outer, var=row, start=as_expr(0), stop=as_expr(count))
        values: dict[Var, Expr] = {outer.var: simplify(outer.start + part * count + row)}
        stmts = map_expressions(
            tuple(leaf.stmt for leaf in group), partial(substitute, values=values)
        )
        moved = [Leaf((several, *inner), (), stmt) for stmt in stmts]
        steps = self._whole(moved, {**known, part: loop_range(loop, known)})
        return [replace(loop, body=tuple(steps))]


def runs_of(parts: Sequence[Leaf]) -> Iterator[list[Leaf]]:
    """The statements of a nest in order, with neighbours over the same elements together."""
    for _, run in groupby(parts, key=lambda leaf: (leaf.loops, leaf.guards)):
        yield [*run]


def is_group(run: Sequence[Leaf]) -> bool:
    """Whether statements over the same elements are stores that take turns or need the same values,
    and may run for some rows after another together."""
    loops = run[0].loops
    stores = [leaf.stmt for leaf in run if isinstance(leaf.stmt, Store)]
    if not 1 < len(run) == len(stores) or run[0].guards or len(loops) != 2:
        return False
    written = {store.buffer for store in stores}
    if any(x.buffer in written for store in stores for x in loads_in(store.value, *store.indices)):
        return False
    if not all(_in_order(store, run[0].vars) for store in stores):
        return False
    if not _rows_apart(stores, loops[0].var):
        return False
    return take_turns(run) or shares_values(stores, run[0])


def _in_order(store: Store, variables: Sequence[Var]) -> bool:
    """Whether each loop variable moves one index of the target, the outer one an earlier one."""
    here = [[v for v in variables if v in walk_expr(index)] for index in store.indices]
    return [v for used in here for v in used] == [*variables] and max(map(len, here)) == 1


def _rows_apart(stores: Sequence[Store], row: Var) -> bool:
    """Whether stores to one buffer write the same row of it for each value of a variable."""
    rows: dict[Buffer, tuple[int, Expr]] = {}
    for store in stores:
        place = next((n, i) for n, i in enumerate(store.indices) if step_of(i, row))
        if rows.setdefault(store.buffer, place) != place:
            return False
    return True
