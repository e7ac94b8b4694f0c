"""Rotary position embedding over half vectors, in developer style: every head of a token turns by
the token's angles."""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[-1], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def rope(tokens: int, heads: int, D: int, dtype: str = "float32", cores: int = 24) -> T.PrimFunc:
    half = D // 2

    @T.prim_func
    def kernel(
        X: T.Tensor((tokens, heads, D), dtype),
        cos: T.Tensor((tokens, half), dtype),
        sin: T.Tensor((tokens, half), dtype),
        Y: T.Tensor((tokens, heads, D), dtype),
    ) -> None:
        with T.Kernel(cores, threads=2, is_npu=True) as cid:
            left = T.alloc_shared((heads, half), dtype)
            right = T.alloc_shared((heads, half), dtype)
            turned = T.alloc_shared((heads, half), dtype)
            c = T.alloc_shared((1, half), dtype)
            s = T.alloc_shared((1, half), dtype)
            for i in T.Pipelined(T.ceildiv(tokens - cid, cores), num_stages=3):
                t = cid + i * cores
                T.copy(X[t, :, 0:half], left)
                T.copy(X[t, :, half:D], right)
                T.copy(cos[t, 0], c)
                T.copy(sin[t, 0], s)
                for h, j in T.Parallel(heads, half):
                    turned[h, j] = left[h, j] * c[0, j] - right[h, j] * s[0, j]
                T.copy(turned, Y[t, :, 0:half])
                for h, j in T.Parallel(heads, half):
                    right[h, j] = right[h, j] * c[0, j] + left[h, j] * s[0, j]
                T.copy(right, Y[t, :, half:D])

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for tokens, heads, D in ((128, 8, 128), (33, 5, 64)):
        x = torch.randn(tokens, heads, D)
        angle = torch.arange(tokens)[:, None] / 10000 ** (torch.arange(D // 2) / (D // 2))
        c, s = angle.cos(), angle.sin()
        left, right = x[..., : D // 2], x[..., D // 2 :]
        C, S = c[:, None], s[:, None]
        run_and_report(
            f"rope of {tokens} tokens, {heads} heads of {D} float32",
            lambda tokens=tokens, heads=heads, D=D: rope(tokens, heads, D),
            [x, c.contiguous(), s.contiguous()],
            torch.cat([left * C - right * S, right * C + left * S], -1),
            tolerance=1e-5,
        )


if __name__ == "__main__":
    main()
