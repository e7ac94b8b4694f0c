"""Which accesses of gm by one core must come before which of another, in the order of the text, and
how many rounds of which loop lie between them.

The text of the kernel, run from top to bottom, defines the result of all cores together
(`merge_streams` guarantees it). Each core orders its own accesses itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import TypeAlias

from tile_ir import (
    Binary,
    Const,
    Core,
    Expr,
    For,
    Func,
    Region,
    Var,
    map_region,
    resolved,
    substitute,
    walk_expr,
)
from tile_ir.analysis import Sight, apart, apart_by_numbers, common_path, defined
from tile_ir.quick_dataclasses import dataclass
from tile_ir.ranks import is_far
from tile_passes.order.dependence_graph import Dependence, dependence
from tile_passes.order.tree import Leaf, LeafAccess, Repeat, Tree

# Slots are told apart up to this many rounds; a credit for more would not fit the counters either.
MOST_SLOTS = 8


CoreDependence: TypeAlias = Dependence[Leaf, LeafAccess]
_Access: TypeAlias = tuple[Leaf, LeafAccess]


class Facts:
    """The requirements of dependences, as bits. One fact says that a leaf's work of this iteration
    of a loop (the innermost around both, if none carries) is complete. The next ones say the same
    of all its work one iteration ago or earlier, two iterations ago, and so on. From one iteration
    to the next every fact grows older.

    `runs` has the facts that are incomplete when a leaf runs, `wanted` those it must come after.
    `loops` has the facts that a loop separates by age: of this iteration, of the one before and all
    earlier, and of still earlier ones but for the oldest."""

    def __init__(self, found: Sequence[CoreDependence]) -> None:
        oldest: dict[tuple[Leaf, Repeat | None], int] = {}
        for d in found:
            chain = d.earlier, d.loop
            oldest[chain] = max(d.distance, oldest.get(chain, 0))
        self.width = 0
        self.first: dict[tuple[Leaf, Repeat | None], int] = {}
        self.runs: dict[Leaf, int] = defaultdict(int)
        self.wanted: dict[Leaf, int] = defaultdict(int)
        self.loops: dict[Repeat | None, tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
        for (leaf, loop), age in oldest.items():
            first = self.first[leaf, loop] = self.width
            self.width += age + 1
            self.runs[leaf] |= 1 << first
            now, before, moved = self.loops[loop]
            moved |= sum(1 << first + n for n in range(1, age))
            self.loops[loop] = now | 1 << first, before | (age > 0) << first + 1, moved
        for d in found:
            self.wanted[d.later] |= self.asked((d,))

    def asked(self, found: Iterable[CoreDependence]) -> int:
        """The facts that dependences require."""
        return reduce(or_, (1 << self.first[d.earlier, d.loop] + d.distance for d in found), 0)


def find_dependences(func: Func, tree: Tree) -> list[CoreDependence]:
    """All dependences between the cube core and the vector cores of a block, and between the two
    vector cores where they read what the other one writes."""
    touched: dict[object, list[_Access]] = defaultdict(list)
    for item in tree.root.walk():
        for of_each_core in zip(*(leaf.gm for leaf in item.leaves), strict=True):
            for leaf, access in zip(item.leaves, of_each_core, strict=True):
                touched[access.region.buffer].append((leaf, access))
    search = _Search(func, tree)
    found: list[CoreDependence] = []
    for its in touched.values():
        if any(a.writes for _, a in its):
            found.extend(search.among(its))
    return found


@dataclass(frozen=True, slots=True)
class _Search:
    func: Func
    tree: Tree

    def sight(self, a: Leaf, b: Leaf) -> Sight:
        """The ranges and values that both paths bring into sight."""
        ranges, values = a.item.sight(self.tree.ranges)
        more, others = b.item.sight(self.tree.ranges)
        return {**ranges, **more}, {**values, **others}

    def among(self, its: list[_Access]) -> Iterator[CoreDependence]:
        two_lanes = self.func.launch.threads is None
        for i, (leaf, a) in enumerate(its):
            for other, b in its[i:]:
                if not (a.writes or b.writes) or (a.atomic and b.atomic):
                    continue
                if is_far(a.region) != is_far(b.region):
                    continue
                same = leaf.core is other.core
                lanes = leaf.core is Core.VECTOR and two_lanes and a.writes != b.writes
                if (not same or lanes) and not apart_by_numbers(a.region, b.region):
                    yield from self.between((leaf, a), (other, b), same)

    def between(self, a: _Access, b: _Access, lanes: bool) -> Iterator[CoreDependence]:
        one, two = a[0].item, b[0].item
        common, x, y = self.tree.nearest_common_dominator(one, two)
        # At one place, one of them is what a loop or a branch reads before it begins.
        behind = two.block is common if x == y and one is not two else x > y
        before, after = (b, a) if behind else (a, b)
        in_two_branches = x == y and one.block is not common and two.block is not common
        if one is not two and not in_two_branches and self.meet(before, after, None, lanes):
            yield dependence(before, after, common.loop)
        for loop in common.loops():
            for earlier, later in ((before, after), (after, before)):
                if self.meet(earlier, later, loop, lanes):
                    distance = self.distance(earlier, later, loop, lanes)
                    yield dependence(earlier, later, loop, distance)

    def meet(
        self,
        one: _Access,
        two: _Access,
        loop: Repeat | None,
        lanes: bool,
        by: tuple[int, int] = (1, 0),
    ) -> bool:
        """Whether the two may touch one byte, the second in a later round of a loop than the first,
        or in the same round of all loops around both."""
        (leaf, a), (other, b) = one, two
        ranges, values = self.sight(leaf, other)
        around = loop.stmt if loop is not None else None
        shared = common_path(leaf.item.path, other.item.path)
        if around is not None:
            shared = shared[: next(i for i, s in enumerate(shared) if s is around)]
        same = (set(self.tree.ranges) | defined(shared)) - {self.func.launch.lane}
        later = around.var if isinstance(around, For) else None
        pairs = [(a.region, b.region)]
        if lanes:
            pairs = [
                (self.of_lane(a.region, n, values), self.of_lane(b.region, 1 - n, values))
                for n in (0, 1)
            ]
        same = {v for v in same if not self.by_lane(v, values)}
        return any(not apart(x, y, same, ranges, later, values, by) for x, y in pairs)

    def distance(self, a: _Access, b: _Access, loop: Repeat, lanes: bool) -> int:
        """Rounds that surely lie between them at least: until both come to the same slot."""
        if not isinstance(loop.stmt, For):
            return 1
        _, values = self.sight(a[0], b[0])
        counts = {
            int(e.right.value)
            for _, access in (a, b)
            for s in access.region.dims
            for e in walk_expr(resolved(s.offset, values))
            if isinstance(e, Binary) and e.op == "%" and isinstance(e.right, Const)
        }
        for slots in sorted((n for n in counts if 1 < n <= MOST_SLOTS), reverse=True):
            for rest in range(1, slots):
                if self.meet(a, b, loop, lanes, (slots, rest)):
                    break
            else:
                rest = slots
            if rest > 1:
                return rest
        return 1

    def by_lane(self, var: Var, values: dict[Var, Expr]) -> bool:
        value = values.get(var)
        return value is not None and any(
            e == self.func.launch.lane for e in walk_expr(resolved(value, values))
        )

    def of_lane(self, region: Region, lane: int, values: dict[Var, Expr]) -> Region:
        def on(expr: Expr) -> Expr:
            return substitute(resolved(expr, values), {self.func.launch.lane: Const(lane)})

        return map_region(region, on)
