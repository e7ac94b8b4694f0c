"""Operations on the state of a core, and those that need more than one NPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tile_frontend as T
import tile_ir
from tile_ir import Func, KernelError
from tile_ir.interpreter.run import InterpretError
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch, interpreted


def dequantized(scales: tuple[float, ...]) -> Func:
    """int32 to float16 under each scale in turn, by whole buffer, by count and by a copy."""

    @T.prim_func
    def k(X: T.Tensor((5, 64), "int32"), s: T.float32, Y: T.Tensor((5, 64), "float16")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((5, 64), "int32")
            y = T.alloc_ub((5, 64), "float16")
            T.copy(X, x)
            T.barrier_all()
            T.set_deq_scale(scales[0])
            T.tile.cast(y, x, "CAST_NONE", 128)
            T.set_deq_scale(s)
            T.tile.cast(y[2:4, :], x[2:4, :], "CAST_RINT", 128)
            T.copy(x[4:5, :], y[4:5, :])
            T.barrier_all()
            T.copy(y, Y)

    return k


def test_the_scale_of_casts(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    func = dequantized((0.25,))
    number = batch.add(func)
    batch.build()
    x = np.random.default_rng(4).integers(-3000, 3000, (5, 64), dtype=np.int32)
    arguments: list[Any] = [x, 0.125, np.zeros((5, 64), np.float16)]
    outcome = batch.run(number, arguments, checks=launcher().CHECKS_STRICT)
    assert outcome.error is None, outcome.error.text
    want = np.concatenate([x[:2] * 0.25, x[2:] * 0.125]).astype(np.float16)
    assert np.array_equal(outcome.arrays[2], want)
    assert np.array_equal(interpreted(func, arguments)[2], want)


def test_a_cast_without_a_scale() -> None:
    @T.prim_func
    def k(X: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((64,), "int32")
            y = T.alloc_ub((64,), "float16")
            T.copy(X, x)
            T.tile.cast(y, x, "CAST_NONE", 64)

    with pytest.raises(InterpretError, match="no scale has been set"):
        tile_ir.interpret(k, [np.zeros(64, np.int32)])


def test_cache_lines(tmp_path: Path) -> None:
    @T.prim_func
    def k(X: T.Tensor((2, 16), "int32")):
        with T.Kernel(1, threads=1, is_npu=True) as (_), T.Scope("V"):
            X[0, 3] = 7
            T.tile.datacachecleanandinvalid_experiment(X, "SINGLE_CACHE_LINE", "CACHELINE_OUT")
            T.tile.datacachecleanandinvalid_experiment(
                X[1, :], "ENTIRE_DATA_CACHE", "CACHELINE_OUT"
            )

    batch = KernelBatch(tmp_path)
    number = batch.add(k)
    batch.build()
    outcome = batch.run(number, [np.zeros((2, 16), np.int32)], checks=launcher().CHECKS_STRICT)
    assert outcome.error is None, outcome.error.text
    assert outcome.arrays[0][0, 3] == 7

    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def wrong(X: T.Tensor((2, 16), "int32")):
            with T.Kernel(1, threads=1, is_npu=True) as (_), T.Scope("V"):
                T.tile.datacachecleanandinvalid_experiment(X, "TWO_LINES", "CACHELINE_OUT")

    assert caught.value.slug == "attribute-value"
