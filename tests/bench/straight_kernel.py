"""Kernels of any length, a straight line and a loop nest, to see how the time of passes grows."""

from __future__ import annotations

import random

from tile_ir import (
    DTYPES,
    OPS,
    Alloc,
    Automatic,
    Body,
    Buffer,
    Const,
    Core,
    Expr,
    For,
    Func,
    Launch,
    Loc,
    LoopKind,
    Memory,
    Op,
    Phase,
    Region,
    Section,
    Slice,
    Var,
)

COLUMNS = 64


def straight_kernel(length: int, buffers: int = 60) -> Func:
    """`length` loads, sums and stores of rows of 64 floats in ub, some of each, by chance but the
    same at every call; one statement a line, ready for `plan_memory`."""
    return _kernel(length, buffers, None)


def loop_nest(length: int, slots: int, buffers: int = 20) -> Func:
    """As many in two nested loops, the outer one taking the slots of all buffers in turn."""
    return _kernel(length, buffers, slots)


def _kernel(length: int, buffers: int, slots: int | None) -> Func:
    rng = random.Random(length)
    start = Loc("straight.py", 1, 1)
    outer, inner = Var("i"), Var("j")
    shape = (Const(COLUMNS),) if slots is None else (Const(slots), Const(COLUMNS))
    every = Slice(Const(0), Const(COLUMNS))
    places = (every,) if slots is None else (Slice(outer % slots, Const(1)), every)

    def tensor(name: str) -> Buffer:
        return Buffer(name, Memory.GM, DTYPES["float32"], (Const(length), Const(COLUMNS)), start)

    x, y = tensor("x"), tensor("y")
    rows = [Buffer(f"b{i}", Memory.UB, DTYPES["float32"], shape, start) for i in range(buffers)]

    def statement(number: int) -> Op:
        loc = Loc("straight.py", number + 2, 1)
        a, b, c = (Region(r, places) for r in rng.sample(rows, 3))
        kind = rng.choices(("copy_gm_ub", "add", "copy_ub_gm"), (5, 12, 3))[0]
        operands: tuple[Expr | Region | None, ...]
        match kind:
            case "copy_gm_ub":
                operands = (_row(x, number), a)
            case "copy_ub_gm":
                operands = (a, _row(y, number))
            case _:
                operands = (a, b, c)
        return Op(OPS[kind], operands, (None,) * len(OPS[kind].attrs), loc)

    body: Body = tuple(statement(i) for i in range(length))
    if slots is not None:
        for var in (inner, outer):
            body = (For(var, Const(0), Const(64), LoopKind.SERIAL, body, start),)
    section = Section(Core.VECTOR, body, start)
    allocs = tuple(Alloc(b, start) for b in rows)
    launch = Launch(Const(1), Var("cid"), Var("vid"), None, allocs, (section,), start)
    automatic = frozenset({Automatic.SYNC, Automatic.MEMORY})
    return Func("straight", (x, y), launch, Phase.PIPELINED, start, automatic)


def _row(tensor: Buffer, number: int) -> Region:
    return Region(tensor, (Slice(Const(number), Const(1)), Slice(Const(0), Const(COLUMNS))))
