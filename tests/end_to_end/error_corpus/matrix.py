"""Products on the cube core: tiles in l1 and l0, flags between pipes, an accumulator in l0c."""

from typing import Any

import torch

import tile_frontend as T

M = N = K = 64
BLOCK = 32


def build() -> Any:
    @T.prim_func
    def product(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
        D: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(M // BLOCK, is_npu=True) as (cid, vid):
            a = T.alloc_L1((BLOCK, BLOCK), "float16")
            b = T.alloc_L1((BLOCK, N), "float16")
            a_side = T.alloc_L0A((BLOCK, BLOCK), "float16")
            b_side = T.alloc_L0B((BLOCK, N), "float16")
            c = T.alloc_L0C((BLOCK, N), "float32")
            d = T.alloc_L0C((BLOCK, N), "float32")
            with T.Scope("C"):
                for k in T.serial(K // BLOCK):
                    T.copy(A[cid * BLOCK, k * BLOCK], a)
                    T.copy(B[k * BLOCK, 0], b)
                    T.barrier_all()
                    T.gemm_v0(a, b, c, init=(k == 0))
                    T.barrier_all()
                    T.copy(a, a_side)
                    T.copy(b, b_side)
                    T.set_flag("mte1", "m", 0)
                    T.wait_flag("mte1", "m", 0)
                    T.mma(a_side, b_side, d, init=(k == 0))
                    T.barrier_all()
                T.copy(c, C[cid * BLOCK, 0])
                T.copy(d, D[cid * BLOCK, 0])

    return T.compile(product, out_idx=[2, 3])


def call(kernel: Any) -> tuple[Any, Any]:
    random = torch.Generator().manual_seed(0)
    a = torch.randn(M, K, generator=random).half()
    b = torch.randn(K, N, generator=random).half()
    c, _ = kernel(a, b)
    return c, a.float() @ b.float()
