"""The roofline of matrix units: the narrower the operands are, the more a cycle does."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime.tools.report.roofline import roofline
from tile_runtime.tools.report.timed_run import TimedRun, watch_timed_runs

pytestmark = pytest.mark.usefixtures("quick_kernels")


def product(dtype: str, total: str) -> TimedRun:
    @T.jit(out_idx=[-1])
    def factory(M):
        @T.prim_func
        def main(
            A: T.Tensor((M, M), dtype), B: T.Tensor((M, M), dtype), C: T.Tensor((M, M), total)
        ):
            with T.Kernel(1) as _:
                a = T.alloc_shared((M, M), dtype)
                b = T.alloc_shared((M, M), dtype)
                c = T.alloc_fragment((M, M), total)
                T.copy(A, a)
                T.copy(B, b)
                T.gemm_v0(a, b, c, init=True)
                T.copy(c, C)

        return main

    seen: list[TimedRun] = []
    operands = [torch.ones(64, 64).to(getattr(torch, dtype)) for _ in range(2)]
    with override(time=True), watch_timed_runs(seen.append):
        factory(64)(*operands)
    return seen[-1]


@pytest.mark.parametrize(
    ("dtype", "total", "rate"),
    [("int8", "int32", 2.0), ("float16", "float32", 1.0), ("float32", "float32", 0.25)],
)
def test_narrow_products_could_be_faster(dtype: str, total: str, rate: float) -> None:
    run = product(dtype, total)
    fastest = 2 * 64**3 / (rate * run.timeline.peak_flops)
    assert roofline(run).least["matrix units"] == pytest.approx(fastest)
