"""Random synchronised programs: pipelines over slots as people write them, and anything at all."""

from __future__ import annotations

import random
from collections.abc import Callable
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
    Let,
    Loc,
    LoopKind,
    Memory,
    Op,
    Phase,
    Region,
    Section,
    Slice,
    Store,
)
from tile_ir.dtypes import FLOAT32
from tile_ir.expr import Const, Expr, Load, Var, as_expr, binary, equal
from tile_ir.nodes import Body, Break, Stmt

COLUMNS = 8
N, M = Var("n"), Var("m")
PIPES = ("s", "v", "mte2", "mte3")


class Program:
    """Statements with a line each, over two gm tensors and a few ub buffers of four rows."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.line = 10
        self.names = 0
        here = Loc("k.py", 1, 1)
        shape = (Const(4), Const(COLUMNS))
        self.tensors = [
            Buffer(name, Memory.GM, FLOAT32, (Const(32), Const(COLUMNS)), here) for name in "AB"
        ]
        self.buffers = [Buffer(name, Memory.UB, FLOAT32, shape, here) for name in ("x", "y", "z")]

    def loc(self) -> Loc:
        self.line += 1
        return Loc("k.py", self.line, 1)

    def fresh(self, name: str) -> Var:
        self.names += 1
        return Var(f"{name}{self.names}")

    def func(self, body: Body) -> Func:
        allocs = tuple(Alloc(b, Loc("k.py", 2 + i, 1), 256 * i) for i, b in enumerate(self.buffers))
        section = Section(Core.VECTOR, body, self.loc())
        launch = Launch(Const(1), Var("cid"), Var("vid"), 1, allocs, (section,), Loc("k.py", 1, 1))
        return Func("k", (*self.tensors, N, M), launch, Phase.SYNCED, Loc("k.py", 1, 1))

    # Work ----------------------------------------------------------------------------------------

    def rows(self, buffer: Buffer, row: Expr, count: int = 1) -> Region:
        return Region(buffer, (Slice(row, Const(count)), Slice(Const(0), Const(COLUMNS))))

    def load(self, buffer: Buffer, row: Expr, source: Expr) -> Op:
        operands = (self.rows(self.tensors[0], source), self.rows(buffer, row))
        return Op(OPS["copy_gm_ub"], operands, (0.0,), self.loc())

    def store(self, buffer: Buffer, row: Expr, target: Expr, atomic: bool = False) -> Op:
        operands = (self.rows(buffer, row), self.rows(self.tensors[1], target))
        return Op(OPS["atomic_ub_gm" if atomic else "copy_ub_gm"], operands, (), self.loc())

    def add(self, dst: Region, one: Region, two: Region) -> Op:
        return Op(OPS["add"], (dst, one, two), (), self.loc())

    def scalar(self, buffer: Buffer, row: Expr) -> Stmt:
        place = (row, Const(0))
        if self.rng.random() < 0.5:
            return Store(buffer, place, Const(1.0, FLOAT32), self.loc())
        return Let(Var(self.fresh("f").name, FLOAT32), Load(buffer, place), self.loc())

    # Synchronisation -----------------------------------------------------------------------------

    def set(self, one: str, two: str, event: Any) -> Op:
        return Op(OPS["set_flag"], (as_expr(event),), (one, two), self.loc())

    def wait(self, one: str, two: str, event: Any) -> Op:
        return Op(OPS["wait_flag"], (as_expr(event),), (one, two), self.loc())

    def barrier(self, pipe: str = "all") -> Op:
        return Op(OPS["pipe_barrier"], (), (pipe,), self.loc())

    def loop(self, start: Any, stop: Any, make: Callable[[Var], Body]) -> For:
        var = self.fresh("k")
        place = self.loc()
        return For(var, as_expr(start), as_expr(stop), LoopKind.SERIAL, make(var), place)


class Anything(Program):
    """Statements and synchronisation in any order, in loops and branches."""

    def row(self, loops: tuple[Var, ...]) -> Expr:
        if not loops or self.rng.random() < 0.3:
            return Const(self.rng.randrange(4))
        k = self.rng.choice(loops)
        return self.rng.choice([k % 2, (k + 1) % 2, k % 4, k % 2 * 2, k % 3, (k // 2) % 2])

    def work(self, loops: tuple[Var, ...]) -> Stmt:
        rng = self.rng
        buffer = rng.choice(self.buffers)
        gm = rng.choice(loops) * rng.randint(0, 1) if loops else Const(rng.randrange(3))
        match rng.randrange(6):
            case 0 | 1:
                return self.load(buffer, self.row(loops), gm)
            case 2:
                return self.store(buffer, self.row(loops), gm, rng.random() < 0.2)
            case 3 if rng.random() < 0.4:
                return self.scalar(buffer, self.row(loops))
        other = rng.choice([b for b in self.buffers if b is not buffer])
        one = self.rows(other, self.row(loops))
        return self.add(self.rows(buffer, self.row(loops)), one, one)

    def order(self, loops: tuple[Var, ...]) -> list[Stmt]:
        rng = self.rng
        chance = rng.random()
        if chance < 0.25:
            return [self.barrier()]
        if chance < 0.4:
            return [self.barrier(rng.choice(("v", "mte2", "mte3")))]
        one, two = rng.sample(PIPES, 2)
        event = rng.choice(loops) % 2 if loops and rng.random() < 0.4 else rng.randrange(2)
        return [self.set(one, two, event), self.wait(one, two, event)]

    def condition(self, loops: tuple[Var, ...]) -> Expr:
        if loops and self.rng.random() < 0.7:
            k = self.rng.choice(loops)
            return self.rng.choice([k > 0, k < N - 1, equal(k % 2, 0), equal(k, 0), k < 2])
        return self.rng.choice([N > 1, M > 0, N < M])

    def body(self, depth: int, loops: tuple[Var, ...]) -> Body:
        rng = self.rng
        found: list[Stmt] = []
        for _ in range(rng.randint(1, 4)):
            chance = rng.random()
            if chance < 0.2 and depth < 3:
                stop = rng.choice([N, M, Const(2), Const(3), N - 1, N + 1])
                start = rng.choice([0, 0, 0, 1])
                found.append(self.loop(start, stop, lambda k: self.body(depth + 1, (*loops, k))))
            elif chance < 0.3 and depth < 3:
                orelse = self.body(depth + 1, loops) if rng.random() < 0.3 else ()
                test = self.condition(loops)
                found.append(If(test, self.body(depth + 1, loops), orelse, self.loc()))
            elif chance < 0.33 and loops:
                found.append(If(self.condition(loops), (Break(self.loc()),), (), self.loc()))
            else:
                found.append(self.work(loops))
            if rng.random() < 0.75:
                found += self.order(loops)
        return tuple(found)


def anything(rng: random.Random) -> Func:
    """Statements and synchronisation in any order, in loops and branches."""
    program = Anything(rng)
    return program.func(program.body(0, ()))


def unprimed(
    p: Program,
    slots: int,
    stop: Expr,
    steps: Callable[[Expr, Expr], list[Stmt]],
    drained: Callable[[Expr], list[Stmt]],
) -> list[Stmt]:
    """Who comes first to a slot does not wait; every slot that was used is drained."""

    def late(k: Var) -> Body:
        waits = (0, 4)
        return tuple(
            If(k >= slots, (x,), (), p.loc()) if i in waits else x
            for i, x in enumerate(steps(k, k % slots))
        )

    ends = [If(stop > s, tuple(drained(Const(s))), (), p.loc()) for s in range(slots)]
    return [p.loop(0, stop, late), *ends]


def pipeline(rng: random.Random) -> Func:  # noqa: C901
    """Load, compute, store over one or two slots, as written by hand, in one of several styles."""
    p = Program(rng)
    slots = rng.choice((1, 2, 2, 3, 4))
    x, y, _ = p.buffers
    stop: Expr = rng.choice([N, N, Const(3), N + M])
    style = rng.randrange(6)

    def steps(k: Expr, slot: Expr, free: bool) -> list[Stmt]:
        """One tile through the three stages; with `free` it waits for its slots to be free."""
        before = [p.wait("v", "mte2", slot)] if free else []
        between = [p.wait("mte3", "v", slot)] if free else []
        return [
            *before,
            p.load(x, slot, k),
            p.set("mte2", "v", slot),
            p.wait("mte2", "v", slot),
            *between,
            p.add(p.rows(y, slot), p.rows(x, slot), p.rows(x, slot)),
            *([p.set("v", "mte2", slot)] if free else []),
            p.set("v", "mte3", slot),
            p.wait("v", "mte3", slot),
            p.store(y, slot, k),
            *([p.set("mte3", "v", slot)] if free else []),
        ]

    def each_slot(make: Callable[[Expr], list[Stmt]]) -> list[Stmt]:
        if rng.random() < 0.5:
            return [p.loop(0, slots, lambda s: tuple(make(s)))]
        return [stmt for s in range(slots) for stmt in make(Const(s))]

    def primed(s: Expr) -> list[Stmt]:
        return [p.set("v", "mte2", s), p.set("mte3", "v", s)]

    def drained(s: Expr) -> list[Stmt]:
        return [p.wait("v", "mte2", s), p.wait("mte3", "v", s)]

    if style == 0:  # every slot starts free
        body = [
            *each_slot(primed),
            p.loop(0, stop, lambda k: tuple(steps(k, k % slots, True))),
            *each_slot(drained),
        ]
    elif style == 1:  # guarded waits at both ends, one slot

        def guarded(k: Var) -> Body:
            found = steps(k, Const(0), False)
            first = (p.wait("v", "mte2", 0), p.wait("mte3", "v", 0))
            last = (p.set("v", "mte2", 0), p.set("mte3", "v", 0))
            return (
                If(k > 0, first, (), p.loc()),
                *found,
                If(k < stop - 1, last, (), p.loc()),
            )

        body = [p.loop(0, stop, guarded)]
    elif style == 2:  # the load of the next tile runs under the work on this one

        def ahead(k: Var) -> Body:
            slot, after = k % 2, (k + 1) % 2
            return (
                If(
                    k + 1 < stop,
                    (
                        p.wait("v", "mte2", after),
                        p.load(x, after, k + 1),
                        p.set("mte2", "v", after),
                    ),
                    (),
                    p.loc(),
                ),
                p.wait("mte2", "v", slot),
                p.add(p.rows(y, Const(0)), p.rows(x, slot), p.rows(x, slot)),
                p.set("v", "mte2", slot),
                p.set("v", "mte3", 0),
                p.wait("v", "mte3", 0),
                p.store(y, Const(0), k),
                p.set("mte3", "v", 0),
                p.wait("mte3", "v", 0),
            )

        runs = (
            p.set("v", "mte2", 0),
            p.set("v", "mte2", 1),
            p.wait("v", "mte2", 0),
            p.load(x, Const(0), Const(0)),
            p.set("mte2", "v", 0),
            p.loop(0, stop, ahead),
            p.wait("v", "mte2", 0),
            p.wait("v", "mte2", 1),
        )
        body = [If(stop > 0, runs, (), p.loc())]
    elif style == 5:
        body = unprimed(p, min(slots, 2), stop, lambda k, s: steps(k, s, True), drained)
    elif style == 3:  # a nested loop: slots go on counting
        inner = rng.choice((2, 4))

        def nested(k: Var) -> Body:
            return (
                p.loop(
                    0, inner, lambda j: tuple(steps(k * inner + j, (k * inner + j) % slots, True))
                ),
            )

        body = [*each_slot(primed), p.loop(0, binary("min", stop, 4), nested), *each_slot(drained)]
    else:  # barriers, and an accumulator

        def plain(k: Var) -> Body:
            return (
                p.load(x, k % slots, k),
                p.barrier(),
                p.add(p.rows(y, Const(0)), p.rows(y, Const(0)), p.rows(x, k % slots)),
                p.barrier("v") if slots > 1 and rng.random() < 0.5 else p.barrier(),
            )

        body = [p.loop(0, stop, plain), p.barrier(), p.store(y, Const(0), Const(0))]
    return p.func(tuple(body))


__all__ = ["COLUMNS", "M", "N", "anything", "pipeline"]
