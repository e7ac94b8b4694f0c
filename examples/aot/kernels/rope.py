"""Rotary position embedding over half vectors, in place of the rows it is given: for engines."""

import tile_frontend as T
from tile_runtime.ahead_of_time import DispatchField, TileKernel, lower, register_kernel

from .row_blocks import CORES, ROWS, first_row, row_blocks

PASS_CONFIGS = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
DTYPES = {"fp32": "float32", "fp16": "float16"}


def rope(rope_dim: int, dtype: str) -> T.PrimFunc:
    tokens = T.symbolic("num_tokens")
    half = rope_dim // 2

    @T.prim_func
    def kernel(
        x: T.Tensor((tokens, rope_dim), dtype),
        cos: T.Tensor((tokens, half), dtype),
        sin: T.Tensor((tokens, half), dtype),
        y: T.Tensor((tokens, rope_dim), dtype),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            left = T.alloc_shared((ROWS, half), dtype)
            right = T.alloc_shared((ROWS, half), dtype)
            turned = T.alloc_shared((ROWS, half), dtype)
            c = T.alloc_shared((ROWS, half), dtype)
            s = T.alloc_shared((ROWS, half), dtype)
            for i in T.Pipelined(row_blocks(tokens, cid), num_stages=2):
                row = first_row(i, cid)
                T.copy(x[row : row + ROWS, 0:half], left)
                T.copy(x[row : row + ROWS, half:rope_dim], right)
                T.copy(cos[row : row + ROWS, :], c)
                T.copy(sin[row : row + ROWS, :], s)
                for r, j in T.Parallel(ROWS, half):
                    turned[r, j] = left[r, j] * c[r, j] - right[r, j] * s[r, j]
                T.copy(turned, y[row : row + ROWS, 0:half])
                for r, j in T.Parallel(ROWS, half):
                    right[r, j] = right[r, j] * c[r, j] + left[r, j] * s[r, j]
                T.copy(right, y[row : row + ROWS, half:rope_dim])

    return kernel


@register_kernel
class Rope(TileKernel):
    DISPATCH_SCHEMA = [DispatchField("rope_dim", "int32"), DispatchField("dtype", "dtype")]
    SPECIALIZATIONS = [
        {"variant_key": f"rd{rope_dim}_{dtype}", "rope_dim": rope_dim, "dtype": dtype}
        for rope_dim in (64, 128)
        for dtype in DTYPES
    ]

    @staticmethod
    def generate_source(rope_dim: int, dtype: str) -> str:
        return lower(rope(rope_dim, DTYPES[dtype]), pass_configs=PASS_CONFIGS).kernel_source
