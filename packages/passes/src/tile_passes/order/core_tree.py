"""Build the tree of a whole kernel, for the order between its cores.

Sections are opened: every item names the cores that run it. Loops are not unrolled. Not here: which
accesses conflict (`core_dependences`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tile_ir import (
    Body,
    Break,
    Core,
    Expr,
    For,
    Func,
    If,
    Let,
    Load,
    Memory,
    Op,
    Pipe,
    Region,
    Stmt,
    Var,
    While,
    core_of,
    walk_expr,
)
from tile_ir.analysis import Ranges, interval, launch_ranges, regions_of, trip_count
from tile_passes.order.tree import Block, Branch, Item, Leaf, LeafAccess, Repeat, Tree
from tile_passes.streams.items import items

CORES = (Core.CUBE, Core.VECTOR)
_OWN = frozenset({Memory.UB, Memory.L1, Memory.L0A, Memory.L0B, Memory.L0C, Memory.BT})


def core_tree(func: Func) -> Tree:
    """Build the tree of a lowered function."""
    builder = _Builder(func, launch_ranges(func))
    root = builder.block(func.launch.body, Core.EITHER, None, ())
    return Tree(Core.EITHER, root, builder.ranges, leaves=builder.leaves)


def breaking_places(block: Block) -> list[int]:
    """The places of a loop's body at which it may be left."""

    def breaks(item: Item) -> bool:
        inner = () if isinstance(item, Repeat) else item.blocks
        return isinstance(item.stmt, Break) or any(breaks(i) for b in inner for i in b.items)

    return [item.position for item in block.items if breaks(item)]


@dataclass(slots=True)
class _Builder:
    func: Func
    ranges: Ranges
    leaves: dict[Item, tuple[Leaf, ...]] = field(default_factory=dict)
    own: set[Var] = field(default_factory=set)  # what only one core, or one lane, can know
    regions: dict[Region, Region] = field(default_factory=dict)

    def block(
        self, body: Body, core: Core, owner: Branch | Repeat | None, path: tuple[Stmt, ...]
    ) -> Block:
        block = Block.inside(owner)
        block.private = owner is not None and self.is_private(owner.stmt)
        for found in items(body, core):
            stmt, own = found.stmt, found.core
            at = block, len(block.items), stmt
            inside = (*path, stmt)
            item: Item
            match stmt:
                case If(then=then, orelse=orelse):
                    item = branch = Branch(*at, core=own)
                    block.items.append(branch)
                    self.leaf(item, path)
                    branch.then = self.block(then, own, branch, inside)
                    branch.orelse = self.block(orelse, own, branch, inside)
                case For(body=inner) | While(body=inner):
                    item = loop = Repeat(*at, core=own)
                    block.items.append(loop)
                    self.leaf(item, path)
                    if isinstance(stmt, For):
                        trips = interval(trip_count(stmt), self.ranges)
                        loop.runs, loop.wraps = trips.low >= 1, trips.high > 1
                        loop.most = max(trips.high, 0)
                    loop.body = self.block(inner, own, loop, inside)
                case _:
                    item = Item(*at, core=own)
                    block.items.append(item)
                    self.leaf(item, path)
            if isinstance(stmt, Let):
                path = inside
                if self.knows_more(stmt.value):
                    self.own.add(stmt.var)
        return block

    def is_private(self, around: Stmt) -> bool:
        """Whether only one core, or each lane for itself, knows how often the block runs."""
        match around:
            case If(condition=c) | While(condition=c):
                return self.knows_more(c)
            case For(start=start, stop=stop):
                return self.knows_more(start) or self.knows_more(stop)
        return False

    def knows_more(self, expr: Expr) -> bool:
        return any(
            p == self.func.launch.lane
            or p in self.own
            or (isinstance(p, Load) and p.buffer.memory in _OWN)
            for p in walk_expr(expr)
        )

    def leaf(self, item: Item, path: tuple[Stmt, ...]) -> None:
        """Note the accesses of the item itself, for each core that runs it."""
        core, stmt = item.core, item.stmt
        if core is Core.EITHER and isinstance(stmt, Op):
            core = core_of(stmt)
        accesses = [*regions_of(stmt)]
        if not accesses:
            return
        leaves = []
        for each in CORES if core is Core.EITHER else (core,):
            leaf = Leaf(item, each, path)
            for found, way, unordered, pipe in accesses:
                region = self.regions.setdefault(found, found)
                its = leaf.gm if region.memory is Memory.GM else leaf.chip
                atomic, by = unordered and its is leaf.gm, Pipe.S if pipe is None else pipe
                if way.reads and not atomic:
                    its.append(LeafAccess(leaf, region, False, False, by))
                if way.writes:
                    its.append(LeafAccess(leaf, region, True, atomic, by))
            if leaf.gm or leaf.chip:
                leaves.append(leaf)
        if leaves:
            self.leaves[item] = tuple(leaves)
