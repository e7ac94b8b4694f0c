"""`TILE_TARGET=none`: kernels are made as far as their source and refuse to run."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_ir.switches import override


@T.prim_func
def double(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=1) as cid:
        a = T.alloc_shared((64,), "float32")
        T.copy(A, a)
        for i in T.Parallel(64):
            a[i] = a[i] * 2
        T.copy(a, B)


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.whole
def test_a_kernel_has_its_source_and_does_not_run(cache: bool) -> None:
    with override(target="none", cache=cache):
        for _ in range(2):
            kernel = T.compile(double, out_idx=[1])
            assert "AscendC::Muls" in kernel.get_kernel_source()
            with pytest.raises(KernelError, match="compiled but not run") as refused:
                kernel(torch.zeros(64))
            assert refused.value.slug == "not-run"


def test_it_runs_again_once_there_is_a_device() -> None:
    with override(target="none"):
        T.compile(double, out_idx=[1])
    assert T.compile(double, out_idx=[1])(torch.ones(64)).eq(2).all()
