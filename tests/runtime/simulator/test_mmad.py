"""Mmad alone: L0A and L0B are filled with fractals that NumPy laid out, L0C is read back by Fixpipe."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet

F16, F32, I8, I32, U8, U16, U32 = (
    np.float16,
    np.float32,
    np.int8,
    np.int32,
    np.uint8,
    np.uint16,
    np.uint32,
)

PRELUDE = """
struct Operands {
    TPipe pipe;
    TBuf<TPosition::A1> l1;
    TBuf<TPosition::A2> a2;
    TBuf<TPosition::B2> b2;
    TBuf<TPosition::CO1> co1;
    TBuf<TPosition::C2> c2;
    __aicore__ inline Operands()
    {
        pipe.InitBuffer(l1, 524288 - 128);
        pipe.InitBuffer(a2, 65536);
        pipe.InitBuffer(b2, 65536);
        pipe.InitBuffer(co1, 131072);
        pipe.InitBuffer(c2, 1024);
    }
};

// `fractals` of 512 B from GM to L1 and on to L0.
template <class T>
__aicore__ inline void fill(const LocalTensor<T>& l0, const LocalTensor<int8_t>& l1, GM_ADDR from, int32_t fractals)
{
    GlobalTensor<int8_t> g;
    g.SetGlobalBuffer((__gm__ int8_t*)from);
    DataCopy(l1, g, fractals * 512);
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    for (int32_t i = 0; i < fractals; i += 255) {
        LoadData2DParams p;
        p.startIndex = i;
        p.repeatTimes = fractals - i < 255 ? fractals - i : 255;
        p.srcStride = 1;
        LoadData(l0.template ReinterpretCast<int8_t>()[i * 512], l1, p);
    }
    SetFlag<HardEvent::MTE1_MTE2>(0);
    WaitFlag<HardEvent::MTE1_MTE2>(0);
}

enum { BIAS_TENSOR = 1, BIAS_SOURCE = 2, TWICE = 4, K_ALIGN = 8, HALF_BIAS = 16, HF32 = 32, TO_ZERO = 64, UNIT = 128 };

template <class T, class C>
__aicore__ inline void multiply(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, int32_t m, int32_t n, int32_t k,
    int32_t a_fractals, int32_t b_fractals, int32_t flags)
{
    Operands o;
    LocalTensor<T> a2 = o.a2.Get<T>();
    LocalTensor<T> b2 = o.b2.Get<T>();
    LocalTensor<C> co1 = o.co1.Get<C>();
    LocalTensor<int8_t> l1 = o.l1.Get<int8_t>();
    LocalTensor<C> c2 = o.c2.Get<C>();
    fill(a2, l1, a, a_fractals);
    fill(b2, l1, b, b_fractals);
    if (flags & (BIAS_TENSOR | BIAS_SOURCE)) {
        GlobalTensor<int8_t> g;
        g.SetGlobalBuffer((__gm__ int8_t*)bias);
        DataCopy(l1, g, 1024);
        SetFlag<HardEvent::MTE2_MTE1>(0);
        WaitFlag<HardEvent::MTE2_MTE1>(0);
        int32_t columns = (n + 15) / 16 * 16;
        if constexpr (sizeof(T) != 1) {
            if (flags & HALF_BIAS) {
                DataCopyParams p(1, (columns * 2 + 63) / 64, 0, 0);
                DataCopy(c2, l1.ReinterpretCast<half>(), p);
            } else {
                DataCopyParams p(1, columns * 4 / 64, 0, 0);
                DataCopy(c2, l1.ReinterpretCast<C>(), p);
            }
        } else {
            DataCopyParams p(1, columns * 4 / 64, 0, 0);
            DataCopy(c2, l1.ReinterpretCast<C>(), p);
        }
    }
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    if (flags & HF32) {
        SetHF32Mode(true);
        SetHF32TransMode((flags & TO_ZERO) != 0);
    }
    MmadParams p;
    p.m = m;
    p.n = n;
    p.k = k;
    p.kDirectionAlign = (flags & K_ALIGN) != 0;
    p.cmatrixInitVal = (flags & (BIAS_TENSOR | BIAS_SOURCE)) == 0;
    p.cmatrixSource = (flags & BIAS_SOURCE) != 0;
    if (flags & UNIT) {
        p.unitFlag = flags & TWICE ? 2 : 3;
    }
    if constexpr (!IsSameType<T, int4b_t>::value) {
        if (flags & BIAS_TENSOR) {
            Mmad(co1, a2, b2, c2, p);
        } else {
            Mmad(co1, a2, b2, p);
        }
    } else {
        Mmad(co1, a2, b2, p);
    }
    if (flags & TWICE) {
        PipeBarrier<PIPE_M>();
        p.cmatrixInitVal = false;
        p.cmatrixSource = false;
        p.unitFlag = flags & UNIT ? 3 : 0;
        Mmad(co1, a2, b2, p);
    }
    if (flags & HF32) {
        SetHF32Mode(false);
    }
    if (!(flags & UNIT)) {
        SetFlag<HardEvent::M_FIX>(0);
        WaitFlag<HardEvent::M_FIX>(0);
    }
    GlobalTensor<C> gc;
    gc.SetGlobalBuffer((__gm__ C*)c);
    FixpipeParamsV220 f;
    f.nSize = n;
    f.mSize = m;
    f.srcStride = (m + 15) / 16 * 16;
    f.dstStride = n;
    f.unitFlag = flags & UNIT ? 3 : 0;
    Fixpipe(gc, co1, f);
}
"""
BIAS_TENSOR, BIAS_SOURCE, TWICE, K_ALIGN, HALF_BIAS, HF32, TO_ZERO, UNIT = (
    1 << i for i in range(8)
)
KERNELS = KernelSet(PRELUDE)
TYPES = {
    "half": ("float", F16),
    "bfloat16_t": ("float", None),
    "float": ("float", F32),
    "int8_t": ("int32_t", I8),
    "int4b_t": ("int32_t", None),
}
for _t, (_c, _) in TYPES.items():
    KERNELS.add(
        f"mm_{_t}",
        "GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, int32_t m, int32_t n, int32_t k, "
        "int32_t a_fractals, int32_t b_fractals, int32_t flags",
        f"multiply<{_t}, {_c}>(a, b, bias, c, m, n, k, a_fractals, b_fractals, flags);",
        "KERNEL_TYPE_AIC_ONLY",
    )


def ceil(x: int, unit: int) -> int:
    return -(-x // unit) * unit


def to_bf16(x: Any) -> Any:
    bits = x.astype(F32).view(U32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(U16)


def values(t: str, shape: tuple[int, int], seed: int) -> tuple[Any, Any]:
    """Exact values as float64 or int64, and the elements as they are stored (int4: one per byte)."""
    rng = np.random.default_rng(seed)
    if t == "int8_t":
        x = rng.integers(-128, 128, shape).astype(I8)
        return x.astype(np.int64), x
    if t == "int4b_t":
        x = rng.integers(-8, 8, shape).astype(I8)
        return x.astype(np.int64), x
    x = rng.uniform(-1, 1, shape).astype(F32)
    if t == "bfloat16_t":
        stored = to_bf16(x)
        return (stored.astype(U32) << 16).view(F32).astype(np.float64), stored
    stored = x.astype(F16) if t == "half" else x
    return stored.astype(np.float64), stored


def fractals(x: Any, k0: int, k_unit: int) -> Any:
    """[rows][k] to [rows/16][k/k0][16][k0], filled with ones where the matrix ends."""
    rows, k = x.shape
    padded = np.ones((ceil(rows, 16), ceil(k, k_unit)), x.dtype)
    padded[:rows, :k] = x
    return padded.reshape(-1, 16, padded.shape[1] // k0, k0).transpose(0, 2, 1, 3)


def pack(t: str, x: Any) -> Any:
    flat = np.ascontiguousarray(x).reshape(-1)
    if t == "int4b_t":
        pairs = (flat.astype(U8) & 15).reshape(-1, 2)
        flat = pairs[:, 0] | pairs[:, 1] << 4
    return flat.view(U8)


def run(t: str, m: int, n: int, k: int, flags: int = 0, bias: Any = None) -> tuple[Any, Any]:
    exact_a, a = values(t, (m, k), 1)
    exact_b, b = values(t, (n, k), 2)
    k0 = 64 if t == "int4b_t" else 32 // a.itemsize
    k_unit = 16 if flags & K_ALIGN else k0
    la, lb = fractals(a, k0, k_unit), fractals(b, k0, k_unit).transpose(1, 0, 2, 3)
    pa = np.zeros(512, U8) if m == 1 else pack(t, la)
    if m == 1:  # GEMV: a plain vector
        vector = pack(t, np.pad(a[0], (0, ceil(k, k0) - k)))
        pa = np.zeros(ceil(vector.size, 512), U8)
        pa[: vector.size] = vector
    pb = pack(t, lb)
    c = np.zeros((m, n), I32 if t.startswith("int") else F32)
    table = np.zeros(1024, U8)
    if bias is not None:
        raw = np.ascontiguousarray(bias).view(U8)
        table[: raw.size] = raw
    KERNELS.run(f"mm_{t}", pa, pb, table, c, m, n, k, pa.size // 512, pb.size // 512, flags)
    return c, exact_a @ exact_b.T


def check(t: str, c: Any, expected: Any) -> None:
    if t.startswith("int"):
        np.testing.assert_array_equal(c, expected)
    else:
        np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("t", TYPES)
@settings(max_examples=examples(25))
@given(m=st.integers(1, 70), n=st.integers(1, 70), k=st.integers(1, 200))
def test_product(t: str, m: int, n: int, k: int) -> None:
    c, expected = run(t, m, n, k)
    check(t, c, expected)


@pytest.mark.parametrize("t", TYPES)
def test_accumulates(t: str) -> None:
    c, expected = run(t, 33, 40, 70, TWICE)
    check(t, c, 2 * expected)


@pytest.mark.parametrize("t", ["half", "bfloat16_t", "float", "int8_t"])
@pytest.mark.parametrize("mode", [BIAS_TENSOR, BIAS_SOURCE])
@pytest.mark.parametrize("n", [16, 37, 64])
def test_bias(t: str, mode: int, n: int) -> None:
    rng = np.random.default_rng(3)
    bias = rng.integers(-999, 999, n).astype(I32 if t == "int8_t" else F32)
    c, expected = run(t, 20, n, 50, mode, bias)
    check(t, c, expected + bias)


@pytest.mark.parametrize("n", [16, 37, 64])
def test_half_bias_is_widened(n: int) -> None:
    bias = np.random.default_rng(4).uniform(-9, 9, n).astype(F16)
    c, expected = run("half", 20, n, 50, BIAS_TENSOR | HALF_BIAS, bias)
    check("half", c, expected + bias.astype(np.float64))


@pytest.mark.parametrize("k", [4, 8, 12, 16, 36, 44])
def test_k_direction_align(k: int) -> None:
    c, expected = run("float", 20, 24, k, K_ALIGN)
    check("float", c, expected)


def hf32(x: Any, to_zero: bool) -> Any:
    """11 bits of the mantissa, to nearest."""
    scale = np.exp2(np.floor(np.log2(np.abs(x))) - 11)
    steps = np.abs(x) / scale
    whole = np.ceil(steps - 0.5) if to_zero else np.rint(steps)
    return np.sign(x) * whole * scale


@pytest.mark.parametrize("to_zero", [False, True])
def test_hf32(to_zero: bool) -> None:
    c, _ = run("float", 33, 20, 64, HF32 | (TO_ZERO if to_zero else 0))
    a, _ = values("float", (33, 64), 1)
    b, _ = values("float", (20, 64), 2)
    expected = hf32(a, to_zero) @ hf32(b, to_zero).T
    np.testing.assert_allclose(c, expected, atol=1e-5)
    assert np.abs(c - a @ b.T).max() > 1e-4  # and HF32 is not float


def test_unit_flags_pass_results() -> None:
    c, expected = run("half", 48, 40, 70, UNIT)
    check("half", c, expected)
    c, expected = run("half", 48, 40, 70, UNIT | TWICE)
    check("half", c, 2 * expected)


UNIT_CASES: list[tuple[str, str, str]] = [
    ("read_unwritten", "f.unitFlag = 3; Fixpipe(gc, co1, f);", "no Mmad with unitFlag 3 wrote bytes [0, 512)"),
    ("read_kept", "p.unitFlag = 2; Mmad(co1, a2, b2, p); f.unitFlag = 3; Fixpipe(gc, co1, f);", "no Mmad with unitFlag 3"),
    ("read_plain", "Mmad(co1, a2, b2, p); f.unitFlag = 2; Fixpipe(gc, co1, f);", "no Mmad with unitFlag 3"),
    ("read_twice", "p.unitFlag = 3; Mmad(co1, a2, b2, p); f.unitFlag = 3; Fixpipe(gc, co1, f); Fixpipe(gc, co1, f);", "since they were last read"),
    ("write_full", "p.unitFlag = 3; Mmad(co1, a2, b2, p); Mmad(co1, a2, b2, p);", "no Fixpipe with unitFlag 3 read"),
    ("read_more", "p.unitFlag = 3; Mmad(co1, a2, b2, p); f.unitFlag = 3; f.nSize = 32; f.dstStride = 32; Fixpipe(gc, co1, f);", "wrote bytes [1024, 1536)"),
    ("value", "p.unitFlag = 1; Mmad(co1, a2, b2, p);", "unitFlag is 1, but must be 0, 2 or 3"),
]  # fmt: skip
OTHER_CASES: list[tuple[str, str, str]] = [
    ("bias_unused", "Mmad(co1, a2, b2, c2, p);", "the bias is not read"),
    ("sparse", "p.enSsparse = true; Mmad(co1, a2, b2, p);", "do not exist on 910B"),
    ("bt_align", "p.cmatrixInitVal = false; Mmad(co1, a2, b2, c2[8], p);", "bias starts at byte 32 of BT"),
    ("bt_size", "p.cmatrixInitVal = false; p.n = 272; Mmad(co1, a2, b2, c2, p);", "bias covers bytes [0, 1088) of the BT buffer"),
    ("bt_copy_align", "DataCopyParams q(1, 1, 0, 0); DataCopy(c2[8], o.l1.Get<float>(), q);", "dst starts at byte 32 of BT"),
    ("bt_copy_size", "DataCopyParams q(1, 17, 0, 0); DataCopy(c2, o.l1.Get<float>(), q);", "dst covers bytes [0, 1088) of the BT buffer"),
    ("fb_copy_align", "DataCopyParams q(1, 1, 0, 1); DataCopy(fb[8], o.l1.Get<uint64_t>(), q);", "dst starts at byte 64 of FB"),
]  # fmt: skip
START = """Operands o; TBuf<TPosition::C2PIPE2GM> fbuf; o.pipe.InitBuffer(fbuf, 2048);
    LocalTensor<half> a2 = o.a2.Get<half>(); LocalTensor<half> b2 = o.b2.Get<half>(); LocalTensor<float> co1 = o.co1.Get<float>();
    LocalTensor<float> c2 = o.c2.Get<float>(); LocalTensor<uint64_t> fb = fbuf.Get<uint64_t>(); GlobalTensor<float> gc; gc.SetGlobalBuffer((__gm__ float*)d);
    MmadParams p; p.m = p.n = p.k = 16; FixpipeParamsV220 f; f.nSize = f.mSize = f.srcStride = f.dstStride = 16;
    InitConstValue(a2, InitConstValueParams<half>(1, 1, 0, (half)1)); InitConstValue(b2, InitConstValueParams<half>(1, 1, 0, (half)1));
    PipeBarrier<PIPE_ALL>();"""
for _name, _statement, _ in [*UNIT_CASES, *OTHER_CASES]:
    KERNELS.add(f"bad_{_name}", "GM_ADDR d", f"{START}\n{_statement}", "KERNEL_TYPE_MIX_AIC_1_0")
KERNELS.add(
    "unit_reset",
    "GM_ADDR d",
    f"{START} p.unitFlag = 3; Mmad(co1, a2, b2, p); SetFixPipeConfig(fb, true); PipeBarrier<PIPE_M>(); Mmad(co1, a2, b2, p); "
    "f.unitFlag = 3; Fixpipe(gc, co1, f);",
    "KERNEL_TYPE_AIC_ONLY",
)


@pytest.mark.parametrize(("name", "statement", "words"), [*UNIT_CASES, *OTHER_CASES])
def test_misuse(name: str, statement: str, words: str) -> None:
    fault = KERNELS.fault(f"bad_{name}", np.zeros(4096, F32))
    assert words in fault.text, fault
    assert KERNELS.source().splitlines()[fault.line - 1].strip() == statement, fault
    if name in [c[0] for c in UNIT_CASES[:-1]]:
        assert fault.kind == "unit-flag"


def test_unit_flags_can_be_reset() -> None:
    KERNELS.run("unit_reset", np.zeros(4096, F32))


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
