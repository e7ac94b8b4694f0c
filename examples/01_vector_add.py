"""C = A + B on the vector cores: a block takes rows, and each of its two lanes half of them."""

import torch
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[-1])
def vector_add(M: int, N: int, block_M: int, dtype: str = "float32") -> T.PrimFunc:
    rows = block_M // 2  # each vector core of a block takes half of its rows
    tile_rows = 8

    @T.prim_func
    def add(
        A: T.Tensor((M, N), dtype),
        B: T.Tensor((M, N), dtype),
        C: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(T.ceildiv(M, block_M), is_npu=True) as (cid, vid):
            a = T.alloc_ub((tile_rows, N), dtype)
            b = T.alloc_ub((tile_rows, N), dtype)
            with T.Scope("V"):
                for i in T.serial(rows // tile_rows):
                    row = cid * block_M + vid * rows + i * tile_rows
                    T.copy(A[row, 0], a)
                    T.copy(B[row, 0], b)
                    T.barrier_all()
                    T.tile.add(a, a, b)
                    T.barrier_all()
                    T.copy(a, C[row, 0])
                    T.barrier_all()

    return add


def main() -> None:
    torch.manual_seed(0)
    M, N = 1024, 1024
    a, b = torch.randn(M, N), torch.randn(M, N)
    run_and_report(
        f"vector add {M}x{N} float32",
        lambda: vector_add(M, N, 64),
        [a, b],
        a + b,
        tolerance=0.0,
    )


if __name__ == "__main__":
    main()
