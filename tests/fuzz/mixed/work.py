"""Statements of a mixed kernel that do something: on the cube core, on the vector cores, from one to
the other, and scalars in gm. `where` is a dictionary by core, so that kernels with a scope for each
core can take those of one core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from fuzz.kernels.writing import Illegal, Writer
from fuzz.mixed.tensors import CID, FIRST_SCALAR, PLACES, USED_SCALARS, VID, Tensors
from tile_ir import Buffer
from tile_ir.dtypes import BOOL, FLOAT32
from tile_ir.expr import Const, Expr, Load, Var, binary, equal
from tile_ir.nodes import Stmt


@dataclass
class Known:
    """What a statement may use: integers from 0 that all cores know, floats, loop variables."""

    integers: list[Expr]
    floats: list[Expr] = field(default_factory=list)
    loops: list[Var] = field(default_factory=list)
    rounds: int = 1
    depth: int = 0
    breakable: bool = False

    def inside(self, loop: Var | None = None, rounds: int = 1) -> Known:
        integers, loops = list(self.integers), list(self.loops)
        breakable = self.breakable
        if loop is not None:
            integers.append(loop)
            loops.append(loop)
            breakable = True
        return Known(
            integers, list(self.floats), loops, self.rounds * rounds, self.depth + 1, breakable
        )


class Draw(Protocol):
    def __call__(self, known: Known) -> list[Stmt]: ...


@dataclass(eq=False)
class Work:
    writer: Writer
    tensors: Tensors
    stored: set[tuple[Buffer, int]] = field(default_factory=set)

    def pick(self, buffers: list[Buffer]) -> Buffer:
        if not buffers:
            raise Illegal("there is none")
        return self.writer.rng.choice(buffers)

    def integer(self, known: Known) -> Expr:
        w = self.writer
        if known.integers and w.chance(0.85):
            found = w.rng.choice(known.integers)
        else:
            found = Const(w.rng.randrange(4))
        return found + w.rng.randrange(1, 3) if w.chance(0.25) else found

    def place(self, known: Known, count: int) -> Expr:
        """A number from 0 below `count`: often the round of a loop."""
        w = self.writer
        if count == 1 or w.chance(0.25):
            return Const(w.rng.randrange(count))
        if known.loops and w.chance(0.75):
            loop = w.rng.choice(known.loops[-2:])
            return (loop + w.rng.randrange(3) if w.chance(0.3) else loop) % count
        return self.integer(known) % count

    def slot(self, known: Known, buffer: Buffer) -> Expr:
        shape = buffer.static_shape() or ()
        return self.place(known, shape[1])

    def stored_place(self, known: Known, buffer: Buffer, count: int) -> Expr:
        """A place that vector cores store to. Where both do the same, one that nothing else stores
        to: nobody orders the stores of one with those of the other."""
        if self.tensors.lanes != "same":
            return self.place(known, count)
        free = [n for n in range(count) if (buffer, n) not in self.stored]
        if known.depth or not free:
            raise Illegal("stored to before")
        self.stored.add((buffer, free[0]))
        return Const(free[0])

    def copy(self, src: object, dst: object) -> Stmt:
        return self.writer.op("copy", src, dst, attrs=(False, False, None))  # type: ignore[arg-type]

    # Cube ---------------------------------------------------------------------------------------

    def load_matrix(self, known: Known) -> list[Stmt]:
        t = self.tensors
        source = t.tile(self.pick(t.halves), self.place(known, PLACES))
        return [self.copy(source, t.whole(self.pick(t.l1)))]

    def gemm(self, known: Known, init: Expr | None = None) -> list[Stmt]:
        t, w = self.tensors, self.writer
        a, b, c = self.pick(t.l1), self.pick(t.l1), self.pick(t.l0c)
        if init is None:
            init = Const(w.chance(0.6), BOOL)
            if known.loops and w.chance(0.4):
                init = equal(known.loops[-1], 0)
        regions = (t.whole(a), t.whole(b), t.whole(c))
        return [w.op("gemm_v0", *regions, init, attrs=(False, False))]

    def store_matrix(self, known: Known) -> list[Stmt]:
        t = self.tensors
        target = t.tile(self.pick(t.cube_out), self.place(known, PLACES))
        return [self.copy(t.whole(self.pick(t.l0c)), target)]

    def put_for_vector(self, known: Known) -> list[Stmt]:
        t = self.tensors
        workspace = self.pick(t.to_vector)
        target = t.tile(workspace, self.slot(known, workspace))
        return [self.copy(t.whole(self.pick(t.l0c)), target)]

    def take_from_vector(self, known: Known) -> list[Stmt]:
        t = self.tensors
        workspace = self.pick(t.to_cube)
        source = t.tile(workspace, self.slot(known, workspace))
        return [self.copy(source, t.whole(self.pick(t.l1)))]

    def add_matrix(self, known: Known) -> list[Stmt]:
        t = self.tensors
        target = t.tile(self.pick(t.sums), self.place(known, 2))
        return [self.writer.op("atomic_add", t.whole(self.pick(t.l0c)), target)]

    # Vector -------------------------------------------------------------------------------------

    def load_rows(self, known: Known) -> list[Stmt]:
        t = self.tensors
        source = t.own_rows(self.pick(t.floats), self.place(known, PLACES))
        return [self.copy(source, t.whole(self.pick(t.ub)))]

    def compute(self, known: Known) -> list[Stmt]:
        """Something on a tile, which stays within small numbers."""
        t, w = self.tensors, self.writer
        dst, a, b = self.pick(t.ub), self.pick(t.ub), self.pick(t.ub)
        regions = (t.whole(dst), t.whole(a))
        kind = w.rng.randrange(5)
        if kind == 0:
            return [w.op(w.rng.choice(["max", "min"]), *regions, t.whole(b))]
        if kind == 1:
            return [w.op("mul", *regions, Const(-1.0, FLOAT32))]
        if kind == 2 and known.floats:
            return [w.op(w.rng.choice(["max", "min"]), *regions, w.rng.choice(known.floats))]
        if kind == 3:
            return [w.op("add", *regions, Const(1.0, FLOAT32)), *self.limited(dst, 64.0)]
        return [w.op("add", *regions, t.whole(b)), *self.limited(dst, 64.0)]

    def limited(self, buffer: Buffer, most: float) -> list[Stmt]:
        whole, w = self.tensors.whole(buffer), self.writer
        return [
            w.op("min", whole, whole, Const(most, FLOAT32)),
            w.op("max", whole, whole, Const(-most, FLOAT32)),
        ]

    def narrow(self, known: Known) -> list[Stmt]:
        """Half values, small enough for exact products."""
        t, w = self.tensors, self.writer
        source, dst = self.pick(t.ub), self.pick(t.ub_half)
        cast = w.op("cast", t.whole(dst), t.whole(source), None, attrs=("cast_rint",))
        return [*self.limited(source, 3.0), cast]

    def store_rows(self, known: Known) -> list[Stmt]:
        t = self.tensors
        target_of = self.pick(t.vector_out)
        target = t.own_rows(target_of, self.stored_place(known, target_of, PLACES))
        return [self.copy(t.whole(self.pick(t.ub)), target)]

    def put_for_cube(self, known: Known) -> list[Stmt]:
        t = self.tensors
        workspace = self.pick(t.to_cube)
        count = (workspace.static_shape() or ())[1]
        target = t.own_rows(workspace, self.stored_place(known, workspace, count))
        return [self.copy(t.whole(self.pick(t.ub_half)), target)]

    def take_from_cube(self, known: Known) -> list[Stmt]:
        t = self.tensors
        workspace = self.pick(t.to_vector)
        place = self.slot(known, workspace)
        across = t.lanes == "rows" and self.writer.chance(0.15)
        source = t.other_rows(workspace, place) if across else t.own_rows(workspace, place)
        return [self.copy(source, t.whole(self.pick(t.ub)))]

    def take_from_vectors(self, known: Known) -> list[Stmt]:
        """What a vector core has left for the cube core, or for the other vector core."""
        t = self.tensors
        workspace = self.pick(t.to_cube)
        place = self.slot(known, workspace)
        across = t.lanes == "rows" and self.writer.chance(0.5)
        source = t.other_rows(workspace, place) if across else t.own_rows(workspace, place)
        return [self.copy(source, t.whole(self.pick(t.ub_half)))]

    def add_rows(self, known: Known) -> list[Stmt]:
        t = self.tensors
        target = t.own_rows(self.pick(t.sums), self.place(known, 2))
        source = self.pick(t.ub)
        return [*self.limited(source, 64.0), self.writer.op("atomic_add", t.whole(source), target)]

    def by_one_lane(self, known: Known) -> list[Stmt]:
        """What only the first vector core does."""
        t, w = self.tensors, self.writer
        if t.lanes not in ("rows", "same"):
            raise Illegal("lanes have no number")
        draw = w.rng.choice([self.store_rows, self.store_rows, self.compute, self.load_rows])
        if draw != self.store_rows and t.lanes == "same":
            raise Illegal("then they would not do the same")
        return [w.if_(equal(VID, 0), tuple(draw(known)))]

    # From one core to another -------------------------------------------------------------------

    def down(self, known: Known) -> list[Stmt]:
        """A result of the cube core to the vector cores: whole, or row by row."""
        t, w = self.tensors, self.writer
        source, dst = self.pick(t.l0c), self.pick(t.ub)
        if w.chance(0.8):
            return [self.copy(t.rows_in(source), t.whole(dst))]
        r = Var(w.name("r"))
        row = self.copy(t.row(source, t.first_row + r), t.row(dst, r))
        return [w.loop(r, Const(w.rng.choice([1, 3, t.rows])), (row,))]

    def up(self, known: Known) -> list[Stmt]:
        """A tile of the vector cores to the cube core: all of it, since what is left of a matrix
        when a part is loaded depends on where the part begins."""
        t, w = self.tensors, self.writer
        source, dst = self.pick(t.ub_half), self.pick(t.l1)
        if t.lanes == "same" and known.depth:
            raise Illegal("nobody orders what both store with what both store a round later")
        if w.chance(0.75) or t.lanes == "same":
            copy = self.copy(t.whole(source), t.rows_in(dst))
            alone = t.lanes == "same" and w.chance(0.3)
            return [w.if_(equal(VID, 0), (copy,))] if alone else [copy]
        r = Var(w.name("r"))
        row = self.copy(t.row(source, r), t.row(dst, t.first_row + r))
        return [w.loop(r, Const(t.rows), (row,))]

    def round_trip(self, known: Known) -> list[Stmt]:
        """Product, down, work, up, product: the shape of attention."""
        parts: list[Draw] = [self.gemm, self.down, self.compute, self.narrow, self.up, self.gemm]
        return [s for part in parts for s in part(known)]

    # Scalars ------------------------------------------------------------------------------------

    def scalar_place(self, known: Known) -> tuple[Expr, ...]:
        return CID, self.place(known, USED_SCALARS) + FIRST_SCALAR

    def mark(self, known: Known) -> list[Stmt]:
        """A number in gm that the cube core stores."""
        buffer = self.pick(self.tensors.marks)
        value = self.integer(known) % 5
        return [self.writer.store(buffer, self.scalar_place(known), value)]

    def leave_value(self, known: Known) -> list[Stmt]:
        """A number in gm that a vector core stores, from its memory."""
        t, w = self.tensors, self.writer
        source = self.pick(t.ub)
        element = Load(source, (Const(w.rng.randrange(t.rows)), Const(w.rng.randrange(t.side))))
        buffer = self.pick(t.values)
        place = self.stored_place(known, buffer, USED_SCALARS) + FIRST_SCALAR
        if t.lanes == "rows":
            place = place + VID * 32  # a cache line of its own
        return [w.store(buffer, (CID, place), element)]

    def read_mark(self, known: Known) -> list[Stmt]:
        buffer = self.pick(self.tensors.marks)
        let = self.writer.let(Load(buffer, self.scalar_place(known)) % 5)
        known.integers.append(let.var)
        return [let]

    def read_value(self, known: Known) -> list[Stmt]:
        buffer = self.pick(self.tensors.values)
        let = self.writer.let(Load(buffer, self.scalar_place(known)))
        known.floats.append(let.var)
        return [let]

    def read_number(self, known: Known) -> list[Stmt]:
        buffer = self.pick(self.tensors.numbers)
        let = self.writer.let(Load(buffer, (self.place(known, 8),)) % 5)
        known.integers.append(let.var)
        return [let]

    # Choices ------------------------------------------------------------------------------------

    def cube(self) -> list[tuple[Callable[[Known], list[Stmt]], float]]:
        return [
            (self.load_matrix, 2.0), (self.gemm, 3.0), (self.store_matrix, 1.5),
            (self.put_for_vector, 2.5), (self.take_from_vector, 2.5), (self.add_matrix, 0.4),
        ]  # fmt: skip

    def vector(self) -> list[tuple[Callable[[Known], list[Stmt]], float]]:
        return [
            (self.load_rows, 1.5), (self.compute, 2.0), (self.narrow, 1.5), (self.store_rows, 2.0),
            (self.put_for_cube, 2.5), (self.take_from_cube, 2.5), (self.take_from_vectors, 0.5),
            (self.add_rows, 0.4), (self.by_one_lane, 0.5),
        ]  # fmt: skip

    def crossing(self) -> list[tuple[Callable[[Known], list[Stmt]], float]]:
        return [(self.down, 3.0), (self.up, 3.0), (self.round_trip, 1.0)]

    def scalars(self) -> list[tuple[Callable[[Known], list[Stmt]], float]]:
        return [
            (self.mark, 0.5), (self.leave_value, 0.4), (self.read_mark, 0.4),
            (self.read_value, 0.4), (self.read_number, 0.5),
        ]  # fmt: skip


def condition(writer: Writer, work: Work, known: Known) -> Expr:
    """A condition that all cores know."""
    kind = writer.rng.randrange(4)
    base = work.integer(known)
    if kind == 0 and known.floats:
        return binary(writer.rng.choice(["<", ">="]), writer.rng.choice(known.floats), 0.5)
    if kind == 1:
        return equal(base % 2, writer.rng.randrange(2))
    if kind == 2:
        return binary("<", base, work.integer(known))
    return binary(writer.rng.choice(["<", "<=", ">", ">="]), base, writer.rng.randrange(4))
