"""A kernel of any length without a loop, to see how the time of passes grows."""

from __future__ import annotations

import random

from tile_ir import (
    DTYPES,
    OPS,
    Alloc,
    Automatic,
    Buffer,
    Core,
    Func,
    Launch,
    Memory,
    Op,
    Phase,
    Section,
)
from tile_ir.expr import Const, Expr, Var
from tile_ir.location import Loc
from tile_ir.nodes import Region, Slice

COLUMNS = 64


def straight_kernel(length: int, buffers: int = 60) -> Func:
    """`length` loads, sums and stores of rows of 64 floats in ub, some of each, by chance but the
    same at every call; one statement a line, ready for `plan_memory`."""
    rng = random.Random(length)
    start = Loc("straight.py", 1, 1)

    def tensor(name: str) -> Buffer:
        shape = (Const(length), Const(COLUMNS))
        return Buffer(name, Memory.GM, DTYPES["float32"], shape, start)

    x, y = tensor("x"), tensor("y")
    rows = [
        Buffer(f"b{i}", Memory.UB, DTYPES["float32"], (Const(COLUMNS),), start)
        for i in range(buffers)
    ]

    def statement(number: int) -> Op:
        loc = Loc("straight.py", number + 2, 1)
        a, b, c = (Region.whole(r) for r in rng.sample(rows, 3))
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

    section = Section(Core.VECTOR, tuple(statement(i) for i in range(length)), start)
    allocs = tuple(Alloc(b, start) for b in rows)
    launch = Launch(Const(1), Var("cid"), Var("vid"), None, allocs, (section,), start)
    automatic = frozenset({Automatic.SYNC, Automatic.MEMORY})
    return Func("straight", (x, y), launch, Phase.PIPELINED, start, automatic)


def _row(tensor: Buffer, number: int) -> Region:
    return Region(tensor, (Slice(Const(number), Const(1)), Slice(Const(0), Const(COLUMNS))))
