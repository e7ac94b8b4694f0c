"""A kernel with one input and one output, for tests of how kernels are called."""

from __future__ import annotations

import tile_frontend as T

N = 64


@T.prim_func
def doubled(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")):
    with T.Kernel(1, is_npu=True, threads=1) as (cid,):
        a = T.alloc_ub((N,), "float32")
        with T.Scope("V"):
            T.copy(X, a)
            T.barrier_all()
            T.tile.add(a, a, a)
            T.barrier_all()
            T.copy(a, Y)
