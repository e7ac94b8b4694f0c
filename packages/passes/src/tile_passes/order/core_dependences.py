"""Which accesses of gm by one core must come before which of another, in the order of the text, and
how many rounds of which loop lie between them.

The text of the kernel, run from top to bottom, is what the cores together must compute
(`merge_streams` has seen to that). What one core does is ordered by that core itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

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
from tile_ir.analysis import (
    Ranges,
    Sight,
    apart,
    apart_by_numbers,
    common_path,
    defined,
    launch_ranges,
    visible,
)
from tile_passes.order.core_blocks import Access, Block, Leaf

# Slots are told apart up to this many rounds; a credit for more would not fit the counters either.
MOST_SLOTS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """`later` of one core must wait for `earlier` of another: in the same round of all loops around
    both (`loop` is None), or `distance` or more rounds of `loop` after it."""

    earlier: Access
    later: Access
    source: Core
    sink: Core
    loop: Block | None
    distance: int


def find_dependences(func: Func, root: Block) -> list[Dependence]:
    """All dependences between the cube core and the vector cores of a block, and between the two
    vector cores where they read what the other one writes."""
    touched: dict[object, list[tuple[Access, Core]]] = {}
    for leaf in root.all_leaves():
        for access in leaf.gm:
            for core in leaf.cores:
                touched.setdefault(access.region.buffer, []).append((access, core))
    search = _Search(func, launch_ranges(func))
    found: list[Dependence] = []
    for its in touched.values():
        if any(a.writes for a, _ in its):
            found.extend(search.among(its))
    return found


@dataclass(frozen=True, slots=True)
class _Search:
    """`sights`: what the path of a leaf brings into sight."""

    func: Func
    known: Ranges
    sights: dict[Leaf, Sight] = field(default_factory=dict)

    def sight(self, a: Leaf, b: Leaf) -> Sight:
        """What both paths bring into sight."""
        for leaf in (a, b):
            if leaf not in self.sights:
                self.sights[leaf] = visible(leaf.path, (), self.known)
        (ranges, values), (more, others) = self.sights[a], self.sights[b]
        return {**ranges, **more}, {**values, **others}

    def among(self, its: list[tuple[Access, Core]]) -> Iterator[Dependence]:
        two_lanes = self.func.launch.threads is None
        for i, (a, core_a) in enumerate(its):
            for b, core_b in its[i:]:
                if not (a.writes or b.writes) or (a.atomic and b.atomic):
                    continue
                lanes = core_a is Core.VECTOR and two_lanes and a.writes != b.writes
                if (core_a is not core_b or lanes) and not apart_by_numbers(a.region, b.region):
                    yield from self.between(a, core_a, b, core_b)

    def between(self, a: Access, core_a: Core, b: Access, core_b: Core) -> Iterator[Dependence]:
        common = _common_blocks(a.leaf, b.leaf)
        lanes = core_a is core_b
        before, after = (a, core_a), (b, core_b)
        if _comes_after(a.leaf, b.leaf, common[0]):
            before, after = after, before
        apart = a.leaf is b.leaf or _in_two_branches(a.leaf, b.leaf, common[0])
        if not apart and self.meet(before[0], after[0], None, lanes):
            yield Dependence(before[0], after[0], before[1], after[1], None, 0)
        for block in common:
            if not block.is_loop:
                continue
            for x, y in ((before, after), (after, before)):
                if self.meet(x[0], y[0], block, lanes):
                    distance = self.distance(x[0], y[0], block, lanes)
                    yield Dependence(x[0], y[0], x[1], y[1], block, distance)

    def meet(
        self, a: Access, b: Access, loop: Block | None, lanes: bool, by: tuple[int, int] = (1, 0)
    ) -> bool:
        """Whether the two may touch one byte, `b` in a later round of a loop than `a`, or in the
        same round of all loops around both."""
        ranges, values = self.sight(a.leaf, b.leaf)
        around = loop.around if loop is not None else None
        shared = common_path(a.leaf.path, b.leaf.path)
        if around is not None:
            shared = shared[: next(i for i, s in enumerate(shared) if s is around)]
        same = (set(self.known) | defined(shared)) - {self.func.launch.lane}
        later = around.var if isinstance(around, For) else None
        pairs = [(a.region, b.region)]
        if lanes:
            pairs = [
                (self.of_lane(a.region, n, values), self.of_lane(b.region, 1 - n, values))
                for n in (0, 1)
            ]
        same = {v for v in same if not self.by_lane(v, values)}
        return any(not apart(x, y, same, ranges, later, values, by) for x, y in pairs)

    def distance(self, a: Access, b: Access, loop: Block, lanes: bool) -> int:
        """Rounds that surely lie between them at least: until both come to the same slot."""
        if not isinstance(loop.around, For):
            return 1
        _, values = self.sight(a.leaf, b.leaf)
        counts = {
            int(e.right.value)
            for region in (a.region, b.region)
            for s in region.dims
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


def _common_blocks(a: Leaf, b: Leaf) -> list[Block]:
    """The blocks around both, inside out."""
    around = [block for block, _ in b.block.chain()]
    return [block for block, _ in a.block.chain() if block in around]


def place_in(leaf: Leaf, outer: Block) -> int:
    """The place of a block at which a leaf stands, or the statement it is in."""
    for block, at in leaf.block.chain():
        if block is outer:
            return leaf.place if at is None else at
    raise ValueError("the leaf stands elsewhere")


def _comes_after(a: Leaf, b: Leaf, block: Block) -> bool:
    x, y = place_in(a, block), place_in(b, block)
    # At one place, one of them is what a loop or a branch reads before it begins.
    return b.block is block if x == y and a is not b else x > y


def _in_two_branches(a: Leaf, b: Leaf, block: Block) -> bool:
    same_place = place_in(a, block) == place_in(b, block)
    return same_place and a.block is not block and b.block is not block


def common_block(a: Leaf, b: Leaf) -> Block:
    """The innermost block around both."""
    return _common_blocks(a, b)[0]
