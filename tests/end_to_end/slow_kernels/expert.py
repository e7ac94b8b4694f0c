"""Slow kernels in the expert style: unified buffers and flags or barriers written, one tile at a
time."""

import tile_frontend as T


@T.jit(out_idx=[-1], pass_configs={"tl.ascend_auto_sync": False})
def barrier_norm(M=1536, N=1024, rows=2):
    """Barriers between all steps, as in a first kernel of an expert."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(24, is_npu=True) as (cid, vid):
            x, q = T.alloc_ub((rows, N), "float32"), T.alloc_ub((rows, N), "float32")
            s = T.alloc_ub((rows, 1), "float32")
            per = M // 48 // rows
            with T.Scope("V"):
                for t in T.serial(per):
                    first = ((cid * 2 + vid) * per + t) * rows
                    T.copy(X[first, 0], x)
                    T.barrier_all()
                    T.tile.mul(q, x, x)
                    T.barrier_all()
                    T.reduce_sum(q, s, dim=-1)
                    T.barrier_all()
                    for i, j in T.Parallel(rows, N):
                        x[i, j] = x[i, j] / T.sqrt(s[i, 0] / N + 1e-6)
                    T.barrier_all()
                    T.copy(x, Y[first, 0])
                    T.barrier_all()

    return kernel


@T.jit(out_idx=[-1], pass_configs={"tl.ascend_auto_sync": False})
def barrier_gemm(M=768, N=512, K=1024, block=128, block_K=64):
    """A product in l1 and l0c with barriers between all steps."""

    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):  # fmt: skip
        with T.Kernel((M // block) * (N // block), is_npu=True) as (cid, _):
            by, bx = cid // (N // block) * block, cid % (N // block) * block
            a, b = T.alloc_L1((block, block_K), "float16"), T.alloc_L1((block_K, block), "float16")
            c = T.alloc_L0C((block, block), "float32")
            with T.Scope("C"):
                for k in T.serial(K // block_K):
                    T.copy(A[by, k * block_K], a)
                    T.copy(B[k * block_K, bx], b)
                    T.barrier_all()
                    T.gemm_v0(a, b, c, init=(k == 0))
                    T.barrier_all()
                T.copy(c, C[by, bx])

    return kernel
