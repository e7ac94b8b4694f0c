"""What each operation means, written a second time: the op table is not asked.

A reference gets the values of the operands in the order of the call, flattened: float64 for
floating-point types, the type itself for integers. Its result is rounded to the type once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Reference:
    """`ulps` is how far the device may be off; `smallest` is an absolute error below which ulps do
    not count, by element size, for results that run out of exponent half-way. `domain` turns random
    values of the operand with a number into some the operation is defined for."""

    fn: Callable[..., Any]
    ulps: int = 0
    smallest: dict[int, float] | None = None
    domain: Callable[[int, Any], Any] | None = None


def _leaky(x: Any, s: Any) -> Any:
    return np.where(np.signbit(x), x * s, x)


def _relu(x: Any) -> Any:
    return np.where(x > 0, x, np.where(np.isnan(x), x, 0)) if x.dtype.kind == "f" else x.clip(0)


def _erf(x: Any) -> Any:
    return np.array([math.erf(v) for v in x.reshape(-1).tolist()]).reshape(x.shape)


def _power_domain(operand: int, x: Any) -> Any:
    """Positive bases and small exponents: the rest of pow has tests of its own."""
    if x.dtype.kind == "i":
        return x % 12 + 1 if operand == 1 else x % 7
    x = np.where(np.isfinite(x), np.abs(x), 1).astype(x.dtype)
    return np.clip(x, 0.1, 4 if operand == 1 else 3)


# e**-x leaves the range of the type before 1 / (1 + e**-x) does.
_LOST = {2: 2e-5, 4: 1e-37}

REFERENCES: dict[str, Reference] = {
    "add": Reference(lambda _d, a, b: a + b),
    "sub": Reference(lambda _d, a, b: a - b),
    "mul": Reference(lambda _d, a, b: a * b),
    "div": Reference(lambda _d, a, b: a / b, 1),
    "max": Reference(lambda _d, a, b: np.maximum(a, b)),
    "min": Reference(lambda _d, a, b: np.minimum(a, b)),
    "bitwise_and": Reference(lambda _d, a, b: a & b),
    "bitwise_or": Reference(lambda _d, a, b: a | b),
    "bitwise_xor": Reference(lambda _d, a, b: a ^ b),
    "bitwise_not": Reference(lambda _d, a: ~a),
    "bitwise_lshift": Reference(lambda _d, a, n: a << n),
    "bitwise_rshift": Reference(lambda _d, a, n: a >> n),
    "mul_add_dst": Reference(lambda d, a, b: d + a * b, 1),
    "axpy": Reference(lambda d, a, s: d + a * s, 1),
    "leaky_relu": Reference(lambda _d, x, s: _leaky(x, s)),
    "exp": Reference(lambda _d, x: np.exp(x), 1),
    "ln": Reference(lambda _d, x: np.log(x), 1),
    "sqrt": Reference(lambda _d, x: np.sqrt(x), 1),
    "rsqrt": Reference(lambda _d, x: 1 / np.sqrt(x), 1),
    "reciprocal": Reference(lambda _d, x: 1 / x, 1),
    "abs": Reference(lambda _d, x: np.abs(x)),
    "relu": Reference(lambda _d, x: _relu(x)),
    "sigmoid": Reference(lambda _d, x: 1 / (1 + np.exp(-x)), 4, _LOST),
    "silu": Reference(lambda _d, x: x / (1 + np.exp(-x)), 5, {2: 3e-4, 4: 1e-35}),
    "tanh": Reference(lambda _d, x: np.tanh(x), 6),
    "erf": Reference(lambda _d, x: _erf(x), 7),
    "sin": Reference(lambda _d, x: np.sin(x), 3),
    "cos": Reference(lambda _d, x: np.cos(x), 3),
    "pow": Reference(lambda _d, a, b: a**b, 16, domain=_power_domain),
    "clamp": Reference(lambda _d, x, low, high, _n: np.minimum(np.maximum(x, low), high)),
    "round": Reference(lambda _d, x, _n: np.rint(x)),
    "sub_experiment": Reference(lambda _d, a, b, _n: a - b),
    "abs_experiment": Reference(lambda _d, x, _n: np.abs(x)),
    "mins_experiment": Reference(lambda _d, x, s, _n: np.minimum(x, s)),
    "clamp_max": Reference(lambda _d, x, s, _n: np.minimum(x, s)),
    "clamp_min": Reference(lambda _d, x, s, _n: np.maximum(x, s)),
    "fill": Reference(lambda d, v: np.full_like(d, v)),
    "clear": Reference(lambda d: np.zeros_like(d)),
}
