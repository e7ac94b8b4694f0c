"""Which accesses of gm by one core must come before which of another, in the order of the text, and
how many iterations of which loop lie between them.

The text of the kernel, run from top to bottom, defines the result of all cores together
(`merge_streams` guarantees it). Each core orders its own accesses itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import combinations_with_replacement, product
from operator import or_
from typing import TypeAlias

from tile_ir import (
    Const,
    Core,
    For,
    Func,
    Region,
    Var,
    map_region,
    resolved,
    substitute,
    walk_expr,
)
from tile_ir.analysis import apart, apart_by_numbers, common_path, defined, periods
from tile_ir.ranks import is_far
from tile_passes.order.dependence_graph import Dependence, dependence
from tile_passes.order.tree import Leaf, LeafAccess, Repeat, Tree

# Slots are told apart up to this many iterations; counters could not hold a credit for more.
MOST_SLOTS = 8


CoreDependence: TypeAlias = Dependence[Leaf, LeafAccess]
_Access: TypeAlias = tuple[Leaf, LeafAccess]


class Facts:
    """The requirements of dependences, as bits. One fact says that a leaf's work of this iteration
    of a loop (the innermost around both, if none carries) is complete. The next ones say the same
    of all its work one iteration ago or earlier, two iterations ago, and so on.

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
        for access, leaf in product(item.gm, item.leaves):
            touched[access.region.buffer].append((leaf, access))
    two_lanes = func.launch.threads is None
    found: list[CoreDependence] = []
    for its in touched.values():
        if not any(a.writes for _, a in its):
            continue
        for one, two in combinations_with_replacement(its, 2):
            (leaf, a), (other, b) = one, two
            if not (a.writes or b.writes) or (a.atomic and b.atomic):
                continue
            if is_far(a.region) != is_far(b.region):
                continue
            same = leaf.core is other.core
            lanes = leaf.core is Core.VECTOR and two_lanes and a.writes != b.writes
            if (not same or lanes) and not apart_by_numbers(a.region, b.region):
                found += _Pair(tree, func.launch.lane, one, two, same).dependences()
    return found


class _Pair:
    """Two accesses of one tensor; `lanes`: by the two vector cores, which run the same text."""

    def __init__(self, tree: Tree, lane: Var, a: _Access, b: _Access, lanes: bool) -> None:
        self.tree, self.lane, self.a, self.b, self.lanes = tree, lane, a, b, lanes
        one, two = a[0].item, b[0].item
        # The ranges and values that both paths bring into sight.
        x, y = one.sight, two.sight
        self.ranges, self.values = {**x.known, **y.known}, {**x.values, **y.values}
        self.path = common_path(x.path, y.path)
        whole = ((v, resolved(value, self.values)) for v, value in self.values.items())
        self.by_lane = {lane} | {v for v, e in whole if any(p == lane for p in walk_expr(e))}

    def dependences(self) -> Iterator[CoreDependence]:
        (leaf, _), (other, _) = self.a, self.b
        one, two = leaf.item, other.item
        common, x, y = self.tree.nearest_common_dominator(one, two)
        # At one place, one of them is what a loop or a branch reads before it begins.
        behind = two.block is common if x == y and one is not two else x > y
        before, after = (self.b, self.a) if behind else (self.a, self.b)
        in_two_branches = x == y and one.block is not common and two.block is not common
        if one is not two and not in_two_branches and self.meet(before, after, None):
            yield dependence(before, after, common.loop)
        for loop in common.loops():
            for earlier, later in ((before, after), (after, before)):
                if self.meet(earlier, later, loop):
                    yield dependence(earlier, later, loop, self.distance(earlier, later, loop))

    def meet(
        self, one: _Access, two: _Access, loop: Repeat | None, by: tuple[int, int] = (1, 0)
    ) -> bool:
        """Whether the two may touch one byte, the second in a later iteration of a loop than the
        first, or in the same iteration of all loops around both."""
        around = loop.stmt if loop is not None else None
        shared = self.path
        if around is not None:
            shared = shared[: next(i for i, s in enumerate(shared) if s is around)]
        later = around.var if isinstance(around, For) else None
        same = (set(self.tree.ranges) | defined(shared)) - self.by_lane
        a, b = one[1].region, two[1].region
        pairs = [(a, b)]
        if self.lanes:
            pairs = [(self.of_lane(a, n), self.of_lane(b, 1 - n)) for n in (0, 1)]
        return any(not apart(x, y, same, self.ranges, later, self.values, by) for x, y in pairs)

    def distance(self, a: _Access, b: _Access, loop: Repeat) -> int:
        """Iterations that surely lie between them at least: until both come to the same slot."""
        if not isinstance(loop.stmt, For):
            return 1
        offsets = (resolved(s.offset, self.values) for _, x in (a, b) for s in x.region.dims)
        counts = {n for offset in offsets for n in periods(offset, loop.stmt.var)}
        for slots in sorted((n for n in counts if n <= MOST_SLOTS), reverse=True):
            met = (n for n in range(1, slots) if self.meet(a, b, loop, (slots, n)))
            if (rest := next(met, slots)) > 1:
                return rest
        return 1

    def of_lane(self, region: Region, lane: int) -> Region:
        number = {self.lane: Const(lane)}
        return map_region(region, lambda e: substitute(resolved(e, self.values), number))
