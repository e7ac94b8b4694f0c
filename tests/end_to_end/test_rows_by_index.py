"""Rows of a tile loaded one by one, by indices from memory: those outside of the tensor are zeros."""

from __future__ import annotations

from typing import Any

import torch

import tile_frontend as T
from tile_runtime import compile

from .automatic import AUTOMATIC

S, K, H, ROWS = 50, 48, 16, 20


def attended(dtype: str) -> Any:
    """Each round takes a tile to the vector cores and back, and needs its rows until then."""
    R = T.symbolic("R")

    @T.prim_func
    def kernel(Q: T.Tensor((H, K), dtype), KV: T.Tensor((S, K), dtype),
               index: T.Tensor((R, ROWS), "int32"), Out: T.Tensor((R, H, K), "float32"),
               Rows: T.Tensor((R, ROWS, K), dtype)):  # fmt: skip
        with T.Kernel(2, threads=2, is_npu=True) as cid:
            q = T.alloc_shared((H, K), dtype)
            kv = T.alloc_shared((ROWS, K), dtype)
            again = T.alloc_shared((ROWS, K), dtype)
            scores = T.alloc_fragment((H, ROWS), "float32")
            s = T.alloc_shared((H, ROWS), "float32")
            p = T.alloc_shared((H, ROWS), dtype)
            weights = T.alloc_shared((H, ROWS), dtype)
            out = T.alloc_fragment((H, K), "float32")
            T.copy(Q, q)
            for n in T.Pipelined(T.ceildiv(R - cid, 2), num_stages=3):
                r = 2 * n + cid
                for i in T.serial(ROWS):
                    T.copy(KV[index[r, i], :], kv[i, :])
                T.gemm_v0(q, kv, scores, transpose_B=True, init=True)
                T.copy(scores, s)
                for i, j in T.Parallel(H, ROWS):
                    s[i, j] = T.max(s[i, j], 0.0)
                T.copy(s, p)
                T.copy(p, weights)
                T.gemm_v0(weights, kv, out, init=True)
                T.copy(out, Out[r, :, :])
                for i in T.serial(ROWS):
                    T.copy(KV[index[r, i], :], again[i, :])
                T.copy(again, Rows[r, :, :])

    return kernel


def test_rows_go_where_both_products_read_them() -> None:
    kernel = compile(attended("float16"), out_idx=[3, 4], pass_configs=AUTOMATIC)
    torch.manual_seed(0)
    q, kv = torch.randn(H, K).half(), torch.randn(S, K).half()
    for rounds in (1, 2, 7):
        index = torch.randint(0, S + 9, (rounds, ROWS)).int()
        out, loaded = kernel(q, kv, index)
        rows = torch.cat([kv, torch.zeros(9, K).half()])[index.long()]
        assert torch.equal(loaded, rows)
        weights = (q.float() @ rows.float().mT).clamp(min=0).half().float()
        torch.testing.assert_close(out, weights @ rows.float(), rtol=2e-2, atol=2e-2)
