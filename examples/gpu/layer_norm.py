"""Layer norm as it is written for a GPU: mean, variance, then a weight and a bias a column."""

import sys
from pathlib import Path

import tilelang
import tilelang.language as T
import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report


@tilelang.jit(out_idx=[-1])
def layer_norm(M, N, rows=4, dtype="float16"):
    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype),
        weight: T.Tensor((N,), dtype),
        bias: T.Tensor((N,), dtype),
        Y: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
            loaded = T.alloc_shared((rows, N), dtype)
            w = T.alloc_shared((N,), dtype)
            b = T.alloc_shared((N,), dtype)
            x = T.alloc_fragment((rows, N), "float32")
            squares = T.alloc_fragment((rows, N), "float32")
            mean = T.alloc_fragment((rows,), "float32")
            spread = T.alloc_fragment((rows,), "float32")
            T.copy(X[bx * rows, 0], loaded)
            T.copy(weight, w)
            T.copy(bias, b)
            T.copy(loaded, x)
            T.reduce_sum(x, mean, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] -= mean[i] / N
            for i, j in T.Parallel(rows, N):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, spread, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] * T.rsqrt(spread[i] / N + 1e-5) * w[j] + b[j]
            T.copy(x, Y[bx * rows, 0])

    return kernel


def main():
    torch.manual_seed(0)
    x = torch.randn(384, 1024, device="cuda").half()
    weight, bias = (torch.randn(1024, device="cuda").half() for _ in range(2))
    run_and_report(
        "layer norm 384x1024 float16",
        lambda: layer_norm(384, 1024),
        [x, weight, bias],
        torch.nn.functional.layer_norm(x.float(), (1024,), weight.float(), bias.float()),
        tolerance=1e-3,
    )


if __name__ == "__main__":
    main()
