"""Norms of rows, alone or behind an addition, and their gradients. Values between are float32.

A tile is some whole rows. The gradients of weights are sums over rows: each row of a tile adds up
its own, and a second kernel adds these up (`column_sum`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional as F

from .manifest import FLOATS, Case, Rule, Tiles, operator
from .norm_kernels import (
    add_rms_norm,
    layer_norm,
    layer_norm_gradients,
    rms_norm,
    rms_norm_gradients,
)
from .signature import Sizes
from .sums import column_sum
from .tiles import nearby_rows, padded, row_tiles, widest

TYPES = {"T": FLOATS}


def _with_sums(kernel: Any, dtype: torch.dtype) -> Callable[..., Sequence[torch.Tensor]]:
    """The kernel, with all but its first result summed up over rows."""

    def call(*tensors: torch.Tensor) -> Sequence[torch.Tensor]:
        first, *rest = kernel(*tensors)
        return [first, *(column_sum(r).to(dtype) for r in rest)]

    return call


def _row_bytes(of_type: int, of_float: int) -> Callable[[Sizes], int]:
    """Of a row, with two versions of each tile of its own type."""

    def count(sizes: Sizes) -> int:
        width = 4 if sizes.dtype() == "float32" else 2
        return int(padded(sizes.N) * (2 * of_type * width + of_float * 4))

    return count


def _rows(row_bytes: Callable[[Sizes], int], most: int) -> dict[str, Any]:
    """The rule of tiles, and what a sweep compares it with."""

    def tiles(sizes: Sizes) -> Tiles:
        return row_tiles(sizes.rows, row_bytes(sizes), most)

    return {"tiles": tiles, "choices": lambda sizes: nearby_rows(*tiles(sizes))}


def _fits(row_bytes: int) -> tuple[Rule, ...]:
    most = widest(row_bytes)
    return (
        Rule("N >= 1", "a row must have an element"),
        Rule(
            f"N <= {most}", f"a tile holds whole rows: split them, or norm at most {most} columns"
        ),
    )


def _derived(reference: Callable[..., torch.Tensor]) -> Callable[..., Sequence[torch.Tensor]]:
    """Gradients by torch, of the tensors behind the first."""

    def gradients(grad: torch.Tensor, *given: Any) -> Sequence[torch.Tensor]:
        with torch.enable_grad():
            tensors = [g.detach().requires_grad_() for g in given if isinstance(g, torch.Tensor)]
            scalars = [g for g in given if not isinstance(g, torch.Tensor)]
            return torch.autograd.grad(reference(*tensors, *scalars), tensors, grad)

    return gradients


def rms_reference(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def layer_reference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float
) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-1:], weight, bias, eps)


def _ops() -> Any:
    return torch.ops.tile_ops


CASES = (
    Case((1,), {"N": 1}), Case((2, 7), {"N": 333}), Case((100,), {"N": 1024}),
    Case((3,), {"N": 4096}),
)  # fmt: skip
LARGE = Case((16384,), {"N": 4096, "T": "float16"})
ROUNDED = {"float16": 3e-3, "bfloat16": 2e-2, "float32": 5e-5}

OPERATORS = (
    operator(
        "rms_norm(x: T[..., N], weight: T[N], eps: float = 1e-6) -> T[..., N]", TYPES,
        kernel=lambda s, t: rms_norm(s.N, s.eps, s.dtype(), *t),
        **_rows(_row_bytes(1, 2), 16), rules=_fits(20), reference=rms_reference, workload=LARGE,
        cases=CASES, summary="x / sqrt(mean(x ** 2) + eps) * weight",
        backward=lambda grads, inputs, results, eps: _ops().rms_norm_backward(
            grads[0], *inputs, eps
        ),
    ),
    operator(
        "rms_norm_backward(grad: T[..., N], x: T[..., N], weight: T[N], eps: float = 1e-6)"
        " -> T[..., N], T[N]", TYPES,
        kernel=lambda s, t: _with_sums(
            rms_norm_gradients(s.N, s.eps, s.dtype(), *t), s.types["T"]
        ),
        **_rows(_row_bytes(1, 5), 8), rules=_fits(32),
        reference=lambda g, x, w, eps: _derived(rms_reference)(g, x, w, eps), workload=LARGE,
        cases=CASES[1:], summary="the gradients of `rms_norm`", gradient_of="rms_norm",
        tolerance=ROUNDED,
    ),
    operator(
        "add_rms_norm(x: T[..., N], residual: T[..., N], weight: T[N], eps: float = 1e-6)"
        " -> T[..., N], T[..., N]", TYPES,
        kernel=lambda s, t: add_rms_norm(s.N, s.eps, s.dtype(), *t),
        **_rows(_row_bytes(2, 2), 16), rules=_fits(28),
        reference=lambda x, r, w, eps: (rms_reference(x + r, w, eps), x + r),
        workload=LARGE, cases=CASES, summary="the sum x + residual, and its rms norm",
        backward=lambda grads, inputs, results, eps: _of_sum(
            grads, _ops().rms_norm_backward(grads[0], results[1], inputs[2], eps)
        ), tolerance={"bfloat16": 2.5e-2},
    ),
    operator(
        "layer_norm(x: T[..., N], weight: T[N], bias: T[N], eps: float = 1e-5) -> T[..., N]", TYPES,
        kernel=lambda s, t: layer_norm(s.N, s.eps, s.dtype(), *t),
        **_rows(_row_bytes(1, 3), 16), rules=_fits(28), reference=layer_reference, workload=LARGE,
        cases=CASES, summary="(x - mean) / sqrt(variance + eps) * weight + bias",
        backward=lambda grads, inputs, results, eps: _ops().layer_norm_backward(
            grads[0], inputs[0], inputs[1], eps
        ),
    ),
    operator(
        "layer_norm_backward(grad: T[..., N], x: T[..., N], weight: T[N], eps: float = 1e-5)"
        " -> T[..., N], T[N], T[N]", TYPES,
        kernel=lambda s, t: _with_sums(
            layer_norm_gradients(s.N, s.eps, s.dtype(), *t), s.types["T"]
        ),
        **_rows(_row_bytes(1, 6), 8), rules=_fits(36),
        reference=lambda g, x, w, eps: _derived(layer_reference)(g, x, w, torch.zeros_like(w), eps),
        workload=LARGE, cases=CASES[1:], summary="the gradients of `layer_norm`",
        gradient_of="layer_norm", bound="vector units", tolerance=ROUNDED,
    ),
)  # fmt: skip


def _of_sum(
    grads: Sequence[torch.Tensor], of_norm: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """The gradients of an addition behind which a norm stands: the sum itself has one too."""
    both = of_norm[0] + grads[1]
    return [both, both, of_norm[1]]
