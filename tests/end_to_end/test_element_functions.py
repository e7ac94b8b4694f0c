"""Predicates, limits, bits and divisions of elements: what torch makes of the same, on the scalar
unit and in `T.Parallel`."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import Automatic, Func
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch

Case = tuple[Callable[[Any, Any], Any], Callable[[torch.Tensor], Any]]
FLOATS: dict[str, Case] = {
    "isnan": (lambda x, n: T.if_then_else(T.isnan(x), 1.0, 2.0), lambda x: torch.isnan(x)),
    "isinf": (lambda x, n: T.if_then_else(T.isinf(x), 1.0, 2.0), lambda x: torch.isinf(x)),
    "isfinite": (lambda x, n: T.if_then_else(T.isfinite(x), 1.0, 2.0), torch.isfinite),
    "clamp": (lambda x, n: T.clamp(x * 2.0, -1.0, 1.0), lambda x: (x * 2).clamp(-1, 1)),
}
INTEGERS: dict[str, Case] = {
    "and": (lambda x, n: T.bitwise_and(x, 5), lambda x: x & 5),
    "or": (lambda x, n: T.bitwise_or(x, 5), lambda x: x | 5),
    "xor": (lambda x, n: T.bitwise_xor(x, 5), lambda x: x ^ 5),
    "not": (lambda x, n: T.bitwise_not(x), lambda x: ~x),
    "left": (lambda x, n: T.shift_left(x, 1), lambda x: x << 1),
    "right": (lambda x, n: T.shift_right(x, 1), lambda x: x >> 1),
    "truncdiv": (lambda x, n: T.truncdiv(x, 3), lambda x: _truncated(x, 3)),
    "truncmod": (lambda x, n: T.truncmod(x, 3), lambda x: torch.fmod(x, 3)),
    "truncdiv by n": (lambda x, n: T.truncdiv(x, -n), lambda x: _truncated(x, -3)),
    "truncmod by n": (lambda x, n: T.truncmod(x, -n), lambda x: torch.fmod(x, -3)),
    "clamp": (lambda x, n: T.clamp(x, 2, 5), lambda x: x.clamp(2, 5)),
}


def _truncated(x: torch.Tensor, divisor: int) -> torch.Tensor:
    return torch.div(x, divisor, rounding_mode="trunc")


def kernel(dtype: str, formulas: Sequence[Callable[[Any, Any], Any]], loop: Any) -> Func:
    rows = len(formulas)

    @T.prim_func
    def k(X: T.Tensor((64,), dtype), Y: T.Tensor((rows, 64), dtype), n: T.int32):
        with T.Kernel(1, threads=1):
            x = T.alloc_ub((64,), dtype)
            y = T.alloc_ub((rows, 64), dtype)
            T.copy(X, x)
            for row, formula in enumerate(formulas):
                for i in loop(64):
                    y[row, i] = formula(x[i], n)
            T.copy(y, Y)

    return k


@pytest.mark.whole
@pytest.mark.parametrize("loop", [T.serial, T.Parallel], ids=["serial", "parallel"])
def test_elements(loop: Any, tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    numbers = {
        dtype: batch.add(kernel(dtype, [f for f, _ in cases.values()], loop), [Automatic.SYNC])
        for dtype, cases in (
            ("float32", FLOATS), ("float16", FLOATS), ("int32", INTEGERS), ("int16", INTEGERS),
            ("int8", INTEGERS), ("int64", INTEGERS),
        )
    }  # fmt: skip
    batch.build()
    for dtype, number in numbers.items():
        of_floats = dtype.startswith("float")
        cases = FLOATS if of_floats else INTEGERS
        x = _values(dtype)
        y = torch.zeros(len(cases), 64, dtype=x.dtype)
        outcome = batch.run(number, [x.numpy(), y.numpy(), 3], checks=launcher().CHECKS_STRICT)
        assert outcome.error is None, outcome.error.text
        for row, (name, (_, torchs)) in zip(outcome.arrays[1], cases.items(), strict=True):
            want = torchs(x)
            if want.dtype is torch.bool:
                want = torch.where(want, 1.0, 2.0)
            found = torch.from_numpy(row)
            assert torch.equal(found.nan_to_num(77), want.to(x.dtype).nan_to_num(77)), (dtype, name)


def _values(dtype: str) -> torch.Tensor:
    kind = getattr(torch, dtype)
    if dtype.startswith("float"):
        special = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -2.0, 65504.0]
    else:
        info = torch.iinfo(kind)
        special = [7, -7, info.min, info.max, 0, -1, 1, -100]
    return torch.tensor(special * 8, dtype=kind)


def test_numbers_are_computed_at_once() -> None:
    assert [T.truncdiv(-7, 2), T.truncmod(-7, 2)] == [-3, -1]
    assert [T.truncdiv(7, -2), T.truncmod(7, -2)] == [-3, 1]
    assert [T.bitwise_and(6, 3), T.bitwise_or(6, 3)] == [2, 7]
    assert [T.bitwise_xor(6, 3), T.bitwise_not(5)] == [5, -6]
    assert [T.shift_left(1, 4), T.shift_right(-16, 2), T.clamp(7, 0, 5)] == [16, -4, 5]
    assert [T.isnan(math.nan), T.isinf(-math.inf), T.isfinite(math.inf)] == [True, True, False]
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        info = torch.finfo(getattr(torch, dtype))
        assert T.max_value(dtype).number == info.max and T.min_value(dtype).number == info.min
    for dtype in ("int8", "uint16", "int64", "uint64"):
        info = torch.iinfo(getattr(torch, dtype))
        assert T.max_value(dtype).number == info.max and T.min_value(dtype).number == info.min
