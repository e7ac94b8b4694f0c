"""Cube path: Nd2Nz, LoadData, Mmad and Fixpipe together, against NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet

F16, F32, I8, I32, U16, U32 = np.float16, np.float32, np.int8, np.int32, np.uint16, np.uint32

PRELUDE = """
__aicore__ inline int32_t up(int32_t x, int32_t unit) { return (x + unit - 1) / unit * unit; }

// C[m][n] = A * B with A stored [m][k] or [k][m] and B stored [k][n] or [n][k]; 16-bit types.
template <class T, class O>
__aicore__ inline void gemm16(GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t m, int32_t n, int32_t k, bool ta, bool tb,
    QuantMode_t quant, bool relu, bool twice)
{
    if ASCEND_IS_AIV {
        return;
    }
    TPipe pipe;
    TBuf<TPosition::A1> a1;
    TBuf<TPosition::B1> b1;
    TBuf<TPosition::A2> a2;
    TBuf<TPosition::B2> b2;
    TBuf<TPosition::CO1> co1;
    pipe.InitBuffer(a1, 131072);
    pipe.InitBuffer(b1, 131072);
    pipe.InitBuffer(a2, 65536);
    pipe.InitBuffer(b2, 65536);
    pipe.InitBuffer(co1, 131072);
    LocalTensor<T> al1 = a1.Get<T>();
    LocalTensor<T> bl1 = b1.Get<T>();
    LocalTensor<T> al0 = a2.Get<T>();
    LocalTensor<T> bl0 = b2.Get<T>();
    LocalTensor<float> cl0 = co1.Get<float>();
    GlobalTensor<T> ga;
    GlobalTensor<T> gb;
    GlobalTensor<O> gc;
    ga.SetGlobalBuffer((__gm__ T*)a);
    gb.SetGlobalBuffer((__gm__ T*)b);
    gc.SetGlobalBuffer((__gm__ O*)c);
    int32_t mb = up(m, 16) / 16;
    int32_t nb = up(n, 16) / 16;
    int32_t kb = up(k, 16) / 16;
    Nd2NzParams na(1, ta ? k : m, ta ? m : k, 0, ta ? m : k, (ta ? kb : mb) * 16, 1, 0);
    Nd2NzParams nbp(1, tb ? n : k, tb ? k : n, 0, tb ? k : n, (tb ? nb : kb) * 16, 1, 0);
    DataCopy(al1, ga, na);
    DataCopy(bl1, gb, nbp);
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    for (int32_t i = 0; i < mb; ++i) {
        LoadData2DParams p;
        p.repeatTimes = kb;
        p.srcStride = ta ? 1 : mb;
        p.ifTranspose = ta;
        LoadData(al0[i * kb * 256], al1[ta ? i * kb * 256 : i * 256], p);
    }
    for (int32_t j = 0; j < kb; ++j) {
        LoadData2DParams p;
        p.repeatTimes = nb;
        p.srcStride = tb ? 1 : kb;
        p.ifTranspose = !tb;
        LoadData(bl0[j * nb * 256], bl1[tb ? j * nb * 256 : j * 256], p);
    }
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    MmadParams mp;
    mp.m = m;
    mp.n = n;
    mp.k = k;
    Mmad(cl0, al0, bl0, mp);
    if (twice) {
        PipeBarrier<PIPE_M>();
        mp.cmatrixInitVal = false;
        Mmad(cl0, al0, bl0, mp);
    }
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 f;
    f.nSize = n;
    f.mSize = m;
    f.srcStride = mb * 16;
    f.dstStride = n;
    f.quantPre = quant;
    f.reluEn = relu;
    Fixpipe(gc, cl0, f);
}

// A stored [m][k], B stored [n][k] or (int8, f32) [k][n].
template <class T, class O, int32_t k0>
__aicore__ inline void gemm_other(GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t m, int32_t n, int32_t k, bool tb)
{
    if ASCEND_IS_AIV {
        return;
    }
    TPipe pipe;
    TBuf<TPosition::A1> a1;
    TBuf<TPosition::B1> b1;
    TBuf<TPosition::A2> a2;
    TBuf<TPosition::B2> b2;
    TBuf<TPosition::CO1> co1;
    pipe.InitBuffer(a1, 131072);
    pipe.InitBuffer(b1, 131072);
    pipe.InitBuffer(a2, 65536);
    pipe.InitBuffer(b2, 65536);
    pipe.InitBuffer(co1, 131072);
    LocalTensor<T> al1 = a1.Get<T>();
    LocalTensor<T> bl1 = b1.Get<T>();
    LocalTensor<T> al0 = a2.Get<T>();
    LocalTensor<T> bl0 = b2.Get<T>();
    LocalTensor<O> cl0 = co1.Get<O>();
    GlobalTensor<T> ga;
    GlobalTensor<T> gb;
    GlobalTensor<O> gc;
    ga.SetGlobalBuffer((__gm__ T*)a);
    gb.SetGlobalBuffer((__gm__ T*)b);
    gc.SetGlobalBuffer((__gm__ O*)c);
    constexpr int32_t fractal = 16 * k0;
    int32_t mb = up(m, 16) / 16;
    int32_t nb = up(n, tb ? 16 : 32) / 16;
    int32_t kb = up(k, k0) / k0;
    int32_t krows = up(k, k0 > 16 ? 32 : 16);
    DataCopy(al1, ga, Nd2NzParams(1, m, k, 0, k, mb * 16, 1, 0));
    DataCopy(bl1, gb, Nd2NzParams(1, tb ? n : k, tb ? k : n, 0, tb ? k : n, tb ? nb * 16 : krows, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    for (int32_t i = 0; i < mb; ++i) {
        LoadData2DParams p;
        p.repeatTimes = kb;
        p.srcStride = mb;
        LoadData(al0[i * kb * fractal], al1[i * fractal], p);
    }
    if (tb) {
        LoadData2DParams p;
        p.repeatTimes = kb * nb;
        p.srcStride = 1;
        LoadData(bl0, bl1, p);
    } else if (k0 == 32) {
        for (int32_t j = 0; j < kb; ++j) {
            LoadData2dTransposeParams p;
            p.repeatTimes = nb / 2;
            p.startIndex = j;
            p.srcStride = krows / 32;
            p.dstGap = 1;
            LoadDataWithTranspose(bl0[j * nb * fractal], bl1, p);
        }
    } else {
        LoadData3DParamsV2<T> p;
        p.l1H = 1;
        p.l1W = krows;
        p.channelSize = up(n, 16);
        p.kExtension = up(n, 16);
        p.mExtension = krows;
        LoadData(bl0, bl1, p);
    }
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    MmadParams mp;
    mp.m = m;
    mp.n = tb || k0 == 8 ? n : nb * 16;
    mp.k = k;
    Mmad(cl0, al0, bl0, mp);
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 f;
    f.nSize = n;
    f.mSize = m;
    f.srcStride = mb * 16;
    f.dstStride = n;
    Fixpipe(gc, cl0, f);
}
"""

KERNELS = KernelSet(PRELUDE)
GEMM = "GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t m, int32_t n, int32_t k, bool ta, bool tb"
for _t, _o, _quant in (
    ("half", "float", "NoQuant"),
    ("half", "half", "F322F16"),
    ("bfloat16_t", "float", "NoQuant"),
    ("bfloat16_t", "bfloat16_t", "F322BF16"),
):
    KERNELS.add(
        f"gemm_{_t}_{_o}",
        f"{GEMM}, bool relu, bool twice",
        f"gemm16<{_t}, {_o}>(a, b, c, m, n, k, ta, tb, QuantMode_t::{_quant}, relu, twice);",
        None,
    )
OTHER = "GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t m, int32_t n, int32_t k, bool tb"
KERNELS.add(
    "gemm_f32", OTHER, "gemm_other<float, float, 8>(a, b, c, m, n, k, tb);", "KERNEL_TYPE_AIC_ONLY"
)
KERNELS.add("gemm_i8", OTHER, "gemm_other<int8_t, int32_t, 32>(a, b, c, m, n, k, tb);", None)

SHAPES = [(16, 16, 16), (128, 256, 64), (33, 17, 50), (2, 3, 5), (127, 65, 31), (64, 16, 128)]
TRANSPOSES = list(itertools.product([False, True], [False, True]))


def matrix(shape: tuple[int, int], seed: int) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(F32)


def to_bf16(x: Any) -> Any:
    bits = x.astype(F32).view(U32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(U16)


def from_bf16(x: Any) -> Any:
    return (x.astype(U32) << 16).view(F32)


@pytest.mark.parametrize("kind", ["half", "bfloat16_t"])
@pytest.mark.parametrize(("ta", "tb"), TRANSPOSES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gemm_16_bit(kind: str, ta: bool, tb: bool, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b = matrix((m, k), 1), matrix((k, n), 2)
    encode = to_bf16 if kind == "bfloat16_t" else lambda x: x.astype(F16)
    decode = from_bf16 if kind == "bfloat16_t" else lambda x: x.astype(F32)
    a, b = encode(a), encode(b)
    exact = decode(a).astype(np.float64) @ decode(b)
    stored = np.ascontiguousarray(a.T if ta else a), np.ascontiguousarray(b.T if tb else b)
    c = np.full((m, n), np.nan, F32)
    KERNELS.run(f"gemm_{kind}_float", *stored, c, m, n, k, ta, tb, False, False)
    np.testing.assert_allclose(c, exact, rtol=1e-5, atol=1e-5)
    KERNELS.run(f"gemm_{kind}_float", *stored, c, m, n, k, ta, tb, True, True)
    np.testing.assert_allclose(c, np.maximum(2 * exact, 0), rtol=1e-5, atol=2e-5)
    narrow = np.zeros((m, n), U16)
    KERNELS.run(f"gemm_{kind}_{kind}", *stored, narrow, m, n, k, ta, tb, False, False)
    expected = decode(encode(exact.astype(F32)))
    actual = from_bf16(narrow) if kind == "bfloat16_t" else narrow.view(F16).astype(F32)
    np.testing.assert_allclose(
        actual, expected, rtol=1e-2 if kind == "bfloat16_t" else 2e-3, atol=1e-3
    )


@pytest.mark.parametrize("tb", [True, False])
@pytest.mark.parametrize("shape", [s for s in SHAPES if s != (128, 256, 64)], ids=str)
def test_gemm_float(tb: bool, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b = matrix((m, k), 3), matrix((k, n), 4)
    c = np.full((m, n), np.nan, F32)
    KERNELS.run("gemm_f32", a, np.ascontiguousarray(b.T) if tb else b, c, m, n, k, tb)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("tb", [True, False])
@pytest.mark.parametrize(
    "shape", [(16, 32, 32), (128, 128, 256), (33, 17, 50), (64, 32, 1024), (5, 96, 64)], ids=str
)
def test_gemm_int8_is_exact(tb: bool, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    rng = np.random.default_rng(5)
    a = rng.integers(-128, 128, (m, k)).astype(I8)
    b = rng.integers(-128, 128, (k, n)).astype(I8)
    a[0], b[:, 0] = -128, -128
    c = np.zeros((m, n), I32)
    KERNELS.run("gemm_i8", a, np.ascontiguousarray(b.T) if tb else b, c, m, n, k, tb)
    np.testing.assert_array_equal(c, a.astype(I32) @ b.astype(I32))


KERNELS.add(
    "gemv",
    "GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t n, int32_t k",
    """
    TPipe pipe;
    TBuf<TPosition::A1> a1; TBuf<TPosition::B1> b1; TBuf<TPosition::A2> a2; TBuf<TPosition::B2> b2; TBuf<TPosition::CO1> co1;
    pipe.InitBuffer(a1, 65536); pipe.InitBuffer(b1, 65536); pipe.InitBuffer(a2, 65536); pipe.InitBuffer(b2, 65536);
    pipe.InitBuffer(co1, 65536);
    GlobalTensor<half> ga; GlobalTensor<half> gb; GlobalTensor<float> gc;
    ga.SetGlobalBuffer((__gm__ half*)a); gb.SetGlobalBuffer((__gm__ half*)b); gc.SetGlobalBuffer((__gm__ float*)c);
    LocalTensor<half> al1 = a1.Get<half>(); LocalTensor<half> bl1 = b1.Get<half>();
    LocalTensor<half> al0 = a2.Get<half>(); LocalTensor<half> bl0 = b2.Get<half>(); LocalTensor<float> cl0 = co1.Get<float>();
    DataCopy(al1, ga, 256);
    DataCopy(bl1, gb, Nd2NzParams(1, n, k, 0, k, n, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(0); WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData2DParams p; p.repeatTimes = 1; LoadData(al0, al1, p);
    p.repeatTimes = n / 16 * ((k + 15) / 16); p.srcStride = 1; LoadData(bl0, bl1, p);
    SetFlag<HardEvent::MTE1_M>(0); WaitFlag<HardEvent::MTE1_M>(0);
    MmadParams mp; mp.m = 1; mp.n = n; mp.k = k; Mmad(cl0, al0, bl0, mp);
    SetFlag<HardEvent::M_FIX>(0); WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 f; f.nSize = n; f.mSize = 1; f.srcStride = 16; f.dstStride = n; Fixpipe(gc, cl0, f);
    """,
    "KERNEL_TYPE_AIC_ONLY",
)


@pytest.mark.parametrize("k", [256, 100])
def test_gemv(k: int) -> None:
    """m = 1 reads A as k consecutive elements (the vendor's GEMV page)."""
    n = 32
    a = np.zeros(256, F16)
    a[:k] = matrix((1, k), 6)[0]
    b = matrix((n, k), 7).astype(F16)
    c = np.zeros(n, F32)
    KERNELS.run("gemv", a, b, c, n, k)
    np.testing.assert_allclose(
        c, a[:k].astype(np.float64) @ b.T.astype(np.float64), rtol=1e-5, atol=1e-5
    )


FIXPIPE = """
    TPipe pipe;
    TBuf<TPosition::A1> l1; TBuf<TPosition::A2> a2; TBuf<TPosition::B2> b2; TBuf<TPosition::CO1> co1;
    pipe.InitBuffer(l1, 65536); pipe.InitBuffer(a2, 8192); pipe.InitBuffer(b2, 8192); pipe.InitBuffer(co1, 32768);
    GlobalTensor<S> ga; GlobalTensor<D> gc;
    ga.SetGlobalBuffer((__gm__ S*)a); gc.SetGlobalBuffer((__gm__ D*)c);
    LocalTensor<S> al1 = l1.Get<S>(); LocalTensor<S> al0 = a2.Get<S>(); LocalTensor<S> bl0 = b2.Get<S>();
    LocalTensor<A> cl0 = co1.Get<A>();
    constexpr int32_t k0 = 32 / sizeof(S);
    DataCopy(al1, ga, Nd2NzParams(1, 32, 32, 0, 32, 32, 1, 0));
    DataCopy(al1[8192 / sizeof(S)], ga[1024], Nd2NzParams(1, 32, 32, 0, 32, 32, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(0); WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData2DParams p; p.repeatTimes = 32 / k0; p.srcStride = 2;
    LoadData(al0, al1, p); LoadData(al0[32 * 16], al1[16 * k0], p);
    p.repeatTimes = 2 * 32 / k0; p.srcStride = 1; LoadData(bl0, al1[8192 / sizeof(S)], p);
    SetFlag<HardEvent::MTE1_M>(0); WaitFlag<HardEvent::MTE1_M>(0);
    MmadParams mp; mp.m = 32; mp.n = 32; mp.k = 32; Mmad(cl0, al0, bl0, mp);
    SetFlag<HardEvent::M_FIX>(0); WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 f; f.nSize = 32; f.mSize = 32; f.srcStride = 32; f.dstStride = 32;
"""


def fixpipe(name: str, s: str, acc: str, d: str, statement: str) -> None:
    types = f"using S = {s}; using A = {acc}; using D = {d};\n"
    KERNELS.add(name, "GM_ADDR a, GM_ADDR c", types + FIXPIPE + statement, "KERNEL_TYPE_AIC_ONLY")


fixpipe(
    "clip",
    "half",
    "float",
    "float",
    "f.nSize = 19; f.mSize = 21; f.dstStride = 40; Fixpipe(gc, cl0, f);",
)
fixpipe(
    "atomic",
    "half",
    "float",
    "float",
    "SetAtomicAdd<float>(); Fixpipe(gc, cl0, f); PipeBarrier<PIPE_FIX>(); Fixpipe(gc, cl0, f); SetAtomicNone();",
)
fixpipe(
    "nz",
    "half",
    "float",
    "float",
    "f.dstStride = 32 * 16 * 4 / 32; Fixpipe<float, float, CFG_NZ>(gc, cl0, f);",
)
fixpipe(
    "split",
    "half",
    "float",
    "float",
    "f.dstStride = 32 * 8 * 4 / 32; f.isChannelSplit = true; Fixpipe<float, float, CFG_NZ>(gc, cl0, f);",
)
fixpipe(
    "int_half",
    "int8_t",
    "int32_t",
    "half",
    "f.quantPre = QuantMode_t::DEQF16; f.deqScalar = 0x3c800000; Fixpipe(gc, cl0, f);",
)  # 1/64
fixpipe(
    "int_byte",
    "int8_t",
    "int32_t",
    "int8_t",
    "f.quantPre = QuantMode_t::REQ8; f.deqScalar = 0x40003c800000; Fixpipe(gc, cl0, f);",
)
fixpipe(
    "float_byte",
    "half",
    "float",
    "uint8_t",
    "f.quantPre = QuantMode_t::QF322B8_PRE; f.deqScalar = 0x42000000; Fixpipe(gc, cl0, f);",
)  # 32
fixpipe(
    "many",
    "half",
    "float",
    "float",
    "f.nSize = 16; f.mSize = 32; f.ndNum = 2; f.srcNdStride = 2; f.dstNdStride = 600; f.dstStride = 17; Fixpipe(gc, cl0, f);",
)
fixpipe(
    "to_l1",
    "half",
    "float",
    "float",
    "f.quantPre = QuantMode_t::F322F16; f.dstStride = 32; Fixpipe<half, float, CFG_NZ>(al1, cl0, f); "
    "SetFlag<HardEvent::FIX_MTE3>(0); WaitFlag<HardEvent::FIX_MTE3>(0); "
    "GlobalTensor<half> gh; gh.SetGlobalBuffer((__gm__ half*)c); DataCopy(gh, al1, 1024);",
)


def fixpipe_inputs(dtype: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(8)
    if dtype is I8:
        a = rng.integers(-20, 20, (2, 32, 32)).astype(I8)
    else:
        a = rng.uniform(-1, 1, (2, 32, 32)).astype(F16)
    wide = np.float64 if dtype is F16 else np.int64
    return a, a[0].astype(wide) @ a[1].T.astype(wide)


def test_fixpipe_clips_and_adds() -> None:
    a, exact = fixpipe_inputs(F16)
    c = np.full((32, 40), 7, F32)
    KERNELS.run("clip", a, c)
    np.testing.assert_allclose(c[:21, :19], exact[:21, :19], atol=1e-5)
    assert (c[21:] == 7).all() and (c[:, 19:] == 7).all()
    c = np.ones((32, 32), F32)
    KERNELS.run("atomic", a, c)
    np.testing.assert_allclose(c, 1 + 2 * exact, atol=1e-5)


def test_fixpipe_layouts() -> None:
    a, exact = fixpipe_inputs(F16)
    c = np.zeros((2, 32, 16), F32)
    KERNELS.run("nz", a, c)
    np.testing.assert_allclose(c, exact.reshape(32, 2, 16).transpose(1, 0, 2), atol=1e-5)
    c = np.zeros((4, 32, 8), F32)
    KERNELS.run("split", a, c)
    np.testing.assert_allclose(c, exact.reshape(32, 4, 8).transpose(1, 0, 2), atol=1e-5)
    flat = np.zeros(600 + 32 * 17, F32)
    KERNELS.run("many", a, flat)
    for nd in range(2):
        rows = flat[nd * 600 : nd * 600 + 32 * 17].reshape(32, 17)
        np.testing.assert_allclose(rows[:, :16], exact[:, nd * 16 : nd * 16 + 16], atol=1e-5)
    h = np.zeros((2, 32, 16), F16)
    KERNELS.run("to_l1", a, h)
    np.testing.assert_allclose(h, exact.reshape(32, 2, 16).transpose(1, 0, 2), atol=5e-3)


def test_fixpipe_quantises() -> None:
    a, exact = fixpipe_inputs(I8)
    h = np.zeros((32, 32), F16)
    KERNELS.run("int_half", a, h)
    np.testing.assert_array_equal(h, (exact / 64).astype(F16))
    b = np.zeros((32, 32), I8)
    KERNELS.run("int_byte", a, b)
    np.testing.assert_array_equal(b, np.clip(np.rint(exact / 64), -128, 127))
    a, exact = fixpipe_inputs(F16)
    u = np.zeros((32, 32), np.uint8)
    KERNELS.run("float_byte", a, u)
    assert np.abs(u - np.clip(np.rint(exact * 32), 0, 255)).max() <= 1


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
