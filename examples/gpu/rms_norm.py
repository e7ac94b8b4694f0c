"""RMS norm as it is written for a GPU: a block for each row."""

import sys
from pathlib import Path

import tilelang
import tilelang.language as T
import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report


@tilelang.jit(out_idx=[-1])
def rms_norm(M, N, rows=1, dtype="float32"):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
            x = T.alloc_shared((rows, N), dtype)
            squares = T.alloc_fragment((rows, N), dtype)
            mean = T.alloc_fragment((rows,), dtype)
            T.copy(X[bx * rows, 0], x)
            for i, j in T.Parallel(rows, N):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, mean, dim=1)
            for i in T.Parallel(rows):
                mean[i] = T.rsqrt(mean[i] / N + 1e-6)
            for i, j in T.Parallel(rows, N):
                x[i, j] *= mean[i]
            T.copy(x, Y[bx * rows, 0])

    return kernel


def main():
    torch.manual_seed(0)
    x = torch.randn(384, 2048, device="cuda")
    run_and_report(
        "rms norm 384x2048 float32",
        lambda: rms_norm(384, 2048),
        [x],
        x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6),
        tolerance=1e-5,
    )


if __name__ == "__main__":
    main()
