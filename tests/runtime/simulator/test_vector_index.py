"""CreateVecIndex in every form, and BilinearInterpolation, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet
from limits import limit_tests
from vector_kernels import PRELUDE, add, numbers, signed
from vector_model import Strides, mask_bits, positions

KERNELS = KernelSet(PRELUDE)
TYPES: dict[str, Any] = {
    "int16_t": np.int16, "half": np.float16, "int32_t": np.int32, "float": np.float32
}  # fmt: skip
SLOW = settings(max_examples=examples(25))

for _type in TYPES:
    _types = f"{_type}, {_type}, {_type}"
    _first = f"({_type})first"
    add(
        KERNELS,
        f"count_{_type}",
        _types,
        f"CreateVecIndex(dst, {_first}, (uint32_t)count);",
        "int32_t first, int32_t count",
    )
    add(
        KERNELS,
        f"mask_{_type}",
        _types,
        f"CreateVecIndex(dst, {_first}, (uint64_t)mask, repeats, block, stride);",
        "int32_t first, int32_t mask, int32_t repeats, int32_t block, int32_t stride",
    )
    add(
        KERNELS,
        f"bits_{_type}",
        _types,
        "uint64_t mask[2] = {(uint64_t)low, (uint64_t)high}; "
        f"CreateVecIndex(dst, {_first}, mask, repeats, block, stride);",
        "int32_t first, int64_t low, int64_t high, int32_t repeats, int32_t block, int32_t stride",
    )
for _form, _mask in (("mask", "(uint64_t)mask"), ("bits", "mask_bits")):
    add(
        KERNELS,
        f"interpolate_{_form}",
        "half, half, half",
        "uint64_t mask_bits[2] = {(uint64_t)mask, ~0ull}; (void)mask_bits; "
        "LocalTensor<uint32_t> offsets = src0[6144].ReinterpretCast<uint32_t>(); src1.SetSize(64); "
        f"src0.SetSize(4096); BilinearInterpolation(dst, src0, offsets, src1, {_mask}, h, per_block, block, row, v, temp);",
        "int64_t mask, int32_t h, bool per_block, int32_t block, int32_t row, int32_t v",
    )


def sequence(dtype: Any, first: int, count: int) -> Any:
    return (first + np.arange(count)).astype(dtype)


@pytest.mark.parametrize("cpp", TYPES)
@SLOW
@given(first=st.integers(-500, 500), count=st.integers(0, 1500))
def test_count(cpp: str, first: int, count: int) -> None:
    dst = numbers(TYPES[cpp], 1)
    expected = dst.copy()
    expected[:count] = sequence(TYPES[cpp], first, count)
    KERNELS.run(f"count_{cpp}", dst, dst.copy(), dst.copy(), first, count)
    np.testing.assert_array_equal(dst, expected)


def test_large_integers_are_exact() -> None:
    dst = np.zeros(6144, np.int32)
    KERNELS.run("count_int32_t", dst, dst.copy(), dst.copy(), 2**24 + 1, 700)
    np.testing.assert_array_equal(dst[:700], np.arange(2**24 + 1, 2**24 + 701))


@pytest.mark.parametrize("cpp", TYPES)
@SLOW
@given(data=st.data())
def test_repeats(cpp: str, data: st.DataObject) -> None:
    dtype = TYPES[cpp]
    size = np.dtype(dtype).itemsize
    lanes = 256 // size
    repeats = data.draw(st.integers(0, 5))
    block = data.draw(st.integers(1, 3))
    stride = data.draw(st.integers(8 * block, 30))  # repeats apart: they build on one another
    low = data.draw(st.integers(0, 2**64 - 1))
    high = data.draw(st.integers(0, 2**64 - 1)) if size == 2 else 0
    mask: Any = data.draw(st.one_of(st.integers(0, lanes), st.just((low, high))))
    first = data.draw(st.integers(-100, 100))
    dst = numbers(dtype, 2)
    expected = dst.copy()
    active = np.array(mask_bits(mask, lanes))
    values = sequence(dtype, first, repeats * lanes).reshape(-1, lanes)
    for r in range(repeats):
        at = np.array(positions(Strides(block, stride), size, lanes, r))
        expected[at[active]] = values[r][active]
    if isinstance(mask, int):
        arguments = (first, mask, repeats, block, stride)
        KERNELS.run(f"mask_{cpp}", dst, dst.copy(), dst.copy(), *arguments)
    else:
        arguments = (first, signed(low), signed(high), repeats, block, stride)
        KERNELS.run(f"bits_{cpp}", dst, dst.copy(), dst.copy(), *arguments)
    np.testing.assert_array_equal(dst, expected)


@pytest.mark.parametrize("form", ["mask", "bits"])
@SLOW
@given(h=st.integers(1, 3), v=st.integers(1, 2), per_block=st.booleans(), block=st.integers(1, 2))
def test_interpolation(form: str, h: int, v: int, per_block: bool, block: int) -> None:
    a, dst = numbers(np.float16, 3), numbers(np.float16, 4)
    weights = numbers(np.float16, 5)
    rng = np.random.default_rng(h)
    table = (rng.integers(0, 128, 8 * h * v) * 32).astype(np.uint32)
    a.view(np.uint32)[3072 : 3072 + table.size] = table
    # `weights` of the blocks of every horizontal step, one for all of them or one for each.
    blocks = a[: 128 * 16].reshape(128, 16)[table // 32].reshape(v, h, 8, 16)
    if per_block:
        scale = weights[: 8 * h * v].reshape(v, h, 8, 1)
    else:
        scale = weights[: h * v].reshape(v, h, 1, 1)
    product = (blocks * scale).astype(np.float16)
    total = product[:, 0]
    for step in range(1, h):
        total = (product[:, step] + total).astype(np.float16)
    lanes = 100
    row = 16 * 8 * block
    expected = dst.copy()
    word = 0x0FF0_00FF_F00F_1234
    active = np.array(mask_bits(lanes if form == "mask" else (word, 2**64 - 1), 128))
    for r in range(v):
        at = np.array(positions(Strides(block, row // 16), 2, 128, r))
        expected[at[active]] = total[r].reshape(-1)[active] + np.float16(0)
    mask = lanes if form == "mask" else word
    KERNELS.run(f"interpolate_{form}", dst, a, weights, mask, h, per_block, block, row, v)
    np.testing.assert_array_equal(dst, expected)


ERRORS = KernelSet()
UB = (
    "TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 196608); "
    "LocalTensor<float> x = buffer.Get<float>(); "
)
CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("odd", "LocalTensor<float> y = x[1]; CreateVecIndex(y, 0.0f, (uint32_t)8);", "misaligned", ("CreateVecIndex: dst starts at byte 4",)),
    ("end", "CreateVecIndex(x[49088], 0.0f, (uint32_t)65);", "out-of-bounds", ("CreateVecIndex: dst",)),
    ("mask", "CreateVecIndex(x, 0.0f, (uint64_t)65, 1, 1, 8);", "bad-argument", ("mask is 65", "0..64")),
    ("repeat", "CreateVecIndex(x, 0.0f, (uint64_t)64, value, 1, 8);", "bad-argument", ("repeatTime is 256",)),
    ("block", "CreateVecIndex(x, 0.0f, (uint64_t)64, 1, 0, 8);", "bad-argument", ("dstBlkStride is 0",)),
]  # fmt: skip
test_limits = limit_tests(
    ERRORS,
    CASES,
    "GM_ADDR d, int32_t value",
    lambda statement: f"{UB} (void)value; {statement}",
    256,
)


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
    ERRORS.vendor_check()
