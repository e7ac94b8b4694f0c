"""Tiles that products and vector code both use have the values of one tile, wherever they lie."""

from __future__ import annotations

import random

import numpy as np
import pytest
from kept_cases import kept

from tile_ir import (
    BOOL,
    FLOAT16,
    FLOAT32,
    INT32,
    OPS,
    TARGETS,
    Alloc,
    Binary,
    Body,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    Func,
    If,
    Launch,
    Load,
    Loc,
    LoopKind,
    Memory,
    Op,
    Phase,
    Region,
    Slice,
    Stmt,
    Store,
    Var,
    equal,
    maximum,
    minimum,
    rewrite,
    walk,
)
from tile_ir.interpreter import interpret
from tile_passes.assign_cores import assign_cores
from tile_passes.infer_memory import infer_memory
from tile_passes.place_buffers import place_buffers
from tile_passes.plan_workspace import plan_workspace
from tile_passes.stage_copies import stage_copies

TARGET = next(iter(TARGETS.values()))
SIZE = 16
HERE = Loc("place_buffers.py", 1, 1)
PROGRAMS, PARTS = 2000, 24


def tile(name: str, memory: Memory, dtype=FLOAT16) -> Buffer:
    return Buffer(name, memory, dtype, (Const(SIZE), Const(SIZE)), HERE)


SUMS = [tile("c", Memory.FRAGMENT, FLOAT32), tile("d", Memory.FRAGMENT, FLOAT32)]
OPERANDS = [tile("a", Memory.SHARED), tile("b", Memory.SHARED), tile("f", Memory.FRAGMENT)]
SLOTS = 6
X = Buffer("X", Memory.GM, FLOAT16, (Const(SLOTS), Const(SIZE), Const(SIZE)), HERE)
Y = Buffer("Y", Memory.GM, FLOAT32, (Const(SLOTS), Const(SIZE), Const(SIZE)), HERE)
TRIPS = Var("trips", INT32)


def copy(src: Region, dst: Region) -> Op:
    return Op(OPS["copy"], (src, dst), (False, False, None), HERE)


def slot(tensor: Buffer, number: int) -> Region:
    first = Slice(Const(number), Const(1))
    return Region(tensor, (first, *Region.whole(tensor).dims[1:]))


class Programs:
    """Makes one random program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.variables = 0
        # Loop variables that conditions may ask for.
        self.around: list[Var] = []

    def variable(self) -> Var:
        self.variables += 1
        return Var(f"i{self.variables}", INT32)

    def nest(self, buffer: Buffer, value, rows: int = SIZE) -> Stmt:
        """A parallel loop over the first rows of a tile."""
        i, j = self.variable(), self.variable()
        store = Store(buffer, (i, j), value(i, j), HERE)
        inner = For(j, Const(0), Const(SIZE), LoopKind.PARALLEL, (store,), HERE)
        return For(i, Const(0), Const(rows), LoopKind.PARALLEL, (inner,), HERE)

    def condition(self) -> Expr:
        if self.around and self.random.random() < 0.6:
            return equal(self.random.choice(self.around), Const(self.random.randrange(2)))
        return equal(TRIPS, Const(self.random.randrange(3)))

    def leaf(self) -> Stmt:
        r, pick = self.random, self.random.choice
        c, a = pick(SUMS), pick(OPERANDS)
        match r.choice(("clear", "product", "product", "product", "scale", "set", "load", "store",
                        "change", "take", "part", "read", "copy", "either")):  # fmt: skip
            case "clear":
                value = Const(r.choice((0.0, 0.0, 1.0)), FLOAT32)
                return Op(OPS["fill"], (Region.whole(c), value), (), HERE)
            case "product":
                init = r.choice((Const(False, BOOL),) * 3 + (Const(True, BOOL), self.condition()))
                sides = (Region.whole(a), Region.whole(pick(OPERANDS)), Region.whole(c))
                return Op(OPS["gemm"], (*sides, init), (False, False), HERE)
            case "scale":
                return self.nest(c, lambda i, j: Load(c, (i, j)) * -1.0)
            case "set":
                d = pick(SUMS)
                return self.nest(c, lambda i, j: Load(d, (i, j)) + 1.0)
            case "load":
                return copy(slot(X, r.randrange(SLOTS)), Region.whole(a))
            case "store":
                return copy(Region.whole(c), slot(Y, r.randrange(SLOTS)))
            case "change":
                return self.nest(a, lambda i, j: Load(a, (i, j)) * -1.0)
            case "take":
                return self.nest(a, lambda i, j: Cast(clamped(Load(c, (i, j))), FLOAT16))
            case "part":
                return self.nest(a, lambda i, j: Const(1.0, FLOAT16), SIZE // 2)
            case "read":
                return self.nest(c, lambda i, j: Cast(Load(a, (i, j)), FLOAT32))
            case "either":
                zeros = Op(OPS["fill"], (Region.whole(c), Const(0.0, FLOAT32)), (), HERE)
                made = self.nest(c, lambda i, j: Cast(Load(a, (i, j)), FLOAT32))
                then, orelse = r.choice(((zeros, made), (made, zeros)))
                return If(self.condition(), (then,), (orelse,), HERE)
        return copy(Region.whole(pick([b for b in OPERANDS if b is not a])), Region.whole(a))

    def body(self, depth: int, length: int) -> Body:
        return tuple(self.stmt(depth) for _ in range(self.random.randint(1, length)))

    def stmt(self, depth: int) -> Stmt:
        r = self.random
        if depth and r.random() < 0.35:
            var = self.variable()
            stop = r.choice((Const(1), Const(2), Const(3), TRIPS))
            self.around.append(var)
            body = self.body(depth - 1, 3)
            self.around.pop()
            return For(var, Const(0), stop, LoopKind.SERIAL, body, HERE)
        if depth and r.random() < 0.2:
            orelse = self.body(depth - 1, 2) if r.random() < 0.5 else ()
            return If(self.condition(), self.body(depth - 1, 2), orelse, HERE)
        return self.leaf()

    def func(self) -> Func:
        start = [copy(slot(X, n), Region.whole(a)) for n, a in enumerate(OPERANDS)]
        zero = Const(0.0, FLOAT32)
        start += [Op(OPS["fill"], (Region.whole(c), zero), (), HERE) for c in SUMS]
        end = [copy(Region.whole(c), slot(Y, n)) for n, c in enumerate(SUMS)]
        body = (*start, *self.body(2, 6), *end)
        allocs = tuple(Alloc(b, HERE) for b in (*SUMS, *OPERANDS))
        launch = Launch(Const(1), Var("cid", INT32), Var("vid", INT32), 1, allocs, body, HERE)
        return Func("k", (X, TRIPS, Y), launch, Phase.BUILT, HERE)


def clamped(e: Expr) -> Expr:
    return minimum(maximum(e, Const(-3.0, FLOAT32)), Const(3.0, FLOAT32))


class OneTile:
    """The oracle: a program run by NumPy, with each tile in one array."""

    def __init__(self, trips: int) -> None:
        rng = np.random.default_rng(3)
        x = rng.integers(-1, 2, (SLOTS, SIZE, SIZE)).astype(np.float16)
        y = np.full((SLOTS, SIZE, SIZE), 7.0, np.float32)
        self.arrays: dict[str, np.ndarray] = {"X": x, "Y": y}
        self.values: dict[str, object] = {"trips": np.int32(trips)}

    def array(self, buffer: Buffer) -> np.ndarray:
        shape = (SIZE, SIZE)
        return self.arrays.setdefault(buffer.name, np.zeros(shape, buffer.dtype.storage))

    def window(self, region: Region) -> np.ndarray:
        at = tuple(slice(o := int(self.value(d.offset)), o + int(self.value(d.extent)))
                   for d in region.dims)  # fmt: skip
        return self.array(region.buffer)[at].reshape(SIZE, SIZE)

    def value(self, e: Expr) -> object:
        match e:
            case Const(value=v):
                return v
            case Var(name=name):
                return self.values[name]
            case Load(buffer=buffer, indices=indices):
                return self.array(buffer)[tuple(self.value(i) for i in indices)]
            case Cast(operand=inner):
                return np.asarray(self.value(inner)).astype(e.dtype.storage)
            case Binary(op=op, left=left, right=right):
                return OPERATORS[op](self.value(left), self.value(right))
        raise AssertionError(e)

    def run(self, body: Body) -> None:
        for stmt in body:
            self.stmt(stmt)

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case For(kind=LoopKind.PARALLEL, var=var, stop=stop):
                (inner,) = stmt.body
                assert isinstance(inner, For)
                rows = np.indices((int(self.value(stop)), SIZE))
                self.values |= {var.name: rows[0], inner.var.name: rows[1]}
                (store,) = inner.body
                assert isinstance(store, Store)
                at = tuple(self.value(i) for i in store.indices)
                self.array(store.buffer)[at] = self.value(store.value)
            case For(var=var, stop=stop):
                for number in range(int(self.value(stop))):
                    self.values[var.name] = number
                    self.run(stmt.body)
            case If(condition=condition):
                self.run(stmt.then if self.value(condition) else stmt.orelse)
            case Op():
                self.op(stmt)

    def op(self, op: Op) -> None:
        if op.opdef is OPS["fill"]:
            self.window(op.region("dst"))[:] = self.value(op.operand("value"))
        elif op.opdef is OPS["copy"]:
            dst = op.region("dst")
            self.window(dst)[:] = self.window(op.region("src")).copy()
        else:
            a, b, c = (self.window(op.region(n)) for n in "ABC")
            product = a.astype(np.float64) @ b.astype(np.float64)
            c[:] = product if self.value(op.operand("init")) else product + c


OPERATORS = {
    "==": np.equal, "+": np.add, "-": np.subtract, "*": np.multiply, "min": np.minimum,
    "max": np.maximum,
}  # fmt: skip


def wanted(func: Func, trips: int) -> np.ndarray:
    run = OneTile(trips)
    run.run(func.launch.body)
    return run.arrays["Y"]


def results(func: Func, trips: int) -> np.ndarray:
    """What the kernel stores on both cores, its copies between them led through workspaces."""
    arrays = OneTile(trips).arrays
    spaces = [np.zeros((1, SIZE, SIZE), p.dtype.storage) for p in func.params[3:]]
    interpret(func, [arrays["X"], trips, arrays["Y"], *spaces], in_text_order=True)
    return arrays["Y"]


def typed(func: Func) -> Func:
    """The function with buffers in the memories of the cores, and what goes between these."""
    for step in (place_buffers, infer_memory, stage_copies, plan_workspace, assign_cores):
        func = step.run(func, TARGET)
    return func


@pytest.mark.parametrize("part", range(PARTS))
def test_values_are_those_of_one_tile(part: int) -> None:
    for seed in kept(range(part, PROGRAMS, PARTS), least=20):
        func = Programs(seed).func()
        placed = place_buffers.run(func, TARGET)
        assert all(
            s.opdef is not OPS["gemm"] for s in walk(placed.launch.body) if isinstance(s, Op)
        )
        final = typed(func)
        for trips in (0, 1, 2):
            with np.errstate(all="ignore"):
                expected, found = wanted(func, trips), results(final, trips)
            assert np.array_equal(expected, found, equal_nan=True), f"seed {seed}, {trips} trips"


def test_a_function_without_products_stays_itself() -> None:
    func = Programs(0).func()
    plain = func.with_body(tuple(s for s in func.launch.body if not _has_product(s)))
    assert place_buffers.run(plain, TARGET) is plain


def _has_product(stmt: Stmt) -> bool:
    return any(isinstance(s, Op) and s.opdef is OPS["gemm"] for s in walk((stmt,)))


def handovers(func: Func) -> list[Op]:
    return [
        s
        for s in walk(func.launch.body)
        if isinstance(s, Op) and s.opdef is OPS["copy"] and s.loc.generated
    ]


def without(func: Func, gone: Op) -> Func:
    return func.with_body(rewrite(func.launch.body, lambda s: () if s is gone else s))


def test_most_handovers_are_needed() -> None:
    """Removing one changes what a program without branches stores, unless nothing of the value
    gets there."""
    needed = total = 0
    for seed in kept(range(60), least=40):
        func, programs = Programs(seed).func(), Programs(seed + 1000)
        start, end = func.launch.body[:5], func.launch.body[-2:]
        leaves = [leaf for leaf in (programs.leaf() for _ in range(12)) if not isinstance(leaf, If)]
        func = func.with_body((*start, *leaves[:8], *end))
        placed = place_buffers.run(func, TARGET)
        with np.errstate(all="ignore"):
            expected = results(typed(placed), 1)
            for op in handovers(placed):
                total += 1
                found = results(typed(without(placed, op)), 1)
                needed += not np.array_equal(expected, found, equal_nan=True)
    assert total > 30 and needed >= 0.8 * total, f"{needed} of {total}"


def test_clear_before_a_loop_of_products_is_its_first_round() -> None:
    c, a, b = SUMS[0], *OPERANDS[:2]
    k = Var("k", INT32)
    sides = (Region.whole(a), Region.whole(b), Region.whole(c))
    product = Op(OPS["gemm"], (*sides, Const(False, BOOL)), (False, False), HERE)
    clear = Op(OPS["fill"], (Region.whole(c), Const(0.0, FLOAT32)), (), HERE)
    loads = (copy(slot(X, 0), Region.whole(a)), copy(slot(X, 1), Region.whole(b)))
    relu = Programs(0).nest(c, lambda i, j: Load(c, (i, j)) * -1.0)
    loop = For(k, Const(0), Const(4), LoopKind.SERIAL, (*loads, product), HERE)
    whole = Programs(0).func()
    body = (clear, loop, relu, copy(Region.whole(c), slot(Y, 0)))
    allocs = tuple(Alloc(x, HERE) for x in (c, a, b))
    func = whole.with_body(body, allocs=allocs)
    placed = place_buffers.run(func, TARGET)
    assert len(handovers(placed)) == 1
    assert not any(
        isinstance(s, Op) and s.opdef.name == "clear_l0c" for s in walk(placed.launch.body)
    )
    assert placed.phase is Phase.BUILT
