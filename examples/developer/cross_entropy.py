"""Cross entropy of logits against labels, in developer style.

The label of a row picks one of its columns, which the scalar unit reads; all else is done on tiles
of rows. A grid larger than the chip is dealt out to its cores.
"""

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
def cross_entropy(M: int, N: int, rows: int, dtype: str = "float32") -> T.PrimFunc:
    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype),
        labels: T.Tensor((M,), "int32"),
        loss: T.Tensor((M,), dtype),
    ) -> None:
        with T.Kernel(T.cdiv(M, rows), threads=2, is_npu=True) as cid:
            x = T.alloc_shared((rows, N), dtype)
            label = T.alloc_shared((rows,), "int32")
            peak = T.alloc_shared((rows,), dtype)
            total = T.alloc_shared((rows,), dtype)
            chosen = T.alloc_shared((rows,), dtype)
            row = cid * rows
            T.copy(X[row, 0], x)
            T.copy(labels[row : row + rows], label)
            T.reduce_max(x, peak, dim=-1)
            for i in T.serial(rows):
                chosen[i] = x[i, label[i]]
            for i, j in T.Parallel(rows, N):
                x[i, j] = T.exp(x[i, j] - peak[i])
            T.reduce_sum(x, total, dim=-1)
            for i in T.Parallel(rows):
                chosen[i] = T.log(total[i]) + peak[i] - chosen[i]
            T.copy(chosen, loss[row : row + rows])

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for M, N, rows in ((250, 1024, 8), (512, 512, 16)):
        x, labels = torch.randn(M, N), torch.randint(0, N, (M,))
        run_and_report(
            f"cross entropy {M}x{N} float32",
            lambda M=M, N=N, rows=rows: cross_entropy(M, N, rows),
            [x, labels.int()],
            torch.nn.functional.cross_entropy(x, labels, reduction="none"),
            tolerance=1e-4,
        )


if __name__ == "__main__":
    main()
