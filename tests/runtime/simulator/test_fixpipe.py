"""Fixpipe and the lower-level DataCopy from L0C: scales, offsets, layouts and atomics, against NumPy.

L0C is filled by an Mmad with the identity: row m of L0C is row m of A, exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet

F16, F32, I8, I32, U8, U16, U32, U64 = (
    np.float16,
    np.float32,
    np.int8,
    np.int32,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
)
ROWS, COLUMNS = 48, 320  # of L0C

PRELUDE = """
// C of 48 x 320: A (fractals of 48 x 48) times B (320 columns of 48), laid out in GM as L0A and L0B want them.
template <class T, class C>
struct Accumulator {
    TPipe pipe;
    TBuf<TPosition::A1> l1Buffer;
    TBuf<TPosition::A2> a2Buffer;
    TBuf<TPosition::B2> b2Buffer;
    TBuf<TPosition::CO1> co1Buffer;
    TBuf<TPosition::C2PIPE2GM> fbBuffer;
    LocalTensor<C> co1;
    LocalTensor<uint64_t> scales;
    LocalTensor<int8_t> l1;
    LocalTensor<uint64_t> fb;

    __aicore__ inline Accumulator(GM_ADDR a, GM_ADDR b, GM_ADDR s)
    {
        pipe.InitBuffer(l1Buffer, 262144);
        pipe.InitBuffer(a2Buffer, 65536);
        pipe.InitBuffer(b2Buffer, 65536);
        pipe.InitBuffer(co1Buffer, 131072);
        pipe.InitBuffer(fbBuffer, 4096);
        l1 = l1Buffer.Get<int8_t>();
        co1 = co1Buffer.Get<C>();
        fb = fbBuffer.Get<uint64_t>();
        scales = l1[131072].template ReinterpretCast<uint64_t>();
        GlobalTensor<int8_t> g;
        constexpr int32_t k = 64;
        constexpr int32_t aFractals = 3 * k * sizeof(T) / 32;
        constexpr int32_t bFractals = 20 * k * sizeof(T) / 32;
        g.SetGlobalBuffer((__gm__ int8_t*)a);
        DataCopy(l1, g, aFractals * 512);
        g.SetGlobalBuffer((__gm__ int8_t*)b);
        DataCopy(l1[65536], g, bFractals * 512);
        g.SetGlobalBuffer((__gm__ int8_t*)s);
        DataCopy(scales.ReinterpretCast<int8_t>(), g, 4096);
        SetFlag<HardEvent::MTE2_MTE1>(0);
        WaitFlag<HardEvent::MTE2_MTE1>(0);
        SetFlag<HardEvent::MTE2_FIX>(0);
        WaitFlag<HardEvent::MTE2_FIX>(0);
        LoadData2DParams p;
        p.srcStride = 1;
        p.repeatTimes = aFractals;
        LoadData(a2Buffer.Get<int8_t>(), l1, p);
        p.repeatTimes = bFractals;
        LoadData(b2Buffer.Get<int8_t>(), l1[65536], p);
        SetFlag<HardEvent::MTE1_M>(0);
        WaitFlag<HardEvent::MTE1_M>(0);
        MmadParams mp;
        mp.m = 48, mp.n = 320, mp.k = k;
        Mmad(co1, a2Buffer.Get<T>(), b2Buffer.Get<T>(), mp);
        SetFlag<HardEvent::M_FIX>(0);
        WaitFlag<HardEvent::M_FIX>(0);
    }
    // L1 holds the result from byte 0 on; `bytes` of it go to GM.
    __aicore__ inline void CopyOut(GM_ADDR c, int32_t bytes)
    {
        SetFlag<HardEvent::FIX_MTE3>(0);
        WaitFlag<HardEvent::FIX_MTE3>(0);
        GlobalTensor<int8_t> g;
        g.SetGlobalBuffer((__gm__ int8_t*)c);
        DataCopy(g, l1, bytes);
    }
};
"""
KERNELS = KernelSet(PRELUDE)
# Documented, but the stand-ins for device instructions in CANN 8.1's headers lack L0C to L1 for uint8.
UNCHECKED = KernelSet(PRELUDE)
PARAMETERS = "GM_ADDR a, GM_ADDR b, GM_ADDR s, GM_ADDR c, int32_t n, int32_t m, int32_t stride, bool relu, int64_t scale"
# Destination, accumulator, mode of a scalar, mode of a vector of scales.
PAIRS = {
    "float": ("half", "float", "NoQuant", None),
    "half": ("half", "float", "F322F16", None),
    "bfloat16_t": ("half", "float", "F322BF16", None),
    "int8_t": ("half", "float", "QF322B8_PRE", "VQF322B8_PRE"),
    "uint8_t": ("half", "float", "QF322B8_PRE", "VQF322B8_PRE"),
    "i_int32_t": ("int8_t", "int32_t", "NoQuant", None),
    "i_half": ("int8_t", "int32_t", "DEQF16", "VDEQF16"),
    "i_int8_t": ("int8_t", "int32_t", "REQ8", "VREQ8"),
    "i_uint8_t": ("int8_t", "int32_t", "REQ8", "VREQ8"),
}
FIELDS = "f.nSize = n, f.mSize = m, f.srcStride = 48, f.dstStride = stride, f.reluEn = relu;"
LOW_FIELDS = "f.nSize = n, f.mSize = m, f.srcStride = 48, f.dstStride = stride, f.reluPre = relu;"


def add(name: str, pair: str, statement: str, kernels: KernelSet = KERNELS) -> None:
    t, acc, _, _ = PAIRS[pair]
    d = pair.removeprefix("i_")
    kernels.add(
        name,
        PARAMETERS,
        f"""using D = {d}; using C = {acc};
    Accumulator<{t}, {acc}> o(a, b, s); GlobalTensor<D> g; g.SetGlobalBuffer((__gm__ D*)c);
    {statement}""",
        "KERNEL_TYPE_AIC_ONLY",
    )


for _pair, (_, _, _mode, _vector) in PAIRS.items():
    _scalar = (
        f"FixpipeParamsV220 f; {FIELDS} f.quantPre = QuantMode_t::{_mode}; f.deqScalar = scale;"
    )
    add(f"nd_{_pair}", _pair, f"{_scalar} Fixpipe<D, C, CFG_ROW_MAJOR>(g, o.co1, f);")
    add(f"nz_{_pair}", _pair, f"{_scalar} Fixpipe<D, C, CFG_NZ>(g, o.co1, f);")
    _low = (
        f"DataCopyCO12DstParams f; {LOW_FIELDS} f.quantPre = QuantMode_t::{_mode}; "
        "SetFixpipePreQuantFlag(scale); SetFixpipeNz2ndFlag(1, 0, 1);"
    )
    add(f"low_nd_{_pair}", _pair, f"{_low} f.nz2ndEn = true; DataCopy(g, o.co1, f);")
    add(f"low_nz_{_pair}", _pair, f"{_low} DataCopy(g, o.co1, f);")
    if _pair not in ("float", "i_int32_t"):
        _to = "LocalTensor<D> t = o.l1.template ReinterpretCast<D>();"
        add(
            f"l1_{_pair}",
            _pair,
            f"{_scalar} {_to} Fixpipe<D, C, CFG_NZ>(t, o.co1, f); o.CopyOut(c, n * 48 * sizeof(D));",
            UNCHECKED if _pair.endswith("uint8_t") else KERNELS,
        )
        add(
            f"low_l1_{_pair}",
            _pair,
            f"{_low} {_to} DataCopy(t, o.co1, f); o.CopyOut(c, n * 48 * sizeof(D));",
            UNCHECKED if _pair.endswith("uint8_t") else KERNELS,
        )
    if _vector:
        _v = f"FixpipeParamsV220 f; {FIELDS} f.quantPre = QuantMode_t::{_vector};"
        add(f"v_nd_{_pair}", _pair, f"{_v} Fixpipe<D, C, CFG_ROW_MAJOR>(g, o.co1, o.scales, f);")
        add(f"v_nz_{_pair}", _pair, f"{_v} Fixpipe<D, C, CFG_NZ>(g, o.co1, o.scales, f);")
        add(
            f"v_low_nd_{_pair}",
            _pair,
            f"DataCopyCO12DstParams f; {LOW_FIELDS} f.quantPre = QuantMode_t::{_vector}; f.nz2ndEn = true; "
            "SetFixpipeNz2ndFlag(1, 0, 1); DataCopyParams q(1, (n * 8 + 127) / 128, 0, 0); DataCopy(o.fb[32], o.scales, q); "
            "SetFixPipeConfig(o.fb[32]); PipeBarrier<PIPE_FIX>(); DataCopy(g, o.co1, f);",
        )


def inputs(pair: str, seed: int) -> tuple[Any, Any, Any]:
    """A and B as L0A and L0B hold them, and their product."""
    rng = np.random.default_rng(seed)
    integer = pair.startswith("i_")
    if integer:
        a, b = (
            rng.integers(-99, 100, (ROWS, 64)).astype(I8),
            rng.integers(-9, 10, (COLUMNS, 64)).astype(I8),
        )
        product = a.astype(I32) @ b.astype(I32).T
    else:  # halves with few bits: every sum is exact in float
        a = (rng.integers(-64, 65, (ROWS, 64)) / 16).astype(F16)
        b = (rng.integers(-64, 65, (COLUMNS, 64)) / 16).astype(F16)
        product = (a.astype(np.float64) @ b.astype(np.float64).T).astype(F32)
    k0 = 32 // a.itemsize
    la = a.reshape(3, 16, 64 // k0, k0).transpose(0, 2, 1, 3)
    lb = b.reshape(20, 16, 64 // k0, k0).transpose(2, 0, 1, 3)
    return np.ascontiguousarray(la), np.ascontiguousarray(lb), product


def word(scale: float, signed: bool, offset: int = 0, shift: int = 0) -> int:
    bits = int(F32(scale).view(U32))
    result = bits | int(signed) << 46 | (offset & 0x1FF) << 37
    return result | (1 << 36 | (shift - 1) << 32) if shift else result


def model(pair: str, x: Any, relu: bool, words: Any) -> Any:
    """What a destination element becomes; `words` broadcasts over the columns."""
    d = pair.removeprefix("i_")
    words = np.broadcast_to(np.asarray(words, U64), x.shape[1:])
    if d in ("float", "i_int32_t", "int32_t"):
        return np.maximum(x, 0) if relu else x
    if d == "half" and not pair.startswith("i_"):
        return (np.maximum(x, 0) if relu else x).astype(F16)
    if d == "bfloat16_t":
        bits = (np.maximum(x, 0) if relu else x).astype(F32).view(U32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(U16)
    scale = (words & U64(0xFFFFE000)).astype(U32).view(F32)  # 10 bits of mantissa
    if pair.startswith("i_"):
        narrow = (words >> U64(36) & U64(1)).astype(bool)
        shift = (words >> U64(32) & U64(15)).astype(np.int64) + 1
        x = np.where(narrow, np.clip(x.astype(np.int64) >> shift, -32768, 32767), x)
    y = x.astype(F32)
    y = y * np.where(relu & (y < 0), F32(0), scale)
    if d == "half":
        return np.clip(y, -65504, 65504).astype(F16)
    offset = (words >> U64(37) & U64(0x1FF)).astype(np.int64)
    offset = np.where(offset >= 256, offset - 512, offset)
    q = np.clip(np.rint(y), -256, 255).astype(np.int64) + offset
    signed = (words >> U64(46) & U64(1)).astype(bool)
    return (
        np.where(signed, np.clip(q, -128, 127), np.clip(q, 0, 255))
        .astype(U8)
        .view(I8 if d == "int8_t" else U8)
    )


def nz(x: Any) -> Any:
    """[n / width][m][width]; of bytes an odd last block of 16 columns stays 16 wide."""
    width = 32 if x.itemsize == 1 else 16
    m, n = x.shape
    result = np.zeros((-(-n // width), m, width), x.dtype)
    for block in range(n // width):
        result[block] = x[:, block * width : (block + 1) * width]
    if n % width:
        result[-1].reshape(-1)[: m * 16] = x[:, -16:].reshape(-1)
    return result


def compare(got: Any, expected: Any) -> None:
    if got.dtype == F16:
        np.testing.assert_array_equal(got.view(U16) & 0x7FFF, expected.view(U16) & 0x7FFF)
        got, expected = got + F16(0), expected + F16(0)
    np.testing.assert_array_equal(got, expected)


SCALES = [0.0371, 1.0, 0.9999, 0.25]
DEQUANT = st.tuples(
    st.sampled_from(SCALES),
    st.integers(-256, 255),
    st.sampled_from([0, 0, 1, 3, 16]),
    st.booleans(),
)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("low", ["", "low_"])
@settings(max_examples=examples(10))
@given(
    m=st.integers(1, ROWS),
    n=st.integers(1, COLUMNS),
    gap=st.integers(0, 9),
    relu=st.booleans(),
    q=DEQUANT,
)
def test_rows(pair: str, low: str, m: int, n: int, gap: int, relu: bool, q: Any) -> None:
    scale, offset, shift, signed = q
    a, b, product = inputs(pair, 1)
    w = word(scale, signed, offset, shift)
    expected = model(pair, product[:m, :n], relu, w)
    c = np.full((m, n + gap), 77, expected.dtype)
    KERNELS.run(f"{low}nd_{pair}", a, b, np.zeros(512, U64), c, n, m, n + gap, relu, w)
    compare(np.ascontiguousarray(c[:, :n]), expected)
    assert (c[:, n:] == 77).all()


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("low", ["", "low_"])
@settings(max_examples=examples(8))
@given(m=st.integers(1, ROWS), n=st.integers(1, 20), relu=st.booleans())
def test_column_blocks(pair: str, low: str, m: int, n: int, relu: bool) -> None:
    n *= 16
    a, b, product = inputs(pair, 2)
    w = word(0.0371, pair == "i_int8_t")
    expected = nz(model(pair, product[:m, :n], relu, w))
    c = np.zeros_like(expected)
    stride = m * expected.shape[2] * c.itemsize // 32
    KERNELS.run(f"{low}nz_{pair}", a, b, np.zeros(512, U64), c, n, m, stride, relu, w)
    compare(c, expected)


@pytest.mark.parametrize("pair", [p for p in PAIRS if p not in ("float", "i_int32_t")])
@pytest.mark.parametrize("low", ["", "low_"])
@pytest.mark.parametrize("n", [32, 320])
def test_to_l1(pair: str, low: str, n: int) -> None:
    a, b, product = inputs(pair, 3)
    w = word(0.0371, pair == "i_int8_t", 3)
    expected = nz(model(pair, product[:, :n], False, w))
    c = np.zeros_like(expected)
    kernels = UNCHECKED if pair.endswith("uint8_t") else KERNELS
    kernels.run(
        f"{low}l1_{pair}",
        a,
        b,
        np.zeros(512, U64),
        c,
        n,
        48,
        48 * expected.shape[2] * c.itemsize // 32,
        False,
        w,
    )
    compare(c, expected)


VECTORS = [p for p, v in PAIRS.items() if v[3]]


def vector_words(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    words = [
        word(
            float(rng.uniform(0.001, 0.2)),
            bool(rng.integers(2)),
            int(rng.integers(-256, 256)),
            int(rng.integers(0, 17)),
        )
        for _ in range(n)
    ]
    result = np.zeros(512, U64)
    result[:n] = words
    return result


@pytest.mark.parametrize("pair", VECTORS)
@pytest.mark.parametrize("n", [1, 16, 37, 256, 257, 320])
@pytest.mark.parametrize("relu", [False, True])
def test_a_scale_per_column(pair: str, n: int, relu: bool) -> None:
    a, b, product = inputs(pair, 4)
    words = vector_words(n, n)
    expected = model(pair, product[:, :n], relu, words[:n])
    names = ["v_nd_"] if n > 256 else ["v_nd_", "v_low_nd_"]  # a table of FB has 256 entries
    for name in names:
        c = np.zeros_like(expected)
        KERNELS.run(f"{name}{pair}", a, b, words, c, n, 48, n, relu, 0)
        compare(c, expected)


@pytest.mark.parametrize("pair", VECTORS)
def test_a_scale_per_column_in_blocks(pair: str) -> None:
    a, b, product = inputs(pair, 5)
    words = vector_words(256, 6)
    expected = nz(model(pair, product[:, :256], False, words[:256]))
    c = np.zeros_like(expected)
    KERNELS.run(
        f"v_nz_{pair}", a, b, words, c, 256, 48, 48 * expected.shape[2] * c.itemsize // 32, False, 0
    )
    compare(c, expected)


ATOMIC = {"float": F32, "half": F16, "i_int32_t": I32, "i_half": F16, "int8_t": I8, "i_int8_t": I8}
for _pair in ATOMIC:
    _mode = PAIRS[_pair][2]
    _d = _pair.removeprefix("i_")
    for _op in ("Add", "Max", "Min"):
        add(
            f"atomic_{_op}_{_pair}",
            _pair,
            f"FixpipeParamsV220 f; {FIELDS} f.quantPre = QuantMode_t::{_mode}; f.deqScalar = scale; "
            f"SetAtomic{_op}<{_d}>(); Fixpipe<D, C, CFG_ROW_MAJOR>(g, o.co1, f); SetAtomicNone();",
        )


@pytest.mark.parametrize("pair", ATOMIC)
@pytest.mark.parametrize("op", ["Add", "Max", "Min"])
def test_atomics(pair: str, op: str) -> None:
    a, b, product = inputs(pair, 7)
    w = word(1 / 512 if pair.endswith("int8_t") else 1 / 64, True)
    x = model(pair, product, False, w)
    old = np.random.default_rng(8).integers(-9, 10, product.shape).astype(ATOMIC[pair])
    c = old.copy()
    KERNELS.run(
        f"atomic_{op}_{pair}", a, b, np.zeros(512, U64), c, COLUMNS, ROWS, COLUMNS, False, w
    )
    combine = {"Add": np.add, "Max": np.maximum, "Min": np.minimum}[op]
    compare(c, combine(old, x.astype(ATOMIC[pair])))


CASES: list[tuple[str, str, str, str]] = [
    ("vector_missing", "int8_t", "f.quantPre = QuantMode_t::VQF322B8_PRE; Fixpipe(g, o.co1, f);", "needs a tensor of scales"),
    ("mode", "int8_t", "f.quantPre = QuantMode_t::REQ8; Fixpipe(g, o.co1, f);", "quantPre is REQ8, but must be QF322B8_PRE"),
    ("n_size", "float", "f.nSize = 4096; Fixpipe(g, o.co1, f);", "nSize is 4096"),
    ("nz_n", "float", "f.nSize = 17; Fixpipe<D, C, CFG_NZ>(g, o.co1, f);", "multiple of 16"),
    ("scales_place", "int8_t", "f.quantPre = QuantMode_t::VQF322B8_PRE; Fixpipe(g, o.co1, o.fb, f);", "scales is in FB, but must be in L1"),
    ("low_clip", "half", "DataCopyCO12DstParams q; q.nSize = q.mSize = q.srcStride = q.dstStride = 16; q.quantPre = QuantMode_t::F322F16; q.clipReluPre = 1; DataCopy(g, o.co1, q);", "clipReluPre and eltWiseOp do not exist"),
    ("low_vector", "i_half", "DataCopyCO12DstParams q; q.nSize = q.mSize = q.srcStride = q.dstStride = 16; q.quantPre = QuantMode_t::VDEQF16; DataCopy(g, o.co1, q);", "needs a tensor of scales"),
    ("nd_stride", "float", "f.ndNum = 2; f.dstNdStride = 300; f.srcNdStride = 513; Fixpipe(g, o.co1, f);", "srcNdStride is 513"),
]  # fmt: skip
for _name, _pair, _statement, _ in CASES:
    add(
        f"bad_{_name}",
        _pair,
        f"FixpipeParamsV220 f; f.nSize = f.mSize = f.srcStride = f.dstStride = 16;\n{_statement}",
    )


@pytest.mark.parametrize(("name", "pair", "statement", "words"), CASES, ids=[c[0] for c in CASES])
def test_misuse(name: str, pair: str, statement: str, words: str) -> None:
    a, b, _ = inputs(pair, 9)
    fault = KERNELS.fault(
        f"bad_{name}", a, b, np.zeros(512, U64), np.zeros(65536, F32), 0, 0, 0, False, 0
    )
    assert fault.kind == "bad-argument" and words in fault.text, fault
    assert KERNELS.source().splitlines()[fault.line - 1].strip() == statement, fault


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
