"""Scalar expressions and functions (docs/language/index.md#scalar-functions)."""

import math

import numpy as np
import pytest

import tile_frontend as T
from tile_ir import KernelError

SEVEN = 7


def built(expression, show):
    """The printed form of a helper's expression of cid (int32), n (int64), x (float32), h."""

    @T.prim_func
    def k(A: T.Tensor((64,), "float16"), n: T.int64, x: T.float32):
        with T.Kernel(1) as (cid, vid):
            value = expression(cid, n, x, A[cid])

    return show(k)[-1].removeprefix("let %value: ")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (lambda c, n, x, h: c + 1, "int32 = %cid + 1"),
        (lambda c, n, x, h: 7 - c, "int32 = 7 - %cid"),
        (lambda c, n, x, h: c + n, "int64 = %cid + %n"),
        (lambda c, n, x, h: c * x, "float32 = %cid * %x"),
        (lambda c, n, x, h: c + 0.5, "float32 = %cid + 0.5"),
        (lambda c, n, x, h: h * 2, "float16 = $A[%cid] * 2.0:float16"),
        (lambda c, n, x, h: h + x, "float32 = $A[%cid] + %x"),
        (lambda c, n, x, h: x / 2, "float32 = %x / 2.0"),
        (lambda c, n, x, h: c // 4 % 3, "int32 = %cid // 4 % 3"),
        (lambda c, n, x, h: (c << 2) | (c >> 1) & 3 ^ 1, "int32 = %cid << 2 | %cid >> 1 & 3 ^ 1"),
        (lambda c, n, x, h: -x, "float32 = -%x"),
        (lambda c, n, x, h: +c, "int32 = %cid"),
        (lambda c, n, x, h: ~c, "int32 = ~%cid"),
        (lambda c, n, x, h: c != 3, "bool = %cid != 3"),
        (lambda c, n, x, h: 3 < c, "bool = %cid > 3"),
        (lambda c, n, x, h: c + 2**40, "int64 = %cid + 1099511627776:int64"),
        (lambda c, n, x, h: T.ceildiv(c, 64), "int32 = (%cid + 63) // 64"),
        (lambda c, n, x, h: T.ceildiv(SEVEN, 2), "int32 = 4"),
        (lambda c, n, x, h: T.floordiv(c, 4), "int32 = %cid // 4"),
        (lambda c, n, x, h: T.floormod(c, 4), "int32 = %cid % 4"),
        (lambda c, n, x, h: T.max(c, 4), "int32 = max(%cid, 4)"),
        (lambda c, n, x, h: T.min(x, 4), "float32 = min(%x, 4.0)"),
        (lambda c, n, x, h: T.max(3, 4), "int32 = 4"),
        (lambda c, n, x, h: T.min(3.5, 4), "float32 = 3.5"),
        (lambda c, n, x, h: T.if_then_else(c > 0, c, 1), "int32 = select(%cid > 0, %cid, 1)"),
        (lambda c, n, x, h: T.if_then_else(True, c, x), "int32 = %cid"),
        (
            lambda c, n, x, h: T.Select(T.And(c > 0, n < 4), x, 0),
            "float32 = select(%cid > 0 and %n < 4:int64, %x, 0.0)",
        ),
        (lambda c, n, x, h: T.Or(c > 0, T.Not(n < 4)), "bool = %cid > 0 or not %n < 4:int64"),
        (lambda c, n, x, h: T.exp(x), "float32 = exp(%x)"),
        (lambda c, n, x, h: T.exp(0), "float32 = 1.0"),
        (lambda c, n, x, h: T.sqrt(c), "float32 = sqrt(cast<float32>(%cid))"),
        (lambda c, n, x, h: T.rsqrt(x) + T.log(x), "float32 = rsqrt(%x) + log(%x)"),
        (lambda c, n, x, h: T.abs(c), "int32 = abs(%cid)"),
        (lambda c, n, x, h: abs(c), "int32 = abs(%cid)"),
        (lambda c, n, x, h: T.max(c, 4, n), "int64 = max(max(%cid, 4), %n)"),
        (lambda c, n, x, h: T.min(c, 4, "int32"), "int32 = min(%cid, 4)"),
        (lambda c, n, x, h: T.max(3, 4, 5), "int32 = 5"),
        (lambda c, n, x, h: T.tanh(x) + T.erf(h), "float32 = tanh(%x) + erf($A[%cid])"),
        (lambda c, n, x, h: T.sin(x) * T.cos(c), "float32 = sin(%x) * cos(cast<float32>(%cid))"),
        (lambda c, n, x, h: T.exp2(x), "float32 = exp(%x * 0.6931471805599453)"),
        (lambda c, n, x, h: c**3, "int32 = %cid * %cid * %cid"),
        (lambda c, n, x, h: x**-2, "float32 = 1.0 / (%x * %x)"),
        (lambda c, n, x, h: x**0.5, "float32 = sqrt(%x)"),
        (lambda c, n, x, h: T.pow(x, c), "float32 = pow(%x, %cid)"),
        (lambda c, n, x, h: T.pow(2, 5), "int32 = 32"),
        (lambda c, n, x, h: round(x), "float32 = round(%x)"),
        (lambda c, n, x, h: T.cast(c, "float16"), "float16 = cast<float16>(%cid)"),
        (lambda c, n, x, h: T.cast(2.7, "int8"), "int8 = 2:int8"),
        (lambda c, n, x, h: T.Cast("float32", c), "float32 = cast<float32>(%cid)"),
        (lambda c, n, x, h: T.float32(c), "float32 = cast<float32>(%cid)"),
        (lambda c, n, x, h: T.int32(3), "int32 = 3"),
        (lambda c, n, x, h: T.float16(1), "float16 = 1.0:float16"),
        (lambda c, n, x, h: T.uint32(2**32 - 1), "uint32 = 4294967295:uint32"),
        (lambda c, n, x, h: T.reinterpret("float32", c), "float32 = bits<float32>(%cid)"),
        (lambda c, n, x, h: T.reinterpret(c, "float32"), "float32 = bits<float32>(%cid)"),
        (lambda c, n, x, h: T.cast(x, "int32", "rn"), "int32 = cast<int32>(round(%x))"),
        (lambda c, n, x, h: T.cast(x, "int32", round="rp"), "int32 = cast<int32>(ceil(%x))"),
        (lambda c, n, x, h: T.cast(x, "int32", round="rm"), "int32 = cast<int32>(floor(%x))"),
        (lambda c, n, x, h: T.cast(x, "float16", round="rn"), "float16 = cast<float16>(%x)"),
        (lambda c, n, x, h: -T.infinity("float16"), "float16 = -inf:float16"),
        (lambda c, n, x, h: c * np.int64(3), "int32 = %cid * 3"),
        (lambda c, n, x, h: np.float32(0.5), "float32 = 0.5"),
        (lambda c, n, x, h: T.max(c, 1, dtype="int32"), "int32 = max(%cid, 1)"),
    ],
)
def test_expressions(expression, expected, show):
    assert built(expression, show) == expected


def test_python_numbers_are_computed_now():
    assert T.ceildiv(7, 2) == 4 and T.cdiv(7, 2) == 4
    assert T.max(3, 4) == 4 and T.min(3, 4.0) == 3
    assert [T.min(3, 4).value, T.max(3, 4).value, T.ceildiv(7, 2).value] == [3, 4, 4]
    assert type(T.min(3, 4).value) is int
    assert T.floordiv(-7, 2) == -4 and T.floormod(-7, 2) == 1
    assert T.exp(1.0) == math.e and T.abs(-3) == 3
    assert T.if_then_else(False, 1, 2) == 2


def test_types_of_the_host():
    assert (T.DataType("float16").bits, T.DataType("float").itemsize) == (16, 4)
    assert T.DataType("float16") == "float16"
    assert [T.next_power_of_2(n) for n in (1, 2, 3, 64, 65)] == [1, 2, 4, 64, 128]
    assert repr(T.float32) == "T.float32" and T.int32() is T.int32


def test_dtypes_can_be_given_in_many_ways():
    import torch

    same = [
        T.Tensor((4,), d) for d in ("float16", "half", T.float16, T.DataType("float16"), torch.half)
    ]
    assert len(set(same)) == 1


def test_symbols_of_one_name_are_one_symbol():
    a, b = T.symbolic("n"), T.symbolic("n")
    assert T.Tensor((a,)) == T.Tensor((b,))
    assert T.symbolic("n", "int64").dtype == "int64"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: T.Tensor((4,), "flot16"), "'flot16' is not an element type"),
        (lambda: T.Tensor((4, -1)), "dimension 1 of a tensor is -1, expected an integer of at least 0"),
        (lambda: T.Tensor(("n",)), "dimension 0 of a tensor is the string 'n', expected"),
        (lambda: T.ceildiv(4, 0), "the divisor is 0"),
        (lambda: T.symbolic("a-b"), "a symbolic dimension is called the string 'a-b'"),
        (lambda: T.alloc_ub((4,), "int8"), "an allocation in ub is called outside a kernel"),
        (lambda: T.tile.exp(1, 2), "tile.exp is called outside a kernel"),
        (lambda: T.barrier_all(), "barrier_all is called outside a kernel"),
        (lambda: T.log(0), "log(0): "),
        (lambda: T.cast(None, "int8"), "found None, expected a scalar"),
        (lambda: bool(T.symbolic("n") > 3), "a runtime value has no truth value"),
        (lambda: T.symbolic("n") / 2, "`/` on two integers is ambiguous"),
        (lambda: T.infinity("int8"), "int8 has no infinity"),
    ],
)
def test_mistakes_outside_kernels_show_the_line_of_the_caller(call, message):
    with pytest.raises(KernelError) as error:
        call()
    assert message in error.value.message
    assert type(error.value) is KernelError
    assert error.value.loc.file.endswith("test_scalars.py")
    assert error.value.loc.line == call.__code__.co_firstlineno
    assert "(lambda: " in str(error.value)


def test_minimum_of_python_numbers_is_a_number_with_a_value():
    stages = T.min(T.ceildiv(130, 64), 2)
    assert stages == 2
    assert stages.value == 2
    assert T.max(0.5, 0.25) == 0.5
    assert [0, 1, 2][stages] == 2


def test_python_s_own_functions_take_runtime_values(show):
    @T.prim_func
    def k(A: T.Tensor((8,), "float32")):
        with T.Kernel(8, is_npu=True) as (cid, vid):
            value = max(A[cid], 0.5, min(A[cid], 2)) + abs(A[0])

    largest = "max(max($A[%cid], 0.5), min($A[%cid], 2.0))"
    assert show(k)[-1] == f"let %value: float32 = {largest} + abs($A[0])"


def test_roundings_that_no_conversion_has(show):
    for given in ({"round": "rs"}, {"sat": False}, {"rbits": 3}):
        with pytest.raises(KernelError, match="attribute-value"):
            built(lambda c, n, x, h, given=given: T.cast(x, "int32", **given), show)
    with pytest.raises(KernelError, match="to the nearest one, not 'rz'"):
        built(lambda c, n, x, h: T.cast(x, "float16", "rz"), show)
