"""Transpose and TransDataTo5HD against NumPy, in every data type and way to say where rows lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet
from limits import limit_tests
from vector_kernels import PRELUDE, add, bit_pattern

KERNELS = KernelSet(PRELUDE)
SIZES = {
    "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "half": 2, "int32_t": 4, "uint32_t": 4,
    "float": 4,
}  # fmt: skip
ROWS = 16
SLOW = settings(max_examples=examples(25))
STRIDES = "int32_t repeats, int32_t dst_stride, int32_t src_stride, bool dst_high, bool src_high"
PARAMETERS = (
    "TransDataTo5HDParams p; p.repeatTimes = repeats; p.dstRepStride = dst_stride; "
    "p.srcRepStride = src_stride; p.dstHighHalf = dst_high; p.srcHighHalf = src_high; "
)
# Destination rows lie `step` blocks apart, source rows in the order of `src1`, which holds block numbers.
ROW = "dst[i * step * (32 / sizeof({t}))]"
SOURCE = "src0[src1.GetValue(i) * (32 / sizeof({t}))]"

for _type in SIZES:
    _types = f"{_type}, {_type}, uint32_t"
    _row, _source = ROW.format(t=_type), SOURCE.format(t=_type)
    _call = f"TransDataTo5HD<{_type}>"
    add(
        KERNELS,
        f"lists_{_type}",
        _types,
        f"{PARAMETERS} LocalTensor<{_type}> to[16]; LocalTensor<{_type}> from[16]; "
        f"for (int i = 0; i < 16; ++i) {{ to[i] = {_row}; from[i] = {_source}; }} {_call}(to, from, p);",
        f"int32_t step, {STRIDES}",
    )
    add(
        KERNELS,
        f"addresses_{_type}",
        _types,
        f"{PARAMETERS} uint64_t to[16]; uint64_t from[16]; for (int i = 0; i < 16; ++i) {{ "
        f"to[i] = (uint64_t){_row}.GetPhyAddr(); from[i] = (uint64_t){_source}.GetPhyAddr(); }} "
        f"{_call}(to, from, p);",
        f"int32_t step, {STRIDES}",
    )
    add(
        KERNELS,
        f"tensors_{_type}",
        _types,
        f"{PARAMETERS} LocalTensor<uint64_t> to = temp.ReinterpretCast<uint64_t>(); "
        "LocalTensor<uint64_t> from = to[16]; for (int i = 0; i < 16; ++i) { "
        f"to.SetValue(i, (uint64_t){_row}.GetPhyAddr()); from.SetValue(i, (uint64_t){_source}.GetPhyAddr()); }} "
        f"{_call}(to, from, p);",
        f"int32_t step, {STRIDES}",
    )
    for _way in ("NCHW2NHWC", "NHWC2NCHW"):
        add(
            KERNELS,
            f"{_way}_{_type}",
            f"{_type}, {_type}, {_type}",
            "TransposeParamsExt p(n, c, h, w, TransposeType::TRANSPOSE_"
            f"{_way}); Transpose(dst, src0, temp, p);",
            "int32_t n, int32_t c, int32_t h, int32_t w",
        )
for _type in ("int16_t", "uint16_t", "half"):
    add(KERNELS, f"square_{_type}", f"{_type}, {_type}, {_type}", "Transpose(dst, src0);")
add(KERNELS, "square_in_place", "half, half, half", "Transpose(dst, dst);")
add(
    KERNELS,
    "square_b16",
    "uint16_t, uint16_t, uint16_t",
    "TransposeParamsExt p; p.hSize = p.wSize = 16; Transpose(dst, src0, temp, p);",
)
add(
    KERNELS,
    "lists_in_place",
    "float, float, float",
    "TransDataTo5HDParams p; LocalTensor<float> rows[16]; "
    "for (int i = 0; i < 16; ++i) { rows[i] = dst[8 * i]; } TransDataTo5HD<float>(rows, rows, p);",
)


def transposed(blocks: Any, size: int, old: Any, dst_high: bool, src_high: bool) -> Any:
    """16 destination blocks (bytes) from 16 source blocks and what was there."""
    new = old.copy()
    if size == 1:
        source = blocks[:, 16:] if src_high else blocks[:, :16]
        half = slice(16, 32) if dst_high else slice(0, 16)
        new[:, half] = source.T
        return new
    return blocks.view(f"u{size}").T.copy().reshape(ROWS, -1).view(np.uint8)


@pytest.mark.parametrize("way", ["lists", "addresses", "tensors"])
@pytest.mark.parametrize("cpp", SIZES)
@SLOW
@given(data=st.data())
def test_blocks_by_lists(cpp: str, way: str, data: st.DataObject) -> None:
    repeats = data.draw(st.integers(0, 5))
    step = data.draw(st.integers(1, 8))
    dst_stride, src_stride = data.draw(st.integers(0, 40)), data.draw(st.integers(0, 40))
    dst_high, src_high = data.draw(st.booleans()), data.draw(st.booleans())
    start = data.draw(st.integers(0, 99))
    regular = np.arange(ROWS) * 9 + start
    order = data.draw(
        st.one_of(st.just(list(regular)), st.lists(st.integers(0, 200), min_size=16, max_size=16))
    )
    src, dst = bit_pattern(np.uint8, 1), bit_pattern(np.uint8, 2)
    table = np.zeros(6144, np.uint32)
    table[:ROWS] = order
    expected = dst.copy().reshape(-1, 32)
    from_ = np.array(order)
    to = np.arange(ROWS) * step
    for r in range(repeats):
        # A single repeat starts one stride on.
        move = 1 if repeats == 1 else r
        at = to + move * dst_stride
        blocks = src.reshape(-1, 32)[from_ + move * src_stride]
        expected[at] = transposed(blocks, SIZES[cpp], expected[at], dst_high, src_high)
    KERNELS.run(
        f"{way}_{cpp}", dst, src, table, step, repeats, dst_stride, src_stride, dst_high, src_high
    )
    np.testing.assert_array_equal(dst.reshape(-1, 32), expected)


def test_squares() -> None:
    for cpp in ("int16_t", "uint16_t", "half"):
        src, dst = bit_pattern(np.uint16, 3), bit_pattern(np.uint16, 4)
        expected = dst.copy()
        expected[:256] = src[:256].reshape(16, 16).T.reshape(-1)
        KERNELS.run(f"square_{cpp}", dst, src, src)
        np.testing.assert_array_equal(dst, expected)
    dst = bit_pattern(np.uint16, 5)
    expected = dst.copy()
    expected[:256] = dst[:256].reshape(16, 16).T.reshape(-1)
    again = dst.copy()
    KERNELS.run("square_in_place", dst, dst.copy(), dst.copy())
    np.testing.assert_array_equal(dst, expected)
    KERNELS.run("square_b16", again, again.copy(), again.copy())
    np.testing.assert_array_equal(again, expected)
    dst = bit_pattern(np.uint32, 6)
    expected = dst.copy()
    expected[:128] = dst[:128].reshape(16, 8).T.reshape(-1)
    KERNELS.run("lists_in_place", dst, dst.copy(), dst.copy())
    np.testing.assert_array_equal(dst, expected)


@pytest.mark.parametrize("cpp", SIZES)
@SLOW
@given(n=st.integers(0, 3), c=st.integers(0, 5), h=st.sampled_from([0, 1, 2, 3]), w=st.just(32))
def test_images(cpp: str, n: int, c: int, h: int, w: int) -> None:
    dtype = np.dtype(f"u{SIZES[cpp]}")
    src = bit_pattern(dtype, 7)
    count = n * c * h * w
    for way, shape, axes in (
        ("NCHW2NHWC", (n, c, h, w), (0, 2, 3, 1)),
        ("NHWC2NCHW", (n, h, w, c), (0, 3, 1, 2)),
    ):
        dst = bit_pattern(dtype, 8)
        expected = dst.copy()
        expected[:count] = src[:count].reshape(shape).transpose(axes).reshape(-1)
        KERNELS.run(f"{way}_{cpp}", dst, src, src, n, c, h, w)
        np.testing.assert_array_equal(dst, expected)


ERRORS = KernelSet()
UB = (
    "TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 196608); "
    "LocalTensor<half> x = buffer.Get<half>(); LocalTensor<uint16_t> u = buffer.Get<uint16_t>(); "
    "LocalTensor<uint8_t> tmp = buffer.Get<uint8_t>(); LocalTensor<half> rows[16]; LocalTensor<half> to[16]; "
    "for (int i = 0; i < 16; ++i) { rows[i] = x[1024 + 16 * i]; to[i] = x[16 * i]; } "
    "TransDataTo5HDParams p; TransposeParamsExt e(1, 2, 1, 16, TransposeType::TRANSPOSE_NCHW2NHWC); "
    "uint64_t far[16]; uint64_t near[16]; "
    "for (int i = 0; i < 16; ++i) { far[i] = 0; near[i] = (uint64_t)to[i].GetPhyAddr(); } "
)
CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("odd", "Transpose(x[8], x[1024]);", "misaligned", ("Transpose: dst", "32")),
    ("end", "Transpose(x, x[98304 - 128]);", "out-of-bounds", ("Transpose: src",)),
    ("list_odd", "rows[3] = x[1]; TransDataTo5HD<half>(to, rows, p);", "misaligned", ("srcList[3] starts at byte 2",)),
    ("list_end", "to[15] = x[98304]; TransDataTo5HD<half>(to, rows, p);", "out-of-bounds", ("TransDataTo5HD: dstList",)),
    ("repeats", "p.repeatTimes = value; p.dstRepStride = 1; TransDataTo5HD<half>(to, rows, p);", "bad-argument", ("repeatTimes is 256",)),
    ("address", "TransDataTo5HD<half>(near, far, p);", "out-of-bounds", ("srcList[0] is no address of UB", "GetPhyAddr")),
    ("b16_type", "Transpose(x, x, tmp, TransposeParamsExt(0, 0, 16, 16, TransposeType::TRANSPOSE_ND2ND_B16));", "bad-argument", ("uint16 with TRANSPOSE_ND2ND_B16",)),
    ("b16_size", "Transpose(u, u, tmp, TransposeParamsExt(0, 0, 16, 8, TransposeType::TRANSPOSE_ND2ND_B16));", "bad-argument", ("wSize is 8",)),
    ("unsupported", "e.transposeType = TransposeType::TRANSPOSE_ND2ND_ONLY; Transpose(x, x, tmp, e);", "bad-argument", ("transposeType 7 is not supported",)),
    ("pixels", "e.wSize = 15; Transpose(x, x[1024], tmp, e);", "bad-argument", ("whole blocks of 32 bytes",)),
    ("channels", "e.cSize = 4096; Transpose(x, x[1024], tmp, e);", "bad-argument", ("cSize is 4096",)),
    ("temporary", "tmp.SetSize(2047); Transpose(x, x[1024], tmp, e);", "bad-argument", ("sharedTmpBuffer has 2047 bytes", "2048")),
    ("overlap", "Transpose(x, x, tmp[8192], e);", "operand-overlap", ("as dst and reads", "which must share no byte")),
]  # fmt: skip
test_limits = limit_tests(
    ERRORS,
    CASES,
    "GM_ADDR d, int32_t value",
    lambda statement: f"{UB} (void)u; (void)far; (void)near; (void)value; {statement}",
    256,
)


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
    ERRORS.vendor_check()
