"""Kernels with one operation each, made from the op table: load, operate, store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tile_ir import (
    DEFAULT_TARGET,
    DTYPES,
    OPS,
    Alloc,
    Buffer,
    DType,
    Func,
    Launch,
    Loc,
    Memory,
    Op,
    OpDef,
    Phase,
    Region,
    Section,
    Slice,
)
from tile_ir.dtypes import BFLOAT16, INT4, INT8, to_bytes
from tile_ir.expr import Const, Var, as_expr
from tile_ir.machine import Core
from tile_ir.nodes import Operand, Stmt

HERE = Loc("op_kernels.py", 1, 1)
SCALARS = {"event_id": 0, "count": None}


@dataclass(frozen=True)
class Form:
    """Shape of the buffers, and the slice of every dimension that the operation works on."""

    name: str
    shape: tuple[int, ...]
    slices: tuple[tuple[int, int], ...]


def forms(dtype: DType) -> list[Form]:
    """Whole, odd length, rows of a matrix, and columns of several rows."""
    block = 32 // dtype.size
    return [
        Form("vector", (4 * block,), ((0, 4 * block),)),
        Form("odd", (4 * block,), ((0, 4 * block - 3),)),
        Form("matrix", (3, 2 * block), ((0, 3), (0, 2 * block))),
        Form("rows", (5, 2 * block), ((1, 3), (0, 2 * block))),
        Form("columns", (3, 4 * block), ((0, 3), (block, 2 * block))),
    ]


@dataclass(frozen=True)
class Case:
    """One kernel and the arguments to try it on; `dtype` is the type of what it writes."""

    name: str
    func: Func
    arrays: list[Any]
    dtype: DType


def op_case(
    opdef: OpDef,
    dtypes: Sequence[DType],
    shapes: Sequence[Form],
    scalars: dict[str, Any],
    attrs: tuple[Any, ...],
    label: str,
    seed: int,
) -> Case:
    """A kernel that loads every region operand, runs the operation and stores what it wrote."""
    rng = np.random.default_rng(seed)
    tensors: list[Buffer] = []
    allocs: list[Alloc] = []
    arrays: list[Any] = []
    operands: list[Operand] = []
    before: list[Stmt] = []
    after: list[Stmt] = []
    written = dtypes[0]
    for i, definition in enumerate(o for o in opdef.operands if o.name not in opdef.hidden):
        if definition.name in scalars or not definition.memories:
            value = scalars.get(definition.name)
            operands.append(None if value is None else as_expr(value))
            continue
        form, dtype = shapes[len(tensors)], dtypes[len(tensors)]
        shape = tuple(Const(d) for d in form.shape)
        ub = Buffer(f"u{i}", Memory.UB, dtype, shape, HERE)
        tile = ub
        stored = to_bytes(samples(rng, form.shape, dtype), dtype)
        if dtype is INT4:  # its bytes are what gm has
            stored, bytes_ = stored.view(np.int8), tuple(Const(d) for d in stored.shape)
            ub = Buffer(f"b{i}", Memory.UB, INT8, bytes_, HERE)
        allocs.append(Alloc(ub, HERE))
        if tile is not ub:
            allocs.append(Alloc(tile, HERE, alias_of=ub))
        gm = Buffer(f"t{i}", Memory.GM, ub.dtype, ub.shape, HERE)
        tensors.append(gm)
        arrays.append(stored)
        copies = (False, False, None)
        before.append(Op(OPS["copy"], (Region.whole(gm), Region.whole(ub)), copies, HERE))
        slices = tuple(Slice(Const(a), Const(n)) for a, n in form.slices)
        operands.append(Region(tile, slices))
        if definition.access.writes:
            after.append(Op(OPS["copy"], (Region.whole(ub), Region.whole(gm)), copies, HERE))
            written = dtype
    operands += [None] * (len(opdef.operands) - len(operands))
    fence = Op(OPS["barrier_all"], (), (), HERE)
    op = Op(opdef, tuple(operands), attrs, HERE)
    body = (Section(Core.VECTOR, (*before, fence, op, fence, *after), HERE),)
    launch = Launch(Const(1), Var("cid"), Var("vid"), 1, tuple(allocs), body, HERE)
    func = Func(opdef.name, tuple(tensors), launch, Phase.BUILT, HERE)
    return Case(f"{opdef.name}-{label}", func, arrays, written)


def samples(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Any:
    """Numbers of a type, special values among them."""
    if dtype.is_integer:
        low, high = dtype.limits()
        return rng.integers(low, high, shape, dtype=np.dtype(dtype.compute), endpoint=True)
    values = rng.standard_normal(shape) * rng.choice([0.01, 1.0, 8.0], shape)
    flat = values.reshape(-1)
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 65504.0, 1e-7, 0.5, -2.5]
    places = rng.choice(flat.size, min(len(special), flat.size), replace=False)
    flat[places] = special[: len(places)]
    return values.astype("float32" if dtype is BFLOAT16 else dtype.compute)


def cast_cases() -> Iterator[Case]:
    """Every legal pair and rounding mode."""
    for (source, target), modes in DEFAULT_TARGET.conversions.items():
        for mode in modes:
            a, b = DTYPES[target], DTYPES[source]
            size = 32 * 3 + (6 if INT4 in (a, b) else 5)
            form = Form("odd", (128,), ((0, size),))
            label = f"{source}-{target}-{mode}"
            yield op_case(
                OPS["cast"],
                [a, b],
                [form, form],
                {"count": None},
                (f"cast_{mode.lower()}",),
                label,
                len(label),
            )


def reduction_cases() -> Iterator[Case]:
    """Both axes, one repeat and several, one row and several, tails, kept and cleared results; rows
    and repeats few and many, each against each other; rows too far apart for one instruction."""
    for name in ("reduce_sum", "reduce_max", "reduce_min"):
        for dtype in OPS[name].operands[0].dtypes:
            for rows, columns, width, top, left in (
                (1, 64, 64, 0, 0),
                (5, 32, 32, 0, 0),
                (7, 96, 90, 0, 0),
                (3, 272, 272, 0, 0),
                (17, 128, 127, 0, 0),
                (1, 1040, 1040, 0, 0),
                (1, 1040, 999, 0, 0),
                (4, 192, 96, 2, 64),
                (3, 320, 200, 1, 16),
                (260, 32, 20, 0, 0),
                (300, 80, 65, 0, 0),
                (300, 16, 1, 0, 0),
                (40, 528, 512, 0, 0),
                (7, 2048, 2047, 0, 0),
                (7, 160, 128, 0, 16),
                (5, 4112, 1100, 1, 16),
                (3, 4112, 130, 0, 0),
            ):
                for axis in (0, 1):
                    for clear in (True, False):
                        count = rows if axis == 1 else width
                        src = Form("m", (top + rows, columns), ((top, rows), (left, width)))
                        dst = Form("v", (-(-count // 16) * 16,), ((0, count),))
                        label = f"{dtype}-{rows}x{width}of{columns}-{axis}-{clear}"
                        yield op_case(
                            OPS[name], [dtype, dtype], [src, dst], {}, (axis, clear), label, columns
                        )


def broadcast_cases() -> Iterator[Case]:
    """Rows and columns over whole matrices and over slices of wider ones."""
    names = ("broadcast", "broadcast_bytes")
    for opdef, dtype in ((OPS[n], dtype) for n in names for dtype in OPS[n].operands[0].dtypes):
        block = 32 // dtype.size
        for rows, columns, pitch, start in (
            (4, 2 * block, 2 * block, 0),
            (13, 3 * block, 3 * block, 0),
            (300, block, block, 0),
            (1, 9 * block, 9 * block, 0),
            (5, 2 * block, 4 * block, block),
            (9, block + 3, 3 * block, block),
        ):
            for axis in (0, 1):
                count = columns if axis == 0 else rows
                dst = Form("m", (rows, pitch), ((0, rows), (start, columns)))
                src = Form("v", (-(-count // block) * block,), ((0, count),))
                label = f"{dtype}-{rows}x{columns}of{pitch}-{axis}"
                yield op_case(opdef, [dtype, dtype], [dst, src], {}, (axis,), label, rows)
