"""Gather, Gatherb, GatherMask against NumPy, over forms, strides, masks and tails; their limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet
from limits import limit_tests
from vector_kernels import BYTES, PRELUDE, add, bit_pattern, signed
from vector_model import mask_bits

KERNELS = KernelSet(PRELUDE)
TYPES = {
    "half": 2,
    "bfloat16_t": 2,
    "int16_t": 2,
    "uint16_t": 2,
    "float": 4,
    "int32_t": 4,
    "uint32_t": 4,
}
STORED: dict[int, Any] = {2: np.uint16, 4: np.uint32}

for _type, _size in TYPES.items():
    _table = f"{_type}, {_type}, uint32_t"
    add(
        KERNELS,
        f"gather_{_type}",
        _table,
        "Gather(dst, src0, src1, base, count);",
        "uint32_t base, uint32_t count",
    )
    add(
        KERNELS,
        f"gather_mask_{_type}",
        _table,
        "Gather(dst, src0, src1, base, (uint64_t)mask, repeats, stride);",
        "uint32_t base, uint32_t mask, int32_t repeats, uint32_t stride",
    )
    add(
        KERNELS,
        f"gather_bits_{_type}",
        _table,
        "uint64_t mask[2] = {(uint64_t)low, (uint64_t)high}; "
        "Gather(dst, src0, src1, base, mask, repeats, stride);",
        "uint32_t base, int64_t low, int64_t high, int32_t repeats, uint32_t stride",
    )
    _bits = f"{_type}, {_type}, {'uint16_t' if _size == 2 else 'uint32_t'}"
    _count = (
        "LocalTensor<uint64_t> result = dst.template ReinterpretCast<uint64_t>(); "
        "result.SetValue(3071, kept);"
    )
    _parameters = "bool counter, uint32_t mask, uint32_t block, uint32_t repeats, uint32_t stride"
    add(
        KERNELS,
        f"keep_{_type}",
        _bits,
        "uint64_t kept = 7; GatherMask(dst, src0, (uint8_t)pattern, counter, mask, "
        f"{{(uint8_t)block, (uint16_t)repeats, (uint16_t)stride, 0}}, kept); {_count}",
        f"uint32_t pattern, {_parameters}",
    )
    add(
        KERNELS,
        f"keep_bits_{_type}",
        _bits,
        "uint64_t kept = 7; GatherMask(dst, src0, src1, counter, mask, "
        "{(uint8_t)block, (uint16_t)repeats, (uint16_t)stride, (uint8_t)bit_stride}, kept); "
        f"{_count}",
        f"{_parameters}, uint32_t bit_stride",
    )
for _type in ("uint16_t", "uint32_t"):
    add(
        KERNELS,
        f"gatherb_{_type}",
        f"{_type}, {_type}, uint32_t",
        "GatherRepeatParams params; params.dstBlkStride = block; params.dstRepStride = stride; "
        "Gatherb(dst, src0, src1, repeats, params);",
        "uint32_t block, uint32_t stride, int32_t repeats",
    )
add(
    KERNELS,
    "keep_in_place",
    "float, float, float",
    "uint64_t kept = 0; GatherMask(dst, dst, (uint8_t)2, false, 0, {1, 4, 8, 0}, kept);",
)
add(
    KERNELS,
    "mask_after_keeping",
    "float, float, float",
    "uint64_t kept = 0; SetMaskCount(); GatherMask(dst[1024], src0, (uint8_t)1, true, 5, {1, 1, 8, 0}, kept); "
    "PipeBarrier<PIPE_V>(); Adds<float, false>(dst, src0, 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});",
)

SLOW = settings(max_examples=examples(25))


def offsets(size: int, base: int, seed: int, spread: int = BYTES) -> Any:
    """Byte offsets of elements inside the source, counted from `base`."""
    rng = np.random.default_rng(seed)
    places = rng.integers(0, (spread - base) // size, BYTES // 4)
    return (places * size).astype(np.uint32)


@pytest.mark.parametrize("cpp", TYPES)
@SLOW
@given(count=st.integers(0, 2500), base=st.integers(0, 40), seed=st.integers(0, 99))
def test_gather_count(cpp: str, count: int, base: int, seed: int) -> None:
    size = TYPES[cpp]
    base *= size
    a, table = bit_pattern(STORED[size], seed), offsets(size, base, seed)
    dst = bit_pattern(STORED[size], seed + 1)
    expected = dst.copy()
    expected[:count] = a[(base + table[:count].astype(np.int64)) // size]
    KERNELS.run(f"gather_{cpp}", dst, a, table, base, count)
    np.testing.assert_array_equal(dst, expected)


@pytest.mark.parametrize("cpp", TYPES)
@SLOW
@given(data=st.data())
def test_gather_repeats(cpp: str, data: st.DataObject) -> None:
    size = TYPES[cpp]
    lanes = 256 // size
    repeats, stride = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 40))
    low = data.draw(st.integers(0, 2**64 - 1))
    high = data.draw(st.integers(0, 2**64 - 1)) if size == 2 else 0
    mask: Any = data.draw(st.one_of(st.integers(0, lanes), st.just((low, high))))
    a, table = bit_pattern(STORED[size], 1), offsets(size, 64, repeats)
    dst = bit_pattern(STORED[size], 2)
    expected = dst.copy()
    active = np.flatnonzero(mask_bits(mask, lanes))
    for repeat in range(repeats):
        at = repeat * stride * 32 // size + active
        expected[at] = a[(64 + table[repeat * lanes + active].astype(np.int64)) // size]
    if isinstance(mask, int):
        KERNELS.run(f"gather_mask_{cpp}", dst, a, table, 64, mask, repeats, stride)
    else:
        words = (signed(low), signed(high))
        KERNELS.run(f"gather_bits_{cpp}", dst, a, table, 64, *words, repeats, stride)
    np.testing.assert_array_equal(dst, expected)


@pytest.mark.parametrize("cpp", ["uint16_t", "uint32_t"])
@SLOW
@given(block=st.integers(0, 3), stride=st.integers(0, 30), repeats=st.integers(0, 12))
def test_gather_blocks(cpp: str, block: int, stride: int, repeats: int) -> None:
    dtype = STORED[TYPES[cpp]]
    per = 32 // np.dtype(dtype).itemsize
    a, dst = bit_pattern(dtype, 3), bit_pattern(dtype, 4)
    table = (np.random.default_rng(5).integers(0, BYTES // 32, BYTES // 4) * 32).astype(np.uint32)
    expected = dst.copy().reshape(-1, per)
    for i in range(repeats * 8):
        expected[i // 8 * stride + i % 8 * (block or 1)] = a.reshape(-1, per)[table[i] // 32]
    KERNELS.run(f"gatherb_{cpp}", dst, a, table, block, stride, repeats)
    np.testing.assert_array_equal(dst, expected.reshape(-1))


def walked(a: Any, repeat: int, elements: int, block: int, stride: int) -> Any:
    """The elements one repeat of GatherMask looks at."""
    per = 32 // a.itemsize
    i = np.arange(elements)
    return a[repeat * stride * per + i // per * block * per + i % per]


def pattern_bits(pattern: int, elements: int) -> Any:
    i = np.arange(elements)
    if pattern <= 2:
        return i % 2 == pattern - 1
    return np.full(elements, True) if pattern == 7 else i % 4 == pattern - 3


@pytest.mark.parametrize("cpp", TYPES)
@SLOW
@given(data=st.data())
def test_gather_mask(cpp: str, data: st.DataObject) -> None:
    size = TYPES[cpp]
    dtype = STORED[size]
    counter = data.draw(st.booleans())
    repeats = data.draw(st.integers(0, 6))
    mask = data.draw(st.integers(1, 300 if repeats > 1 else 1500)) if counter else 0
    block, stride = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 20))
    pattern = data.draw(st.integers(0, 7))
    bit_stride = data.draw(st.integers(0, 3))
    a, bits = bit_pattern(dtype, 6), bit_pattern(dtype, repeats)
    dst = bit_pattern(dtype, 8)
    elements = mask if counter else 256 // size
    unpacked = np.unpackbits(bits.view(np.uint8), bitorder="little").astype(bool)
    kept: list[Any] = []
    for repeat in range(repeats):
        at = repeat * bit_stride * 256
        chosen = pattern_bits(pattern, elements) if pattern else unpacked[at : at + elements]
        kept.append(walked(a, repeat, elements, block, stride)[chosen])
    result = np.concatenate(kept) if kept else np.zeros(0, dtype)
    expected = dst.copy()
    expected[: result.size] = result
    expected.view(np.uint64)[3071] = result.size
    if pattern:
        KERNELS.run(f"keep_{cpp}", dst, a, bits, pattern, counter, mask, block, repeats, stride)
    else:
        KERNELS.run(
            f"keep_bits_{cpp}", dst, a, bits, counter, mask, block, repeats, stride, bit_stride
        )
    np.testing.assert_array_equal(dst, expected)


def test_gather_mask_in_place_and_the_mask_it_leaves() -> None:
    a = np.arange(BYTES // 4, dtype=np.float32)
    dst = a.copy()
    KERNELS.run("keep_in_place", dst, a, a)
    np.testing.assert_array_equal(dst[:128], a[1:256:2])
    np.testing.assert_array_equal(dst[128:], a[128:])
    dst = np.zeros_like(a)
    KERNELS.run("mask_after_keeping", dst, a, a)
    np.testing.assert_array_equal(dst[1024:1027], a[:5:2])
    # Normal mode, and the mask register holds the count's bits: 5 = lanes 0 and 2.
    np.testing.assert_array_equal(dst[:4], [1, 0, 3, 0])


ERRORS = KernelSet(
    PRELUDE
    + """
template <class F>
__aicore__ inline void with_table(GM_ADDR d, int32_t value, F body)
{
    TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 196608);
    LocalTensor<float> x = buffer.Get<float>();
    LocalTensor<uint32_t> t = x.ReinterpretCast<uint32_t>()[8192];
    Duplicate(t, (uint32_t)value, 64); PipeBarrier<PIPE_V>();
    body(x, t);
}
"""
)
# name, statement, value of the table, slug, words of the text
CASES: list[tuple[str, str, int, str, tuple[str, ...]]] = [
    ("far", "Gather(x, x, t, 0, 4);", 196608, "out-of-bounds", ("Gather: srcOffset[0] leads to bytes [196608, 196612) of UB",)),
    ("base", "Gather(x, x[1024], t, 196000, 4);", 0, "out-of-bounds", ("srcOffset[0]", "[200096, 200100)")),
    ("odd", "Gather(x, x[1024], t, 0, 4);", 2, "misaligned", ("Gather: srcOffset[0] leads to byte 4098", "multiple of 4")),
    ("table", "Gather(x, x[1024], t[1], 0, 4);", 0, "misaligned", ("Gather: srcOffset starts at byte",)),
    ("source", "Gather(x, x[1], t, 0, 4);", 0, "misaligned", ("Gather: src starts at byte 4",)),
    ("target", "Gather(x[1], x[1024], t, 0, 4);", 0, "misaligned", ("Gather: dst starts at byte 4",)),
    ("overlap", "Gather(x, x, t, 0, 64);", 128, "operand-overlap", ("as dst and reads", "which must share no byte")),
    ("count", "Gather(x, x[1024], t, 0, 16384);", 0, "bad-argument", ("Gather: count is 16384", "0..16383")),
    ("mask", "Gather(x, x[1024], t, 0, (uint64_t)65, 1, 8);", 0, "bad-argument", ("mask is 65", "0..64")),
    ("table_end", "Gather(x, x[1024], x.ReinterpretCast<uint32_t>()[49152 - 8], 0, 64);", 0, "out-of-bounds", ("Gather: srcOffset",)),
    ("blocks_odd", "Gatherb(x.ReinterpretCast<uint32_t>(), t[1024], t, 1, {1, 8});", 16, "misaligned", ("Gatherb: offset[0]", "multiple of 32")),
    ("blocks_far", "Gatherb(x.ReinterpretCast<uint32_t>(), t, t, 1, {1, 8});", 196608, "out-of-bounds", ("Gatherb: offset[0]",)),
    ("blocks_repeat", "Gatherb(x.ReinterpretCast<uint32_t>(), t, t, repeats, {1, 8});", 0, "bad-argument", ("repeatTime is 256",)),
    ("pattern", "uint64_t n; GatherMask(x, x, (uint8_t)8, false, 0, {1, 1, 8, 0}, n);", 0, "bad-argument", ("src1Pattern is 8", "1..7")),
    ("pattern_0", "uint64_t n; GatherMask(x, x, (uint8_t)0, false, 0, {1, 1, 8, 0}, n);", 0, "bad-argument", ("src1Pattern is 0",)),
    ("no_count", "uint64_t n; GatherMask(x, x, (uint8_t)1, true, 0, {1, 1, 8, 0}, n);", 0, "bad-argument", ("mask is 0, but must be 1..",)),
    ("keep_far", "uint64_t n; GatherMask(x, x[49088], (uint8_t)1, true, 65, {1, 1, 8, 0}, n);", 0, "out-of-bounds", ("GatherMask: src0",)),
    ("keep_odd", "uint64_t n; GatherMask(x[1], x, (uint8_t)1, false, 0, {1, 1, 8, 0}, n);", 0, "misaligned", ("GatherMask: dst",)),
    ("bits_odd", "uint64_t n; GatherMask(x, x[1024], t[1], false, 0, {1, 1, 8, 0}, n);", 0, "misaligned", ("GatherMask: src1Pattern",)),
]  # fmt: skip
test_limits = limit_tests(
    ERRORS,
    CASES,
    "GM_ADDR d, int32_t value, int32_t repeats",
    lambda statement: (
        "with_table(d, value, [&](LocalTensor<float>& x, LocalTensor<uint32_t>& t) "
        f"{{ (void)t; {statement} }});"
    ),
    256,
)


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
    ERRORS.vendor_check()
