"""Slow kernels of attention: small tiles of keys, one stage, few queries."""

import tile_frontend as T


@T.jit(out_idx=[-1])
def attention(H=4, S=512, D=64, block=32):
    """Small tiles of queries and keys, one at a time."""
    tiles = S // block

    @T.prim_func
    def kernel(Q: T.Tensor((H, S, D), "float16"), K: T.Tensor((H, S, D), "float16"), V: T.Tensor((H, S, D), "float16"), Y: T.Tensor((H, S, D), "float16")):  # fmt: skip
        with T.Kernel(H * tiles, threads=2) as cid:
            head, first = cid // tiles, cid % tiles * block
            q, k = T.alloc_shared((block, D), "float16"), T.alloc_shared((block, D), "float16")
            v, w = T.alloc_shared((block, D), "float16"), T.alloc_shared((block, block), "float16")
            scores = T.alloc_fragment((block, block), "float32")
            partial = T.alloc_fragment((block, D), "float32")
            s, p = T.alloc_shared((block, block), "float32"), T.alloc_shared((block, block), "float16")  # fmt: skip
            o, part = T.alloc_shared((block, D), "float32"), T.alloc_shared((block, D), "float32")
            peak, shrink = T.alloc_shared((block,), "float32"), T.alloc_shared((block,), "float32")
            total, row_sum = T.alloc_shared((block,), "float32"), T.alloc_shared((block,), "float32")  # fmt: skip
            T.tile.fill(o, 0.0)
            T.tile.fill(total, 0.0)
            T.tile.fill(peak, -1e30)
            T.copy(Q[head, first, 0], q)
            for n in T.serial(tiles):
                T.copy(K[head, n * block, 0], k)
                T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                T.copy(scores, s)
                T.copy(peak, shrink)
                T.reduce_max(s, peak, dim=-1)
                for i in T.Parallel(block):
                    peak[i] = T.max(peak[i], shrink[i])
                    shrink[i] = T.exp((shrink[i] - peak[i]) * 0.125)
                for i, j in T.Parallel(block, block):
                    s[i, j] = T.exp((s[i, j] - peak[i]) * 0.125)
                T.copy(s, p)
                T.copy(p, w)
                T.reduce_sum(s, row_sum, dim=-1)
                for i in T.Parallel(block):
                    total[i] = total[i] * shrink[i] + row_sum[i]
                T.copy(V[head, n * block, 0], v)
                T.gemm_v0(w, v, partial, init=True)
                T.copy(partial, part)
                for i, j in T.Parallel(block, D):
                    o[i, j] = o[i, j] * shrink[i] + part[i, j]
            for i, j in T.Parallel(block, D):
                o[i, j] = o[i, j] / total[i]
            T.copy(o, Y[head, first, 0])

    return kernel


@T.jit(out_idx=[-1])
def scores(H=8, S=512, D=128, block=32):
    """Scaled scores: products with an epilogue, in small square tiles."""

    @T.prim_func
    def kernel(Q: T.Tensor((H, S, D), "float16"), K: T.Tensor((H, S, D), "float16"), P: T.Tensor((H, S, S), "float16")):  # fmt: skip
        with T.Kernel(T.cdiv(S, block), T.cdiv(S, block), H) as (bx, by, head):
            q, k = T.alloc_shared((block, D), "float16"), T.alloc_shared((block, D), "float16")
            c, p = T.alloc_fragment((block, block), "float32"), T.alloc_shared((block, block), "float32")  # fmt: skip
            T.copy(Q[head, by * block, 0], q)
            T.copy(K[head, bx * block, 0], k)
            T.gemm_v0(q, k, c, transpose_B=True, init=True)
            T.copy(c, p)
            for i, j in T.Parallel(block, block):
                p[i, j] = p[i, j] * 0.088
            T.copy(p, P[head, by * block, bx * block])

    return kernel
