"""Elements, variables and parameters of narrow integer types as indices, in conditions, as bounds of
loops and in sums: nothing wraps before it is stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override

ROWS, NUMBER = 64, 100
CONFIGS = {"tl.ascend_auto_sync": True}


def kernel(dtype: str) -> Any:
    @T.jit(out_idx=[-1], pass_configs=CONFIGS)
    def make() -> Any:
        @T.prim_func
        def k(
            X: T.Tensor((ROWS,), dtype), G: T.Tensor((400, 8), "int32"), p: getattr(T, dtype),
            Y: T.Tensor((ROWS, 8), "int32"),
        ):  # fmt: skip
            with T.Kernel(1, threads=1):
                x = T.alloc_shared((ROWS,), dtype)
                o = T.alloc_shared((ROWS, 8), "int32")
                g = T.alloc_shared((8,), "int32")
                v = T.alloc_var(dtype)
                T.copy(X, x)
                T.tile.fill(o, 0)
                for i in T.serial(ROWS):
                    e = x[i]
                    r = e * 3
                    if x[i] * 8 > 200:
                        o[i, 0] = 1
                    if e + e == r - e:
                        o[i, 1] = 1
                    o[i, 2] = r
                    o[i, 3] = p * 4 + x[i]
                    v = x[i]
                    o[i, 4] = v * v
                    v = v * 2
                    o[i, 5] = v
                    T.copy(G[x[i] * 3, 0], g)
                    o[i, 6] = g[0]
                    for j in T.serial(p * 2):
                        o[i, 7] += G[e + j, 1]
                T.copy(o, Y)

        return k

    return make()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "int64"])
def test_narrow_integers_do_not_wrap_before_they_are_stored(dtype: str) -> None:
    x = (np.arange(ROWS) * 2).astype(dtype)
    g = np.arange(3200, dtype=np.int32).reshape(400, 8)
    w = x.astype(np.int64)
    rows = w[:, None] + np.arange(2 * NUMBER)
    want = np.stack(
        [
            w * 8 > 200, np.ones_like(w), w * 3, NUMBER * 4 + w, w * w, (w * 2).astype(dtype),
            g[w * 3, 0], g[rows, 1].sum(1),
        ], axis=1,
    )  # fmt: skip
    with override(check="strict"):
        got = kernel(dtype)(torch.from_numpy(x), torch.from_numpy(g), NUMBER)
    assert np.array_equal(got.numpy(), want)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_rows_that_a_narrow_index_names(dtype: str) -> None:
    @T.jit(out_idx=[2], pass_configs=CONFIGS)
    def gather() -> Any:
        @T.prim_func
        def main(
            x: T.Tensor((50, 64), "float32"), ix: T.Tensor((32,), dtype),
            y: T.Tensor((32, 64), "float32"),
        ):  # fmt: skip
            with T.Kernel(1, is_npu=True) as (cid, vid):
                k = T.alloc_ub((32,), dtype)
                t = T.alloc_ub((64,), "float32")
                if vid == 0:
                    T.copy(ix, k)
                    for i in T.serial(32):
                        T.copy(x[k[i], :], t)
                        T.copy(t, y[i, :])

        return main

    x = torch.randn(50, 64)
    index = torch.randint(0, 50, (32,)).to(getattr(torch, dtype))
    assert torch.equal(gather()(x, index), x[index.long()])
