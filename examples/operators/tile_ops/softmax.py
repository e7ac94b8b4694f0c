"""Softmax and cross entropy of rows, and their gradients. Values between are float32.

Softmax takes whole rows. Cross entropy takes some columns of some rows at a time, with a running
maximum and sum, for a vocabulary is longer than a tile; its gradient needs one number a row of it,
the logarithm of the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

import tile_frontend as T

from .manifest import FLOATS, Case, Rule, Tiles, operator
from .rows import turns
from .signature import Sizes
from .tiles import BLOCK, CORES, UB_BYTES, nearby_rows, padded, row_tiles, widest

AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
TYPES = {"T": FLOATS}
LOWEST = -3.0e38  # not -inf: the difference of two of them is NaN
COLUMNS = (4096, 2048, 1024)  # of a row of logits at a time


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def softmax(N: int, logarithm: bool, dtype: str, rows: int) -> T.PrimFunc:
    M, width, accum = T.symbolic("M"), padded(N), "float32"

    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, width), dtype)
            x = T.alloc_shared((rows, width), accum)
            e = T.alloc_shared((rows, width), accum)
            peak = T.alloc_shared((rows,), accum)
            scale = T.alloc_shared((rows,), accum)
            for t in T.Pipelined(turns(M, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(X[row, 0], raw, pad_value=-T.infinity(dtype))
                T.copy(raw, x)
                T.reduce_max(x, peak, dim=-1)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] - peak[i]
                for i, j in T.Parallel(rows, width):
                    e[i, j] = T.exp(x[i, j])
                T.reduce_sum(e, scale, dim=-1)
                if logarithm:
                    for i in T.Parallel(rows):
                        scale[i] = T.log(scale[i])
                    for i, j in T.Parallel(rows, width):
                        e[i, j] = x[i, j] - scale[i]
                else:
                    for i in T.Parallel(rows):
                        scale[i] = 1.0 / scale[i]
                    for i, j in T.Parallel(rows, width):
                        e[i, j] = e[i, j] * scale[i]
                T.copy(e, raw)
                T.copy(raw, Y[row, 0])

    return kernel


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def softmax_gradient(N: int, logarithm: bool, dtype: str, rows: int) -> T.PrimFunc:
    """y * (g - sum(g * y)), or of the logarithm g - exp(y) * sum(g)."""
    M, width, accum = T.symbolic("M"), padded(N), "float32"

    @T.prim_func
    def kernel(
        G: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype), DX: T.Tensor((M, N), dtype)
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, width), dtype)
            raw_result = T.alloc_shared((rows, width), dtype)
            g = T.alloc_shared((rows, width), accum)
            y = T.alloc_shared((rows, width), accum)
            product = T.alloc_shared((rows, width), accum)
            total = T.alloc_shared((rows,), accum)
            for t in T.Pipelined(turns(M, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(G[row, 0], raw)
                T.copy(Y[row, 0], raw_result)
                T.copy(raw, g)
                T.copy(raw_result, y)
                if logarithm:
                    T.reduce_sum(g, total, dim=-1)
                    for i, j in T.Parallel(rows, width):
                        product[i, j] = T.exp(y[i, j])
                    for i, j in T.Parallel(rows, width):
                        y[i, j] = g[i, j] - product[i, j] * total[i]
                else:
                    for i, j in T.Parallel(rows, width):
                        product[i, j] = g[i, j] * y[i, j]
                    T.reduce_sum(product, total, dim=-1)
                    for i, j in T.Parallel(rows, width):
                        y[i, j] = y[i, j] * (g[i, j] - total[i])
                T.copy(y, raw)
                T.copy(raw, DX[row, 0])

    return kernel


@T.jit(out_idx=[-2, -1], pass_configs=AUTOMATIC)
def cross_entropy(N: int, dtype: str, rows: int, columns: int) -> T.PrimFunc:
    """Of a label outside of the row the loss is 0."""
    M, accum = T.symbolic("M"), "float32"
    steps = T.cdiv(N, columns)

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype),
        labels: T.Tensor((M,), "int32"),
        loss: T.Tensor((M,), accum),
        logsum: T.Tensor((M,), accum),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, columns), dtype)
            x = T.alloc_shared((rows, columns), accum)
            label = T.alloc_shared((rows,), "int32")
            place = T.alloc_shared((rows,), accum)
            peak = T.alloc_shared((rows,), accum)
            before = T.alloc_shared((rows,), accum)
            total = T.alloc_shared((rows,), accum)
            part = T.alloc_shared((rows,), accum)
            chosen = T.alloc_shared((rows,), accum)
            near = T.alloc_shared((rows, BLOCK), dtype)  # the element of the label comes first
            wide = T.alloc_shared((rows, BLOCK), accum)
            mine = turns(M, rows, cid)
            for load in T.Pipelined(mine * steps, num_stages=2):
                step = load % steps
                row = (cid + load // steps * CORES) * rows
                T.copy(X[row, step * columns], raw, pad_value=-T.infinity(dtype))
                if step == 0:
                    T.copy(labels[row : row + rows], label)
                    T.copy(label, place)
                    T.tile.fill(peak, LOWEST)
                    T.tile.fill(total, 0.0)
                    for i in T.serial(rows):
                        at = T.if_then_else(label[i] >= 0, label[i], N)
                        T.copy(X[row + i, at], near[i, :])
                    T.copy(near, wide)
                    for i in T.serial(rows):
                        chosen[i] = wide[i, 0]
                T.copy(raw, x)
                T.copy(peak, before)
                T.reduce_max(x, peak, dim=-1)
                for i in T.Parallel(rows):
                    peak[i] = T.max(T.max(peak[i], before[i]), LOWEST)
                    before[i] = T.exp(before[i] - peak[i])
                for i, j in T.Parallel(rows, columns):
                    x[i, j] = T.exp(x[i, j] - peak[i])
                T.reduce_sum(x, part, dim=-1)
                for i in T.Parallel(rows):
                    total[i] = total[i] * before[i] + part[i]
                if step == steps - 1:
                    for i in T.Parallel(rows):
                        total[i] = T.log(total[i]) + peak[i]
                    T.copy(total, logsum[row : row + rows])
                    for i in T.Parallel(rows):
                        chosen[i] = T.if_then_else(
                            T.And(place[i] >= 0.0, place[i] < N), total[i] - chosen[i], 0.0
                        )
                    T.copy(chosen, loss[row : row + rows])

    return kernel


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def cross_entropy_gradient(N: int, dtype: str, rows: int, columns: int) -> T.PrimFunc:
    """g * (exp(x - logsum) - [the column is the label]), 0 where there is no label."""
    M, accum = T.symbolic("M"), "float32"
    steps = T.cdiv(N, columns)

    @T.prim_func
    def kernel(
        G: T.Tensor((M,), accum),
        X: T.Tensor((M, N), dtype),
        labels: T.Tensor((M,), "int32"),
        logsum: T.Tensor((M,), accum),
        DX: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, columns), dtype)
            x = T.alloc_shared((rows, columns), accum)
            label = T.alloc_shared((rows,), "int32")
            place = T.alloc_shared((rows,), accum)
            g = T.alloc_shared((rows,), accum)
            total = T.alloc_shared((rows,), accum)
            mine = turns(M, rows, cid)
            for load in T.Pipelined(mine * steps, num_stages=2):
                step = load % steps
                row = (cid + load // steps * CORES) * rows
                T.copy(X[row, step * columns], raw)
                if step == 0:
                    T.copy(labels[row : row + rows], label)
                    T.copy(label, place)
                    T.copy(G[row : row + rows], g)
                    T.copy(logsum[row : row + rows], total)
                    for i in T.Parallel(rows):
                        g[i] = T.if_then_else(T.And(place[i] >= 0.0, place[i] < N), g[i], 0.0)
                T.copy(raw, x)
                for i, j in T.Parallel(rows, columns):
                    x[i, j] = T.exp(x[i, j] - total[i]) * g[i]
                for i in T.serial(rows):
                    if label[i] >= step * columns and label[i] < (step + 1) * columns:
                        x[i, label[i] - step * columns] = x[i, label[i] - step * columns] - g[i]
                T.copy(x, raw)
                T.copy(raw, DX[row, step * columns])

    return kernel


def _row_bytes(tensors: int, working: int) -> Callable[[Sizes], int]:
    def count(sizes: Sizes) -> int:
        width = 4 if sizes.dtype() == "float32" else 2
        return int(padded(sizes.N) * (tensors * 2 * width + working * 4))

    return count


def _rows(row_bytes: Callable[[Sizes], int], limit: int) -> dict[str, Any]:
    most = widest(limit)

    def tiles(sizes: Sizes) -> Tiles:
        return row_tiles(sizes.rows, row_bytes(sizes), 16)

    return {
        "tiles": tiles,
        "choices": lambda sizes: nearby_rows(*tiles(sizes)),
        "rules": (
            Rule("N >= 1", "a row must have an element"),
            Rule(f"N <= {most}", f"a tile holds whole rows: give at most {most} columns"),
        ),
    }  # fmt: skip


def _chunk_tiles(sizes: Sizes) -> Tiles:
    """Up to 16 rows, so that a reduction takes several at once, then as many columns as fit."""
    of_column = (2 * (4 if sizes.dtype() == "float32" else 2) + 8) // 2
    (rows,) = row_tiles(sizes.rows, COLUMNS[-1] * 2 * of_column, 16)
    columns = next(c for c in COLUMNS if rows * c * of_column <= UB_BYTES)
    return rows, min(columns, padded(sizes.N))


def _chunk_choices(sizes: Sizes) -> list[Tiles]:
    width = 4 if sizes.dtype() == "float32" else 2
    return [
        (rows, columns)
        for rows in (4, 8, 16, 32)
        for columns in COLUMNS
        if rows // 2 * columns * (2 * width + 8) <= UB_BYTES
    ]


def make_labels(sizes: Sizes, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Columns, and one that there is not where there are several."""
    labels = torch.randint(0, sizes.N, shape).to(dtype)
    if labels.numel() > 1:
        labels.view(-1)[1] = -100
    return labels


def entropy(x: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    losses = F.cross_entropy(
        x.reshape(-1, x.shape[-1]), labels.reshape(-1).long(), reduction="none", ignore_index=-100
    )
    return losses.reshape(labels.shape), x.logsumexp(-1)


def make_logsum(sizes: Sizes, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Any number will do for the formula."""
    return torch.zeros(shape, dtype=dtype)


def _given_result(logarithm: bool) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """The gradient in torch, from the result."""

    def gradient(g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if logarithm:
            return g - y.exp() * g.sum(-1, keepdim=True)
        return y * (g - (g * y).sum(-1, keepdim=True))

    return gradient


def make_result(logarithm: bool) -> Callable[..., torch.Tensor]:
    def make(sizes: Sizes, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        x = torch.randn(shape)
        return (x.log_softmax(-1) if logarithm else x.softmax(-1)).to(dtype)

    return make


def _ops() -> Any:
    return torch.ops.tile_ops


CASES = (
    Case((1,), {"N": 1}), Case((2, 7), {"N": 333}), Case((100,), {"N": 1024}),
    Case((3,), {"N": 4096}),
)  # fmt: skip
LARGE = Case((16384,), {"N": 4096, "T": "float16"})
LOGITS = Case((4096,), {"N": 32000, "T": "float16"})
WIDE = (Case((1,), {"N": 1}), Case((2, 7), {"N": 333}), Case((50,), {"N": 5003}))

OPERATORS = (
    operator(
        "softmax(x: T[..., N]) -> T[..., N]", TYPES,
        kernel=lambda s, t: softmax(s.N, False, s.dtype(), *t), **_rows(_row_bytes(1, 2), 16),
        reference=lambda x: x.softmax(-1), workload=LARGE, cases=CASES,
        summary="exp(x) over its sum along rows",
        backward=lambda grads, inputs, results: [_ops().softmax_backward(grads[0], results[0])],
    ),
    operator(
        "softmax_backward(grad: T[..., N], result: T[..., N]) -> T[..., N]", TYPES,
        kernel=lambda s, t: softmax_gradient(s.N, False, s.dtype(), *t),
        **_rows(_row_bytes(2, 3), 28), reference=_given_result(False),
        make={"result": make_result(False)}, workload=LARGE, cases=CASES[1:],
        summary="the gradient of `softmax`", gradient_of="softmax",
    ),
    operator(
        "log_softmax(x: T[..., N]) -> T[..., N]", TYPES,
        kernel=lambda s, t: softmax(s.N, True, s.dtype(), *t), **_rows(_row_bytes(1, 2), 16),
        reference=lambda x: x.log_softmax(-1), workload=LARGE, cases=CASES[1:],
        summary="x less the logarithm of the sum of exp(x) along rows",
        backward=lambda grads, inputs, results: [
            _ops().log_softmax_backward(grads[0], results[0])
        ],
    ),
    operator(
        "log_softmax_backward(grad: T[..., N], result: T[..., N]) -> T[..., N]", TYPES,
        kernel=lambda s, t: softmax_gradient(s.N, True, s.dtype(), *t),
        **_rows(_row_bytes(2, 3), 28), reference=_given_result(True),
        make={"result": make_result(True)}, workload=LARGE, cases=CASES[1:],
        summary="the gradient of `log_softmax`", gradient_of="log_softmax",
        tolerance={"float16": 4e-3, "bfloat16": 3e-2},
    ),
    operator(
        "cross_entropy(x: T[..., N], labels: int32[...]) -> float32[...], float32[...]", TYPES,
        kernel=lambda s, t: cross_entropy(s.N, s.dtype(), *t), tiles=_chunk_tiles,
        choices=_chunk_choices, rules=(Rule("N >= 1", "a row must have an element"),),
        reference=entropy, make={"labels": make_labels}, workload=LOGITS, cases=WIDE,
        summary="the loss of each row, 0 for a negative label, and the logarithm of its sum",
        backward=lambda grads, inputs, results: [
            _ops().cross_entropy_backward(grads[0], *inputs, results[1]), None
        ], without_gradient=(1,), tolerance={"float16": 1e-5, "bfloat16": 1e-5},
    ),
    operator(
        "cross_entropy_backward(grad: float32[...], x: T[..., N], labels: int32[...],"
        " logsum: float32[...]) -> T[..., N]", TYPES,
        kernel=lambda s, t: cross_entropy_gradient(s.N, s.dtype(), *t), tiles=_chunk_tiles,
        choices=_chunk_choices, rules=(Rule("N >= 1", "a row must have an element"),),
        reference=lambda g, x, labels, logsum: torch.where(
            (labels >= 0)[..., None],
            g[..., None] * ((x - logsum[..., None]).exp() - _one_hot(labels, x.shape[-1])), 0.0,
        ),
        make={"labels": make_labels, "logsum": make_logsum}, workload=LOGITS, cases=WIDE,
        summary="the gradient of `cross_entropy`", gradient_of="cross_entropy",
    ),
)  # fmt: skip


def _one_hot(labels: torch.Tensor, columns: int) -> torch.Tensor:
    return (labels[..., None] == torch.arange(columns)).float()
