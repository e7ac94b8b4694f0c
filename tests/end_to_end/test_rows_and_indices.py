"""Counting vectors, one value per row, block broadcasts and transpositions: simulator (strict)
against interpreter, exactly, over types, shapes and slices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import kept

from tile_ir import DEFAULT_TARGET, DTYPES, OPS, DType, Op, check_op
from tile_ir.traversal import walk_ops
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch, interpreted
from .op_kernels import Case, Form, op_case
from .ulps import largest_distance


def whole(*shape: int) -> Form:
    return Form("whole", shape, tuple((0, d) for d in shape))


def part(shape: tuple[int, ...], *slices: tuple[int, int]) -> Form:
    return Form("part", shape, slices)


def run_strict(cases: list[Case], folder: Path, ulps: int = 0) -> None:
    """Every case on the simulator under every check, against the interpreter."""
    batch = KernelBatch(folder)
    numbers = [batch.add(case.func) for case in cases]
    batch.build()
    wrong = []
    for number, case in zip(numbers, cases, strict=True):
        outcome = batch.run(number, case.arrays, checks=launcher().CHECKS_STRICT)
        if outcome.error is not None:
            wrong.append(f"{case.name}: {outcome.error.kind}: {outcome.error.text}")
            continue
        for got, want, tensor in zip(
            outcome.arrays, interpreted(case.func, case.arrays), case.func.tensors, strict=True
        ):
            if tensor.dtype.is_float:
                same = largest_distance(got, want, tensor.dtype) <= ulps
            else:
                same = np.array_equal(got, want)
            if not same:
                wrong.append(f"{case.name}: {tensor.name} differs\n{got}\n{want}")
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong[:5])


def index_cases() -> Iterator[Case]:
    for dtype in OPS["createvecindex"].operands[0].dtypes:
        block = 32 // dtype.size
        for name, form in (
            ("short", part((4 * block,), (0, 3))),
            ("odd", part((600,), (block, 333))),
            ("long", whole(1000 if dtype.name == "float16" else 3000)),
            ("matrix", whole(5, 3 * block)),
            ("columns", part((7, 12 * block), (1, 5), (block, 9 * block + 1))),
            ("slot", part((3, 4, 2 * block), (1, 1), (0, 4), (0, 2 * block))),
            ("one", part((2 * block,), (0, 1))),
        ):
            for first in (0, 7, -5):
                label = f"{dtype}-{name}-{first}"
                yield op_case(
                    OPS["createvecindex"], [dtype], [form], {"first": first}, (), label, 1
                )
                for step in (1, -3):
                    scalars = {"first": first, "diff": step, "count": None}
                    yield op_case(
                        OPS["arith_progression"], [dtype], [form], scalars, (), f"{label}-{step}", 1
                    )
        for count in (0, 1, 17, 5 * block):
            scalars = {"first": 3, "diff": 2, "count": count}
            label = f"{dtype}-count-{count}"
            form = whole(5, block)
            yield op_case(OPS["arith_progression"], [dtype], [form], scalars, (), label, 1)


def test_counting_vectors(tmp_path: Path) -> None:
    run_strict(kept(index_cases()), tmp_path)


def row_cases() -> Iterator[Case]:
    for opdef in OPS.values():
        if opdef.family != "expand" or opdef.name == "brcb_experiment":
            continue
        by_row = any(o.name == "tmp" for o in opdef.operands)
        for dtype in opdef.operands[0].dtypes:
            block = 32 // dtype.size
            for rows in (1, 7, 8, 13, 16, 40):
                for columns, pitch, start in (
                    (block, block, 0),
                    (8 * block, 8 * block, 0),
                    (8 * block, 20 * block, 4 * block),
                    (3 * block + 1, 5 * block, block),
                    (20 * block, 20 * block, 0),
                ):
                    matrix = part((rows, pitch), (0, rows), (start, columns))
                    thirds = {"vector": whole(rows), "column": whole(rows, 1)}
                    thirds["blocks"] = whole(rows, block)
                    if not by_row:
                        slot = part((2, 512), (1, 1), (0, columns))
                        thirds = {"vector": whole(columns), "row": whole(1, columns), "slot": slot}
                    for name, third in thirds.items():
                        if rows == 1 and name == "blocks" and block == 1:
                            continue
                        yield op_case(
                            opdef,
                            [dtype] * 3,
                            [matrix, matrix, third],
                            {"tmp": None} if by_row else {},
                            (),
                            f"{dtype}-{rows}x{columns}of{pitch}-{name}",
                            rows,
                        )


def with_spread_blocks(case: Case) -> Case:
    """A block operand holds one value in all its elements, as `brcb_experiment` makes it."""
    if case.name.endswith("blocks"):
        case.arrays[-1][...] = case.arrays[-1][..., :1]
    return case


@pytest.mark.exhaustive
def test_one_value_per_row(tmp_path: Path) -> None:
    cases = [with_spread_blocks(case) for case in row_cases()]
    assert len(cases) > 500
    run_strict(cases[::7], tmp_path, ulps=1)


def test_pitch_beyond_a_repeat_stride(tmp_path: Path) -> None:
    """Rows further apart than a repeat stride can say are worked on one by one."""
    dtype = DTYPES["float32"]
    matrix = part((9, 2400), (0, 9), (8, 70))
    case = op_case(
        OPS["row_expand_mul"], [dtype] * 3, [matrix, matrix, whole(9)], {"tmp": None}, (), "far", 2
    )
    run_strict([case], tmp_path)


def brcb_cases() -> Iterator[Case]:
    for dtype in OPS["brcb_experiment"].operands[0].dtypes:
        block = 32 // dtype.size
        for repeat, step, pitch in ((1, 1, 8), (3, 1, 8), (2, 2, 16), (2, 1, 10), (0, 1, 8)):
            size = (max(repeat - 1, 0) * pitch + 7 * step + 1) * block
            yield op_case(
                OPS["brcb_experiment"],
                [dtype, dtype],
                [whole(size + block), whole(8 * max(repeat, 1) + block)],
                {},
                (repeat, step, pitch),
                f"{dtype}-{repeat}-{step}-{pitch}",
                repeat,
            )


def test_block_broadcast(tmp_path: Path) -> None:
    run_strict(list(brcb_cases()), tmp_path)


def transpose_cases() -> Iterator[Case]:
    for dtype in OPS["transpose"].operands[0].dtypes:
        for rows, columns in ((16, 16), (16, 48), (64, 16), (32, 80)):
            forms = [whole(columns, rows), whole(rows, columns)]
            label = f"{dtype}-{rows}x{columns}"
            yield op_case(OPS["transpose"], [dtype] * 2, forms, {}, (), label, rows)
            sliced = [
                part((columns + 1, rows + 32), (1, columns), (16, rows)),
                part((2, rows + 3, columns + 16), (1, 1), (2, rows), (16, columns)),
            ]
            yield op_case(OPS["transpose"], [dtype] * 2, sliced, {}, (), f"{label}-part", rows)


def test_transpositions(tmp_path: Path) -> None:
    run_strict(list(transpose_cases()), tmp_path)


def problem(name: str, dtypes: list[DType], forms: list[Form], **scalars: Any) -> str:
    case = op_case(OPS[name], dtypes, forms, scalars, (), "wrong", 1)
    op: Op = next(o for o in walk_ops(case.func.launch.body) if o.opdef.name == name)
    found = check_op(op, DEFAULT_TARGET)
    return "" if found is None else found.slug


def test_what_cannot_be_computed_is_said() -> None:
    f32 = DTYPES["float32"]
    assert problem("transpose", [f32] * 2, [whole(16, 24), whole(24, 16)]) == "transpose-size"
    assert problem("transpose", [f32] * 2, [whole(16, 32), whole(16, 32)]) == "shape-mismatch"
    assert problem("createvecindex", [f32], [part((4, 12), (0, 4), (0, 8))], first=0) == (
        "row-alignment"
    )
    deep = part((3, 4, 16), (0, 3), (0, 2), (0, 8))
    assert problem("createvecindex", [f32], [deep], first=0) == "strided-operand"
    rows = [whole(8, 16), whole(8, 16)]
    assert problem("row_expand_mul", [f32] * 3, [*rows, whole(7)], tmp=None) == "shape-mismatch"
    odd = part((8, 12), (0, 8), (0, 8))
    assert problem("row_expand_mul", [f32] * 3, [odd, odd, whole(8)], tmp=None) == "row-alignment"
    strided = part((8, 8), (0, 8), (3, 1))
    assert problem("row_expand_mul", [f32] * 3, [*rows, strided], tmp=None) == "strided-operand"
    int32 = DTYPES["int32"]
    assert problem("createvecindex", [int32], [whole(8)], first=1.5) == "dtype-mismatch"
    counts = {"first": 0, "diff": 1, "count": 9}
    assert problem("arith_progression", [int32], [whole(8)], **counts) == "count-range"


def broadcast_forms() -> Iterator[Case]:
    """Sources of one and two dimensions, with and without an axis, into matrices and slots; the
    source has no element behind those that are used."""
    for dtype in OPS["broadcast"].operands[0].dtypes:
        block = 32 // dtype.size
        for rows, columns in ((13, 2 * block), (8, 9 * block), (1, block), (3, block + 1)):
            pitch = -(-columns // block) * block
            matrix = part((rows, pitch), (0, rows), (0, columns))
            slot = part((2, rows, pitch + block), (1, 1), (0, rows), (block, columns))
            for place, dst in (("matrix", matrix), ("slot", slot)):
                for name, src, axis in (
                    ("row", whole(columns), None),
                    ("row-2d", whole(1, columns), None),
                    ("row-axis", whole(1, columns), 0),
                    ("column-2d", whole(rows, 1), None),
                    ("column-axis", whole(rows), 1),
                    ("column-slot", part((2, rows, 1), (0, 1), (0, rows), (0, 1)), 1),
                ):
                    if rows == 1 and name.startswith("column"):
                        continue
                    label = f"{dtype}-{rows}x{columns}-{place}-{name}"
                    yield op_case(
                        OPS["broadcast"], [dtype] * 2, [dst, src], {}, (axis,), label, rows
                    )
        same = whole(3, 2 * block)
        yield op_case(OPS["broadcast"], [dtype] * 2, [same, same], {}, (None,), f"{dtype}-same", 1)
        square = whole(block, block)
        yield op_case(
            OPS["broadcast"], [dtype] * 2, [square, whole(block)], {}, (None,), f"{dtype}-square", 1
        )


def test_broadcasts(tmp_path: Path) -> None:
    cases = list(broadcast_forms())
    assert len(cases) > 200
    run_strict(kept(cases[::2]), tmp_path)


def test_broadcasts_that_cannot_be() -> None:
    f32 = DTYPES["float32"]

    def broadcast(dst: Form, src: Form, axis: int | None = None) -> str:
        case = op_case(OPS["broadcast"], [f32] * 2, [dst, src], {}, (axis,), "wrong", 1)
        found = [check_op(op, DEFAULT_TARGET) for op in walk_ops(case.func.launch.body)]
        return next((f.slug for f in found if f is not None), "")

    assert broadcast(whole(2, 4, 8), whole(4, 1)) == "shape-mismatch"
    assert broadcast(whole(4, 8), whole(5)) == "shape-mismatch"
    assert broadcast(whole(4, 8), whole(8), 1) == "shape-mismatch"
    assert broadcast(whole(4, 8), whole(4, 8), 2) == "reduce-axis"
    assert broadcast(whole(4, 8), whole(8), 3) == "reduce-axis"
    assert broadcast(whole(4, 12), whole(12)) == "row-alignment"
    assert broadcast(whole(4, 8), part((4, 8), (0, 4), (0, 1))) == "shape-mismatch"
