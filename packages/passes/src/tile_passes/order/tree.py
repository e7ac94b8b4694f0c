"""A section as blocks of items, and the instances that may touch memory. Says nothing about order.

`unroll` builds the tree of a section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, reduce
from itertools import takewhile
from operator import or_
from typing import TypeAlias

from tile_ir import Buffer, Const, Core, Expr, Loc, Op, Pipe, Region, Stmt, Var, map_region
from tile_ir.analysis import INF, Bounds, Facts, Interval, Ranges, Touch, widened
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.graphs import nx

Residues = tuple[int, ...]
CORES = (Core.CUBE, Core.VECTOR)


@dataclass(eq=False, slots=True)
class Instance:
    """A statement that may touch memory, in one combination of residues of the loops around it.
    Signals to other cores touch nothing themselves. `varies_in`: the loop around it, if it may
    touch other bytes in each iteration of it."""

    bit: int
    item: Work
    residues: Residues
    touches: tuple[Touch, ...]
    bounds: Bounds
    varies_in: Repeat | None = None
    _reaches: dict[Region, Region] = field(default_factory=dict)

    @property
    def looks_back(self) -> Repeat | None:
        """That loop, if it may be run more than once."""
        loop = self.varies_in
        return loop if loop is not None and loop.block.loop is not None else None

    def region(self, touch: Touch) -> Region:
        """The region of the touch, in this combination of residues."""
        return map_region(touch.region, self.bounds.put_in)

    def reach(self, touch: Touch) -> Region:
        """That, with the elements around it that the operation touches too."""
        if touch.region not in self._reaches:
            self._reaches[touch.region] = widened(self.region(touch), self.item.pipe)
        return self._reaches[touch.region]

    def moves(self, touch: Touch) -> bool:
        """Whether the first byte is chosen by a number that the residues do not give."""
        offsets = (s.offset for s in touch.region.dims if not isinstance(s.offset, Const))
        return any(not isinstance(self.bounds.spelled(o), Const) for o in offsets)


@dataclass(frozen=True)
class Sight:
    """The facts at a statement: intervals and values of variables, and those that hold in one
    combination of residues only. `path` are the statements around and before it, for
    `analysis.regions`, `facts` the conditions of the loops and branches around it."""

    known: Ranges
    values: Mapping[Var, Expr] = field(default_factory=dict)
    chosen: Sequence[tuple[Residues, Ranges, Mapping[Var, Expr]]] = (((), {}, {}),)
    path: tuple[Stmt, ...] = ()
    facts: Facts = ()

    @cached_property
    def each_residue(self) -> list[tuple[Residues, Bounds]]:
        """Every combination of residues, with the known bounds of expressions in it."""
        return [
            (residues, Bounds({**self.known, **ranges}, {**self.values, **values}))
            for residues, ranges, values in self.chosen
        ]


@dataclass(eq=False, slots=True)
class Item:
    """One statement of a block; one that touches no memory is nothing else. `sight` has what is
    known before it, `blocks` the statements inside. `private` says that their trip count is a value
    of one core, or of each vector core, only. `leaves` is the work of each core in it, `gm` and
    `chip` what each of them accesses."""

    block: Block
    position: int
    stmt: Stmt
    core: Core
    sight: Sight
    blocks: tuple[Block, ...] = field(default=(), init=False)
    private: bool = field(default=False, init=False)
    leaves: tuple[Leaf, ...] = field(default=(), init=False)
    gm: list[LeafAccess] = field(default_factory=list, init=False)
    chip: list[LeafAccess] = field(default_factory=list, init=False)

    @property
    def loc(self) -> Loc:
        return self.stmt.loc

    @property
    def bits(self) -> int:
        """All instances in it."""
        return reduce(or_, (block.below[-1] for block in self.blocks), 0)

    def unlikely_beside(self, other: Item) -> Block | None:
        """The largest block around the item, but not around the other, that hardly ever runs."""
        beside, found = set(other.block.outward()), None
        for block in takewhile(lambda block: block not in beside, self.block.outward()):
            match block.owner:
                case Branch(unlikely=True, then=then) if block is then:
                    found = block
        return found


@dataclass(eq=False, slots=True)
class Work(Item):
    """A statement that touches memory, on one pipe."""

    pipe: Pipe
    in_order: bool
    instances: dict[Residues, Instance] = field(default_factory=dict, init=False)

    @property
    def bits(self) -> int:
        return sum(1 << instance.bit for instance in self.instances.values())


@dataclass(eq=False, slots=True)
class Order(Item):
    """A flag or barrier of the user's; `spans` has what its event id may be for each residue."""

    spans: dict[Residues, Interval] = field(default_factory=dict)

    @property
    def pair(self) -> tuple[Pipe, Pipe]:
        """The pipe that sets the flag, and the one that waits for it."""
        assert isinstance(self.stmt, Op), "flags are operations"
        return Pipe(self.stmt.attr("src_pipe")), Pipe(self.stmt.attr("dst_pipe"))


@dataclass(eq=False, slots=True)
class Branch(Item):
    """`taken` says which side runs, where that is certain, and `turns` in which residues it is;
    `unlikely`, that `then` hardly ever does, and that it comes to its end if it does."""

    taken: bool | None = None
    turns: Mapping[Residues, bool] = field(default_factory=dict)
    unlikely: bool = False

    @property
    def then(self) -> Block:
        return self.blocks[0]

    @property
    def orelse(self) -> Block:
        return self.blocks[1]

    def sides(self, residues: Residues) -> tuple[Block, ...]:
        """Those that may run in a combination of residues."""
        taken = self.turns.get(residues, self.taken)
        return self.blocks if taken is None else (self.then if taken else self.orelse,)


@dataclass(eq=False, slots=True)
class Repeat(Item):
    """A loop: `modulus` residues, of which it begins with one of `entries` and may end with one of
    `ends`; `runs` if it surely runs at least once, and `most` times; `wraps` if a residue may come
    twice."""

    modulus: int = 1
    entries: tuple[int, ...] = (0,)
    ends: tuple[int, ...] = (0,)
    runs: bool = False
    wraps: bool = True
    most: float = INF

    @property
    def body(self) -> Block:
        return self.blocks[0]

    @property
    def turns(self) -> tuple[int, ...]:
        """The residues it comes to, in the order in which it does."""
        m = self.modulus
        if len(self.entries) > 1:
            return self.entries
        return tuple((self.entries[0] + t) % m for t in range(int(min(m, self.most))))


@dataclass(eq=False, slots=True)
class Block:
    """Items in order. `owner` is the branch or loop it belongs to, `loop` the innermost one around,
    `turning` the loops whose residues its instances have, outside in. `below[k]` holds the bits of
    all instances in the first k items."""

    owner: Item | None = None
    loop: Repeat | None = field(default=None, init=False)
    depth: int = field(default=0, init=False)
    turning: tuple[Repeat, ...] = field(default=(), init=False)
    items: list[Item] = field(default_factory=list)
    below: list[int] = field(default_factory=lambda: [0])

    def __post_init__(self) -> None:
        if (owner := self.owner) is not None:
            around = owner.block
            self.loop, self.depth, self.turning = around.loop, around.depth + 1, around.turning
            if isinstance(owner, Repeat):
                self.loop, self.turning = owner, around.turning + (owner,) * (owner.modulus > 1)

    def outward(self) -> Iterator[Block]:
        """This block and those around it, inside out."""
        block: Block | None = self
        while block is not None:
            yield block
            block = None if block.owner is None else block.owner.block

    def loops(self) -> Iterator[Repeat]:
        """The loops around the block, inside out."""
        return (b.owner for b in self.outward() if isinstance(b.owner, Repeat))

    def walk(self) -> Iterator[Item]:
        """Every item of the block and of all inside, in the order of the text."""
        for item in self.items:
            yield item
            for block in item.blocks:
                yield from block.walk()

    def holds(self, item: Work) -> bool:
        """Whether the item stands in this block or in one inside it."""
        return self.below[-1] & item.bits != 0

    def place(self, item: Item) -> int:
        """Where in the block the item stands, or what holds it."""
        while item.block is not self:
            assert item.block.owner is not None, "the block is around the item"
            item = item.block.owner
        return item.position

    def bits(self, first: int, end: int) -> int:
        """The instances in items [first, end)."""
        return self.below[end] & ~self.below[first]


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """The work of one core in an item: in an operation, or before a loop or branch begins."""

    item: Item
    core: Core


@dataclass(frozen=True, slots=True, eq=False)
class LeafAccess:
    """A region that leaves read or write, one object wherever it is the same, and by which pipe."""

    region: Region
    writes: bool
    atomic: bool
    pipe: Pipe


# A bit with the instance it stands for; with a loop it stands for what the instance did before the
# loop was entered last, for what follows in the same run, where it touches other bytes.
Fact: TypeAlias = "tuple[int, Instance, Repeat | None]"


@dataclass(eq=False)
class Tree:
    """One section, for its pipes, or a whole kernel, for its cores. `masks` holds the instances of
    each pipe as bits, with the bits of their `runs`, which come behind those of all instances and
    in the same order."""

    core: Core
    root: Block
    ranges: Ranges
    instances: list[Instance] = field(default_factory=list)
    runs: Sequence[Fact] = ()
    pipes: tuple[Pipe, ...] = ()
    flag_pairs: frozenset[tuple[Pipe, Pipe]] = frozenset()
    masks: dict[Pipe | Core, int] = field(default_factory=dict)
    flat: bool = False
    # The instances in branches that hardly ever run.
    seldom: int = 0
    # Tensors that the kernel writes: what cores tell each other about.
    written: frozenset[Buffer] = frozenset()
    # The pipes whose work a signal may tell of: its own always, and those it has to come after.
    told: frozenset[Pipe] = frozenset()

    def move(self, by: Mapping[Buffer, int]) -> None:
        """Let buffers on chip lie so many bytes behind their addresses so far."""
        for instance in self.instances:
            instance.touches = tuple(
                replace(t, low=t.low + n, high=t.high + n) if (n := by.get(t.region.buffer)) else t
                for t in instance.touches
            )

    @cached_property
    def dominators(self) -> dict[Block, Block]:
        """The immediate dominator of each block. Control comes from the block around, and back."""
        graph: nx.DiGraph[Block] = nx.DiGraph()
        graph.add_node(self.root)
        graph.add_edges_from((i.block, inner) for i in self.root.walk() for inner in i.blocks)
        return dict(nx.immediate_dominators(graph, self.root))

    def nearest_common_dominator(self, p: Item, q: Item) -> tuple[Block, int, int]:
        """The innermost block that is passed before either, and where in it each of them stands."""
        one, two = p.block, q.block
        while one is not two:
            if one.depth >= two.depth:
                one = self.dominators[one]
            else:
                two = self.dominators[two]
        return one, one.place(p), one.place(q)

    def facts_of(self, bits: int) -> Iterator[Fact]:
        """The facts of bits, the last first. Bits of waits are passed over."""
        count = len(self.instances)
        bits &= (1 << self.free_bit()) - 1
        while bits:
            bit = bits.bit_length() - 1
            bits ^= 1 << bit
            instance = self.instances[bit % count]
            yield bit, instance, instance.looks_back if bit >= count else None

    def free_bit(self) -> int:
        """The first bit without a meaning."""
        return len(self.instances) * (2 if self.runs else 1)
