"""Operations that convert: AddReluCast, SubReluCast, MulCast, CastDeq, AddDeqRelu, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet
from limits import limit_tests
from vector_kernels import BYTES, PRELUDE, add, bit_pattern, numbers, signed
from vector_model import Strides, apply, mask_bits

KERNELS = KernelSet(PRELUDE)
NAMES = KernelSet(PRELUDE)  # as CANN 9.x calls them
SLOW = settings(max_examples=examples(25))
NUMPY: dict[str, Any] = {
    "half": np.float16, "float": np.float32, "int16_t": np.int16, "int8_t": np.int8, "uint8_t": np.uint8
}  # fmt: skip
PAIRS = [
    ("AddReluCast", "int8_t", "half"), ("AddReluCast", "int8_t", "int16_t"),
    ("AddReluCast", "half", "float"), ("SubReluCast", "int8_t", "half"),
    ("SubReluCast", "int8_t", "int16_t"), ("SubReluCast", "half", "float"),
    ("MulCast", "int8_t", "half"), ("MulCast", "uint8_t", "half"),
]  # fmt: skip
STRIDES = "int32_t repeats, int32_t dst_rep, int32_t src0_rep, int32_t src1_rep, int32_t block"
PARAMS = (
    "BinaryRepeatParams p; p.dstBlkStride = block; p.src0BlkStride = 1; p.src1BlkStride = block; "
    "p.dstRepStride = dst_rep; p.src0RepStride = src0_rep; p.src1RepStride = src1_rep; "
)
BITS = "uint64_t mask[2] = {(uint64_t)low, (uint64_t)high}; "

for _api, _d, _s in PAIRS:
    _types, _name = f"{_d}, {_s}, {_s}", f"{_api}_{_d}_{_s}"
    add(
        KERNELS,
        f"{_name}_count",
        _types,
        f"{_api}(dst, src0, src1, (uint32_t)count);",
        "int32_t count",
    )
    add(
        KERNELS,
        f"{_name}_mask",
        _types,
        f"{PARAMS} {_api}(dst, src0, src1, (uint64_t)mask, repeats, p);",
        f"int32_t mask, {STRIDES}",
    )
    add(
        KERNELS,
        f"{_name}_bits",
        _types,
        f"{BITS} {PARAMS} {_api}(dst, src0, src1, mask, repeats, p);",
        f"int64_t low, int64_t high, {STRIDES}",
    )


def narrowed(value: Any, dtype: Any) -> Any:
    """To the nearest even integer, saturated; NaN gives 0."""
    info = np.iinfo(dtype)
    with np.errstate(invalid="ignore"):
        rounded = np.rint(np.nan_to_num(value.astype(np.float64), nan=0.0))
    return np.clip(rounded, info.min, info.max).astype(dtype)


def function_of(api: str, dst: str, src: str) -> Callable[..., Any]:
    operation = {"AddReluCast": np.add, "SubReluCast": np.subtract, "MulCast": np.multiply}[api]

    def run(old: Any, a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):
            if src == "int16_t":  # sums stay in range before they become bytes
                return np.clip(operation(a.astype(np.int32), b), 0, 127).astype(np.int8)
            value = operation(a, b)  # rounded to the source's type
            if api != "MulCast":
                value = np.maximum(value, a.dtype.type(0))
            return value.astype(np.float16) if dst == "half" else narrowed(value, NUMPY[dst])

    return run


def wide(src: str, seed: int) -> Any:
    return numbers(NUMPY[src], seed, -70, 70)


@pytest.mark.parametrize(("api", "dst", "src"), PAIRS)
@SLOW
@given(data=st.data())
def test_converting(api: str, dst: str, src: str, data: st.DataObject) -> None:
    function = function_of(api, dst, src)
    name = f"{api}_{dst}_{src}"
    a, b = wide(src, data.draw(st.integers(0, 9))), wide(src, 20)
    old = bit_pattern(NUMPY[dst], 3)
    result, expected = old.copy(), old.copy()
    form = data.draw(st.sampled_from(["count", "mask", "bits"]))
    if form == "count":
        count = data.draw(st.integers(0, 3000))
        expected[:count] = function(old[:count], a[:count], b[:count])
        KERNELS.run(f"{name}_count", result, a, b, count)
    else:
        lanes = 256 // a.itemsize
        low = data.draw(st.integers(0, 2**64 - 1))
        high = data.draw(st.integers(0, 2**64 - 1)) if lanes == 128 else 0
        mask: Any = data.draw(st.integers(0, lanes)) if form == "mask" else (low, high)
        block = data.draw(st.integers(1, 2))
        repeats, reps = (
            data.draw(st.integers(0, 6)),
            [data.draw(st.integers(low_, 20)) for low_ in (16, 0, 0)],
        )
        strides = [Strides(block, reps[0]), Strides(1, reps[1]), Strides(block, reps[2])]
        apply(function, expected, [a, b], mask, repeats, strides)
        words = (mask,) if form == "mask" else (signed(low), signed(high))
        KERNELS.run(f"{name}_{form}", result, a, b, *words, repeats, *reps, block)
    np.testing.assert_array_equal(result.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize(("api", "dst"), [("MulCast", "int8_t"), ("MulCast", "uint8_t")])
def test_every_half_to_bytes(api: str, dst: str) -> None:
    """All 65,536 halves times one."""
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    ones = np.ones(BYTES // 2, np.float16)
    for start in range(0, 65536, 8192):
        a = np.zeros(BYTES // 2, np.float16)
        a[:8192] = every[start : start + 8192]
        result = np.zeros(BYTES, NUMPY[dst])
        KERNELS.run(f"{api}_{dst}_half_count", result, a, ones, 8192)
        expected = narrowed(np.clip(a[:8192].astype(np.float32), -1e5, 1e5), NUMPY[dst])
        np.testing.assert_array_equal(result[:8192], expected)


# int16 to 8 bits ---------------------------------------------------------------------------------

for _api, _set in (("CastDeq", KERNELS), ("CastDequant", NAMES)):
    for _d in ("int8_t", "uint8_t"):
        for _table in ("true", "false"):
            for _high in ("true", "false"):
                _types = f"{_d}, int16_t, float"
                _sign = "true" if _d == "int8_t" else "false"
                _scale = (
                    f"SetDeqScale(src1.GetValue(0), (int16_t)src1.GetValue(16), {_sign}); "
                    if _table == "false"
                    else "float scale[16]; int16_t offset[16]; bool sign[16]; for (int i = 0; i < 16; ++i) { "
                    "scale[i] = src1.GetValue(i); offset[i] = (int16_t)src1.GetValue(16 + i); "
                    f"sign[i] = {_sign}; }} VdeqInfo info(scale, offset, sign); "
                    "LocalTensor<uint64_t> table = temp.ReinterpretCast<uint64_t>(); SetDeqScale(table, info); "
                    "SetFlag<HardEvent::S_V>(2); WaitFlag<HardEvent::S_V>(2); "
                )
                _options = f"{_table}, {_high}"
                _name = f"{_api}_{_d}_{_table}_{_high}"
                add(
                    _set,
                    f"{_name}_count",
                    _types,
                    f"{_scale} {_api}<{_d}, int16_t, {_options}>(dst, src0, (uint32_t)count);",
                    "int32_t count",
                )
                _params = (
                    "UnaryRepeatParams p; p.dstBlkStride = block; p.srcBlkStride = 1; "
                    "p.dstRepStride = dst_rep; p.srcRepStride = src_rep; "
                )
                _unary = "int32_t repeats, int32_t dst_rep, int32_t src_rep, int32_t block"
                add(
                    _set,
                    f"{_name}_mask",
                    _types,
                    f"{_scale} {_params} {_api}<{_d}, int16_t, true, {_options}>(dst, src0, (int32_t)mask, repeats, p);",
                    f"int32_t mask, {_unary}",
                )
                add(
                    _set,
                    f"{_name}_bits",
                    _types,
                    f"{_scale} {_params} {BITS} "
                    f"{_api}<{_d}, int16_t, true, {_options}>(dst, src0, mask, repeats, p);",
                    f"int64_t low, int64_t high, {_unary}",
                )


def quantised(a: Any, scales: Any, offsets: Any, dst: str) -> Any:
    """Lane i of a block uses group i; scales keep 10 bits of mantissa."""
    coarse = (scales.view(np.uint32) & ~np.uint32(0x1FFF)).view(np.float32)
    lane = np.arange(a.size) % 16
    return narrowed(a.astype(np.float32) * coarse[lane] + offsets[lane], NUMPY[dst])


@pytest.mark.parametrize("kernels", [KERNELS, NAMES], ids=["CastDeq", "CastDequant"])
@pytest.mark.parametrize("table", [False, True], ids=["one", "table"])
@pytest.mark.parametrize("dst", ["int8_t", "uint8_t"])
@SLOW
@given(data=st.data())
def test_quantise(kernels: KernelSet, dst: str, table: bool, data: st.DataObject) -> None:
    a = numbers(np.int16, data.draw(st.integers(0, 9)))
    high = data.draw(st.booleans())
    rng = np.random.default_rng(4)
    settings_ = np.zeros(BYTES // 4, np.float32)
    settings_[:16] = rng.uniform(-0.01, 0.01, 16)
    settings_[16:32] = rng.integers(-256, 256, 16)
    if not table:
        settings_[:16] = settings_[0]
        settings_[16:32] = settings_[16]
    api = "CastDeq" if kernels is KERNELS else "CastDequant"
    name = f"{api}_{dst}_{str(table).lower()}_{str(high).lower()}"
    old = bit_pattern(NUMPY[dst], 5)
    result, expected = old.copy(), old.copy()
    blocks = expected.reshape(-1, 2, 16)

    def put(source: Any, active: Any, to: list[int]) -> None:
        values = quantised(source, settings_[:16], settings_[16:32], dst).reshape(-1, 16)
        on = np.array(active).reshape(-1, 16)
        for i, block in enumerate(to):
            blocks[block, int(high)][on[i]] = values[i][on[i]]

    form = data.draw(st.sampled_from(["count", "mask", "bits"]))
    if form == "count":
        count = data.draw(st.integers(0, 3000))
        padded = -(-count // 16) * 16
        put(a[:padded], np.arange(padded) < count, list(range(padded // 16)))
        kernels.run(f"{name}_count", result, a, settings_, count)
    else:
        low, top = data.draw(st.integers(0, 2**64 - 1)), data.draw(st.integers(0, 2**64 - 1))
        mask: Any = data.draw(st.integers(0, 128)) if form == "mask" else (low, top)
        repeats, block = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 2))
        dst_rep, src_rep = data.draw(st.integers(16, 20)), data.draw(st.integers(0, 20))
        for r in range(repeats):
            source = a[r * src_rep * 16 :][:128]
            put(source, mask_bits(mask, 128), [r * dst_rep + i * block for i in range(8)])
        words = (mask,) if form == "mask" else (signed(low), signed(top))
        kernels.run(
            f"{name}_{form}", result, a, settings_, *words, repeats, dst_rep, src_rep, block
        )
    np.testing.assert_array_equal(result, expected)


# int32 to half -----------------------------------------------------------------------------------

for _api in ("CastDeq", "CastDequant"):  # from int32: not in the 8.1 headers
    add(
        NAMES,
        f"{_api}_half",
        "half, int32_t, int32_t",
        f"SetDeqScale((half)scale); {_api}(dst, src0, (uint32_t)count);",
        "float scale, int32_t count",
    )
add(
    KERNELS,
    "deq_count",
    "half, int32_t, int32_t",
    "SetDeqScale((half)scale); AddDeqRelu(dst, src0, src1, (int32_t)count);",
    "float scale, int32_t count",
)
add(
    KERNELS,
    "deq_mask",
    "half, int32_t, int32_t",
    f"{PARAMS} SetDeqScale((half)scale); AddDeqRelu(dst, src0, src1, (uint64_t)mask, repeats, p);",
    f"float scale, int32_t mask, {STRIDES}",
)
add(
    KERNELS,
    "deq_bits",
    "half, int32_t, int32_t",
    f"{PARAMS} {BITS} SetDeqScale((half)scale); AddDeqRelu(dst, src0, src1, mask, repeats, p);",
    f"float scale, int64_t low, int64_t high, {STRIDES}",
)
add(
    KERNELS,
    "deq_space",
    "half, int32_t, float",
    "LocalTensor<int32_t> other = src1.ReinterpretCast<int32_t>(); SetDeqScale((half)1.0f); "
    "AddDeqRelu(dst, src0, other, (int32_t)64); PipeBarrier<PIPE_V>(); "
    "DataCopy(dst.ReinterpretCast<int32_t>()[64], src0, 64);",
)


def integers(seed: int) -> Any:
    return np.random.default_rng(seed).integers(-3000, 3000, BYTES // 4).astype(np.int32)


def test_dequantise() -> None:
    a = integers(1)
    for name in ("CastDeq", "CastDequant"):
        dst = np.zeros(BYTES // 2, np.float16)
        NAMES.run(f"{name}_half", dst, a, a, 0.37, 1003)
        scale = np.float32(np.float16(0.37))
        np.testing.assert_array_equal(
            dst[:1003], (a[:1003].astype(np.float32) * scale).astype(np.float16)
        )
        assert (dst[1003:] == 0).all()


@SLOW
@given(data=st.data())
def test_add_dequantise_relu(data: st.DataObject) -> None:
    a, b = integers(2), integers(3)
    scale = data.draw(st.sampled_from([0.37, 1.0, -0.5]))
    factor = np.float32(np.float16(scale))

    def function(old: Any, x: Any, y: Any) -> Any:
        return np.maximum(((x + y).astype(np.float32) * factor).astype(np.float16), np.float16(0))

    old = numbers(np.float16, 4)
    result, expected = old.copy(), old.copy()
    form = data.draw(st.sampled_from(["count", "mask", "bits"]))
    if form == "count":
        count = data.draw(st.integers(0, 6000))
        expected[:count] = function(old[:count], a[:count], b[:count])
        KERNELS.run("deq_count", result, a, b, scale, count)
    else:
        low = data.draw(st.integers(1, 2**64 - 1))
        mask: Any = data.draw(st.integers(1, 64)) if form == "mask" else (low, 0)
        repeats = data.draw(st.integers(0, 90))
        # The sources are temporary space of the call, laid out with strides 1 and 8.
        dst_rep, block = data.draw(st.integers(4, 8)), 1
        strides = [Strides(block, dst_rep), Strides(1, 8), Strides(block, 8)]
        apply(function, expected, [a, b], mask, repeats, strides)
        words = (mask,) if form == "mask" else (signed(low), 0)
        KERNELS.run(f"deq_{form}", result, a, b, scale, *words, repeats, dst_rep, 8, 8, block)
    np.testing.assert_array_equal(result, expected)


def test_add_dequantise_relu_uses_its_sources_as_space() -> None:
    a, b = integers(5), integers(6)
    dst = np.zeros(BYTES // 2, np.float16)
    KERNELS.run("deq_space", dst, a, b.view(np.float32))
    sums = (a[:64] + b[:64]).astype(np.float32)
    np.testing.assert_array_equal(dst.view(np.float32)[64:128], sums)


ERRORS = KernelSet()
UB = (
    "TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 196608); "
    "LocalTensor<int16_t> s = buffer.Get<int16_t>(); LocalTensor<int8_t> b = buffer.Get<int8_t>(); "
    "LocalTensor<uint64_t> t = buffer.Get<uint64_t>()[1024]; LocalTensor<half> h = buffer.Get<half>(); "
    "LocalTensor<int32_t> w = buffer.Get<int32_t>(); VdeqInfo info; "
)
CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("unset", "CastDeq<int8_t, int16_t, false>(b, s[1024], 64);", "bad-argument", ("needs SetDeqScale(scale, offset, signMode)",)),
    ("no_table", "SetDeqScale(1.0f, (int16_t)0, true); CastDeq<int8_t, int16_t, true>(b, s[1024], 64);", "bad-argument", ("isVecDeq = true needs SetDeqScale(tensor, VdeqInfo)",)),
    ("sign", "SetDeqScale(1.0f, (int16_t)0, false); CastDeq<int8_t, int16_t, false>(b, s[1024], 64);", "bad-argument", ("dst is int8", "signMode was set false")),
    ("table_sign", "Duplicate(h, (half)1, 16384); PipeBarrier<PIPE_ALL>(); SetDeqScale(t, info); CastDeq<int8_t, int16_t, true>(b, s[1024], 64);", "bad-argument", ("signMode was set false",)),
    ("offset", "SetDeqScale(1.0f, (int16_t)256, true);", "bad-argument", ("SetDeqScale: offset is 256", "-256..255")),
    ("table_odd", "SetDeqScale(t[1], info);", "misaligned", ("SetDeqScale: vdeq", "32")),
    ("dst_odd", "SetDeqScale(1.0f, (int16_t)0, true); CastDeq<int8_t, int16_t, false>(b[16], s[1024], 64);", "misaligned", ("CastDeq: dst",)),
    ("dst_end", "SetDeqScale(1.0f, (int16_t)0, true); CastDeq<int8_t, int16_t, false>(b[196608 - 96], s[1024], 64);", "out-of-bounds", ("CastDeq: dst",)),
    ("relu_unset", "SetDeqScale(1.0f, (int16_t)0, true); AddDeqRelu(h, w[1024], w[2048], (int32_t)64);", "bad-argument", ("AddDeqRelu needs SetDeqScale(half)",)),
    ("cast_scale", "SetDeqScale(1.0f, (int16_t)0, true); Cast(h, w[1024], RoundMode::CAST_NONE, 64);", "bad-argument", ("Cast: int32 to half needs SetDeqScale(half)",)),
    ("cast_odd", "MulCast(b[8], h[1024], h[2048], (uint32_t)64);", "misaligned", ("MulCast: dst",)),
]  # fmt: skip
test_limits = limit_tests(
    ERRORS,
    CASES,
    "GM_ADDR d",
    lambda statement: f"{UB} (void)s; (void)b; (void)t; (void)h; (void)w; (void)info; {statement}",
)


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
    ERRORS.vendor_check()
