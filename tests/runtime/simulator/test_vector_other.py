"""Duplicate, Copy, Brcb, reductions, Compare and Select against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet
from test_vector_elementwise import (
    BITS,
    BYTES,
    CPP,
    F16,
    F32,
    I32,
    PRELUDE,
    U16,
    U32,
    bits_for,
    full,
)
from vector_model import Strides, apply, mask_bits

KERNELS = KernelSet(PRELUDE)


def one(name: str, d: str, s: str, statement: str) -> str:
    body = (
        f"with_tensors<{d}, {s}>(d, a, b, [&](LocalTensor<{d}>& dst, LocalTensor<{s}>& src0, "
        f"LocalTensor<{s}>& src1) {{ {statement} }});"
    )
    return KERNELS.add(name, "GM_ADDR d, GM_ADDR a, GM_ADDR b", body)


def random(dtype: Any, seed: int = 0, count: int | None = None) -> Any:
    rng = np.random.default_rng(seed)
    count = count or BYTES // np.dtype(dtype).itemsize
    if np.dtype(dtype).kind == "f":
        return rng.uniform(-4, 4, count).astype(dtype)
    return rng.integers(0, 1 << 15, count).astype(dtype)


MASK = "uint64_t mask[2] = {{{:#x}ull, {:#x}ull}};"
FILL_TYPES = {**CPP, "bf16": "bfloat16_t"}
for _type, _cpp in FILL_TYPES.items():
    _n = full(U16 if _type == "bf16" else _type)
    _mask = MASK.format(*(BITS if _n == 128 else (BITS[0], 0)))
    one(f"duplicate_{_cpp}", _cpp, _cpp, f"Duplicate(dst, ({_cpp})5, 1003);")
    one(
        f"duplicate_mask_{_cpp}",
        _cpp,
        _cpp,
        f"Duplicate(dst, ({_cpp})5, (uint64_t){_n - 5}, 6, 2, 20);",
    )
    one(f"duplicate_bits_{_cpp}", _cpp, _cpp, f"{_mask} Duplicate(dst, ({_cpp})5, mask, 6, 2, 20);")
    one(f"copy_{_cpp}", _cpp, _cpp, f"Copy(dst, src0, (uint64_t){_n - 5}, 6, {{2, 1, 20, 10}});")
    one(f"copy_bits_{_cpp}", _cpp, _cpp, f"{_mask} Copy(dst, src0, mask, 6, {{1, 3, 9, 11}});")
    one(f"brcb_{_cpp}", _cpp, _cpp, "Brcb(dst, src0, 5, {2, 17});")


@pytest.mark.parametrize("dtype", [*CPP, "bf16"], ids=str)
def test_duplicate_copy_brcb(dtype: Any) -> None:
    cpp = FILL_TYPES[dtype]
    stored = U16 if dtype == "bf16" else dtype
    value = U16(0x40A0) if dtype == "bf16" else stored(5)
    a, start = random(stored, 1), random(stored, 2)
    n = full(stored)

    def expect(name: str, function: Any) -> None:
        dst, expected = start.copy(), start.copy()
        function(expected)
        KERNELS.run(f"{name}_{cpp}", dst, a, a)
        np.testing.assert_array_equal(
            dst.view(f"u{dst.itemsize}"), expected.view(f"u{dst.itemsize}")
        )

    fill = lambda old: np.full_like(old, value)  # noqa: E731
    expect("duplicate", lambda e: e.__setitem__(slice(1003), value))
    expect("duplicate_mask", lambda e: apply(fill, e, [], n - 5, 6, (Strides(2, 20),)))
    expect("duplicate_bits", lambda e: apply(fill, e, [], bits_for(stored), 6, (Strides(2, 20),)))
    take = lambda old, x: x  # noqa: E731
    expect("copy", lambda e: apply(take, e, [a], n - 5, 6, (Strides(2, 20), Strides(1, 10))))
    expect(
        "copy_bits",
        lambda e: apply(take, e, [a], bits_for(stored), 6, (Strides(1, 9), Strides(3, 11))),
    )

    def brcb(expected: Any) -> None:
        per = 32 // expected.itemsize
        for repeat in range(5):
            for i in range(8):
                at = (repeat * 17 + i * 2) * per
                expected[at : at + per] = a[repeat * 8 + i]

    expect("brcb", brcb)


for _type in (F16, F32):
    _cpp, _n = CPP[_type], full(_type)
    _mask = MASK.format(*bits_for(_type))
    for _op in ("Sum", "Max", "Min"):
        _order = {"Sum": ""}.get(_op, ", ReduceOrder::ORDER_ONLY_VALUE")
        one(
            f"Whole{_op}_{_cpp}",
            _cpp,
            _cpp,
            f"WholeReduce{_op}(dst, src0, {_n - 5}, 6, 2, 1, 9{_order});",
        )
        one(
            f"Whole{_op}_bits_{_cpp}",
            _cpp,
            _cpp,
            f"{_mask} WholeReduce{_op}(dst, src0, mask, 6, 2, 1, 9{_order});",
        )
        one(f"Block{_op}_{_cpp}", _cpp, _cpp, f"BlockReduce{_op}(dst, src0, 6, {_n}, 1, 1, 9);")
        one(
            f"Block{_op}_bits_{_cpp}",
            _cpp,
            _cpp,
            f"{_mask} BlockReduce{_op}(dst, src0, 6, mask, 2, 1, 9);",
        )
    one(f"Pair_{_cpp}", _cpp, _cpp, f"PairReduceSum(dst, src0, 6, {_n}, 1, 1, 8);")
    one(f"Repeat_{_cpp}", _cpp, _cpp, f"RepeatReduceSum(dst, src0, 6, {_n - 5}, 1, 1, 1, 8);")
    for _order in ("VALUE_INDEX", "INDEX_VALUE", "ONLY_INDEX"):
        one(
            f"MaxOrder_{_order}_{_cpp}",
            _cpp,
            _cpp,
            f"WholeReduceMax(dst, src0, {_n}, 6, 1, 1, 8, ReduceOrder::ORDER_{_order});",
        )


def tree(values: Any) -> Any:
    """Neighbours first, every level rounded to the operand's type."""
    while values.size > 1:
        values = (values[0::2] + values[1::2]).astype(values.dtype)
    return values[0]


def reduced(op: str, values: Any, active: list[bool]) -> Any:
    on = np.array(active)
    if op == "Sum":
        return tree(np.where(on, values, values.dtype.type(0)))
    return values[on].max() if op == "Max" else values[on].min()


@pytest.mark.parametrize("dtype", [F16, F32], ids=["half", "float"])
@pytest.mark.parametrize("op", ["Sum", "Max", "Min"])
@pytest.mark.parametrize("bits", [False, True], ids=["count", "bits"])
def test_reduce(op: str, dtype: Any, bits: bool) -> None:
    cpp, n, suffix = CPP[dtype], full(dtype), "_bits" if bits else ""
    a, start = random(dtype, 3), random(dtype, 4)
    active = mask_bits(bits_for(dtype) if bits else n - 5, n)
    dst, expected = start.copy(), start.copy()
    for r in range(6):
        expected[2 * r] = reduced(op, a[r * 9 * n // 8 :][:n], active)
    KERNELS.run(f"Whole{op}{suffix}_{cpp}", dst, a, a)
    np.testing.assert_array_equal(dst, expected)

    dst, expected = start.copy(), start.copy()
    active = mask_bits(bits_for(dtype) if bits else n, n)
    per = 32 // dst.itemsize
    for r in range(6):
        for block in range(8):
            on = active[block * per : (block + 1) * per]
            if any(on):
                at = (r * 9 + block) * per
                expected[r * 8 * (2 if bits else 1) + block] = reduced(op, a[at : at + per], on)
    KERNELS.run(f"Block{op}{suffix}_{cpp}", dst, a, a)
    np.testing.assert_array_equal(dst, expected)


@pytest.mark.parametrize("dtype", [F16, F32], ids=["half", "float"])
def test_pair_and_repeat_sum_and_orders(dtype: Any) -> None:
    cpp, n = CPP[dtype], full(dtype)
    a = random(dtype, 5)
    a[3] = a[7] = dtype(9)  # a tie: the lower index wins
    dst = np.zeros_like(a)
    KERNELS.run(f"Pair_{cpp}", dst, a, a)
    np.testing.assert_array_equal(dst[: 3 * n], (a[: 6 * n : 2] + a[1 : 6 * n : 2]).astype(dtype))
    dst = np.zeros_like(a)
    KERNELS.run(f"Repeat_{cpp}", dst, a, a)
    rows = a[: 6 * n].reshape(6, n).copy()
    rows[:, n - 5 :] = 0
    np.testing.assert_array_equal(dst[:6], [tree(row) for row in rows])
    rows = a[: 6 * n].reshape(6, n)
    index_type = U16 if dtype is F16 else U32
    for order in ("VALUE_INDEX", "INDEX_VALUE"):
        dst = np.zeros_like(a)
        KERNELS.run(f"MaxOrder_{order}_{cpp}", dst, a, a)
        pairs = dst[:12].reshape(6, 2)
        value, index = (0, 1) if order == "VALUE_INDEX" else (1, 0)
        np.testing.assert_array_equal(pairs[:, value], rows.max(1))
        np.testing.assert_array_equal(pairs[:, index].copy().view(index_type), rows.argmax(1))
    dst = np.zeros_like(a)
    KERNELS.run(f"MaxOrder_ONLY_INDEX_{cpp}", dst, a, a)
    np.testing.assert_array_equal(dst.view(U32)[:6], rows.argmax(1))


MODES = {
    "LT": np.less,
    "GT": np.greater,
    "EQ": np.equal,
    "LE": np.less_equal,
    "GE": np.greater_equal,
    "NE": None,
}
for _type in (F16, F32):
    _cpp, _n = CPP[_type], full(_type)
    for _mode in MODES:
        one(
            f"compare_{_mode}_{_cpp}",
            "uint8_t",
            _cpp,
            f"Compare(dst, src0, src1, CMPMODE::{_mode}, {6 * _n});",
        )
        one(
            f"scalar_{_mode}_{_cpp}",
            "uint8_t",
            _cpp,
            f"CompareScalar(dst, src0, ({_cpp})0.5f, CMPMODE::{_mode}, {6 * _n});",
        )
    one(
        f"compare_repeat_{_cpp}",
        "uint8_t",
        _cpp,
        f"Compare(dst, src0, src1, CMPMODE::LT, (uint64_t){_n}, 4, {{1, 1, 1, 8, 9, 10}});",
    )
    one(
        f"select_tensor_{_cpp}",
        _cpp,
        _cpp,
        "LocalTensor<uint8_t> bits = src1.template ReinterpretCast<uint8_t>(); "
        f"Compare(bits, src0, src1[{_n * 12}], CMPMODE::LT, {6 * _n}); PipeBarrier<PIPE_V>(); "
        f"Select(dst, bits, src0, src1[{_n * 12}], SELMODE::VSEL_TENSOR_TENSOR_MODE, {6 * _n - 3});",
    )
    one(
        f"select_scalar_{_cpp}",
        _cpp,
        _cpp,
        "LocalTensor<uint8_t> bits = src1.template ReinterpretCast<uint8_t>(); "
        f"CompareScalar(bits, src0, ({_cpp})0.0f, CMPMODE::GE, {6 * _n}); PipeBarrier<PIPE_V>(); "
        f"Select(dst, bits, src0, ({_cpp})0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, {6 * _n});",
    )
    one(
        f"select_register_{_cpp}",
        _cpp,
        _cpp,
        f"Compare(src0, src1, CMPMODE::GT, (uint64_t){_n}, {{1, 1, 1, 8, 8, 8}}); PipeBarrier<PIPE_V>(); "
        f"SetVectorMask<{_cpp}>({_n}); "
        f"Select<{_cpp}, SELMODE::VSEL_CMPMASK_SPR>(dst, src0, src1, 3, {{1, 1, 1, 8, 8, 8}});",
    )
one("compare_int", "uint8_t", "int32_t", "Compare(dst, src0, src1, CMPMODE::EQ, 384);")


def packed(bits: Any) -> Any:
    return np.packbits(bits, bitorder="little")


@pytest.mark.parametrize("dtype", [F16, F32], ids=["half", "float"])
def test_compare_and_select(dtype: Any) -> None:
    cpp, n = CPP[dtype], full(dtype)
    count = 6 * n
    a, b = random(dtype, 6), random(dtype, 7)
    b[::5] = a[::5]
    a[1] = b[2] = a[3] = b[3] = np.nan
    unordered = np.isnan(a[:count]) | np.isnan(b[:count])
    for mode, function in MODES.items():
        expected = function(a[:count], b[:count]) if function else (a != b)[:count] & ~unordered
        dst = np.zeros(BYTES, np.uint8)
        KERNELS.run(f"compare_{mode}_{cpp}", dst, a, b)
        np.testing.assert_array_equal(dst[: count // 8], packed(expected))
        scalar = dtype(0.5)
        expected = (
            function(a[:count], scalar)
            if function
            else (a[:count] != scalar) & ~np.isnan(a[:count])
        )
        KERNELS.run(f"scalar_{mode}_{cpp}", dst, a, b)
        np.testing.assert_array_equal(dst[: count // 8], packed(expected))
    dst = np.zeros(BYTES, np.uint8)
    KERNELS.run(f"compare_repeat_{cpp}", dst, a, b)
    rows = [a[r * 9 * n // 8 :][:n] < b[r * 10 * n // 8 :][:n] for r in range(4)]
    np.testing.assert_array_equal(dst[: 4 * n // 8], packed(np.concatenate(rows)))

    other = b[12 * n :][:count]
    out = np.zeros_like(a)
    KERNELS.run(f"select_tensor_{cpp}", out, a, b.copy())
    expected = np.where(a[:count] < other, a[:count], other)
    expected[count - 3 :] = 0
    np.testing.assert_array_equal(out[:count], expected)
    out = np.zeros_like(a)
    KERNELS.run(f"select_scalar_{cpp}", out, a, b.copy())
    np.testing.assert_array_equal(out[:count], np.where(a[:count] >= 0, a[:count], dtype(0)))
    out = np.zeros_like(a)
    KERNELS.run(f"select_register_{cpp}", out, a, b)
    chosen = np.tile(a[:n] > b[:n], 3)
    np.testing.assert_array_equal(out[: 3 * n], np.where(chosen, a[: 3 * n], b[: 3 * n]))


def test_compare_int32_for_equality() -> None:
    a, b = random(I32, 8), random(I32, 9)
    b[::3] = a[::3]
    dst = np.zeros(BYTES, np.uint8)
    KERNELS.run("compare_int", dst, a, b)
    np.testing.assert_array_equal(dst[:48], packed(a[:384] == b[:384]))


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
