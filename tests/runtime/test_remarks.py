"""Remarks of passes reach the user as Python warnings at the line of the kernel, once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import KernelWarning
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("quick_kernels")


@T.prim_func
def stays_scalar(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
    with T.Kernel(1, threads=1, is_npu=True) as cid:
        a = T.alloc_ub((64,), "int32")
        with T.Scope("V"):
            T.copy(X, a)
            T.barrier_all()
            for i in T.Parallel(64):
                a[i] = a[i] // 500009  # here
            T.barrier_all()
            T.copy(a, Y)


def test_a_scalar_loop_is_a_warning_at_its_line() -> None:
    with pytest.warns(
        KernelWarning, match="stays a scalar loop: the left side of `//` may"
    ) as caught:
        kernel = compile(stays_scalar, out_idx=[-1])
    (warning,) = caught
    with open(warning.filename) as text:
        assert "# here" in text.read().splitlines()[warning.lineno - 1]
    x = torch.arange(64, dtype=torch.int32) * 1_000_003
    assert np.array_equal(kernel(x).numpy(), (x // 500009).numpy())


def test_a_kernel_from_the_cache_says_nothing_again() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelWarning)
        compile(stays_scalar, out_idx=[-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", KernelWarning)
        compile(stays_scalar, out_idx=[-1])
