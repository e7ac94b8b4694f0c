"""y = layer_norm(x + residual) * weight + bias, and the sum itself, in developer style."""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[4, 5], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def layer_norm_add(
    M: int, N: int, rows: int, eps: float = 1e-5, dtype: str = "float32", cores: int = 24
) -> T.PrimFunc:
    tiles = T.cdiv(M, rows)

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype),
        residual: T.Tensor((M, N), dtype),
        weight: T.Tensor((1, N), dtype),
        bias: T.Tensor((1, N), dtype),
        Y: T.Tensor((M, N), dtype),
        total: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(cores, threads=2, is_npu=True) as cid:
            x = T.alloc_shared((rows, N), dtype)
            r = T.alloc_shared((rows, N), dtype)
            w = T.alloc_shared((1, N), dtype)
            b = T.alloc_shared((1, N), dtype)
            mean = T.alloc_shared((rows,), dtype)
            scale = T.alloc_shared((rows,), dtype)
            T.copy(weight, w)
            T.copy(bias, b)
            for t in T.Pipelined(T.ceildiv(tiles - cid, cores), num_stages=2):
                row = (cid + t * cores) * rows
                T.copy(X[row, 0], x)
                T.copy(residual[row, 0], r)
                T.tile.add(x, x, r)
                T.copy(x, total[row, 0])
                T.reduce_sum(x, mean, dim=-1)
                for i in T.Parallel(rows):
                    mean[i] = mean[i] * (1.0 / N)
                for i, j in T.Parallel(rows, N):
                    x[i, j] = x[i, j] - mean[i]
                for i, j in T.Parallel(rows, N):
                    r[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(r, scale, dim=-1)
                for i in T.Parallel(rows):
                    scale[i] = 1.0 / T.sqrt(scale[i] * (1.0 / N) + eps)
                for i, j in T.Parallel(rows, N):
                    x[i, j] = x[i, j] * scale[i] * w[0, j] + b[0, j]
                T.copy(x, Y[row, 0])

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for M, N, rows in ((512, 768, 16), (331, 512, 9)):
        x, r, w, b = (torch.randn(*s) for s in ((M, N), (M, N), (1, N), (1, N)))
        total = x + r
        normed = torch.nn.functional.layer_norm(total, (N,), w[0], b[0])
        run_and_report(
            f"layer norm with add {M}x{N} float32",
            lambda M=M, N=N, rows=rows: layer_norm_add(M, N, rows),
            [x, r, w, b],
            torch.stack([normed, total]),
            tolerance=1e-4,
            call=lambda kernel, *inputs: torch.stack(kernel(*inputs)),
        )


if __name__ == "__main__":
    main()
