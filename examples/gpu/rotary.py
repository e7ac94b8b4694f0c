"""Rotary embedding as it is written for a GPU: halves of a head turn by the angles of a token."""

import sys
from pathlib import Path

import tilelang
import tilelang.language as T
import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report


@tilelang.jit(out_idx=[-1])
def rotary(tokens, heads, dim, block=16, dtype="float16"):
    half = dim // 2

    @T.prim_func
    def kernel(
        X: T.Tensor((tokens, heads, dim), dtype),
        cosines: T.Tensor((tokens, half), "float32"),
        sines: T.Tensor((tokens, half), "float32"),
        Y: T.Tensor((tokens, heads, dim), dtype),
    ):
        with T.Kernel(T.ceildiv(tokens, block), heads, threads=128) as (bx, by):
            x = T.alloc_shared((block, dim), dtype)
            cosine = T.alloc_shared((block, half), "float32")
            sine = T.alloc_shared((block, half), "float32")
            low = T.alloc_fragment((block, half), "float32")
            high = T.alloc_fragment((block, half), "float32")
            T.copy(X[bx * block : (bx + 1) * block, by, :], x)
            T.copy(cosines[bx * block, 0], cosine)
            T.copy(sines[bx * block, 0], sine)
            for i, j in T.Parallel(block, half):
                low[i, j] = x[i, j] * cosine[i, j] - x[i, j + half] * sine[i, j]
                high[i, j] = x[i, j + half] * cosine[i, j] + x[i, j] * sine[i, j]
            T.copy(low, Y[bx * block : (bx + 1) * block, by, :half])
            T.copy(high, Y[bx * block : (bx + 1) * block, by, half:])

    return kernel


def main():
    torch.manual_seed(0)
    x = torch.randn(128, 8, 128, device="cuda").half()
    rates = 10000 ** -(torch.arange(64, device="cuda") / 64)
    angles = torch.arange(128, device="cuda")[:, None] * rates
    cosines, sines = angles.cos(), angles.sin()
    low, high = x.float().chunk(2, dim=-1)
    c, s = cosines[:, None], sines[:, None]
    run_and_report(
        "rotary embedding 128x8x128 float16",
        lambda: rotary(128, 8, 128),
        [x, cosines, sines],
        torch.cat([low * c - high * s, high * c + low * s], dim=-1),
        tolerance=1e-3,
    )


if __name__ == "__main__":
    main()
