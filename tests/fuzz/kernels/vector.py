"""Statements of a vector core: pipes MTE2, V, MTE3 and S around buffers of ub."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from fuzz.kernels.control import Control, Draw, drawn
from fuzz.kernels.scope import Place, Scope
from fuzz.kernels.writing import Illegal, Writer, box, tensor
from tile_ir import Buffer, DType, Memory, Region
from tile_ir.dtypes import FLOAT16, FLOAT32, INT32
from tile_ir.expr import Const, Expr, Load, Var, binary, walk_expr
from tile_ir.nodes import Stmt

ROWS, COLUMNS = 6, 64
# Kinds of buffers that vector operations pair up: so many elements of such a type.
WIDTHS = (8, 16, 16, 32, 32, 64)
BLOCK = 8  # elements of 32 bits in 32 bytes


@dataclass(eq=False)
class VectorLeaves:
    """`flat` buffers are [elements] or [slots, elements], `matrices` are [rows, columns]."""

    writer: Writer
    control: Control = field(init=False)
    inputs: list[Buffer] = field(default_factory=list)
    outputs: list[Buffer] = field(default_factory=list)
    scalar_tensors: list[Buffer] = field(default_factory=list)
    flat: list[Buffer] = field(default_factory=list)
    matrices: list[Buffer] = field(default_factory=list)
    # Floats whose bytes are integers too: they are moved but not computed with, since nobody says
    # which of two NaNs a sum of them is.
    raw: set[Buffer] = field(default_factory=set)

    # What there is ------------------------------------------------------------------------------

    def declare(self, many: bool) -> list[Buffer]:
        """The tensors of the section; `many` buffers are more than live at once."""
        w = self.writer
        for stem, dtype in (("x", FLOAT32), ("k", INT32)):
            self.inputs.append(tensor(w.name(stem), Memory.GM, dtype, (ROWS, COLUMNS), w.loc()))
        for _ in range(w.rng.randint(1, 2)):
            self.outputs.append(tensor(w.name("y"), Memory.GM, FLOAT32, (ROWS, COLUMNS), w.loc()))
        if w.chance(0.4):
            self.outputs.append(tensor(w.name("z"), Memory.GM, INT32, (ROWS, COLUMNS), w.loc()))
        if w.chance(0.15):
            self.scalar_tensors.append(tensor(w.name("g"), Memory.GM, FLOAT32, (ROWS, 16), w.loc()))
        width = w.rng.choice(WIDTHS)
        for _ in range(w.rng.randint(8, 14) if many else w.rng.randint(2, 5)):
            size = width if w.chance(0.8) else w.rng.choice(WIDTHS)
            slots = w.rng.choice([(), (), (), (2,), (2,), (3,)])
            dtype = w.rng.choices([FLOAT32, INT32, FLOAT16], [8, 2, 0.7])[0]
            self.flat.append(w.alloc(Memory.UB, dtype, (*slots, max(size, 32 // dtype.size))))
        if w.chance(0.3):
            shape = (BLOCK, w.rng.choice([8, 16]))
            self.matrices.append(w.alloc(Memory.UB, FLOAT32, shape))
        return [*self.inputs, *self.outputs, *self.scalar_tensors]

    def prologue(self, scope: Scope) -> list[Stmt]:
        """First values for most buffers."""
        w = self.writer
        result: list[Stmt] = []
        for buffer in [*self.flat, *self.matrices]:
            if w.chance(0.3 if len(self.flat) > 6 else 0.65):
                result += self.first_value(scope, buffer)
        for root in [b for b in self.flat if w.chance(0.12) and b.dtype.size == 4]:
            if not self.ready_whole(scope, root):
                result += self.first_value(scope, root)
            sizes = root.static_shape() or ()
            other = INT32 if root.dtype is FLOAT32 else FLOAT32
            count = sizes[-1] * (sizes[0] if len(sizes) > 1 else 1)
            shape = (count,) if w.chance(0.6) else (2, count // 2) if count % 16 == 0 else (count,)
            alias = w.alloc(Memory.UB, w.rng.choice([other, root.dtype]), shape, alias_of=root)
            if alias.dtype is not root.dtype:
                self.raw.update((root, alias))
            scope.roots[alias] = root
            scope.make_ready(alias)
            self.flat.append(alias)
        return result

    def ready_whole(self, scope: Scope, buffer: Buffer) -> bool:
        return (buffer, None, None) in scope.ready

    def first_value(self, scope: Scope, buffer: Buffer) -> list[Stmt]:
        """Writes all of a buffer, slot by slot if need be."""
        loads = 0.0 if buffer in self.matrices or buffer.dtype is FLOAT16 else 1.0
        result = drawn(
            self.writer,
            scope,
            [(partial(self.filled, buffer), 0.7), (partial(self.loaded, buffer), loads)],
        )
        assert result, "any buffer can be filled"
        scope.make_ready(buffer)
        return result

    def filled(self, buffer: Buffer, scope: Scope) -> list[Stmt]:
        return [self.writer.op("fill", Region.whole(buffer), self.constant(buffer.dtype))]

    def loaded(self, buffer: Buffer, scope: Scope) -> list[Stmt]:
        sizes = buffer.static_shape() or ()
        slots: list[Expr | None] = [None] if len(sizes) == 1 else [*map(Const, range(sizes[0]))]
        return [self.load_place(scope, Place(buffer, sizes[-1], slot)) for slot in slots]

    def epilogue(self, scope: Scope) -> list[Stmt]:
        result: list[Stmt] = []
        for buffer in self.flat:
            if self.writer.chance(0.5):
                result += drawn(self.writer, scope, [(partial(self.last_store, buffer), 1.0)])
        return result

    def last_store(self, buffer: Buffer, scope: Scope) -> list[Stmt]:
        place = self.place_in(scope, buffer)
        if not scope.has_value(place):
            raise Illegal("nothing to read")
        return self.store_place(scope, place)

    # Places -------------------------------------------------------------------------------------

    def place_in(self, scope: Scope, buffer: Buffer, loads: bool = True) -> Place:
        w = self.writer
        sizes = buffer.static_shape() or ()
        slot = self.control.index(scope, sizes[0], loads) if len(sizes) > 1 else None
        count = sizes[-1]
        if count * buffer.dtype.size % 64 or w.chance(0.8):
            return Place(buffer, count, slot)
        if w.chance(0.75):
            return Place(buffer, count // 2, slot, w.rng.randrange(2))
        return Place(buffer, count // 2, slot, 2, self.control.index(scope, 2, loads))

    def some_place(
        self, scope: Scope, fits: Callable[[Place], bool], free: Callable[[Place], bool]
    ) -> Place:
        """A place of any buffer whose type and size fit and that is free to be used."""
        for buffer in self.writer.rng.sample(self.flat, len(self.flat)):
            count = (buffer.static_shape() or ())[-1]
            if not fits(Place(buffer, count)) and not fits(Place(buffer, count // 2)):
                continue
            for _ in range(3):
                place = self.place_in(scope, buffer)
                if fits(place) and free(place):
                    return place
        raise Illegal("no such place")

    def is_raw(self, place: Place) -> bool:
        return place.dtype is FLOAT32 and place.buffer in self.raw

    def readable(self, scope: Scope, fits: Callable[[Place], bool], raw: bool = False) -> Place:
        """A place with a value."""
        return self.some_place(
            scope, fits, lambda p: scope.has_value(p) and (raw or not self.is_raw(p))
        )

    def writable(self, scope: Scope, fits: Callable[[Place], bool], raw: bool = False) -> Place:
        def free(place: Place) -> bool:
            known = raw or not self.is_raw(place)
            return known and scope.root(place.buffer) not in scope.locked

        return self.some_place(scope, fits, free)

    def constant(self, dtype: DType) -> Expr:
        rng = self.writer.rng
        if dtype.is_integer:
            return Const(rng.randrange(-2, 5), INT32)
        return Const(rng.choice([0.0, 0.5, 1.0, -1.5, 2.0]), FLOAT32)

    def gm_row(self, scope: Scope, buffer: Buffer, count: int) -> Region:
        columns = (buffer.static_shape() or ())[-1]
        if count > columns:
            raise Illegal("longer than a row")
        start = self.writer.rng.choice([0, 0, columns - count, (columns - count) // 8 * 4])
        return box(buffer, (self.control.index(scope, ROWS), 1), (start, count))

    # Leaves -------------------------------------------------------------------------------------

    def leaf(self, scope: Scope) -> list[Stmt]:
        w = self.writer
        draws: list[tuple[Draw, float]] = [
            (self.load, 3),
            (self.store, 2),
            (self.binary, 6),
            (self.with_scalar, 4),
            (self.unary, 1.2),
            (self.fill, 1),
            (self.copy, 0.8),
            (self.cast, 1.5),
            (self.accumulate, 1.2),
            (self.matrix, 2.0 if self.matrices else 0.0),
            (self.element, 1.2),
            (self.scalar_tensor, 1.0 if self.scalar_tensors else 0.0),
        ]
        return drawn(w, scope, draws)

    def load_place(self, scope: Scope, place: Place) -> Stmt:
        sources = [b for b in self.inputs if b.dtype is place.dtype]
        if self.writer.chance(0.12) and not self.is_raw(place):
            sources = [b for b in self.outputs if b.dtype is place.dtype] or sources
        if not sources:
            raise Illegal("no tensor of this type")
        source = self.gm_row(scope, self.writer.rng.choice(sources), place.count)
        stmt = self.writer.op("copy_gm_ub", source, place.region(), attrs=(0.0,))
        scope.give_value(place)
        return stmt

    def load(self, scope: Scope) -> list[Stmt]:
        return [self.load_place(scope, self.writable(scope, lambda p: p.dtype.size == 4, True))]

    def store_place(self, scope: Scope, place: Place) -> list[Stmt]:
        targets = [b for b in self.outputs if b.dtype is place.dtype]
        if not targets:
            raise Illegal("no tensor of this type")
        target = self.gm_row(scope, self.writer.rng.choice(targets), place.count)
        return [self.writer.op("copy_ub_gm", place.region(), target)]

    def store(self, scope: Scope) -> list[Stmt]:
        return self.store_place(scope, self.readable(scope, lambda p: p.dtype.size == 4, True))

    def result(self, scope: Scope, source: Place, same: float = 0.25) -> Place:
        """Where an operation on a place writes: often in place."""
        if self.writer.chance(same) and scope.root(source.buffer) not in scope.locked:
            return source
        return self.writable(scope, lambda p: p.dtype is source.dtype and p.count == source.count)

    def operation(self, scope: Scope, name: str, dst: Place, *rest: object) -> list[Stmt]:
        """One operation on places and scalars."""
        operands = [p.region() if isinstance(p, Place) else p for p in rest]
        stmt = self.writer.op(name, dst.region(), *operands)  # type: ignore[arg-type]
        scope.give_value(dst)
        return [stmt]

    def binary(self, scope: Scope) -> list[Stmt]:
        a = self.readable(scope, lambda p: p.dtype in (FLOAT32, INT32, FLOAT16))
        b = self.readable(scope, lambda p: p.dtype is a.dtype and p.count == a.count)
        name = self.writer.rng.choices(["add", "sub", "max", "min", "mul"], [4, 2, 2, 2, 0.3])[0]
        return self.operation(scope, name, self.result(scope, a), a, b)

    def with_scalar(self, scope: Scope) -> list[Stmt]:
        a = self.readable(scope, lambda p: p.dtype in (FLOAT32, INT32))
        name = self.writer.rng.choice(["add", "sub", "max", "min", "mul"])
        value = self.constant(a.dtype)
        if name == "mul" and a.dtype is FLOAT32:
            value = Const(self.writer.rng.choice([0.5, -1.0, -0.5]), FLOAT32)
        elif self.writer.chance(0.5):
            value = self.scalar(scope, a.dtype)
        return self.operation(scope, name, self.result(scope, a), a, value)

    def unary(self, scope: Scope) -> list[Stmt]:
        a = self.readable(scope, lambda p: p.dtype in (FLOAT32, INT32))
        name = self.writer.rng.choice(["abs", "relu"])
        return self.operation(scope, name, self.result(scope, a), a)

    def fill(self, scope: Scope) -> list[Stmt]:
        dst = self.writable(scope, lambda p: True, True)
        value = self.constant(dst.dtype)
        if self.writer.chance(0.4) and dst.dtype.size == 4 and not self.is_raw(dst):
            value = self.scalar(scope, dst.dtype)
        return self.operation(scope, "fill", dst, value)

    def copy(self, scope: Scope) -> list[Stmt]:
        a = self.readable(scope, lambda p: True, True)
        raw = self.is_raw(a)
        dst = self.writable(scope, lambda p: p.dtype is a.dtype and p.count == a.count, raw)
        if scope.root(dst.buffer) is scope.root(a.buffer):
            raise Illegal("not onto itself")
        scope.give_value(dst)
        return [self.writer.op("copy_ub_ub", a.region(), dst.region())]

    def elsewhere(self, scope: Scope, source: Place) -> Callable[[Place], bool]:
        """Whether a place is in another buffer."""
        return lambda p: scope.root(p.buffer) is not scope.root(source.buffer)

    def cast(self, scope: Scope) -> list[Stmt]:
        a = self.readable(scope, lambda p: True)
        apart = self.elsewhere(scope, a)
        dst = self.writable(
            scope, lambda p: p.dtype is not a.dtype and p.count == a.count and apart(p)
        )
        rounds = dst.dtype is INT32 and a.dtype is not INT32
        mode = "cast_rint" if rounds else "cast_none"
        if {a.dtype, dst.dtype} == {INT32, FLOAT16} and not rounds:
            raise Illegal("takes a scale")
        stmt = self.writer.op("cast", dst.region(), a.region(), None, attrs=(mode,))
        scope.give_value(dst)
        return [stmt]

    def accumulate(self, scope: Scope) -> list[Stmt]:
        dst = self.readable(scope, lambda p: p.dtype is FLOAT32)
        if scope.root(dst.buffer) in scope.locked:
            raise Illegal("may not be written")
        apart = self.elsewhere(scope, dst)

        def fits(p: Place) -> bool:
            return p.dtype is FLOAT32 and p.count == dst.count and apart(p)

        a = self.readable(scope, fits)
        if self.writer.chance(0.5):
            value = self.writer.rng.choice([Const(0.5, FLOAT32), Const(-1.0, FLOAT32)])
            return self.operation(scope, "axpy", dst, a, value)
        return self.operation(scope, "mul_add_dst", dst, a, self.readable(scope, fits))

    def matrix(self, scope: Scope) -> list[Stmt]:
        """A reduction of a matrix, or its inverse."""
        w = self.writer
        matrix = w.rng.choice(self.matrices)
        rows, columns = matrix.static_shape() or (0, 0)
        axis = w.rng.randrange(2)
        count = rows if axis == 1 else columns
        whole = Region.whole(matrix)

        def fits(p: Place) -> bool:
            return p.dtype is FLOAT32 and p.count == count

        if w.chance(0.5) and self.ready_whole(scope, matrix):
            clear = w.chance(0.6)
            dst = (self.writable if clear else self.readable)(scope, fits)
            if scope.root(dst.buffer) in scope.locked:
                raise Illegal("may not be written")
            name = w.rng.choice(["reduce_max", "reduce_min"])
            stmt = w.op(name, whole, dst.region(), None, attrs=(axis, clear))
            scope.give_value(dst)
            return [stmt]
        src = self.readable(scope, fits)
        stmt = w.op("broadcast", whole, src.region(), None, attrs=(axis,))
        scope.make_ready(matrix)
        return [stmt]

    # Scalars ------------------------------------------------------------------------------------

    def element_of(self, scope: Scope, dtype: DType) -> Load:
        """An element of ub; now and then of an input in gm."""
        w = self.writer
        if w.chance(0.12):
            source = next(b for b in self.inputs if b.dtype is dtype)
            column = Const(w.rng.randrange(COLUMNS))
            return Load(source, (self.control.index(scope, ROWS, False), column))
        for _ in range(8):
            place = self.place_in(scope, w.rng.choice(self.flat), loads=False)
            if place.dtype is dtype and scope.has_value(place) and not self.is_raw(place):
                index = self.control.index(scope, place.count, False)
                return Load(place.buffer, place.element(index))
        raise Illegal("no element")

    def scalar(self, scope: Scope, dtype: DType) -> Expr:
        """A scalar known before, or an element read where it is used."""
        w = self.writer
        if dtype is FLOAT32 and scope.floats and w.chance(0.6):
            return w.rng.choice(scope.floats)
        if dtype is INT32 and w.chance(0.6):
            return self.control.integer(scope)
        return self.element_of(scope, dtype)

    def loaded_integer(self, scope: Scope) -> Expr | None:
        try:
            return self.element_of(scope, INT32)
        except (Illegal, StopIteration):
            return None

    def loaded_condition(self, scope: Scope) -> Expr | None:
        w = self.writer
        try:
            if w.chance(0.7):
                element = self.element_of(scope, FLOAT32)
                return binary(w.rng.choice(["<", ">", ">="]), element, 0.5)
            return binary("<", self.element_of(scope, INT32) % 3, self.control.integer(scope))
        except Illegal:
            return None

    def loaded_let(self, scope: Scope) -> Stmt | None:
        w = self.writer
        try:
            if w.chance(0.7):
                let = w.let(self.element_of(scope, FLOAT32))
                scope.floats.append(let.var)
            else:
                let = w.let(self.element_of(scope, INT32) % w.rng.randrange(2, 6))
                scope.integers.append(let.var)
            return let
        except Illegal:
            return None

    def element(self, scope: Scope) -> list[Stmt]:
        """A scalar store to ub."""
        w = self.writer
        place = self.readable(scope, lambda p: p.dtype.size == 4)
        if scope.root(place.buffer) in scope.locked:
            raise Illegal("may not be written")
        index = self.control.index(scope, place.count)
        value = self.scalar(scope, place.dtype)
        if w.chance(0.3):
            value = value + self.constant(place.dtype)
        return [w.store(place.buffer, place.element(index), value)]

    def scalar_tensor(self, scope: Scope) -> list[Stmt]:
        """A scalar store to gm, or a load of what such stores left."""
        w = self.writer
        tensor_ = w.rng.choice(self.scalar_tensors)
        if w.chance(0.6):
            places = (self.control.index(scope, ROWS), self.control.index(scope, 16))
            return [w.store(tensor_, places, self.scalar(scope, FLOAT32))]
        dst = self.writable(scope, lambda p: p.dtype is FLOAT32 and p.count <= 16)
        source = self.gm_row(scope, tensor_, dst.count)
        stmt = w.op("copy_gm_ub", source, dst.region(), attrs=(0.0,))
        scope.give_value(dst)
        return [stmt]

    # Patterns -----------------------------------------------------------------------------------

    def pattern(self, scope: Scope) -> list[Stmt]:
        """A loop that loads the slot of the next round while it works on that of this one."""
        w = self.writer
        slotted = [
            b
            for b in self.flat
            if b.rank == 2 and b.dtype is FLOAT32 and scope.root(b) not in scope.locked
        ]
        if not slotted:
            raise Illegal("no slots")
        ring = w.rng.choice(slotted)
        slots, count = ring.static_shape() or (0, 0)
        stop, fewest, most = self.control.trips(scope)
        if any(isinstance(part, Load) for part in walk_expr(stop)):
            raise Illegal("the bound of this loop stays as it is")
        i = Var(w.name("i"))
        inner = scope.inside(
            rounds=scope.rounds * max(most, 1),
            breakable=False,
            integers=[*scope.integers, i],
            loops=[*scope.loops, i],
            locked=scope.locked | {scope.root(ring)},
        )
        source = w.rng.choice([b for b in self.inputs if b.dtype is FLOAT32])
        if self.is_raw(Place(ring, count)):
            raise Illegal("only moved")

        def fetch(number: Expr) -> Stmt:
            src = box(source, (number % ROWS, 1), (0, count))
            return w.op(
                "copy_gm_ub", src, Place(ring, count, number % slots).region(), attrs=(0.0,)
            )

        first: list[Stmt] = [fetch(Const(0))]
        if w.chance(0.4):
            first = [w.if_(binary(">", stop, 0), tuple(first))]
        else:
            scope.give_value(Place(ring, count, Const(0)))
        here = Place(ring, count, i % slots)
        inner.give_value(here)
        following: list[Stmt] = [fetch(i + 1)]
        if w.chance(0.6):
            following = [w.if_(binary("<", i + 1, stop), tuple(following))]
        work: list[Stmt] = []
        if w.chance(0.7):
            try:
                dst = self.writable(inner, lambda p: p.dtype is FLOAT32 and p.count == count)
                work += self.operation(inner, "add", dst, here, self.constant(FLOAT32))
            except Illegal:
                pass
        self.control.budget -= 4
        work += self.store_place(inner, here)
        work += self.control.body(inner, 0, 2)
        body = [*following, *work] if w.chance(0.6) else [*work, *following]
        scope.kept(inner, False)
        return [*first, w.loop(i, stop, tuple(body))]
