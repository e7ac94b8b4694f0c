"""Cast: every legal pair and mode, exhaustively for 16-bit types; scalar conversions of half and bfloat16_t."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet

COUNT = 4096
KERNELS = KernelSet(
    """
template <class D, class S>
__aicore__ inline void cast_all(GM_ADDR d, GM_ADDR s, RoundMode mode)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> in;
    TBuf<TPosition::VECCALC> out;
    pipe.InitBuffer(in, 32768);
    pipe.InitBuffer(out, 32768);
    LocalTensor<S> src = in.Get<S>();
    LocalTensor<D> dst = out.Get<D>();
    GlobalTensor<S> gs;
    GlobalTensor<D> gd;
    gs.SetGlobalBuffer((__gm__ S*)s);
    gd.SetGlobalBuffer((__gm__ D*)d);
    int32_t at = GetBlockIdx() * 4096;
    DataCopy(src, gs[at], 4096);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Cast(dst, src, mode, 4096);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(gd[at], dst, 4096);
}
"""
)

NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)
RFCAT = (RINT, FLOOR, CEIL, ROUND, TRUNC)
MODE_NAMES = (
    "CAST_NONE",
    "CAST_RINT",
    "CAST_FLOOR",
    "CAST_CEIL",
    "CAST_ROUND",
    "CAST_TRUNC",
    "CAST_ODD",
)
CPP = {
    "i8": "int8_t", "u8": "uint8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "f16": "half",
    "bf16": "bfloat16_t", "f32": "float",
}  # fmt: skip
NUMPY: dict[str, Any] = {
    "i8": np.int8, "u8": np.uint8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f16": np.float16,
    "bf16": np.uint16, "f32": np.float32,
}  # fmt: skip
# (source, destination, modes): the vendor's table for A2 and A3.
PAIRS: list[tuple[str, str, tuple[int, ...]]] = [
    ("i8", "f16", (NONE,)), ("u8", "f16", (NONE,)), ("i16", "f16", (*RFCAT, NONE)), ("i16", "f32", (NONE,)),
    ("f16", "i8", (*RFCAT, NONE)), ("f16", "u8", (*RFCAT, NONE)), ("f16", "i16", RFCAT), ("f16", "i32", RFCAT),
    ("f16", "f32", (NONE,)), ("bf16", "i32", RFCAT), ("bf16", "f32", (NONE,)), ("i32", "i16", (NONE,)),
    ("i32", "f32", (*RFCAT, NONE)), ("i32", "i64", (NONE,)), ("f32", "i16", RFCAT), ("f32", "i32", RFCAT),
    ("f32", "i64", RFCAT), ("f32", "bf16", RFCAT), ("f32", "f32", RFCAT), ("f32", "f16", (*RFCAT, ODD, NONE)),
    ("i64", "i32", (NONE,)), ("i64", "f32", RFCAT),
]  # fmt: skip
ILLEGAL = [
    ("f16", "bf16"),
    ("bf16", "f16"),
    ("f32", "i8"),
    ("f32", "u8"),
    ("i8", "i32"),
    ("i8", "f32"),
    ("bf16", "i16"),
]

for _s, _d, _ in PAIRS:
    KERNELS.add(
        f"cast_{_s}_{_d}",
        "GM_ADDR d, GM_ADDR s, int32_t mode",
        f"cast_all<{CPP[_d]}, {CPP[_s]}>(d, s, (RoundMode)mode);",
    )
HOST = KernelSet(
    """
extern "C" __attribute__((visibility("default"))) void decode(float* h, float* b)
{
    for (uint32_t i = 0; i < 65536; ++i) {
        h[i] = half::from_bits((uint16_t)i);
        b[i] = bfloat16_t::from_bits((uint16_t)i);
    }
}
extern "C" __attribute__((visibility("default"))) void encode(const float* f, uint16_t* h, uint16_t* b, int n)
{
    for (int i = 0; i < n; ++i) {
        h[i] = half(f[i]).bits;
        b[i] = bfloat16_t(f[i]).bits;
    }
}
"""
)
for _s, _d in ILLEGAL:
    HOST.add(f"illegal_{_s}_{_d}", "GM_ADDR a",
        f"TPipe pipe; TBuf<TPosition::VECCALC> x; pipe.InitBuffer(x, 1024); LocalTensor<{CPP[_d]}> d = x.Get<{CPP[_d]}>(); "
        f"LocalTensor<{CPP[_s]}> s = x.Get<{CPP[_s]}>(); Cast(d, s, RoundMode::CAST_RINT, 64);")  # fmt: skip
HOST.add("illegal_mode", "GM_ADDR a",
    "TPipe pipe; TBuf<TPosition::VECCALC> x; pipe.InitBuffer(x, 1024); LocalTensor<float> d = x.Get<float>(); "
    "LocalTensor<half> s = x.Get<half>(); Cast(d, s, RoundMode::CAST_RINT, 64);")  # fmt: skip
HOST.add("dequantise", "GM_ADDR d, GM_ADDR s",
    "TPipe pipe; TBuf<TPosition::VECCALC> x; pipe.InitBuffer(x, 4096); LocalTensor<int32_t> s_ = x.Get<int32_t>(512); "
    "LocalTensor<half> d_ = x.GetWithOffset<half>(512, 2048); GlobalTensor<int32_t> gs; GlobalTensor<half> gd; "
    "gs.SetGlobalBuffer((__gm__ int32_t*)s); gd.SetGlobalBuffer((__gm__ half*)d); DataCopy(s_, gs, 512); "
    "PipeBarrier<PIPE_ALL>(); SetDeqScale((half)0.5f); Cast(d_, s_, RoundMode::CAST_NONE, 512); "
    "PipeBarrier<PIPE_ALL>(); DataCopy(gd, d_, 512);")  # fmt: skip


def bf16_to_f32(bits: Any) -> Any:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def f32_to_bf16(values: Any) -> Any:
    bits = values.view(np.uint32)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), (bits >> 16).astype(np.uint16) | 0x40, rounded)


def around(values: Any) -> Any:
    """The values of a narrow format as floats, the ties between them, and the floats next to all of these."""
    ordered = np.unique(values[np.isfinite(values)]).astype(np.float64)
    ties = ((ordered[1:] + ordered[:-1]) / 2).astype(np.float32)
    points = np.concatenate([values.astype(np.float32), ties])
    infinity = np.float32(np.inf)
    with np.errstate(all="ignore"):
        return np.concatenate(
            [points, np.nextafter(points, infinity), np.nextafter(points, -infinity)]
        )


def sources(kind: str, target: str = "f16") -> Any:
    """Every input of a type of up to 16 bits; of a wider one what lies around the targets' values, and more."""
    rng = np.random.default_rng(7)
    if kind in ("f16", "bf16"):
        bits = np.arange(65536, dtype=np.uint16)
        return bits.view(np.float16) if kind == "f16" else bits
    if kind in ("i8", "u8", "i16"):
        limits = np.iinfo(NUMPY[kind])
        values = np.arange(limits.min, limits.max + 1).astype(NUMPY[kind])
    elif kind == "f32":
        special = np.array(
            [0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, 2.5, 65504, 65519.996, 65520, -65536, 2.0**31, -(2.0**31),
             2.0**31 - 128, 2.0**63, -(2.0**63), 32767.5, -32768.5, 2.0**-24, 2.0**-25, 3 * 2.0**-26, 1e-45, 3.4028235e38,
             3.3895314e38, 0.49999997, 8388609.0, 1e10],
            dtype=np.float32,
        )  # fmt: skip
        every = np.arange(65536, dtype=np.uint16)
        narrow = bf16_to_f32(every) if target == "bf16" else every.view(np.float16)
        bits = rng.integers(0, 2**32, 40000, dtype=np.uint32).view(np.float32)
        halfway = around(np.arange(-33000, 33000, dtype=np.float32))
        values = np.concatenate([special, bits, around(narrow), halfway]).astype(np.float32)
    else:
        limits = np.iinfo(NUMPY[kind])
        values = rng.integers(limits.min, limits.max, 20000, dtype=NUMPY[kind], endpoint=True)
        values[:4] = [limits.min, limits.max, 0, 1]
        values[100:5000] = rng.integers(-(2**26), 2**26, 4900)
    padded = -values.size % COUNT
    return np.concatenate([values, np.zeros(padded, values.dtype)])


def integral(values: Any, mode: int) -> Any:
    if mode == FLOOR:
        return np.floor(values)
    if mode == CEIL:
        return np.ceil(values)
    if mode == TRUNC:
        return np.trunc(values)
    if mode == ROUND:
        whole = np.trunc(values)
        return np.where(np.abs(values - whole) >= 0.5, whole + np.sign(values), whole)
    return np.rint(values)


def to_integer(values: Any, mode: int, dtype: Any) -> Any:
    limits = np.iinfo(dtype)
    exact = integral(values.astype(np.longdouble), mode)
    clipped = np.clip(np.where(np.isnan(exact), 0, exact), limits.min, limits.max)
    return clipped.astype(dtype)


def to_narrow(values: Any, mode: int, decode: Any, nearest: Any) -> Any:
    """Bits of a narrower float in any mode: the neighbours of the nearest value are tried."""
    wide = values.astype(np.longdouble)
    magnitude = np.abs(wide)
    low = nearest(np.abs(values)).astype(np.int64)
    low = np.where(decode(low) > magnitude, low - 1, low)
    below, above = magnitude - decode(low), decode(low + 1) - magnitude
    negative = wide < 0
    up = {
        FLOOR: negative,
        CEIL: ~negative,
        TRUNC: np.zeros_like(negative),
        ROUND: below >= above,
        ODD: low % 2 == 0,
    }[mode]
    return np.where(below == 0, low, np.where(up, low + 1, low))


def expected_for(values: Any, source: str, target: str, mode: int) -> Any:
    exact = bf16_to_f32(values) if source == "bf16" else values
    if target in ("i8", "u8", "i16", "i32", "i64"):
        return to_integer(exact, mode, NUMPY[target])
    if target == "f32":
        if source == "f32":
            return integral(exact, mode) + np.float32(0)
        if mode in (NONE, RINT):
            return exact.astype(np.float32)
        decode = lambda bits: bits.astype(np.uint32).view(np.float32).astype(np.longdouble)  # noqa: E731
        nearest = lambda v: v.astype(np.float32).view(np.uint32)  # noqa: E731
        wide = exact.astype(np.longdouble)
        bits = to_narrow(wide, mode, decode, nearest).astype(np.uint32)
        return np.where(exact < 0, -bits.view(np.float32), bits.view(np.float32))
    if target == "f16":
        if mode in (NONE, RINT):
            return exact.astype(np.float16)
        decode = lambda bits: bits.astype(np.uint16).view(np.float16).astype(np.longdouble)  # noqa: E731
        nearest = lambda v: v.astype(np.float16).view(np.uint16)  # noqa: E731
        bits = to_narrow(exact.astype(np.float64), mode, decode, nearest).astype(np.uint16)
        result = np.where(np.signbit(exact), bits | 0x8000, bits).astype(np.uint16).view(np.float16)
        return np.where(
            np.isfinite(exact) & (np.abs(exact) < 65520), result, exact.astype(np.float16)
        )
    if mode in (NONE, RINT):
        return f32_to_bf16(exact)
    decode = lambda bits: bf16_to_f32(bits.astype(np.uint16)).astype(np.longdouble)  # noqa: E731
    bits = to_narrow(exact, mode, decode, f32_to_bf16).astype(np.uint16)
    result = np.where(np.signbit(exact), bits | 0x8000, bits).astype(np.uint16)
    ordinary = np.isfinite(exact) & np.isfinite(bf16_to_f32(f32_to_bf16(exact)))
    return np.where(ordinary, result, f32_to_bf16(exact))


CASES = [(s, d, mode) for s, d, modes in PAIRS for mode in modes]


@pytest.mark.parametrize(
    ("source", "target", "mode"), CASES, ids=[f"{s}-{d}-{MODE_NAMES[m]}" for s, d, m in CASES]
)
def test_cast(source: str, target: str, mode: int) -> None:
    values = sources(source, target)
    result = np.zeros(values.size, NUMPY[target])
    KERNELS.run(f"cast_{source}_{target}", result, values, mode, blocks=values.size // COUNT)
    with np.errstate(all="ignore"):
        expected = expected_for(values, source, target, mode)
    if target == "bf16":
        result, expected = bf16_to_f32(result), bf16_to_f32(expected)
    np.testing.assert_array_equal(result, expected)
    if result.dtype.kind == "f" and source != target:
        ordered = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result[ordered]), np.signbit(expected[ordered]))


@pytest.mark.parametrize(("source", "target"), ILLEGAL, ids=[f"{s}-{d}" for s, d in ILLEGAL])
def test_illegal_pair_is_an_error(source: str, target: str) -> None:
    fault = HOST.fault(f"illegal_{source}_{target}", np.zeros(1, np.int32))
    assert fault.kind == "bad-argument"
    assert "does not exist on 910B" in fault.text


def test_illegal_mode_names_the_legal_ones() -> None:
    fault = HOST.fault("illegal_mode", np.zeros(1, np.int32))
    assert fault.kind == "bad-argument"
    assert "half to float with CAST_RINT" in fault.text and "CAST_NONE" in fault.text


def test_int32_to_half_uses_the_scale() -> None:
    s = np.arange(-256, 256, dtype=np.int32) * 3
    d = np.zeros(512, np.float16)
    HOST.run("dequantise", d, s)
    np.testing.assert_array_equal(d, (s * 0.5).astype(np.float16))


def test_scalar_half_and_bfloat16_exhaustively() -> None:
    library = ctypes.CDLL(str(HOST.library()), mode=ctypes.RTLD_LOCAL | 1)
    h, b = np.zeros(65536, np.float32), np.zeros(65536, np.float32)
    library.decode(ctypes.c_void_p(h.ctypes.data), ctypes.c_void_p(b.ctypes.data))
    bits = np.arange(65536, dtype=np.uint16)
    np.testing.assert_array_equal(h, bits.view(np.float16).astype(np.float32))
    np.testing.assert_array_equal(b, bf16_to_f32(bits))
    values = np.concatenate([sources("f32"), h, b])
    out_h, out_b = np.zeros(values.size, np.uint16), np.zeros(values.size, np.uint16)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (values, out_h, out_b)]
    library.encode(*pointers, ctypes.c_int(values.size))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out_h.view(np.float16), values.astype(np.float16))
        np.testing.assert_array_equal(bf16_to_f32(out_b), bf16_to_f32(f32_to_bf16(values)))
    ordered = ~np.isnan(values)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            out_h[ordered], values[ordered].astype(np.float16).view(np.uint16)
        )


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
