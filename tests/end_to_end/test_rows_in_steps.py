"""Operations element by element on rows that do not touch: one instruction steps from row to row.
Interpreter and simulator agree within an ulp, also beside what is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import kept

import tile_frontend as T
from tile_ir import OPS, Automatic, Composite, DType, For, Func, OpDef
from tile_ir.dtypes import FLOAT16, FLOAT32, INT16, INT32
from tile_ir.layout.row_form import row_form
from tile_ir.traversal import walk, walk_ops

from .kernel_batch import KernelBatch, interpreted, lower
from .op_kernels import Case, Form, op_case
from .ulps import largest_distance

AUTOMATIC = (Automatic.SYNC, Automatic.MEMORY)
Shapes = tuple[Form, Form, Form]
CONVERTED = ((FLOAT32, FLOAT16), (FLOAT16, FLOAT32), (INT32, FLOAT32))


def operands(*sizes: int) -> list[Shapes]:
    """A destination and two sources: whole blocks and a tail, one element a row, more rows than
    repeats, rows of three dimensions at one distance and not, and a vector beside matrices."""
    block, lanes = 32 // min(sizes), 256 // max(sizes)
    wide, tail = 4 * lanes, lanes + 5
    here = Form("tail", (7, wide), ((1, 6), (block, tail)))
    one = Form("one", (9, 2 * block), ((0, 9), (block, 1)))
    many = Form("many", (300, 2 * block), ((0, 300), (0, block)))
    slots = Form("slots", (2, 5, 3 * block), ((0, 2), (0, 5), (block, block)))
    apart = Form("apart", (3, 6, 3 * block), ((0, 3), (1, 5), (block, block)))
    matrix = Form("matrix", (6, 3 * block), ((0, 6), (block, 2 * block)))
    return [
        (here, Form("near", (6, 2 * lanes), ((0, 6), (0, tail))), here),
        (one, one, one),
        (many, many, many),
        (slots, slots, slots),
        (apart, apart, apart),
        (matrix, Form("run", (12 * block,), ((0, 12 * block),)), matrix),
    ]


def stepping() -> list[Case]:
    """Every operation whose instruction steps, on every type of its own and all of these forms."""
    return [
        case
        for opdef in OPS.values()
        if opdef.elementwise and opdef.composite is Composite.NO
        for dst, src in own_types(opdef)
        for shapes in operands(dst.size, src.size)
        for scalars in scalars_of(opdef)
        for case in [one_case(opdef, dst, src, shapes, scalars)]
        if any(op.opdef.by_rows(op) for op in walk_ops(case.func.launch.body) if op.opdef is opdef)
    ]


def own_types(opdef: OpDef) -> Sequence[tuple[DType, DType]]:
    if opdef is OPS["cast"]:
        return CONVERTED
    return [(d, d) for d in (FLOAT32, FLOAT16, INT16, INT32) if d in opdef.operands[0].dtypes]


def scalars_of(opdef: OpDef) -> list[dict[str, Any]]:
    """With a tensor on the right, and with a scalar where it may be one."""
    given: dict[str, Any] = {"scalar": 3, "value": 3, "count": None}
    right = opdef.operand_def(2)
    return [given, {**given, "src1": 3}] if right.name == "src1" and right.scalar else [given]


def one_case(opdef: OpDef, dst: DType, src: DType, shapes: Shapes, scalars: dict[str, Any]) -> Case:
    attrs = ("cast_none" if dst.bits > src.bits else "cast_rint",) if opdef.attrs else ()
    label = f"{dst}-{src}-{shapes[0].name}-{'src1' in scalars}"
    return op_case(opdef, [dst, src, src], shapes, scalars, attrs, label, len(label))


def test_operations_in_steps(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    listed = kept(stepping(), 90)
    for case in listed:
        batch.add(case.func)
    loops = [
        case.name
        for case, func in zip(listed, batch.funcs, strict=True)
        if not any(map(row_form, walk_ops(func.launch.body)))
    ]
    assert not loops
    check(batch, [case.arrays for case in listed])


def check(batch: KernelBatch, arguments: list[list[Any]]) -> None:
    batch.build()
    wrong = []
    for number, (func, values) in enumerate(zip(batch.funcs, arguments, strict=True)):
        outcome = batch.run(number, values)
        if outcome.error is not None:
            wrong.append(f"{func.name}: {outcome.error.text}")
            continue
        for tensor, got, want in zip(
            func.tensors, outcome.arrays, interpreted(func, values), strict=False
        ):
            if tensor.dtype.is_float and largest_distance(got, want, tensor.dtype) > 1:
                wrong.append(f"{func.name}: {tensor.name} differs")
            if tensor.dtype.is_integer and not np.array_equal(got, want):
                wrong.append(f"{func.name}: {tensor.name} differs")
    assert not wrong, "\n".join(wrong)


def rows_of_run_time(columns: int) -> Func:
    @T.prim_func
    def k(X: T.Tensor((9, 512), "float32"), n: T.int32):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((9, 512), "float32")
            T.copy(X, x)
            T.tile.add(x[0:n, 8 : 8 + columns], x[0:n, 8 : 8 + columns], 1.0)
            T.tile.mul(x[n:9, 0:n], x[n:9, 0:n], x[n:9, 0:n])
            T.copy(x, X)

    return k


def test_sizes_of_run_time(tmp_path: Path) -> None:
    """None, one and several rows; several columns of each, in place."""
    batch = KernelBatch(tmp_path)
    arguments = []
    for columns in (3, 64, 200):
        for n in (0, 1, 5, 9):
            func = rows_of_run_time(columns)
            batch.add(func, AUTOMATIC)
            arguments.append([np.arange(9 * 512, dtype=np.float32).reshape(9, 512) / 64, n])
    check(batch, arguments)


def both_lanes() -> Func:
    @T.prim_func
    def k(X: T.Tensor((16, 96), "float32"), Y: T.Tensor((16, 32), "float32")):
        with T.Kernel(1, threads=2, is_npu=True):
            x = T.alloc_shared((16, 96), "float32")
            y = T.alloc_shared((16, 32), "float32")
            T.copy(X, x)
            T.copy(Y, y)
            for i, j in T.Parallel(16, 32):
                x[i, 64 + j] = x[i, 32 + j] + y[i, j]
            for i, j in T.Parallel(16, 40):
                x[i, j] = -1.0
            T.copy(x, X)

    return k


def test_rows_of_two_lanes(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    batch.add(both_lanes(), AUTOMATIC)
    ops = list(walk_ops(batch.funcs[0].launch.body))
    assert [op.opdef.name for op in ops if row_form(op)] == ["add", "fill"]
    x, y = (np.arange(16 * n, dtype=np.float32).reshape(16, n) for n in (96, 32))
    check(batch, [[x, y]])
    expected = x.copy()
    expected[:, 64:] = x[:, 32:64] + y
    expected[:, :40] = -1
    assert (batch.run(0, [x, y]).arrays[0] == expected).all()


@pytest.mark.parametrize(("rows", "pitch", "width"), [(4, 2048, 64), (2, 512, 129)])
def test_a_loop_where_steps_are_no_gain(rows: int, pitch: int, width: int) -> None:
    """Rows too far apart, or no more than the instructions that would take them."""
    form = Form("far", (rows, pitch), ((0, rows), (0, width)))
    func = lower(op_case(OPS["exp"], [FLOAT32] * 2, [form] * 2, {}, (), "far", 1).func)
    assert not any(map(row_form, walk_ops(func.launch.body)))
    assert any(isinstance(stmt, For) for stmt in walk(func.launch.body))
