"""The reductions of the hardware and the sums of one run: simulator (strict) against interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import kept

import tile_frontend as T
from tile_ir import DTYPES, OPS, Func, KernelError
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch, interpreted
from .op_kernels import Case, op_case
from .test_rows_and_indices import problem, run_strict, whole


def calm(case: Case, *positions: int) -> Case:
    """Small whole numbers, whose sums are exact in any order and type."""
    rng = np.random.default_rng(len(case.name))
    for position in positions:
        array = case.arrays[position]
        array[...] = rng.integers(-8, 8, array.shape).astype(array.dtype)
    return case


def repeat_cases() -> Iterator[Case]:
    for opdef in OPS.values():
        if not opdef.name.startswith(("wholereduce", "block_reduce")):
            continue
        orders = next((a.choices for a in opdef.attrs if a.name == "order"), (None,))
        for dtype in opdef.operands[0].dtypes:
            lanes = 256 // dtype.size
            for repeat, mask, out, step, row in (
                (1, lanes, 1, 1, 8),
                (5, lanes, 1, 1, 8),
                (4, lanes - 3, 2, 1, 8),
                (3, 7, 1, 1, 1),
                (2, lanes, 1, 2, 16),
                (0, lanes, 1, 1, 8),
            ):
                for order in orders:
                    given = {
                        "mask": mask,
                        "repeat": repeat,
                        "dst_rep_stride": out,
                        "src_blk_stride": step,
                        "src_rep_stride": row,
                        "order": order,
                    }
                    attrs = tuple(given[a.name] for a in opdef.attrs)
                    forms = [whole(256), whole(16 * lanes)]
                    label = f"{dtype}-{repeat}-{mask}-{out}-{step}-{row}-{order}"
                    yield calm(op_case(opdef, [dtype] * 2, forms, {}, attrs, label, 3), 1)


def test_repeats_and_blocks(tmp_path: Path) -> None:
    cases = list(repeat_cases())
    assert len(cases) > 100
    run_strict(kept(cases), tmp_path)


def sum_cases() -> Iterator[Case]:
    for name in ("float32", "float16"):
        dtype = DTYPES[name]
        block = 32 // dtype.size
        forms = [whole(64), whole(2600)]
        for count in (0, 1, 5, 64, 65, 128, 200, 2600):
            yield calm(
                op_case(
                    OPS["reduce_sum_experiment"],
                    [dtype] * 2,
                    forms,
                    {"count": count},
                    (),
                    f"{dtype}-{count}",
                    3,
                ),
                1,
            )
        for outer, inner, n in (
            (1, 40, 33),
            (5, block, 3),
            (17, 5 * block, 5 * block),
            (3, 800, 7),
        ):
            scalars = {"inner": inner, "n": n}
            label = f"{dtype}-{outer}-{inner}-{n}"
            case = op_case(OPS["sum_experiment"], [dtype] * 2, forms, scalars, (outer,), label, 3)
            yield calm(case, 1)
    float32 = DTYPES["float32"]
    for mask, repeat, stride in ((1, 9, 1), (64, 3, 8), (30, 255, 1), (5, 1, 1), (5, 0, 1)):
        scalars = {"mask": mask, "repeat": repeat, "src_rep_stride": stride}
        yield calm(
            op_case(
                OPS["reduce_sum_mask_experiment"],
                [float32] * 2,
                [whole(64), whole(2600)],
                scalars,
                (),
                f"{mask}-{repeat}-{stride}",
                3,
            ),
            1,
        )


def test_sums_of_runs(tmp_path: Path) -> None:
    run_strict(list(sum_cases()), tmp_path)


def interpolation_cases() -> Iterator[Case]:
    half, word = DTYPES["float16"], DTYPES["uint32"]
    for per_block in (False, True):
        for mask, across, down, row in ((128, 2, 2, 128), (128, 1, 3, 160), (40, 3, 2, 128)):
            repeats = across * down
            weights = repeats * (8 if per_block else 1)
            case = op_case(
                OPS["bilinear_interpolation"],
                [half, half, word, half],
                [whole(640), whole(512), whole(repeats * 8), whole(-(-weights // 16) * 16)],
                {},
                (mask, across, per_block, 1, row, down),
                f"{per_block}-{mask}-{across}-{down}-{row}",
                3,
            )
            calm(case, 1, 3)
            rng = np.random.default_rng(mask + across)
            case.arrays[2][...] = rng.integers(0, 32, repeats * 8) * 32
            yield case


def test_interpolation(tmp_path: Path) -> None:
    run_strict(list(interpolation_cases()), tmp_path)


def runtime_sizes() -> Func:
    """Counts known when the kernel runs, nothing to sum among them."""

    @T.prim_func
    def k(X: T.Tensor((512,), "float32"), n: T.int32, Y: T.Tensor((4, 8), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((512,), "float32")
            y = T.alloc_ub((4, 8), "float32")
            T.copy(X, x)
            T.tile.fill(y, 0.0)
            T.barrier_all()
            T.tile.reduce_sum_experiment(y[0, :], x, n)
            T.tile.sum_experiment(y[1, :], x, [3, 128, n])
            T.pipe_barrier("v")
            T.tile.reduce_sum_mask_experiment(y[2, :], x, 1, n, 1)
            T.tile.abs_experiment(x, x, n)
            T.pipe_barrier("v")
            T.tile.reduce_sum_experiment(y[3, :], x, 512)
            T.barrier_all()
            T.copy(y, Y)

    return k


def test_runtime_sizes(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    func = runtime_sizes()
    number = batch.add(func)
    batch.build()
    x = np.random.default_rng(2).integers(-9, 9, 512).astype(np.float32)
    for n in (0, 1, 7, 64):
        arguments: list[Any] = [x, n, np.zeros((4, 8), np.float32)]
        outcome = batch.run(number, arguments, checks=launcher().CHECKS_STRICT)
        assert outcome.error is None, outcome.error.text
        assert np.array_equal(outcome.arrays[2], interpreted(func, arguments)[2])
        assert outcome.arrays[2][0, 0] == x[:n].sum()
        assert outcome.arrays[2][2, 0] == x[: 8 * n : 8].sum()


def test_what_is_wrong_is_said() -> None:
    f32 = DTYPES["float32"]
    assert problem("reduce_sum_experiment", [f32] * 2, [whole(8), whole(8)], count=9) == (
        "shape-mismatch"
    )
    masked = {"mask": 65, "repeat": 1, "src_rep_stride": 8}
    assert problem("reduce_sum_mask_experiment", [f32] * 2, [whole(8), whole(64)], **masked) == (
        "count-range"
    )
    with pytest.raises(KernelError, match="expected a list of 3"):

        @T.prim_func
        def k(X: T.Tensor((64,), "float32")):
            with T.Kernel(1, threads=1, is_npu=True) as (_):
                x = T.alloc_ub((64,), "float32")
                T.tile.sum_experiment(x, x, [1, 8])
