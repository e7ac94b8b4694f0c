"""Columns of a narrow tile that stores write in turn, such as `z[i, 0]` and `z[i, 1]`: the same
elements of a view that has all rows in one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from tile_ir import Alloc, Buffer, Memory, Store, constant_value, simplify
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.parallel.joined_stores import MOST_TURNS, take_turns
from tile_passes.parallel.nest import Leaf, loads_in


@dataclass(eq=False)
class ColumnsInTurn:
    """For one function. `views` are the views that its nests have used; `aliased` are the tiles
    that have other names already."""

    fresh: Callable[[str], str]
    aliased: frozenset[Buffer]
    views: dict[Buffer, Alloc] = field(default_factory=dict)

    def in_one_row(self, leaves: Sequence[Leaf]) -> list[Leaf]:
        """The leaves with each group that stores all columns as stores to a view."""
        found: list[Leaf] = []
        at = 0
        while at < len(leaves):
            group = self._group(leaves[at:])
            found += group or leaves[at : at + 1]
            at += max(len(group), 1)
        return found

    def _group(self, leaves: Sequence[Leaf]) -> list[Leaf]:
        store = leaves[0].stmt
        if not isinstance(store, Store) or store.buffer in self.aliased:
            return []
        shape = store.buffer.static_shape() or ()
        narrow = len(shape) > 1 and 1 < shape[-1] <= min(MOST_TURNS, len(leaves))
        if store.buffer.memory is not Memory.UB or not narrow:
            return []
        stores = [leaf.stmt for leaf in leaves[: shape[-1]]]
        for number, other in enumerate(stores):
            if not isinstance(other, Store) or other.buffer is not store.buffer:
                return []
            if constant_value(other.indices[-1]) is None:
                return []
            if number and any(x.buffer is store.buffer for x in loads_in(other.value)):
                return []
        group = [self._viewed(leaf) for leaf in leaves[: shape[-1]]]
        return group if take_turns(group) else []

    def _viewed(self, leaf: Leaf) -> Leaf:
        store = leaf.stmt
        assert isinstance(store, Store), "it stores a column"
        *front, row, column = store.indices
        *outer, rows, columns = store.buffer.shape
        if store.buffer not in self.views:
            old = store.buffer
            shape = (*outer, simplify(rows * columns))
            view = Buffer(self.fresh(f"{old.name}_row"), old.memory, old.dtype, shape, old.loc)
            self.views[old] = Alloc(view, old.loc, alias_of=old)
        place = simplify(row * columns + column)
        view = self.views[store.buffer].buffer
        return replace(leaf, stmt=Store(view, (*front, place), store.value, store.loc))
