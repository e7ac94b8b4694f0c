"""Tensors without elements: a launch of no blocks runs nothing (docs/language/index.md#arguments)."""

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import Func, KernelError
from tile_ir.switches import override
from tile_runtime import JITKernel, PassConfigKey, jit

pytestmark = pytest.mark.usefixtures("quick_kernels")

N = T.symbolic("n")


def _plus_one(rows: Any, blocks: Any, **configs: bool) -> JITKernel:
    @jit(out_idx=[1], pass_configs={PassConfigKey.TL_ASCEND_AUTO_SYNC: True, **configs})
    def make() -> Func:
        @T.prim_func
        def main(x: T.Tensor((rows, 64), "float32"), y: T.Tensor((rows, 64), "float32")):
            with T.Kernel(blocks, is_npu=True) as (cid, vid):
                a = T.alloc_ub((4, 64), "float32")
                T.copy(x[cid * 8 + vid * 4, 0], a)
                T.tile.add(a, a, 1.0)
                T.copy(a, y[cid * 8 + vid * 4, 0])

        return main

    return make()


@pytest.mark.parametrize("configs", [{}, {"tl.ascend_persistent": True}])
@pytest.mark.parametrize(
    ("rows", "blocks"), [(0, 0), (0, 3), (N, T.ceildiv(N, 8)), (N, 3)], ids=str
)
def test_the_result_is_empty(rows: Any, blocks: Any, configs: dict[str, bool]) -> None:
    kernel = _plus_one(rows, blocks, **configs)
    for _ in range(3):  # the second call repeats the first, the third is remembered
        assert kernel(torch.empty(0, 64)).shape == (0, 64)
    if rows is N and not isinstance(blocks, int):
        x = torch.randn(9, 64)
        assert torch.equal(kernel(x), x + 1)
        assert kernel(torch.empty(0, 64)).shape == (0, 64)


def test_no_blocks_have_no_timeline() -> None:
    kernel = _plus_one(N, T.ceildiv(N, 8))
    with override(time=True):
        kernel(torch.zeros(8, 64))
        assert kernel.timeline() is not None
        kernel(torch.empty(0, 64))
        assert kernel.timeline() is None


def test_an_empty_tensor_adds_nothing() -> None:
    @jit(out_idx=[1], pass_configs={PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
    def sums() -> Func:
        @T.prim_func
        def main(x: T.Tensor((N, 64), "float32"), y: T.Tensor((64,), "float32")):
            with T.Kernel(1, threads=1, is_npu=True):
                a = T.alloc_ub((8, 64), "float32")
                s = T.alloc_ub((64,), "float32")
                r = T.alloc_ub((64,), "float32")
                T.tile.fill(s, 0.0)
                for k in T.serial(T.ceildiv(N, 8)):
                    T.copy(x[k * 8, 0], a)
                    T.reduce_sum(a, r, dim=0)
                    T.tile.add(s, s, r)
                T.copy(s, y)

        return main

    assert torch.equal(sums()(torch.empty(0, 64)), torch.zeros(64))


def test_no_blocks_for_tensors_with_elements_are_a_mistake() -> None:
    with pytest.raises(KernelError, match="launch-size.*block_num is 0"):
        _plus_one(100, 100 // 128)
