"""Masks, gathers, sorting, indices and transposition."""

from typing import Any

import torch

import tile_frontend as T
from tile_runtime import PassConfigKey

N = 128


def build() -> Any:
    @T.prim_func
    def choices(
        X: T.Tensor((N,), "float32"),
        Y: T.Tensor((N,), "float32"),
        Z: T.Tensor((2 * N,), "float32"),
        H: T.Tensor((16, 16), "float16"),
        W: T.Tensor((16, 16), "float16"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((N,), "float32")
            y = T.alloc_ub((N,), "float32")
            mask = T.alloc_ub((N // 8,), "uint8")
            places = T.alloc_ub((N,), "int32")
            offsets = T.alloc_ub((N,), "uint32")
            pairs = T.alloc_ub((2 * N,), "float32")
            best = T.alloc_ub((64,), "float32")
            tile = T.alloc_ub((16, 16), "float16")
            turned = T.alloc_ub((16, 16), "float16")
            with T.Scope("V"):
                T.copy(X, x)
                T.copy(H, tile)
                T.tile.compare(mask, x, 0.0, "GT")
                T.tile.select(y, mask, x, 0.0, "VSEL_TENSOR_SCALAR_MODE")
                T.tile.createvecindex(places, 0)
                T.tile.mul(places, places, 4)
                T.reinterpretcast(offsets, places, "uint32")
                T.tile.gather(x, y, offsets, 0)
                T.tile.sort(pairs, x, N)
                T.tile.topk(best, x, 32, N)
                T.tile.transpose(turned, tile)
                if vid == 0:
                    T.copy(y, Y)
                    T.copy(pairs, Z)
                    T.copy(turned, W)

    return T.compile(
        choices, out_idx=[1, 2, 4], pass_configs={PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    )


def call(kernel: Any) -> tuple[Any, Any]:
    x = torch.randn(N, generator=torch.Generator().manual_seed(0))
    y, _, _ = kernel(x, torch.zeros(16, 16, dtype=torch.float16))
    return y, x.relu()
