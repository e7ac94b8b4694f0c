"""Statements of a cube core: pipes MTE2, MTE1, M, FIX and S around l1 and the registers of l0."""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzz.kernels.control import Control, Draw, drawn
from fuzz.kernels.scope import Scope
from fuzz.kernels.writing import Illegal, Writer, box, tensor
from tile_ir import Buffer, Memory, Region
from tile_ir.dtypes import BOOL, FLOAT16, FLOAT32, INT32
from tile_ir.expr import Const, Expr, Load, Var, binary, equal, walk_expr
from tile_ir.nodes import Slice, Stmt

SIDE = 16
# Accumulators of this size the unit keeps in order by itself: 12 fractals.
LARGE = (64, 48)
Slot = tuple[Buffer, Expr | None]


@dataclass(eq=False)
class CubeLeaves:
    writer: Writer
    control: Control = field(init=False)
    matrices: list[Buffer] = field(default_factory=list)  # gm, half
    results: list[Buffer] = field(default_factory=list)  # gm, float
    numbers: list[Buffer] = field(default_factory=list)  # gm, int32, read by the scalar unit
    marks: list[Buffer] = field(default_factory=list)  # gm, float, written by the scalar unit
    tiles: dict[Memory, list[Buffer]] = field(default_factory=dict)
    rows: int = SIDE
    columns: int = SIDE

    def declare(self, many: bool) -> list[Buffer]:
        w = self.writer
        if w.chance(0.08):
            self.rows, self.columns = LARGE
        wide = max(self.rows, self.columns)
        self.matrices.append(tensor(w.name("a"), Memory.GM, FLOAT16, (4, SIDE, wide), w.loc()))
        for _ in range(w.rng.randint(1, 2)):
            shape = (3, self.rows, self.columns)
            self.results.append(tensor(w.name("c"), Memory.GM, FLOAT32, shape, w.loc()))
        self.numbers.append(tensor(w.name("k"), Memory.GM, INT32, (8,), w.loc()))
        if w.chance(0.15):
            self.marks.append(tensor(w.name("g"), Memory.GM, FLOAT32, (8,), w.loc()))
        shapes = {
            Memory.L1: (SIDE, SIDE),
            Memory.L0A: (self.rows, SIDE),
            Memory.L0B: (SIDE, self.columns),
            Memory.L0C: (self.rows, self.columns),
        }
        counts = {Memory.L1: (1, 3), Memory.L0A: (1, 2), Memory.L0B: (1, 2), Memory.L0C: (1, 2)}
        for memory, shape in shapes.items():
            dtype = FLOAT32 if memory is Memory.L0C else FLOAT16
            if memory is Memory.L1 and wide > SIDE:
                shape = (SIDE, wide)
            low, high = counts[memory]
            for _ in range(w.rng.randint(low, high + (2 if many else 0))):
                slots = w.rng.choice([(), (2,), (2,), (3,)])
                found = w.alloc(memory, dtype, (*slots, *shape))
                self.tiles.setdefault(memory, []).append(found)
        return [*self.matrices, *self.results, *self.numbers, *self.marks]

    def prologue(self, scope: Scope) -> list[Stmt]:
        """First values for some matrices."""
        result: list[Stmt] = []
        for buffer in self.tiles[Memory.L1]:
            if self.writer.chance(0.5):
                result.append(self.fetch(scope, self.slot(scope, buffer)))
        for share, draw in (
            (0.6, lambda s: self.to_register(s, Memory.L0A)),
            (0.6, lambda s: self.to_register(s, Memory.L0B)),
            (0.4, self.multiply),
        ):
            if self.writer.chance(share):
                result += drawn(self.writer, scope, [(draw, 1.0)])
        return result

    def epilogue(self, scope: Scope) -> list[Stmt]:
        return self.drain(scope) if self.has_any(scope, Memory.L0C) else []

    # Slots --------------------------------------------------------------------------------------

    def slot(self, scope: Scope, buffer: Buffer) -> Slot:
        slots = (buffer.static_shape() or ())[:-2]
        return buffer, self.control.index(scope, slots[0]) if slots else None

    def region(self, slot: Slot) -> Region:
        buffer, place = slot
        matrix = tuple(Slice(Const(0), d) for d in buffer.shape[-2:])
        return Region(buffer, matrix if place is None else (Slice(place, Const(1)), *matrix))

    def give(self, scope: Scope, slot: Slot) -> None:
        if not _reads(slot[1]):
            scope.ready.add((*slot, None))

    def ready(self, scope: Scope, slot: Slot) -> bool:
        return (*slot, None) in scope.ready

    def readable(self, scope: Scope, memory: Memory) -> Slot:
        known = [k[:2] for k in scope.ready if k[0].memory is memory]
        # Sets have no order of their own that a seed would fix.
        known.sort(key=lambda k: (k[0].name, str(k[1])))
        if not known:
            raise Illegal("nothing to read")
        return self.writer.rng.choice(known)

    def has_any(self, scope: Scope, memory: Memory) -> bool:
        return any(k[0].memory is memory for k in scope.ready)

    # Leaves -------------------------------------------------------------------------------------

    def leaf(self, scope: Scope) -> list[Stmt]:
        w = self.writer
        draws: list[tuple[Draw, float]] = [
            (self.load, 3),
            (self.clear, 0.3),
            (self.to_register, 4),
            (self.zero, 0.3),
            (self.multiply, 4),
            (self.drain, 2),
            (self.mark, 1.0 if self.marks else 0.0),
        ]
        return drawn(w, scope, draws) or self.load(scope)

    def fetch(self, scope: Scope, slot: Slot) -> Stmt:
        (matrix,) = self.matrices
        columns = (slot[0].static_shape() or ())[-1]
        row = self.control.index(scope, 4)
        source = box(matrix, (row, 1), (0, SIDE), (0, columns))
        stmt = self.writer.op("copy_gm_l1", source, self.region(slot))
        self.give(scope, slot)
        return stmt

    def load(self, scope: Scope) -> list[Stmt]:
        return [self.fetch(scope, self.slot(scope, self.writer.rng.choice(self.tiles[Memory.L1])))]

    def clear(self, scope: Scope) -> list[Stmt]:
        slot = self.slot(scope, self.writer.rng.choice(self.tiles[Memory.L1]))
        self.give(scope, slot)
        return [self.writer.op("clear_l1", self.region(slot))]

    def to_register(self, scope: Scope, memory: Memory | None = None) -> list[Stmt]:
        w = self.writer
        memory = memory or w.rng.choice([Memory.L0A, Memory.L0B])
        source = self.readable(scope, Memory.L1)
        target = self.slot(scope, w.rng.choice(self.tiles[memory]))
        (*_, rows, columns) = target[0].static_shape() or ()
        turned = rows > SIDE or (rows == columns == SIDE and w.chance(0.3))
        extents = (columns, rows) if turned else (rows, columns)
        place = () if source[1] is None else (Slice(source[1], Const(1)),)
        part = (Slice(Const(0), Const(extents[0])), Slice(Const(0), Const(extents[1])))
        region = Region(source[0], (*place, *part))
        name = "copy_l1_l0a" if memory is Memory.L0A else "copy_l1_l0b"
        stmt = w.op(name, region, self.region(target), attrs=(turned,))
        self.give(scope, target)
        return [stmt]

    def zero(self, scope: Scope) -> list[Stmt]:
        w = self.writer
        target = self.slot(scope, w.rng.choice(self.tiles[w.rng.choice([Memory.L0A, Memory.L0B])]))
        self.give(scope, target)
        return [w.op("zero_l0", self.region(target))]

    def multiply(self, scope: Scope) -> list[Stmt]:
        w = self.writer
        a, b = self.readable(scope, Memory.L0A), self.readable(scope, Memory.L0B)
        c = self.slot(scope, w.rng.choice(self.tiles[Memory.L0C]))
        init: Expr = Const(True, BOOL)
        if self.ready(scope, c):
            init = Const(w.chance(0.4), BOOL)
            if scope.loops and w.chance(0.4):
                init = self.begins(scope)
        stmt = w.op("mma", self.region(a), self.region(b), self.region(c), init)
        self.give(scope, c)
        return [stmt]

    def begins(self, scope: Scope) -> Expr:
        """That this is the first round of the loop, or of several, or nearly that."""
        w = self.writer
        init = equal(scope.loops[-1], w.rng.choice([0, 0, 0, 1]))
        for loop in scope.loops[:-1]:
            if w.chance(0.5):
                init = binary("and", equal(loop, 0), init)
        return init

    def drain(self, scope: Scope) -> list[Stmt]:
        w = self.writer
        source = self.readable(scope, Memory.L0C)
        target = w.rng.choice(self.results)
        row = self.control.index(scope, 3)
        sizes = [(0, self.rows), (0, self.columns)]
        stmt = w.op(
            "copy_l0c_gm", self.region(source), box(target, (row, 1), *sizes),
            attrs=(w.chance(0.3),),
        )  # fmt: skip
        return [stmt]

    def mark(self, scope: Scope) -> list[Stmt]:
        w = self.writer
        index = self.control.index(scope, 8)
        return [w.store(w.rng.choice(self.marks), (index,), Const(1.5, FLOAT32))]

    # Scalars ------------------------------------------------------------------------------------

    def loaded_integer(self, scope: Scope) -> Expr | None:
        index = self.control.index(scope, 8, False)
        return Load(self.numbers[0], (index,)) if self.writer.chance(0.3) else None

    def loaded_condition(self, scope: Scope) -> Expr | None:
        found = self.loaded_integer(scope)
        return None if found is None else binary(">", found % 3, 0)

    def loaded_let(self, scope: Scope) -> Stmt | None:
        found = self.loaded_integer(scope)
        if found is None:
            return None
        let = self.writer.let(found % 4)
        scope.integers.append(let.var)
        return let

    def pattern(self, scope: Scope) -> list[Stmt]:
        """A product over a loop: load, move to the registers, multiply; the result leaves behind."""
        w = self.writer
        stop, fewest, most = self.control.trips(scope)
        if _reads(stop):
            raise Illegal("not here")
        i = Var(w.name("i"))
        inner = scope.inside(
            rounds=scope.rounds * max(most, 1),
            breakable=False,
            integers=[*scope.integers, i],
            loops=[*scope.loops, i],
        )
        self.control.budget -= 5
        body: list[Stmt] = [*self.load(inner)]
        body += self.to_register(inner, Memory.L0A)
        body += self.to_register(inner, Memory.L0B)
        a, b = self.readable(inner, Memory.L0A), self.readable(inner, Memory.L0B)
        accumulator = w.rng.choice(self.tiles[Memory.L0C])
        c: Slot = (accumulator, Const(0) if accumulator.rank == 3 else None)
        body += self.sum_over(i, [self.region(x) for x in (a, b, c)])
        self.give(inner, c)
        body += self.control.body(inner, 0, 2)
        scope.kept(inner, fewest > 0)
        behind = self.drain(scope) if self.has_any(scope, Memory.L0C) and w.chance(0.7) else []
        return [w.loop(i, stop, tuple(body)), *behind]

    def sum_over(self, i: Var, operands: list[Region]) -> list[Stmt]:
        """A product that begins in the first round of a loop: on a condition, in branches, or in
        the first round of a loop around it too."""
        w = self.writer

        def product(init: Expr) -> Stmt:
            return w.op("mma", *operands, init)

        kind = w.rng.random()
        if kind < 0.5:
            return [product(equal(i, 0))]
        if kind < 0.7:
            first, later = product(Const(True, BOOL)), product(Const(False, BOOL))
            return [w.if_(equal(i, 0), (first,), (later,))]
        if kind < 0.8:
            first, later = product(Const(True, BOOL)), product(Const(False, BOOL))
            return [w.if_(binary(">", i, 0), (later,), (first,))]
        step = Var(w.name("i"))
        init = binary("and", equal(i, 0), equal(step, 0))
        return [w.loop(step, Const(2), (product(init),))]


def _reads(expr: Expr | None) -> bool:
    return expr is not None and any(isinstance(part, Load) for part in walk_expr(expr))
