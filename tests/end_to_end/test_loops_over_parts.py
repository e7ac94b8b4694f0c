"""Loops over parts of a tile that take both kinds of core, in a pipelined loop: however many rounds,
parts and stages, at sizes that leave a tail. Each at `strict` against torch."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")

ROWS, STEP, WIDTH = 32, 32, 48


def weighted(length: int, parts: int, stages: int, cores: int, scaled: bool) -> T.PrimFunc:
    """relu(q @ k.T) @ k of `cores` tiles, the second product in parts of columns; with `scaled`,
    what is there already is halved in each round."""
    width = WIDTH * parts

    @T.prim_func
    def k(Q: T.Tensor((cores, ROWS, width), "float16"), K: T.Tensor((length, width), "float16"),
          Out: T.Tensor((cores, ROWS, width), "float32")):  # fmt: skip
        with T.Kernel(cores, threads=2, is_npu=True) as cid:
            q = T.alloc_shared((ROWS, width), "float16")
            kv = T.alloc_shared((STEP, width), "float16")
            w = T.alloc_shared((ROWS, STEP), "float16")
            scores = T.alloc_fragment((ROWS, STEP), "float32")
            partial = T.alloc_fragment((ROWS, WIDTH), "float32")
            s = T.alloc_shared((ROWS, STEP), "float32")
            p = T.alloc_shared((ROWS, STEP), "float16")
            part = T.alloc_shared((ROWS, WIDTH), "float32")
            o = T.alloc_shared((ROWS, width), "float32")
            T.tile.fill(o, 0.0)
            T.copy(Q[cid, :, :], q)
            for n in T.Pipelined(T.ceildiv(length, STEP), num_stages=stages):
                T.copy(K[n * STEP : (n + 1) * STEP, :], kv)
                T.gemm_v0(q, kv, scores, transpose_B=True, init=True)
                T.copy(scores, s)
                for i, j in T.Parallel(ROWS, STEP):
                    s[i, j] = T.max(s[i, j], 0.0)
                T.copy(s, p)
                T.copy(p, w)
                for c in range(parts):
                    at = c * WIDTH
                    T.gemm_v0(w, kv[:, at : at + WIDTH], partial, init=True)
                    T.copy(partial, part)
                    for i, j in T.Parallel(ROWS, WIDTH):
                        if scaled:
                            o[i, at + j] = o[i, at + j] * 0.5 + part[i, j]
                        else:
                            o[i, at + j] = o[i, at + j] + part[i, j]
            T.copy(o, Out[cid, :, :])

    return k


def expected(q: torch.Tensor, k: torch.Tensor, scaled: bool) -> torch.Tensor:
    out = torch.zeros(q.shape)
    for start in range(0, len(k), STEP):
        keys = k[start : start + STEP].float()
        added = torch.relu(q.float() @ keys.mT).half().float() @ keys
        out = out * (0.5 if scaled else 1.0) + added
    return out


@pytest.mark.parametrize(
    ("length", "parts", "stages", "cores", "scaled"),
    [(200, 3, 2, 2, True), (32, 2, 3, 1, False), (64, 1, 2, 3, True), (130, 4, 4, 1, False),
     (7, 2, 2, 2, True)],
)  # fmt: skip
def test_sums_of_parts(length: int, parts: int, stages: int, cores: int, scaled: bool) -> None:
    torch.manual_seed(0)
    q = torch.randint(-2, 3, (cores, ROWS, WIDTH * parts)).half()
    k = torch.randint(-2, 3, (length, WIDTH * parts)).half()
    kernel = compile(weighted(length, parts, stages, cores, scaled), out_idx=2)
    torch.testing.assert_close(kernel(q, k), expected(q, k, scaled), rtol=0, atol=1e-3)
