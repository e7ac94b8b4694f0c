"""Softmax over rows in developer style: both vector cores of a block take half of its rows, and the
blocks are dealt out to the cores."""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_PERSISTENT: True,
}


@T.jit(out_idx=[-1], pass_configs=CONFIGS)
def softmax(M: int, N: int, rows: int, dtype: str = "float32") -> T.PrimFunc:
    width = T.cdiv(N, 16) * 16  # rows start at multiples of 32 bytes
    accum = "float32"

    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)) -> None:
        with T.Kernel(T.cdiv(M, rows), threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, width), dtype)
            x = raw if dtype == accum else T.alloc_shared((rows, width), accum)
            peak = T.alloc_shared((rows,), accum)
            scale = T.alloc_shared((rows,), accum)
            row = cid * rows
            T.copy(X[row, 0], raw, pad_value=-T.infinity(dtype))
            if dtype != accum:
                T.copy(raw, x)
            T.reduce_max(x, peak, dim=-1)
            for i, j in T.Parallel(rows, width):
                x[i, j] = T.exp(x[i, j] - peak[i])
            T.reduce_sum(x, scale, dim=-1)
            for i in T.Parallel(rows):
                scale[i] = 1.0 / scale[i]
            for i, j in T.Parallel(rows, width):
                x[i, j] = x[i, j] * scale[i]
            if dtype != accum:
                T.copy(x, raw)
            T.copy(raw, Y[row, 0])

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for M, N, rows, dtype in ((1024, 512, 32, "float32"), (333, 1001, 7, "float16")):
        x = torch.randn(M, N).to(getattr(torch, dtype))
        run_and_report(
            f"softmax {M}x{N} {dtype}",
            lambda M=M, N=N, rows=rows, dtype=dtype: softmax(M, N, rows, dtype),
            [x],
            torch.softmax(x.float(), -1),
            tolerance=2e-3,
        )


if __name__ == "__main__":
    main()
