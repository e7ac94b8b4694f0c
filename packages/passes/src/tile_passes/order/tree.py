"""A section as blocks of items, and the instances that may touch memory. Says nothing about order.

`unroll` builds the tree of a section.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tile_ir import Buffer, Const, Core, For, Loc, Pipe, Region, Stmt, While, map_region, walk_expr
from tile_ir.analysis import INF, Bounds, Interval, Ranges, Touch, visible, widened

Residues = tuple[int, ...]


@dataclass(eq=False, slots=True)
class Instance:
    """A statement that may touch memory, in one combination of residues of the loops around it.
    Signals to other cores touch nothing themselves."""

    bit: int
    item: Work
    residues: Residues
    touches: tuple[Touch, ...]
    bounds: Bounds
    # By the identity of a touch: to hash a region takes longer than to find it here.
    _regions: dict[int, tuple[Region, Region]] = field(default_factory=dict)

    def region(self, touch: Touch) -> Region:
        """What is touched, in this combination of residues."""
        return self._of(touch)[0]

    def reach(self, touch: Touch) -> Region:
        """That, with the elements around it that the operation touches too."""
        return self._of(touch)[1]

    def moves(self, touch: Touch) -> bool:
        """Whether the first byte is chosen by a number that the residues do not give."""
        offsets = (s.offset for s in touch.region.dims if not isinstance(s.offset, Const))
        return any(not isinstance(self.bounds.spelled(o), Const) for o in offsets)

    def _of(self, touch: Touch) -> tuple[Region, Region]:
        key = id(touch)
        if key not in self._regions:
            found = map_region(touch.region, self.bounds.put_in)
            self._regions[key] = found, widened(found, self.item.pipe)
        return self._regions[key]


@dataclass(eq=False, slots=True)
class Item:
    """One statement of a block; one that touches no memory is nothing else."""

    block: Block
    position: int
    stmt: Stmt

    @property
    def loc(self) -> Loc:
        return self.stmt.loc


@dataclass(eq=False, slots=True)
class Work(Item):
    """A statement that touches memory, on one pipe; `path` is what stands around and before it, for
    `analysis.regions`."""

    pipe: Pipe
    in_order: bool
    instances: dict[Residues, Instance] = field(default_factory=dict)
    path: tuple[Stmt, ...] = ()
    _sight: Ranges | None = None

    def sight(self, everywhere: Ranges) -> Ranges:
        """The intervals of what its path brings into sight."""
        if self._sight is None:
            self._sight, _ = visible(self.path, (), everywhere)
        return self._sight

    @property
    def loops(self) -> tuple[Stmt, ...]:
        """Those around it, as its path has them."""
        return tuple(s for s in self.path if isinstance(s, (For, While)))


@dataclass(eq=False, slots=True)
class Order(Item):
    """A flag or barrier of the user's. `ids` gives its event id for each residue, where constant,
    and `spans` what it may be."""

    ids: dict[Residues, int | None] = field(default_factory=dict)
    spans: dict[Residues, Interval] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Branch(Item):
    """`taken` says which side runs, where that is certain; `unlikely`, that `then` hardly ever
    does, and that it comes to its end if it does."""

    taken: bool | None = None
    unlikely: bool = False
    then: Block = field(init=False)
    orelse: Block = field(init=False)


@dataclass(eq=False, slots=True)
class Repeat(Item):
    """A loop: `modulus` residues, of which it begins with one of `entries` and may end with one of
    `ends`; `runs` if it surely runs at least once, and `most` times; `wraps` if a residue may come
    twice."""

    body: Block = field(init=False)
    modulus: int = 1
    entries: tuple[int, ...] = (0,)
    ends: tuple[int, ...] = (0,)
    runs: bool = False
    wraps: bool = True
    most: float = INF

    @property
    def turns(self) -> tuple[int, ...]:
        """The residues it comes to, in the order in which it does."""
        m = self.modulus
        if len(self.entries) > 1:
            return self.entries
        return tuple((self.entries[0] + t) % m for t in range(int(min(m, self.most))))


@dataclass(eq=False, slots=True)
class Leave(Item):
    """A break out of `loop`."""

    loop: Repeat = field(init=False)


@dataclass(eq=False, slots=True)
class Block:
    """Items in order. `owner` is the branch or loop it belongs to, `loop` the innermost one around,
    `residues` how many residues its instances have. `below[k]` holds the bits of all instances in
    the first k items."""

    owner: Branch | Repeat | None
    loop: Repeat | None
    depth: int
    residues: int
    items: list[Item] = field(default_factory=list)
    below: list[int] = field(default_factory=list)

    def walk(self) -> Iterator[Item]:
        """Every item of the block and of all inside, in the order of the text."""
        for item in self.items:
            yield item
            match item:
                case Branch(then=then, orelse=orelse):
                    yield from then.walk()
                    yield from orelse.walk()
                case Repeat(body=body):
                    yield from body.walk()

    def holds(self, item: Work) -> bool:
        """Whether the item stands in this block or in one inside it."""
        return any(self.below[-1] >> instance.bit & 1 for instance in item.instances.values())

    def bits(self, first: int, end: int) -> int:
        """The instances in items [first, end)."""
        return self.below[end] & ~self.below[first]


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """What an instance did before its innermost loop was entered last: a fact with a bit of its
    own, for what follows it in the same run of the loop, in which it touches other bytes."""

    bit: int
    instance: Instance
    loop: Repeat


@dataclass(eq=False, slots=True)
class Tree:
    """One section. `masks` holds the instances of each pipe as bits, with the bits of their `runs`,
    which come behind those of all instances."""

    core: Core
    root: Block
    instances: list[Instance]
    runs: list[EarlierRun]
    pipes: tuple[Pipe, ...]
    flag_pairs: frozenset[tuple[Pipe, Pipe]]
    masks: dict[Pipe, int]
    ranges: Ranges
    flat: bool
    # The instances in branches that hardly ever run.
    seldom: int
    # Tensors that the kernel writes: what cores tell each other about.
    written: frozenset[Buffer]
    # The pipes whose work a signal may tell of: its own always, and those it has to come after.
    told: frozenset[Pipe]

    def facts_of(self, bits: int) -> Iterator[tuple[int, Instance, Repeat | None]]:
        """Each bit with the instance it stands for, and the loop where it is only what that did
        before the loop was entered last. Bits of waits are passed over."""
        bits &= (1 << self.free_bit()) - 1
        while bits:
            bit = bits.bit_length() - 1
            bits ^= 1 << bit
            if bit < len(self.instances):
                yield bit, self.instances[bit], None
            else:
                run = self.runs[bit - len(self.instances)]
                yield bit, run.instance, run.loop

    def free_bit(self) -> int:
        """The first bit without a meaning."""
        return len(self.instances) + len(self.runs)


def round_by_round(instance: Instance) -> Repeat | None:
    """The loop around the instance, if it may touch other bytes in each round of it."""
    loop = instance.item.block.loop
    if loop is None or loop.modulus > 1 or not isinstance(loop.stmt, For):
        return None
    var = loop.stmt.var
    offsets = (s.offset for t in instance.touches for s in instance.region(t).dims)
    return loop if any(e == var for offset in offsets for e in walk_expr(offset)) else None


def unlikely_block(item: Item, other: Item) -> Block | None:
    """The largest block around `item`, but not around `other`, that hardly ever runs."""
    around = set()
    block = other.block
    while block.owner is not None:
        around.add(block)
        block = block.owner.block
    found = None
    block = item.block
    while block.owner is not None and block not in around:
        if isinstance(block.owner, Branch) and block.owner.unlikely and block is block.owner.then:
            found = block
        block = block.owner.block
    return found


def nearest_common_ancestor(p: Item, q: Item) -> tuple[Block, int, int]:
    """The innermost block around both, and where in it each of them stands."""
    a, b = p.block, q.block
    i, j = p.position, q.position
    while a is not b:
        if a.depth >= b.depth:
            assert a.owner is not None
            i, a = a.owner.position, a.owner.block
        else:
            assert b.owner is not None
            j, b = b.owner.position, b.owner.block
    return a, i, j


def counted_loops(block: Block) -> list[Repeat]:
    """The loops around a block that are looked at by residue, the outermost first."""
    loops: list[Repeat] = []
    around = block.loop
    while around is not None:
        if around.modulus > 1:
            loops.append(around)
        around = around.block.loop
    return loops[::-1]


def place_in(block: Block, item: Work) -> int:
    """Where in the block the item stands, or what holds it."""
    place: Item = item
    while place.block is not block:
        owner = place.block.owner
        assert owner is not None, "the block is around the item"
        place = owner
    return place.position
