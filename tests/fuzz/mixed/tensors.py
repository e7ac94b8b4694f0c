"""The tensors and buffers of a random mixed kernel, and regions of them.

Values are small whole numbers: what is cast to half has been limited before, and sums over gm or in
accumulators stay exact, so that no order of additions matters.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzz.kernels.writing import Writer, box, tensor
from tile_ir import Buffer, Memory, Region
from tile_ir.dtypes import FLOAT16, FLOAT32, INT32
from tile_ir.expr import Const, Expr, Var

PLACES = 4
# Elements of a block's scalars; the ones used stand in the middle, a cache line from the edges.
SCALARS, FIRST_SCALAR, USED_SCALARS = 96, 16, 18
CID, VID = Var("cid"), Var("vid")


@dataclass(eq=False)
class Tensors:
    """`lanes` is "split" (threads=2), "one" (threads=1), "rows" (both index by their number) or
    "same" (both do the same)."""

    writer: Writer
    lanes: str
    blocks: int
    side: int
    halves: list[Buffer] = field(default_factory=list)  # gm inputs of half
    floats: list[Buffer] = field(default_factory=list)  # gm inputs of float
    numbers: list[Buffer] = field(default_factory=list)  # gm input, int32, read by scalar units
    cube_out: list[Buffer] = field(default_factory=list)
    vector_out: list[Buffer] = field(default_factory=list)
    sums: list[Buffer] = field(default_factory=list)
    to_vector: list[Buffer] = field(default_factory=list)  # workspaces of float
    to_cube: list[Buffer] = field(default_factory=list)  # workspaces of half
    marks: list[Buffer] = field(default_factory=list)  # scalars of int32 that one core leaves
    values: list[Buffer] = field(default_factory=list)  # the same of float
    l1: list[Buffer] = field(default_factory=list)
    l0c: list[Buffer] = field(default_factory=list)
    ub: list[Buffer] = field(default_factory=list)
    ub_half: list[Buffer] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return self.side // 2 if self.lanes == "rows" else self.side

    @property
    def first_row(self) -> Expr:
        return VID * self.rows if self.lanes == "rows" else Const(0)

    def all(self) -> list[Buffer]:
        return [
            *self.halves, *self.floats, *self.numbers, *self.cube_out, *self.vector_out, *self.sums,
            *self.to_vector, *self.to_cube, *self.marks, *self.values,
        ]  # fmt: skip

    def declare(self, workspaces: float = 0.5) -> None:
        w, n = self.writer, self.side
        own = (self.blocks, PLACES, n, n)
        self.halves += [self.gm("a", FLOAT16, (PLACES, n, n))]
        self.floats += [self.gm("f", FLOAT32, (PLACES, n, n))]
        self.numbers += [self.gm("k", INT32, (8,))]
        self.cube_out += [self.gm("o", FLOAT32, own)]
        self.vector_out += [self.gm("p", FLOAT32, own)]
        self.sums += [self.gm("q", FLOAT32, (self.blocks, 2, n, n))]
        for found, dtype, stem in (
            (self.to_vector, FLOAT32, "w"),
            (self.to_cube, FLOAT16, "x"),
        ):
            while w.chance(workspaces if not found else 0.3) and len(found) < 2:
                slots = w.rng.choice([1, 1, 2, 3, 4])
                found.append(self.gm(stem, dtype, (self.blocks, slots, n, n)))
        self.marks += [self.gm("m", INT32, (self.blocks, SCALARS))]
        self.values += [self.gm("g", FLOAT32, (self.blocks, SCALARS))]
        shapes = (
            (self.l1, Memory.L1, FLOAT16, n, 2),
            (self.l0c, Memory.L0C, FLOAT32, n, 2),
            (self.ub, Memory.UB, FLOAT32, self.rows, 2),
            (self.ub_half, Memory.UB, FLOAT16, self.rows, 1),
        )
        for buffers, memory, dtype, rows, most in shapes:
            for _ in range(w.rng.randint(1, most)):
                buffers.append(w.alloc(memory, dtype, (rows, n)))

    def gm(self, stem: str, dtype: object, shape: tuple[int, ...]) -> Buffer:
        w = self.writer
        return tensor(w.name(stem), Memory.GM, dtype, shape, w.loc())  # type: ignore[arg-type]

    # Regions ------------------------------------------------------------------------------------

    def whole(self, buffer: Buffer) -> Region:
        return Region.whole(buffer)

    def tile(self, buffer: Buffer, place: Expr | int) -> Region:
        """A whole tile of gm; of this block, where each has its own."""
        return box(buffer, *self.before(buffer, place), (0, self.side), (0, self.side))

    def own_rows(self, buffer: Buffer, place: Expr | int) -> Region:
        """The rows of a tile in gm that a vector core works on."""
        return box(buffer, *self.before(buffer, place), (self.first_row, self.rows), (0, self.side))

    def other_rows(self, buffer: Buffer, place: Expr | int) -> Region:
        """Those of the other vector core."""
        first = (1 - VID) * self.rows
        return box(buffer, *self.before(buffer, place), (first, self.rows), (0, self.side))

    def before(self, buffer: Buffer, place: Expr | int) -> list[tuple[Expr | int, int]]:
        places: list[tuple[Expr | int, int]] = [(place, 1)]
        return [(CID, 1), *places] if buffer.rank == 4 else places

    def rows_in(self, buffer: Buffer) -> Region:
        """The rows of a matrix of the cube core that a vector core works on."""
        return box(buffer, (self.first_row, self.rows), (0, self.side))

    def row(self, buffer: Buffer, row: Expr) -> Region:
        return box(buffer, (row, 1), (0, self.side))
