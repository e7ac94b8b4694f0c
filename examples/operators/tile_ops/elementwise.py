"""Activations and their products: a formula for each element, on flat tiles, in float32.

The rule of tiles gives every lane work, and takes the longest tile that fits twice, for loads run
ahead by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

import tile_frontend as T

from .manifest import FLOATS, Case, Operator, Tiles, operator
from .rows import turns
from .signature import Sizes
from .tiles import CORES, UB_BYTES

AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
GELU_LINEAR, GELU_CUBIC = 1.5957691216057308, 0.07135481282553506


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def one_to_one(formula: Callable[..., Any], dtype: str, size: int) -> T.PrimFunc:
    n, accum = T.symbolic("n"), "float32"

    @T.prim_func
    def kernel(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((size,), dtype)
            x = T.alloc_shared((size,), accum)
            for t in T.Pipelined(turns(n, size, cid), num_stages=2):
                at = (cid + t * CORES) * size
                T.copy(X[at : at + size], raw)
                T.copy(raw, x)
                for i in T.Parallel(size):
                    x[i] = formula(x[i])
                T.copy(x, raw)
                T.copy(raw, Y[at : at + size])

    return kernel


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def two_to_one(formula: Callable[..., Any], dtype: str, size: int) -> T.PrimFunc:
    n, accum = T.symbolic("n"), "float32"

    @T.prim_func
    def kernel(
        A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw_a = T.alloc_shared((size,), dtype)
            raw_b = T.alloc_shared((size,), dtype)
            a = T.alloc_shared((size,), accum)
            b = T.alloc_shared((size,), accum)
            for t in T.Pipelined(turns(n, size, cid), num_stages=2):
                at = (cid + t * CORES) * size
                T.copy(A[at : at + size], raw_a)
                T.copy(B[at : at + size], raw_b)
                T.copy(raw_a, a)
                T.copy(raw_b, b)
                for i in T.Parallel(size):
                    a[i] = formula(a[i], b[i])
                T.copy(a, raw_a)
                T.copy(raw_a, Y[at : at + size])

    return kernel


@T.jit(out_idx=[-2, -1], pass_configs=AUTOMATIC)
def three_to_two(
    first: Callable[..., Any], second: Callable[..., Any], dtype: str, size: int
) -> T.PrimFunc:
    n, accum = T.symbolic("n"), "float32"

    @T.prim_func
    def kernel(
        G: T.Tensor((n,), dtype),
        A: T.Tensor((n,), dtype),
        B: T.Tensor((n,), dtype),
        DA: T.Tensor((n,), dtype),
        DB: T.Tensor((n,), dtype),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw_g = T.alloc_shared((size,), dtype)
            raw_a = T.alloc_shared((size,), dtype)
            raw_b = T.alloc_shared((size,), dtype)
            g = T.alloc_shared((size,), accum)
            a = T.alloc_shared((size,), accum)
            b = T.alloc_shared((size,), accum)
            d = T.alloc_shared((size,), accum)
            for t in T.Pipelined(turns(n, size, cid), num_stages=2):
                at = (cid + t * CORES) * size
                T.copy(G[at : at + size], raw_g)
                T.copy(A[at : at + size], raw_a)
                T.copy(B[at : at + size], raw_b)
                T.copy(raw_g, g)
                T.copy(raw_a, a)
                T.copy(raw_b, b)
                for i in T.Parallel(size):
                    d[i] = first(g[i], a[i], b[i])
                T.copy(d, raw_a)
                T.copy(raw_a, DA[at : at + size])
                for i in T.Parallel(size):
                    b[i] = second(g[i], a[i], b[i])
                T.copy(b, raw_b)
                T.copy(raw_b, DB[at : at + size])

    return kernel


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + T.exp(-x))


def silu(x: Any) -> Any:
    return x * sigmoid(x)


def silu_slope(x: Any) -> Any:
    s = sigmoid(x)
    return s * (1.0 + x * (1.0 - s))


def gelu(x: Any) -> Any:
    """By tanh: x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x ** 3))."""
    return x * sigmoid(x * (x * x * GELU_CUBIC + GELU_LINEAR))


def gelu_slope(x: Any) -> Any:
    s = sigmoid(x * (x * x * GELU_CUBIC + GELU_LINEAR))
    return s * (1.0 + x * (1.0 - s) * (x * x * (3.0 * GELU_CUBIC) + GELU_LINEAR))


def relu(x: Any) -> Any:
    return T.max(x, 0.0)


def relu_squared(x: Any) -> Any:
    return T.max(x, 0.0) * T.max(x, 0.0)


def relu_squared_slope(x: Any) -> Any:
    return 2.0 * T.max(x, 0.0)


def _tiles(tensors: int, working: int) -> Callable[[Sizes], Tiles]:
    """For kernels with so many tensors and tiles of float32."""

    def choose(sizes: Sizes) -> Tiles:
        width = 4 if sizes.dtype() == "float32" else 2
        fitting = UB_BYTES // (tensors * width * 2 + (working + 2) * 4)
        size = 256
        while size * 2 <= 2 * fitting and size * 2 * CORES <= sizes.rows:
            size *= 2
        return (size,)

    return choose


def _choices(tensors: int, working: int) -> Callable[[Sizes], tuple[Tiles, ...]]:
    def nearby(sizes: Sizes) -> tuple[Tiles, ...]:
        (size,) = _tiles(tensors, working)(sizes)
        return (size // 4,), (size // 2,), (size,), (size * 2,)

    return nearby


CASES = (Case((5,)), Case((3, 333)), Case((100003,)))
TYPES = {"T": FLOATS}


def _activation(
    name: str,
    formula: Callable[..., Any],
    slope: Callable[..., Any],
    reference: Any,
    summary: str,
    bounds: tuple[str, str] = ("HBM", "HBM"),
) -> tuple[Operator, Operator]:
    """An activation and its gradient."""

    def product(g: Any, x: Any) -> Any:
        return g * slope(x)

    def derived(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(reference(x), x, g)[0]

    gradient = operator(
        f"{name}_backward(grad: T[...], x: T[...]) -> T[...]", TYPES,
        kernel=lambda s, t: two_to_one(product, s.dtype(), *t),
        tiles=_tiles(2, 2), choices=_choices(2, 2), reference=derived,
        workload=Case((4096, 16384), {"T": "float16"}), cases=CASES,
        summary=f"the gradient of `{name}`", gradient_of=name, bound=bounds[1],
    )  # fmt: skip
    forward = operator(
        f"{name}(x: T[...]) -> T[...]", TYPES,
        kernel=lambda s, t: one_to_one(formula, s.dtype(), *t),
        tiles=_tiles(1, 1), choices=_choices(1, 1), reference=reference,
        workload=Case((4096, 16384), {"T": "float16"}), cases=CASES, summary=summary,
        bound=bounds[0],
        backward=lambda grads, inputs, results: [
            getattr(torch.ops.tile_ops, f"{name}_backward")(grads[0], inputs[0])
        ],
    )  # fmt: skip
    return forward, gradient


def _gated(
    name: str,
    formula: Callable[..., Any],
    slope: Callable[..., Any],
    reference: Any,
    summary: str,
    bounds: tuple[str, str] = ("HBM", "HBM"),
) -> tuple[Operator, Operator]:
    """An activation of one tensor times another one, and its gradients."""

    def derived(g: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> Any:
        with torch.enable_grad():
            a, b = a.detach().requires_grad_(), b.detach().requires_grad_()
            return torch.autograd.grad(reference(a, b), (a, b), g)

    def of_gate(g: Any, a: Any, b: Any) -> Any:
        return g * b * slope(a)

    def of_up(g: Any, a: Any, b: Any) -> Any:
        return g * formula(a)

    def product(a: Any, b: Any) -> Any:
        return formula(a) * b

    gradient = operator(
        f"{name}_backward(grad: T[...], gate: T[...], up: T[...]) -> T[...], T[...]", TYPES,
        kernel=lambda s, t: three_to_two(of_gate, of_up, s.dtype(), *t),
        tiles=_tiles(3, 4), choices=_choices(3, 4), reference=derived,
        workload=Case((4096, 11008), {"T": "float16"}), cases=CASES,
        summary=f"the gradients of `{name}`", gradient_of=name, bound=bounds[1],
    )  # fmt: skip
    forward = operator(
        f"{name}(gate: T[...], up: T[...]) -> T[...]", TYPES,
        kernel=lambda s, t: two_to_one(product, s.dtype(), *t),
        tiles=_tiles(2, 2), choices=_choices(2, 2), reference=reference,
        workload=Case((4096, 11008), {"T": "float16"}), cases=CASES, summary=summary,
        bound=bounds[0],
        backward=lambda grads, inputs, results: getattr(torch.ops.tile_ops, f"{name}_backward")(
            grads[0], *inputs
        ),
    )  # fmt: skip
    return forward, gradient


def gelu_by_tanh(x: torch.Tensor) -> torch.Tensor:
    return F.gelu(x, approximate="tanh")


OPERATORS = (
    *_activation(
        "gelu", gelu, gelu_slope, gelu_by_tanh, "gelu by tanh", ("vector units", "vector units")
    ),
    *_activation("silu", silu, silu_slope, F.silu, "x * sigmoid(x)"),
    *_activation(
        "relu_squared", relu_squared, relu_squared_slope, lambda x: F.relu(x).square(),
        "relu(x) ** 2",
    ),
    *_gated("silu_mul", silu, silu_slope, lambda a, b: F.silu(a) * b, "silu(gate) * up (SwiGLU)"),
    *_gated(
        "gelu_mul", gelu, gelu_slope, lambda a, b: gelu_by_tanh(a) * b, "gelu(gate) * up (GeGLU)",
        ("HBM", "vector units"),
    ),
)  # fmt: skip
