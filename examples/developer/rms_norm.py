"""Root mean square norm, y = x / sqrt(mean(x ** 2) + eps) * weight, in developer style."""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[-1], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def rms_norm(
    M: int, N: int, rows: int, eps: float = 1e-6, dtype: str = "float16", cores: int = 24
) -> T.PrimFunc:
    width = T.cdiv(N, 16) * 16
    accum = "float32"
    tiles = T.cdiv(M, rows)

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype),
        W: T.Tensor((1, N), dtype),
        Y: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(cores, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, width), dtype)
            raw_weight = T.alloc_shared((1, width), dtype)
            x = T.alloc_shared((rows, width), accum)
            square = T.alloc_shared((rows, width), accum)
            weight = T.alloc_shared((1, width), accum)
            scale = T.alloc_shared((rows,), accum)
            T.copy(W[0, 0], raw_weight)
            T.copy(raw_weight, weight)
            for t in T.Pipelined(T.ceildiv(tiles - cid, cores), num_stages=2):
                row = (cid + t * cores) * rows
                T.copy(X[row, 0], raw)
                T.copy(raw, x)
                for i, j in T.Parallel(rows, width):
                    square[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(square, scale, dim=-1)
                for i in T.Parallel(rows):
                    scale[i] = 1.0 / T.sqrt(scale[i] * (1.0 / N) + eps)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] * scale[i] * weight[0, j]
                T.copy(x, raw)
                T.copy(raw, Y[row, 0])

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for M, N, rows in ((1024, 1024, 16), (333, 1001, 9)):
        x, w = torch.randn(M, N).half(), torch.randn(1, N).half()
        wide = x.float()
        run_and_report(
            f"rms norm {M}x{N} float16",
            lambda M=M, N=N, rows=rows: rms_norm(M, N, rows),
            [x, w],
            wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + 1e-6) * w.float(),
            tolerance=1e-3,
        )


if __name__ == "__main__":
    main()
