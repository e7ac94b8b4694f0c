"""Products on the cube core; memories and order are left to the compiler."""

from typing import Any

import torch

import tile_frontend as T
from tile_runtime import PassConfigKey

M = N = K = 32


def build() -> Any:
    @T.prim_func
    def products(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
        D: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((M, K), "float16")
            b = T.alloc_shared((K, N), "float16")
            left = T.alloc_fragment((M, K), "float16")
            right = T.alloc_fragment((K, N), "float16")
            c = T.alloc_fragment((M, N), "float32")
            d = T.alloc_fragment((M, N), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C)
            T.copy(a, left)
            T.copy(b, right)
            T.mma(left, right, d, init=True)
            T.copy(d, D)

    return T.compile(
        products, out_idx=[2, 3], pass_configs={PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    )


def call(kernel: Any) -> tuple[Any, Any]:
    random = torch.Generator().manual_seed(0)
    a = torch.randn(M, K, generator=random).half()
    b = torch.randn(K, N, generator=random).half()
    want = a.float() @ b.float()
    c, d = kernel(a, b)
    return torch.cat((c, d.float())), torch.cat((want, want.half().float()))
