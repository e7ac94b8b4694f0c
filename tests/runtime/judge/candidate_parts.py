"""Texts of kernels that candidates are made of."""

from __future__ import annotations

from collections.abc import Sequence

HEAD = "import torch\nimport tile_frontend as T\n\n"


def binary(op: str = "add", barrier: bool = True, rows: str = "T.ceildiv(M, 32)") -> str:
    """C = A op B over tiles of 16 rows; without the barrier the pipes race."""
    order = "T.barrier_all()" if barrier else "pass"
    return (
        HEAD
        + f"""
@T.jit(out_idx=[-1])
def kernel(M: int, N: int, dtype: str = "float32"):
    @T.prim_func
    def run(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel({rows}, is_npu=True) as (cid, vid):
            a = T.alloc_ub((16, N), dtype)
            b = T.alloc_ub((16, N), dtype)
            with T.Scope("V"):
                row = cid * 32 + vid * 16
                T.copy(A[row, 0], a)
                T.copy(B[row, 0], b)
                T.barrier_all()
                T.tile.{op}(a, a, b)
                {order}
                T.copy(a, C[row, 0])
    return run
"""
    )


def symbolic(op: str = "exp", rows: str = "T.ceildiv(n, 32)", more: str = "") -> str:
    """Y = op X over any number of rows, unless `rows` says something else."""
    return (
        HEAD
        + f"""
n = T.symbolic("n")

@T.prim_func
def kernel(X: T.Tensor((n, 64), "float32"), Y: T.Tensor((n, 64), "float32")):
    with T.Kernel({rows}, is_npu=True) as (cid, vid):
        x = T.alloc_ub((16, 64), "float32")
        with T.Scope("V"):
            row = cid * 32 + vid * 16
            T.copy(X[row, 0], x)
            T.barrier_all()
            T.tile.{op}(x, x)
            T.barrier_all()
            T.copy(x, Y[row, 0])
{more}
"""
    )


def reference(body: str, parameters: Sequence[str] = ("a", "b")) -> str:
    """A reference in the candidate."""
    return f"\ndef reference({', '.join(parameters)}):\n    return {body}\n"


CALL = "\n# tile-ascend: kernel(M=64, N=64)\n"
SUM = reference("a + b")
