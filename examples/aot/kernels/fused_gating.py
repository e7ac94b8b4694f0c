"""The gates of a gated delta rule, of every token and head: g = -exp(a_log) * softplus(a + bias),
beta = sigmoid(b)."""

import tile_frontend as T
from tile_runtime.ahead_of_time import DispatchField, TileKernel, lower, register_kernel

from .row_blocks import CORES, ROWS, first_row, row_blocks

PASS_CONFIGS = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


def fused_gating(heads: int) -> T.PrimFunc:
    tokens = T.symbolic("num_tokens")
    dtype = "float32"

    @T.prim_func
    def kernel(
        a_log: T.Tensor((heads,), dtype),
        bias: T.Tensor((heads,), dtype),
        a: T.Tensor((tokens, heads), dtype),
        b: T.Tensor((tokens, heads), dtype),
        g: T.Tensor((tokens, heads), dtype),
        beta: T.Tensor((tokens, heads), dtype),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            scale = T.alloc_shared((1, heads), dtype)
            shift = T.alloc_shared((1, heads), dtype)
            gate = T.alloc_shared((ROWS, heads), dtype)
            weight = T.alloc_shared((ROWS, heads), dtype)
            T.copy(a_log, scale[0, :])
            T.copy(bias, shift[0, :])
            for h in T.Parallel(heads):
                scale[0, h] = -T.exp(scale[0, h])
            for i in T.Pipelined(row_blocks(tokens, cid), num_stages=2):
                row = first_row(i, cid)
                T.copy(a[row : row + ROWS, :], gate)
                T.copy(b[row : row + ROWS, :], weight)
                for r, h in T.Parallel(ROWS, heads):
                    x = gate[r, h] + shift[0, h]
                    # The logarithm alone overflows where x is large.
                    gate[r, h] = scale[0, h] * (T.max(x, 0.0) + T.log(1.0 + T.exp(-T.abs(x))))
                for r, h in T.Parallel(ROWS, heads):
                    weight[r, h] = 1.0 / (1.0 + T.exp(-weight[r, h]))
                T.copy(gate, g[row : row + ROWS, :])
                T.copy(weight, beta[row : row + ROWS, :])

    return kernel


@register_kernel
class FusedGating(TileKernel):
    DISPATCH_SCHEMA = [DispatchField("num_heads", "int32")]
    SPECIALIZATIONS = [{"variant_key": f"h{heads}", "num_heads": heads} for heads in (8, 32)]

    @staticmethod
    def generate_source(num_heads: int) -> str:
        return lower(fused_gating(num_heads), pass_configs=PASS_CONFIGS).kernel_source
