"""Sine, cosine, hyperbolic tangent, error function and power, composed of vector instructions; each
says how far it is off."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tile_ir.dtypes import FLOAT16, FLOAT32, INT32
from tile_ir.layout.geometry import REPEAT_BYTES
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Op
from tile_ir.opdef import OpDef, Scratch
from tile_ir.ops.counted import CHUNK
from tile_ir.ops.elementwise import ELEMENTWISE
from tile_ir.ops.rules import (
    FLOATS,
    UB,
    destination,
    elements_bound,
    scratch_operand,
    source,
)
from tile_ir.quick_dataclasses import replace

# Working memory that all of these get along with: four values for each element of a chunk.
LEAST = 4 * CHUNK
# Elements of a quotient that are computed at once where there is room: a step waits for the last.
MOST_AT_ONCE = 4 * CHUNK


def _quotient_scratch(op: Op) -> tuple[Scratch, ...]:
    lanes = REPEAT_BYTES // FLOAT32.size
    liked = min(elements_bound(op.region("dst")) + 2 * lanes, MOST_AT_ONCE)
    return (Scratch(Memory.UB, FLOAT32, max(4 * liked, LEAST), LEAST),)


def elements_at_once(op: Op) -> int:
    """Elements of a quotient that its working memory holds four values of: an odd number of
    repeats, so that the values begin in both halves of the groups of banks."""
    lanes = REPEAT_BYTES // FLOAT32.size
    repeats = LEAST // (4 * lanes)
    if op.scratch is not None:
        repeats = max(elements_bound(op.scratch), LEAST) // (4 * lanes)
    return (repeats - 1 | 1) * lanes


def _function(
    name: str, meaning: Callable[..., Any], doc: str, api: str, rate: float, instructions: int,
    scratch: Callable[[Op], tuple[Scratch, ...]] = lambda op: (Scratch(Memory.UB, FLOAT32, LEAST),),
) -> OpDef:  # fmt: skip
    return replace(
        ELEMENTWISE,
        name=name,
        family="transcendental",
        doc=doc,
        ascend_c=api,
        operands=(destination("dst", UB, *FLOATS), source("src"), scratch_operand()),
        meaning=meaning,
        scratch=scratch,
        rate=(rate, rate),
        instructions=lambda op: instructions,
    )


def _wave(fn: Callable[[Any], Any]) -> Callable[..., Any]:
    def meaning(op: Op, _dst: Any, x: Any, _scratch: Any) -> Any:
        with np.errstate(all="ignore"):
            return fn(np.asarray(x, np.float64))

    return meaning


def _error_function(op: Op, _dst: Any, x: Any, _scratch: Any) -> Any:
    values = [math.erf(v) for v in np.asarray(x, np.float64).reshape(-1).tolist()]
    return np.asarray(values, np.float64).reshape(x.shape)


def _power(op: Op, _dst: Any, x: Any, y: Any, _scratch: Any) -> Any:
    if x.dtype.kind == "i":
        return _integer_power(x, y)
    with np.errstate(all="ignore"):
        # A zero has no sign here, NaN stays NaN even to the power of 0, and -inf has no roots.
        base, exponent = np.asarray(x, np.float64) + 0.0, np.asarray(y, np.float64)
        unknown = np.isnan(base) | np.isnan(exponent)
        unknown |= (base == -np.inf) & (exponent != np.floor(exponent))
        return np.where(unknown, np.nan, np.power(base, exponent))


def _integer_power(x: Any, y: Any) -> Any:
    """By squaring, modulo 2 ** 32; a negative exponent leaves 0 of all but 1 and -1."""
    base, result = x.astype(np.uint32), np.ones_like(x, np.uint32)
    for bit in range(31):
        result = np.where(y >> bit & 1, result * base, result)
        base = base * base
    return np.where((y < 0) & (np.abs(x.astype(np.int64)) != 1), 0, result.astype(np.int32))


RANGE = "for |src| up to 65536; off by less than 3 ulp of a float, 1 ulp of a half"
ANGLES = "Muls, Cast, Add, Mul, Adds"
QUOTIENTS = "Maxs, Mins, Muls, Adds, Mul, Div"
OPS = (
    _function("sin", _wave(lambda x: np.sin(x)), f"dst = sine of src, {RANGE}", ANGLES, 2, 32),
    _function("cos", _wave(lambda x: np.cos(x)), f"dst = cosine of src, {RANGE}", ANGLES, 2, 34),
    _function(
        "tanh",
        _wave(lambda x: np.tanh(x)),
        "dst = hyperbolic tangent of src; off by less than 6 ulp of a float, 1 ulp of a half",
        QUOTIENTS,
        2.5,
        17,
        _quotient_scratch,
    ),
    _function(
        "erf",
        _error_function,
        "dst = error function of src; off by less than 7 ulp of a float, 1 ulp of a half",
        QUOTIENTS,
        2.5,
        17,
        _quotient_scratch,
    ),
    replace(
        ELEMENTWISE,
        name="pow",
        family="transcendental",
        doc="dst = src0 ** src1; the relative error of floats is below (2 + |src1 ln src0|) * 2 ** "
        "-23 (and 1 ulp of a half). NaN and roots of negative numbers give NaN, -0 counts as 0. "
        "Integers wrap, and a negative exponent gives 0 unless src0 is 1 or -1",
        ascend_c="Ln, Mul, Exp / ShiftLeft, ShiftRight, Mul",
        operands=(
            destination("dst", UB, FLOAT16, FLOAT32, INT32),
            source("src0"),
            source("src1"),
            scratch_operand(),
        ),
        meaning=_power,
        scratch=lambda op: (Scratch(Memory.UB, FLOAT32, 5 * CHUNK),),
        rate=(1.5, 1.5),
        instructions=lambda op: 34,
    ),
)
