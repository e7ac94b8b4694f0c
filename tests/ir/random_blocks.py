"""Random programs of a block: handovers between cores as people write them, and anything at all."""

from __future__ import annotations

import random
from typing import Any

from tile_ir import (
    OPS,
    Alloc,
    Buffer,
    Core,
    For,
    Func,
    If,
    Launch,
    Loc,
    LoopKind,
    Memory,
    Op,
    Phase,
    Region,
    Section,
    Slice,
)
from tile_ir.dtypes import FLOAT32
from tile_ir.expr import Const, Expr, Var, as_expr, equal
from tile_ir.nodes import Body, Stmt

N, M, VID = Var("n"), Var("m"), Var("vid")
ROWS, COLUMNS, HEIGHT = 64, 16, 2


class Block:
    """Statements with a line each, over two tensors in gm."""

    def __init__(self, rng: random.Random, threads: int | None) -> None:
        self.rng = rng
        self.threads = threads
        self.line = 10
        self.names = 0
        here = Loc("k.py", 1, 1)
        shape = (Const(ROWS), Const(COLUMNS))
        self.gm = [Buffer(name, Memory.GM, FLOAT32, shape, here) for name in ("W", "Z")]
        tile = (Const(ROWS), Const(COLUMNS))
        self.ub = Buffer("u", Memory.UB, FLOAT32, tile, here)
        self.l1 = Buffer("a", Memory.L1, FLOAT32, tile, here)
        self.l0c = Buffer("c", Memory.L0C, FLOAT32, tile, here)

    def loc(self) -> Loc:
        self.line += 1
        return Loc("k.py", self.line, 1)

    def func(self, cube: Body, vector: Body) -> Func:
        here = Loc("k.py", 1, 1)
        allocs = tuple(Alloc(b, here, 0) for b in (self.ub, self.l1, self.l0c))
        sections = (
            Section(Core.CUBE, cube, self.loc()),
            Section(Core.VECTOR, vector, self.loc()),
        )
        launch = Launch(Const(2), Var("cid"), VID, self.threads, allocs, sections, here)
        return Func("k", (*self.gm, N, M), launch, Phase.SYNCED, here)

    # Work: rows of a tensor ----------------------------------------------------------------------

    def move(self, name: str, gm: Buffer, row: Any, count: int, attrs: tuple[Any, ...]) -> Op:
        here = Region(gm, (Slice(as_expr(row), Const(count)), Slice(Const(0), Const(COLUMNS))))
        local = {"l1": self.l1, "ub": self.ub, "l0c": self.l0c}
        source, target = name.removeprefix("copy_").split("_")
        chip = local[target if source == "gm" else source]
        there = Region(chip, (Slice(Const(0), Const(count)), Slice(Const(0), Const(COLUMNS))))
        operands = (here, there) if source == "gm" else (there, here)
        return Op(OPS[name], operands, attrs, self.loc())

    def cube_load(self, gm: Buffer, row: Any, count: int = 1) -> Op:
        return self.move("copy_gm_l1", gm, row, count, ())

    def cube_store(self, gm: Buffer, row: Any, count: int = 1) -> Op:
        return self.move("copy_l0c_gm", gm, row, count, (False,))

    def load(self, gm: Buffer, row: Any, count: int = 1) -> Op:
        return self.move("copy_gm_ub", gm, row, count, (0.0,))

    def store(self, gm: Buffer, row: Any, count: int = 1) -> Op:
        return self.move("copy_ub_gm", gm, row, count, ())

    # Order ---------------------------------------------------------------------------------------

    def set(self, pipe: str, flag: Any, mode: int = 2) -> Op:
        return Op(OPS["set_cross_flag"], (as_expr(flag),), (pipe, mode), self.loc())

    def wait(self, flag: Any) -> Op:
        return Op(OPS["wait_cross_flag"], (as_expr(flag),), ("",), self.loc())

    def barrier(self) -> Op:
        return Op(OPS["pipe_barrier"], (), ("all",), self.loc())

    def sync_all(self) -> Op:
        return Op(OPS["sync_all"], (), (), self.loc())

    def pair(self, one: str, two: str) -> tuple[Op, Op]:
        return tuple(  # type: ignore[return-value]
            Op(OPS[name], (Const(0),), (one, two), self.loc()) for name in ("set_flag", "wait_flag")
        )

    def loop(self, stop: Any, make: Any, start: Any = 0) -> For:
        self.names += 1
        var, place = Var(f"k{self.names}"), self.loc()
        return For(var, as_expr(start), as_expr(stop), LoopKind.SERIAL, tuple(make(var)), place)

    def when(self, condition: Expr, *body: Stmt) -> If:
        return If(condition, tuple(body), (), self.loc())


class Handover(Block):
    """The cube core hands tiles to the vector cores through slots, and often gets some back."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng, rng.choice((None, None, 1)))
        self.lanes = 1 if self.threads == 1 else 2
        self.slots = rng.choice((1, 1, 2, 3))
        self.stop = rng.choice((N, N, N + 1, N - 1, Const(4), Const(20)))
        self.back, self.style = rng.random() < 0.5, rng.choice(("credit", "guard", "answer"))
        # An id for each direction; slots may have ids of their own.
        self.own = self.slots > 1 and rng.random() < 0.5

    def name(self, first: int, k: Expr) -> Any:
        return k % self.slots + first if self.own else first

    def cube(self, k: Var) -> list[Stmt]:
        found: list[Stmt] = []
        w, z = self.gm
        place, answered = k % self.slots * HEIGHT, self.style == "answer" and not self.back
        if self.style == "credit":
            found.append(self.wait(self.name(3, k)))
        if self.style == "guard":
            found.append(self.when(k >= self.slots, self.wait(self.name(3, k))))
        found += [self.cube_store(w, place, HEIGHT), self.set("fix", self.name(0, k))]
        if answered:
            found.append(self.wait(3))
        if self.back:
            found += [self.wait(6), self.cube_load(z, place, HEIGHT), self.set("mte2", 9)]
        return found

    def vector(self, k: Var) -> list[Stmt]:
        w, z = self.gm
        place = k % self.slots * HEIGHT + (VID if self.lanes == 2 else 0)
        count = HEIGHT // self.lanes
        found: list[Stmt] = [self.wait(self.name(0, k)), self.load(w, place, count)]
        free = self.set("mte2", self.name(3, k))
        if self.style == "guard":
            found.append(self.when(k + self.slots < self.stop, free))
        elif self.style == "credit" or not self.back:
            found.append(free if self.style == "credit" else self.set("mte2", 3))
        if self.back:
            found += [*self.pair("mte2", "mte3"), self.store(z, place, count)]
            found += [self.set("mte3", 6), self.wait(9)]
        return found

    def made(self) -> Func:
        before: list[Stmt] = []
        behind: list[Stmt] = []
        if self.style == "credit":
            ids = [self.name(3, Const(s)) for s in range(self.slots)]
            before = [self.set("mte2", i) for i in ids]
            behind = [self.wait(i) for i in ids]
        one: Stmt = self.loop(self.stop, self.cube)
        two: Stmt = self.loop(self.stop, self.vector)
        # Slots of a loop that begins anew go on where they were only if there is one.
        if self.slots == 1 and self.style != "guard" and self.rng.random() < 0.4:
            one, two = (self.loop(M, lambda _, inner=s: (inner,)) for s in (one, two))
        return self.func((one, *behind), (*before, two))


def handover(rng: random.Random) -> Func:
    return Handover(rng).made()


def anything(rng: random.Random) -> Func:
    """Statements of both cores in any order, with a few loops and branches that they share."""
    b = Block(rng, rng.choice((None, 1)))
    shape = [rng.choice(("plain", "loop", "loop", "branch")) for _ in range(rng.randint(1, 3))]
    stops = [rng.choice((N, M, N + 1, Const(2), Const(3))) for _ in shape]
    conditions = [rng.choice((N > 1, M > 0, equal(N % 2, 0))) for _ in shape]
    plans = [_plan(rng) for _ in shape]

    def side(core: int) -> Body:
        found: list[Stmt] = []
        for kind, stop, condition, plan in zip(shape, stops, conditions, plans, strict=True):
            if kind == "loop":
                found.append(b.loop(stop, lambda k, plan=plan: _steps(b, plan, core, k)))
            elif kind == "branch":
                found.append(b.when(condition, *_steps(b, plan, core, Const(0))))
            else:
                found += _steps(b, plan, core, Const(0))
        return tuple(found)

    return b.func(side(0), side(1))


def _plan(rng: random.Random) -> list[tuple[Any, ...]]:
    """Steps for both cores: who works and who signals whom."""
    found: list[tuple[Any, ...]] = []
    for _ in range(rng.randint(1, 5)):
        step = rng.choice(
            ("cube", "vector", "to vector", "to cube", "to cube", "to vector", "lanes", "all")
        )
        if step == "all" and rng.random() < 0.7:
            step = "to vector"
        found.append((step, *(rng.random() for _ in range(6))))
    return found


def _steps(b: Block, plan: list[tuple[Any, ...]], core: int, k: Expr) -> list[Stmt]:
    found: list[Stmt] = []
    for step, a, c, d, e, f, g in plan:
        gm = b.gm[int(a * 2)]
        row = (Const(0), k % 2 * 2, k * 2, Const(2), k % 3 * 2)[int(c * 5)]
        if step == "cube" and core == 0:
            found.append(b.cube_load(gm, row, 2) if d < 0.5 else b.cube_store(gm, row, 2))
        if step == "vector" and core == 1:
            place = row + VID if e < 0.8 and b.threads is None else row
            found.append(b.load(gm, place) if d < 0.5 else b.store(gm, place))
        flag = int(d * 2) if e < 0.8 else (k % 2 + 2)
        if step == "to vector":
            if core == 0 and f > 0.04:
                found += [b.barrier()] * (g < 0.3) + [b.set("fix" if d < 0.5 else "mte2", flag)]
            if core == 1 and g > 0.04:
                found.append(b.wait(flag))
        if step == "to cube":
            if core == 1 and f > 0.04:
                setting = [b.barrier()] * (g < 0.3) + [b.set("mte3" if d < 0.5 else "mte2", flag)]
                found += setting if f < 0.96 else [b.when(equal(VID, 0), *setting)]
            if core == 0 and g > 0.04:
                found.append(b.wait(flag))
        if step == "lanes" and core == 1 and b.threads is None:
            found += [b.set("mte3", flag + 8, 1), b.wait(flag + 8)]
        if step == "all":
            found.append(b.sync_all())
    return found


__all__ = ["M", "N", "anything", "handover"]
