"""Matrix products, alone and with what is done to their results, and products of several matrices.

The cube core multiplies and adds in float32. Rows (or, of `gemm_tn`, the common dimension) may
change from call to call without another compilation, as long as the tiles stay the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional as F

import tile_frontend as T

from .elementwise import gelu, gelu_by_tanh, relu, silu
from .manifest import FLOATS, HALVES, Case, Operator, Rule, Tiles, operator
from .signature import Sizes
from .tiles import product_tiles

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_PERSISTENT: True,
}
RESULTS = 8192  # that the vector cores take at a time
PANEL = 8  # columns of tiles that run at a time, which share rows of A


@T.macro
def multiply(
    A: T.Tensor, B: T.Tensor, a: T.Tensor, b: T.Tensor, c: T.Tensor, row: T.int32, column: T.int32,
    steps: T.int32, block_K: int, turned_A: bool, turned_B: bool,
) -> None:  # fmt: skip
    """Compute a tile of the product of two matrices, which may be turned."""
    for k in T.Pipelined(steps, num_stages=2):
        at = k * block_K
        if turned_A:
            T.copy(A[at, row], a)
        else:
            T.copy(A[row, at], a)
        if turned_B:
            T.copy(B[column, at], b)
        else:
            T.copy(B[at, column], b)
        T.gemm_v0(a, b, c, transpose_A=turned_A, transpose_B=turned_B, init=(k == 0))


@T.jit(out_idx=[-1], pass_configs=CONFIGS)
def gemm(
    M: Any, N: int, K: Any, turned_A: bool, turned_B: bool, dtype: str,
    block_M: int, block_N: int, block_K: int,
) -> T.PrimFunc:  # fmt: skip
    n_tiles, k_tiles = T.ceildiv(N, block_N), T.ceildiv(K, block_K)

    @T.prim_func
    def kernel(
        A: T.Tensor((K, M) if turned_A else (M, K), dtype),
        B: T.Tensor((N, K) if turned_B else (K, N), dtype),
        C: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(T.ceildiv(M, block_M) * n_tiles, threads=2, is_npu=True) as cid:
            tile = T.use_swizzle(cid, M, N, K, block_M, block_N, off=PANEL, dir=1)
            row, column = tile // n_tiles * block_M, tile % n_tiles * block_N
            a = T.alloc_shared((block_K, block_M) if turned_A else (block_M, block_K), dtype)
            b = T.alloc_shared((block_N, block_K) if turned_B else (block_K, block_N), dtype)
            c = T.alloc_fragment((block_M, block_N), "float32")
            multiply(A, B, a, b, c, row, column, k_tiles, block_K, turned_A, turned_B)
            T.copy(c, C[row, column])

    return kernel


def rows_at_once(block_M: int, block_N: int) -> int:
    """The rows of a result that the vector cores take at a time, while the next are loaded."""
    wanted = range(block_M, 16, -16)
    return next((n for n in wanted if block_M % n == 0 and n * block_N <= RESULTS), 16)


@T.jit(out_idx=[-1], pass_configs=CONFIGS)
def gemm_bias(
    formula: Callable[[Any], Any], N: int, K: int, dtype: str,
    block_M: int, block_N: int, block_K: int,
) -> T.PrimFunc:  # fmt: skip
    M, accum, rows = T.symbolic("M"), "float32", rows_at_once(block_M, block_N)
    n_tiles, k_tiles = T.ceildiv(N, block_N), T.ceildiv(K, block_K)

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        bias: T.Tensor((N,), accum),
        C: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(T.ceildiv(M, block_M) * n_tiles, threads=2, is_npu=True) as cid:
            tile = T.use_swizzle(cid, M, N, K, block_M, block_N, off=PANEL, dir=1)
            row, column = tile // n_tiles * block_M, tile % n_tiles * block_N
            a = T.alloc_shared((block_M, block_K), dtype)
            b = T.alloc_shared((block_K, block_N), dtype)
            product = T.alloc_fragment((block_M, block_N), accum)
            c = T.alloc_shared((rows, block_N), accum)
            out = T.alloc_shared((rows, block_N), dtype)
            w = T.alloc_shared((block_N,), accum)
            multiply(A, B, a, b, product, row, column, k_tiles, block_K, False, False)
            T.copy(bias[column : column + block_N], w)
            for i in T.Pipelined(block_M // rows, num_stages=2):
                T.copy(product[i * rows : (i + 1) * rows, :], c)
                for h, j in T.Parallel(rows, block_N):
                    c[h, j] = c[h, j] + w[j]
                for h, j in T.Parallel(rows, block_N):
                    c[h, j] = formula(c[h, j])
                T.copy(c, out)
                T.copy(out, C[row + i * rows, column])

    return kernel


@T.jit(out_idx=[-1], pass_configs=CONFIGS)
def gemm_add(N: int, K: int, dtype: str, block_M: int, block_N: int, block_K: int) -> T.PrimFunc:
    M, accum, rows = T.symbolic("M"), "float32", rows_at_once(block_M, block_N)
    n_tiles, k_tiles = T.ceildiv(N, block_N), T.ceildiv(K, block_K)

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        R: T.Tensor((M, N), dtype),
        C: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(T.ceildiv(M, block_M) * n_tiles, threads=2, is_npu=True) as cid:
            tile = T.use_swizzle(cid, M, N, K, block_M, block_N, off=PANEL, dir=1)
            row, column = tile // n_tiles * block_M, tile % n_tiles * block_N
            a = T.alloc_shared((block_M, block_K), dtype)
            b = T.alloc_shared((block_K, block_N), dtype)
            product = T.alloc_fragment((block_M, block_N), accum)
            c = T.alloc_shared((rows, block_N), accum)
            r = T.alloc_shared((rows, block_N), accum)
            raw = T.alloc_shared((rows, block_N), dtype)
            multiply(A, B, a, b, product, row, column, k_tiles, block_K, False, False)
            for i in T.Pipelined(block_M // rows, num_stages=2):
                T.copy(R[row + i * rows, column], raw)
                T.copy(raw, r)
                T.copy(product[i * rows : (i + 1) * rows, :], c)
                for h, j in T.Parallel(rows, block_N):
                    c[h, j] = c[h, j] + r[h, j]
                T.copy(c, raw)
                T.copy(raw, C[row + i * rows, column])

    return kernel


@T.jit(out_idx=[-1], pass_configs=CONFIGS)
def gated_gemm(N: int, K: int, dtype: str, block_M: int, block_N: int, block_K: int) -> T.PrimFunc:
    """silu(X @ gate) * (X @ up), both products of a tile in one kernel."""
    M, n_tiles, accum = T.symbolic("M"), T.ceildiv(N, block_N), "float32"
    rows = rows_at_once(block_M, block_N)

    @T.prim_func
    def kernel(
        X: T.Tensor((M, K), dtype),
        gate: T.Tensor((K, N), dtype),
        up: T.Tensor((K, N), dtype),
        Y: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(T.ceildiv(M, block_M) * n_tiles, threads=2, is_npu=True) as cid:
            tile = T.use_swizzle(cid, M, N, K, block_M, block_N, off=PANEL, dir=1)
            row, column = tile // n_tiles * block_M, tile % n_tiles * block_N
            x = T.alloc_shared((block_M, block_K), dtype)
            both = T.alloc_shared((block_K, 2 * block_N), dtype)  # of the gate, and of up
            product = T.alloc_fragment((block_M, 2 * block_N), accum)
            a = T.alloc_shared((rows, block_N), accum)
            b = T.alloc_shared((rows, block_N), accum)
            y = T.alloc_shared((rows, block_N), dtype)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(X[row, k * block_K], x)
                T.copy(gate[k * block_K, column], both[:, 0:block_N])
                T.copy(up[k * block_K, column], both[:, block_N:])
                T.gemm_v0(x, both, product, init=(k == 0))
            for i in T.Pipelined(block_M // rows, num_stages=2):
                T.copy(product[i * rows : (i + 1) * rows, 0:block_N], a)
                T.copy(product[i * rows : (i + 1) * rows, block_N:], b)
                for h, j in T.Parallel(rows, block_N):
                    a[h, j] = silu(a[h, j]) * b[h, j]
                T.copy(a, y)
                T.copy(y, Y[row + i * rows, column])

    return kernel


@T.jit(out_idx=[-1], pass_configs=CONFIGS)
def batched_gemm(
    M: int, N: int, K: int, dtype: str, block_M: int, block_N: int, block_K: int
) -> T.PrimFunc:
    batches = T.symbolic("batches")
    n_tiles, tiles = T.cdiv(N, block_N), T.cdiv(M, block_M) * T.cdiv(N, block_N)

    @T.prim_func
    def kernel(
        A: T.Tensor((batches, M, K), dtype),
        B: T.Tensor((batches, K, N), dtype),
        C: T.Tensor((batches, M, N), dtype),
    ) -> None:
        with T.Kernel(batches * tiles, threads=2, is_npu=True) as cid:
            batch, tile = cid // tiles, cid % tiles
            row, column = tile // n_tiles * block_M, tile % n_tiles * block_N
            a = T.alloc_shared((block_M, block_K), dtype)
            b = T.alloc_shared((block_K, block_N), dtype)
            c = T.alloc_fragment((block_M, block_N), "float32")
            for k in T.Pipelined(T.cdiv(K, block_K), num_stages=2):
                T.copy(A[batch, row : row + block_M, k * block_K : (k + 1) * block_K], a)
                T.copy(B[batch, k * block_K : (k + 1) * block_K, column : column + block_N], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            T.copy(c, C[batch, row : row + block_M, column : column + block_N])

    return kernel


def recommended(sizes: Sizes) -> Tiles:
    """Those that the time model recommends."""
    return product_tiles(sizes.M, sizes.N, sizes.K, sizes.dtype())


def recommended_for_batch(sizes: Sizes) -> Tiles:
    """Those for all rows of the batch together, with no more rows than one product has."""
    rows, *others = product_tiles(sizes.B * sizes.M, sizes.N, sizes.K, sizes.dtype())
    return min(rows, -(-sizes.M // 16) * 16), *others


def recommended_for_two(sizes: Sizes) -> Tiles:
    """Tiles of two products at a time, which share l0c."""
    rows = 1 << (max(sizes.M, 16) - 1).bit_length()
    return min(128, rows), 128 if sizes.N > 64 else 64, 128


def _choices(sizes: Sizes) -> Sequence[Tiles]:
    return [(128, 256, 64), (128, 128, 64), (128, 128, 128), (64, 128, 128), (256, 128, 64)]


def _choices_for_two(sizes: Sizes) -> Sequence[Tiles]:
    return [(128, 128, 64), (128, 128, 128), (64, 128, 128), (128, 64, 128)]


def _ops() -> Any:
    return torch.ops.tile_ops


RULES = (Rule("K >= 1", "a product needs a common dimension of at least 1"),)
TYPES = {"T": FLOATS}
CASES = (
    Case((), {"M": 1, "N": 16, "K": 1}), Case((), {"M": 77, "N": 131, "K": 93}),
    Case((), {"M": 260, "N": 384, "K": 256}),
)  # fmt: skip
LARGE = Case((), {"M": 1536, "N": 2048, "K": 2048, "T": "float16"})
COMMON: dict[str, Any] = {
    "rules": RULES,
    "cases": CASES,
    "workload": LARGE,
    "bound": "matrix units",
}


def _product(
    name: str, signature: str, turned_A: bool, turned_B: bool, reference: Any, backward: Any
) -> Operator:
    def compiled(s: Sizes, t: Tiles) -> Any:
        M, K = (s.M, T.symbolic("K")) if turned_A else (T.symbolic("M"), s.K)
        return gemm(M, s.N, K, turned_A, turned_B, s.dtype(), *t)

    return operator(
        f"{name}({signature}) -> T[M, N]", TYPES, kernel=compiled, tiles=recommended,
        choices=_choices, reference=reference, backward=backward,
        summary=f"`{'a.T' if turned_A else 'a'} @ {'b.T' if turned_B else 'b'}`", **COMMON,
    )  # fmt: skip


def _with_bias(name: str, formula: Any, reference: Any, summary: str) -> Operator:
    """With a function of the sum with the bias. Its gradient makes the sum again."""

    def backward(grads: Any, inputs: Any, results: Any) -> Any:
        a, b, bias = inputs
        inner = grads[0]
        if name == "gemm_bias_relu":
            inner = inner * (results[0] > 0)
        elif name != "gemm_bias":
            before = _ops().gemm_bias(a, b, bias)
            inner = getattr(_ops(), f"{name.removeprefix('gemm_bias_')}_backward")(inner, before)
        of_bias = _ops().column_sum(inner)
        return _ops().gemm_nt(inner, b), _ops().gemm_tn(a, inner), of_bias

    return operator(
        f"{name}(a: T[M, K], b: T[K, N], bias: float32[N]) -> T[M, N]", TYPES,
        kernel=lambda s, t: gemm_bias(formula, s.N, s.K, s.dtype(), *t),
        tiles=recommended, choices=_choices, reference=reference,
        backward=backward, summary=summary, **COMMON,
    )  # fmt: skip


def _of_gated(grads: Any, inputs: Any, results: Any) -> Any:
    """Both products are made again."""
    x, gate, up = inputs
    of_gate, of_up = _ops().silu_mul_backward(grads[0], _ops().gemm(x, gate), _ops().gemm(x, up))
    through_up = _ops().gemm_nt(of_up, up)
    both = through_up + _ops().gemm_nt(of_gate, gate)
    return both, _ops().gemm_tn(x, of_gate), _ops().gemm_tn(x, of_up)


def _of_batched(grads: Any, inputs: Any, results: Any) -> Any:
    a, b = inputs
    return (
        _ops().batched_gemm(grads[0], b.mT.contiguous()),
        _ops().batched_gemm(a.mT.contiguous(), grads[0]),
    )


def same(x: Any) -> Any:
    return x


OPERATORS = (
    _product(
        "gemm", "a: T[M, K], b: T[K, N]", False, False, lambda a, b: a @ b,
        lambda grads, inputs, results: (
            _ops().gemm_nt(grads[0], inputs[1]), _ops().gemm_tn(inputs[0], grads[0])
        ),
    ),
    _product(
        "gemm_nt", "a: T[M, K], b: T[N, K]", False, True, lambda a, b: a @ b.T,
        lambda grads, inputs, results: (
            _ops().gemm(grads[0], inputs[1]), _ops().gemm_tn(grads[0], inputs[0])
        ),
    ),
    _product(
        "gemm_tn", "a: T[K, M], b: T[K, N]", True, False, lambda a, b: a.T @ b,
        lambda grads, inputs, results: (
            _ops().gemm_nt(inputs[1], grads[0]), _ops().gemm(inputs[0], grads[0])
        ),
    ),
    _with_bias("gemm_bias", same, lambda a, b, w: a @ b + w, "`a @ b + bias`"),
    _with_bias("gemm_bias_relu", relu, lambda a, b, w: F.relu(a @ b + w), "`relu(a @ b + bias)`"),
    _with_bias(
        "gemm_bias_gelu", gelu, lambda a, b, w: gelu_by_tanh(a @ b + w), "`gelu(a @ b + bias)`"
    ),
    _with_bias("gemm_bias_silu", silu, lambda a, b, w: F.silu(a @ b + w), "`silu(a @ b + bias)`"),
    operator(
        "gemm_add(a: T[M, K], b: T[K, N], residual: T[M, N]) -> T[M, N]", TYPES,
        kernel=lambda s, t: gemm_add(s.N, s.K, s.dtype(), *t), tiles=recommended,
        choices=_choices, reference=lambda a, b, r: a @ b + r,
        summary="`a @ b + residual`", **COMMON,
        backward=lambda grads, inputs, results: (
            _ops().gemm_nt(grads[0], inputs[1]), _ops().gemm_tn(inputs[0], grads[0]), grads[0]
        ),
    ),
    operator(
        "gated_gemm(x: T[M, K], gate: T[K, N], up: T[K, N]) -> T[M, N]", {"T": HALVES},
        kernel=lambda s, t: gated_gemm(s.N, s.K, s.dtype(), *t), tiles=recommended_for_two,
        choices=_choices_for_two, reference=lambda x, gate, up: F.silu(x @ gate) * (x @ up),
        summary="`silu(x @ gate) * (x @ up)`", backward=_of_gated, **COMMON,
    ),
    operator(
        "batched_gemm(a: T[B, M, K], b: T[B, K, N]) -> T[B, M, N]", TYPES,
        kernel=lambda s, t: batched_gemm(s.M, s.N, s.K, s.dtype(), *t),
        tiles=recommended_for_batch, choices=_choices, reference=lambda a, b: a @ b,
        summary="a product for each of a batch",
        rules=RULES, bound="matrix units", backward=_of_batched,
        cases=tuple(Case((), {"B": 3, **c.sizes}) for c in CASES[:2]),
        workload=Case((), {"B": 6, "M": 1024, "N": 1024, "K": 1024, "T": "float16"}),
    ),
)  # fmt: skip
