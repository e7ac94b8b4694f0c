"""The statements of a kernel as blocks with numbered places, and what each one touches.

A block is the body of the kernel, of a loop or of a branch, sections opened. A place is a block
with a number in it; signals are set behind places and awaited before them. Not here: which
accesses conflict (`dependences`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tile_ir import (
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
    bodies,
    core_of,
    walk_expr,
)
from tile_ir.analysis import regions_of
from tile_passes.streams.items import Item, items

CORES = (Core.CUBE, Core.VECTOR)
_OWN = frozenset({Memory.UB, Memory.L1, Memory.L0A, Memory.L0B, Memory.L0C, Memory.BT})


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """A region that a leaf reads or writes, one object wherever it is the same, and the pipe that
    does it; whether it is all of its buffer, and the variables it names."""

    leaf: Leaf
    region: Region
    writes: bool
    atomic: bool
    pipe: Pipe
    whole: bool
    variables: tuple[Var, ...]

    @staticmethod
    def of(leaf: Leaf, region: Region, writes: bool, atomic: bool, pipe: Pipe) -> Access:
        parts = (part for s in region.dims for part in (s.offset, s.extent))
        found = dict.fromkeys(v for part in parts for v in walk_expr(part) if isinstance(v, Var))
        return Access(leaf, region, writes, atomic, pipe, region.is_whole(), tuple(found))


@dataclass(slots=True, eq=False)
class Leaf:
    """A statement without the statements inside it: an operation, or what a loop or a branch reads
    before it begins. `path` is what stands around and before it (`regions.Path`), `pipes` do its
    accesses."""

    stmt: Stmt
    block: Block
    place: int
    cores: tuple[Core, ...]
    path: tuple[Stmt, ...]
    gm: tuple[Access, ...] = ()
    chip: tuple[Access, ...] = ()
    pipes: frozenset[Pipe] = frozenset()


@dataclass(slots=True, eq=False)
class Block:
    """One body. `around` is the loop or branch it belongs to, at `place` of the block `parent`."""

    items: list[Item]
    around: Stmt | None
    parent: Block | None
    place: int
    private: bool
    leaves: dict[int, Leaf] = field(default_factory=dict)
    inner: dict[int, tuple[Block, ...]] = field(default_factory=dict)

    @property
    def is_loop(self) -> bool:
        return isinstance(self.around, (For, While))

    @property
    def depth(self) -> int:
        return sum(1 for _ in self.chain())

    def chain(self) -> Iterator[tuple[Block, int | None]]:
        """This block and those around it, inside out, each with the place of the one inside it."""
        yield self, None
        block = self
        while block.parent is not None:
            yield block.parent, block.place
            block = block.parent

    def all_blocks(self) -> Iterator[Block]:
        """This block and those inside it."""
        yield self
        for blocks in self.inner.values():
            for block in blocks:
                yield from block.all_blocks()

    def all_leaves(self) -> Iterator[Leaf]:
        for number in range(len(self.items)):
            if number in self.leaves:
                yield self.leaves[number]
            for inner in self.inner.get(number, ()):
                yield from inner.all_leaves()


def breaking_places(loop: Block) -> Iterator[int]:
    """The places of a loop's body at which it may be left."""

    def breaks(block: Block, place: int) -> bool:
        inner = (b for b in block.inner.get(place, ()) if not b.is_loop)
        return isinstance(block.items[place].stmt, Break) or any(
            breaks(b, n) for b in inner for n in range(len(b.items))
        )

    return (place for place in range(len(loop.items)) if breaks(loop, place))


def build_blocks(func: Func) -> Block:
    """The blocks of a lowered function."""
    return _Builder(func).block(items(func.launch.body), None, None, 0, ())


@dataclass(slots=True)
class _Builder:
    func: Func
    own: set[Var] = field(default_factory=set)  # what only one core, or one lane, can know
    regions: dict[Region, Region] = field(default_factory=dict)

    def block(
        self,
        found: list[Item],
        around: Stmt | None,
        parent: Block | None,
        place: int,
        path: tuple[Stmt, ...],
    ) -> Block:
        block = Block(found, around, parent, place, around is not None and self.is_private(around))
        for number, item in enumerate(found):
            stmt = item.stmt
            leaf = self.leaf(item, block, number, path)
            if leaf is not None:
                block.leaves[number] = leaf
            if isinstance(stmt, Let):
                path = (*path, stmt)
                if self.knows_more(stmt.value):
                    self.own.add(stmt.var)
            inside = bodies(stmt)
            if inside:
                block.inner[number] = tuple(
                    self.block(items(b, item.core), stmt, block, number, (*path, stmt))
                    for b in inside
                )
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

    def leaf(self, item: Item, block: Block, number: int, path: tuple[Stmt, ...]) -> Leaf | None:
        stmt = item.stmt
        core = item.core
        if core is Core.EITHER and isinstance(stmt, Op):
            core = core_of(stmt)
        cores = CORES if core is Core.EITHER else (core,)
        leaf = Leaf(stmt, block, number, cores, path)
        gm: list[Access] = []
        chip: list[Access] = []
        for each, way, atomic, pipe in regions_of(stmt):
            region = self.regions.setdefault(each, each)
            its = gm if region.memory is Memory.GM else chip
            by = Pipe.S if pipe is None else pipe
            if way.reads and not (atomic and its is gm):
                its.append(Access.of(leaf, region, False, False, by))
            if way.writes:
                its.append(Access.of(leaf, region, True, atomic and its is gm, by))
        if not gm and not chip:
            return None
        leaf.gm, leaf.chip = tuple(gm), tuple(chip)
        leaf.pipes = frozenset(access.pipe for access in (*gm, *chip))
        return leaf
