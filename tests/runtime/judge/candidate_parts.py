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
# Sizes are those of the tensors of a call.
EAGER = """import tile_frontend as T

@T.jit
def scaled(A, factor: int = 2, tile: int = 16):
    N = T.const("N")
    A: T.Tensor((N,), T.float32)
    B = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, tile), threads=128) as bx:
        a = T.alloc_fragment((tile,), T.float32)
        T.copy(A[bx * tile], a)
        for i in T.Parallel(tile):
            a[i] = a[i] * factor
        T.copy(a, B[bx * tile])
    return B
def reference(a, factor):
    return a * factor
"""
# Two launches, the second of which reads what the first has written.
SEVERAL = """import tile_frontend as T
@T.jit(out_idx=[-1])
def split_sum(rows: int, columns: int, parts: int):
    step = columns // parts
    @T.prim_func
    def main(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows,), "float32")):
        partial = T.alloc_global((parts, rows), "float32")
        with T.Kernel(parts, threads=128) as p:
            x = T.alloc_fragment((rows, step), "float32")
            s = T.alloc_fragment((rows,), "float32")
            T.copy(X[0, p * step], x)
            T.reduce_sum(x, s, dim=1)
            T.copy(s, partial[p, 0])
        blocks = rows // 16
        with T.Kernel(blocks, threads=128) as b:
            x = T.alloc_fragment((parts, 16), "float32")
            s = T.alloc_fragment((16,), "float32")
            T.copy(partial[0, b * 16], x)
            T.reduce_sum(x, s, dim=0)
            T.copy(s, Y[b * 16])
    return main
# tile-ascend: split_sum(32, 128, 4)
def reference(x):
    return x.sum(1)
"""
# The mean of many squares varies by less than the tolerance: a constant would do, and a little of the
# input makes it depend on that.
NEARLY_CONSTANT = """import torch
import tile_frontend as T
N = 16384
@T.jit(out_idx=[-1])
def kernel(M: int = 32):
    @T.prim_func
    def run(X: T.Tensor((M, N), "float16"), Y: T.Tensor((M, 16), "float32")):
        with T.Kernel(T.ceildiv(M, 32), is_npu=True) as (cid, vid):
            y = T.alloc_ub((16, 16), "float32")
            x = T.alloc_ub((16, 16), "float16")
            z = T.alloc_ub((16, 16), "float32")
            with T.Scope("V"):
                row = cid * 32 + vid * 16
                T.copy(X[row, 0], x)
                T.barrier_all()
                T.tile.cast(z, x, "CAST_NONE", 256)
                T.barrier_all()
                T.tile.mul(z, z, 1e-6)
                T.barrier_all()
                T.tile.fill(y, {})
                T.barrier_all()
                T.tile.add(y, y, z)
                T.barrier_all()
                T.copy(y, Y[row, 0])
    return run
def reference(x):
    return (x.float() * 0.01 + 1).pow(2).mean(1, keepdim=True).repeat(1, 16)
# tile-ascend: kernel(32)
"""
