"""Kernels with one operation on given regions: all buffers are loaded before and stored after, so that
a byte written beside the destination shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tile_ir import (
    DEFAULT_TARGET,
    OPS,
    Alloc,
    Buffer,
    DType,
    Func,
    KernelError,
    Launch,
    Loc,
    Memory,
    Op,
    Phase,
    Region,
    Section,
    Slice,
    check_op,
)
from tile_ir.dtypes import to_bytes
from tile_ir.expr import Const, Expr, Var, as_expr
from tile_ir.machine import Core
from tile_ir.nodes import Operand, Stmt

from .kernel_batch import KernelBatch, interpreted

HERE = Loc("flat_op_kernels.py", 1, 1)
STRICT = 2


@dataclass(frozen=True)
class Tile:
    """A buffer, what it holds, and the slice of every dimension that the operation gets: offset and
    extent, numbers or scalar parameters."""

    dtype: DType
    values: Any
    slices: tuple[tuple[int | Expr, int | Expr], ...]


def whole(dtype: DType, values: Any) -> Tile:
    return Tile(dtype, values, tuple((0, n) for n in values.shape))


@dataclass(frozen=True)
class FlatCase:
    name: str
    func: Func
    arguments: list[Any]


def flat_case(
    name: str,
    label: str,
    given: Sequence[Tile | Expr | float | None],
    attrs: tuple[Any, ...] = (),
    scalars: Sequence[tuple[Var, int]] = (),
) -> FlatCase:
    """The operation between loads and stores; `scalars` are parameters with their values."""
    opdef = OPS[name]
    tensors: list[Buffer] = []
    allocs: list[Alloc] = []
    arguments: list[Any] = []
    operands: list[Operand] = []
    before: list[Stmt] = []
    after: list[Stmt] = []
    copies = (False, False, None)
    for i, value in enumerate(given):
        if not isinstance(value, Tile):
            operands.append(None if value is None else as_expr(value))
            continue
        shape = tuple(Const(n) for n in value.values.shape)
        gm = Buffer(f"t{i}", Memory.GM, value.dtype, shape, HERE)
        ub = Buffer(f"u{i}", Memory.UB, value.dtype, shape, HERE)
        tensors.append(gm)
        allocs.append(Alloc(ub, HERE))
        arguments.append(to_bytes(value.values, value.dtype))
        before.append(Op(OPS["copy"], (Region.whole(gm), Region.whole(ub)), copies, HERE))
        after.append(Op(OPS["copy"], (Region.whole(ub), Region.whole(gm)), copies, HERE))
        slices = tuple(Slice(as_expr(a), as_expr(n)) for a, n in value.slices)
        operands.append(Region(ub, slices))
    operands += [None] * (len(opdef.operands) - len(operands))
    fence = Op(OPS["barrier_all"], (), (), HERE)
    op = Op(opdef, tuple(operands), attrs, HERE)
    problem = check_op(op, DEFAULT_TARGET)
    if problem is not None:
        raise KernelError(problem.slug, problem.message, HERE, problem.hint)
    body = (Section(Core.VECTOR, (*before, fence, op, fence, *after), HERE),)
    launch = Launch(Const(1), Var("cid"), Var("vid"), 1, tuple(allocs), body, HERE)
    parameters = (*tensors, *(var for var, _ in scalars))
    func = Func(name, parameters, launch, Phase.BUILT, HERE)
    return FlatCase(f"{name}-{label}", func, [*arguments, *(v for _, v in scalars)])


def disagreements(cases: Iterable[FlatCase], folder: Path) -> tuple[int, list[str]]:
    """How many cases there are, and those where the emitted code leaves other bytes in any buffer
    than the NumPy meaning, or where the simulator's strict checks find something."""
    batch = KernelBatch(folder)
    listed = [(batch.add(case.func), case) for case in cases]
    batch.build()
    wrong = []
    for number, case in listed:
        outcome = batch.run(number, case.arguments, checks=STRICT)
        if outcome.error is not None:
            wrong.append(f"{case.name}: {outcome.error.kind}: {outcome.error.text}")
            continue
        expected = interpreted(case.func, case.arguments)
        for tensor, got, want in zip(case.func.tensors, outcome.arrays, expected, strict=False):
            if got.tobytes() != want.tobytes():
                places = np.flatnonzero(got.reshape(-1) != want.reshape(-1))[:4]
                wrong.append(f"{case.name}: {tensor.name} differs at {places.tolist()}")
    return len(listed), wrong
