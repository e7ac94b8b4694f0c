"""A product on the cube core and its activation on the vector cores, through a workspace."""

from typing import Any

import torch

import tile_frontend as T

M = N = K = 32
READY = 3


def build() -> Any:
    @T.prim_func
    def activated(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
        work: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((M, K), "float16")
            b = T.alloc_L1((K, N), "float16")
            c = T.alloc_L0C((M, N), "float32")
            half = T.alloc_ub((M // 2, N), "float32")
            with T.Scope("C"):
                T.copy(A, a)
                T.copy(B, b)
                T.barrier_all()
                T.gemm_v0(a, b, c, init=True)
                T.barrier_all()
                T.copy(c, work)
                T.set_cross_flag("fix", READY)
            with T.Scope("V"):
                T.wait_cross_flag(READY)
                T.copy(work[vid * (M // 2) : (vid + 1) * (M // 2), :], half)
                T.barrier_all()
                T.tile.relu(half, half)
                T.barrier_all()
                T.copy(half, C[vid * (M // 2) : (vid + 1) * (M // 2), :])

    return T.compile(activated, out_idx=[2], workspace_idx=[3])


def call(kernel: Any) -> tuple[Any, Any]:
    random = torch.Generator().manual_seed(0)
    a = torch.randn(M, K, generator=random).half()
    b = torch.randn(K, N, generator=random).half()
    return kernel(a, b), (a.float() @ b.float()).relu()
