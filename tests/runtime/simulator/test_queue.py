"""TPipe, TBuf, TQue, TQueBind and LocalMemAllocator: pipelines of queues, event ids, limits and misuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet, launcher

F16, F32 = np.float16, np.float32

PRELUDE = """
struct AddTiling {
    uint32_t elements;
    uint32_t tile;
};

// z = x + y as vendor samples write it: one class, three steps per tile, queues between them.
template <int32_t depth, uint32_t buffers>
class AddKernel {
public:
    __aicore__ inline AddKernel() {}
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t elements, uint32_t tile)
    {
        xGm.SetGlobalBuffer((__gm__ half*)x, elements);
        yGm.SetGlobalBuffer((__gm__ half*)y, elements);
        zGm.SetGlobalBuffer((__gm__ half*)z, elements);
        pipe->InitBuffer(inQueueX, buffers, tile * sizeof(half));
        pipe->InitBuffer(inQueueY, buffers, tile * sizeof(half));
        pipe->InitBuffer(outQueueZ, buffers, tile * sizeof(half));
        tileElements = tile;
        tiles = elements / tile;
    }
    __aicore__ inline void Process()
    {
        for (uint32_t i = 0; i < tiles; ++i) {
            CopyIn(i);
            Compute();
            CopyOut(i);
        }
    }

private:
    __aicore__ inline void CopyIn(uint32_t i)
    {
        LocalTensor<half> x = inQueueX.template AllocTensor<half>();
        LocalTensor<half> y = inQueueY.template AllocTensor<half>();
        DataCopy(x, xGm[i * tileElements], tileElements);
        DataCopy(y, yGm[i * tileElements], tileElements);
        inQueueX.EnQue(x);
        inQueueY.EnQue(y);
    }
    __aicore__ inline void Compute()
    {
        LocalTensor<half> x = inQueueX.template DeQue<half>();
        LocalTensor<half> y = inQueueY.template DeQue<half>();
        LocalTensor<half> z = outQueueZ.template AllocTensor<half>();
        Add(z, x, y, tileElements);
        outQueueZ.template EnQue<half>(z);
        inQueueX.FreeTensor(x);
        inQueueY.FreeTensor(y);
    }
    __aicore__ inline void CopyOut(uint32_t i)
    {
        LocalTensor<half> z = outQueueZ.template DeQue<half>();
        DataCopy(zGm[i * tileElements], z, tileElements);
        outQueueZ.FreeTensor(z);
    }

    TQue<TPosition::VECIN, depth> inQueueX;
    TQue<QuePosition::VECIN, depth> inQueueY;
    TQue<TPosition::VECOUT, depth> outQueueZ;
    GlobalTensor<half> xGm;
    GlobalTensor<half> yGm;
    GlobalTensor<half> zGm;
    uint32_t tileElements = 0;
    uint32_t tiles = 0;
};

// C = A * B with one queue per step of the cube pipeline; A is [m][k], B is [k][n], whole fractals.
class MatmulKernel {
public:
    __aicore__ inline void Init(TPipe& pipe, GM_ADDR a, GM_ADDR b, GM_ADDR c, uint32_t m_, uint32_t n_, uint32_t k_)
    {
        m = m_, n = n_, k = k_;
        aGm.SetGlobalBuffer((__gm__ half*)a);
        bGm.SetGlobalBuffer((__gm__ half*)b);
        cGm.SetGlobalBuffer((__gm__ float*)c);
        pipe.InitBuffer(inQueueA1, 1, m * k * sizeof(half));
        pipe.InitBuffer(inQueueA2, 1, m * k * sizeof(half));
        pipe.InitBuffer(inQueueB1, 1, k * n * sizeof(half));
        pipe.InitBuffer(inQueueB2, 2, k * 16 * sizeof(half));
        pipe.InitBuffer(outQueueCO1, 2, m * 16 * sizeof(float));
    }
    __aicore__ inline void Process()
    {
        CopyIn();
        SplitA();
        LocalTensor<half> b1 = inQueueB1.DeQue<half>();
        LocalTensor<half> a2 = inQueueA2.DeQue<half>();
        for (uint32_t i = 0; i < n / 16; ++i) {
            SplitB(b1, i);
            Compute(a2);
            CopyOut(i);
        }
        inQueueB1.FreeTensor(b1);
        inQueueA2.FreeTensor(a2);
    }

private:
    __aicore__ inline void CopyIn()
    {
        LocalTensor<half> a1 = inQueueA1.AllocTensor<half>();
        LocalTensor<half> b1 = inQueueB1.AllocTensor<half>();
        Nd2NzParams pa;
        pa.ndNum = 1, pa.nValue = m, pa.dValue = k, pa.srcDValue = k, pa.dstNzC0Stride = m, pa.dstNzNStride = 1;
        DataCopy(a1, aGm, pa);
        Nd2NzParams pb;
        pb.ndNum = 1, pb.nValue = k, pb.dValue = n, pb.srcDValue = n, pb.dstNzC0Stride = k, pb.dstNzNStride = 1;
        DataCopy(b1, bGm, pb);
        inQueueA1.EnQue(a1);
        inQueueB1.EnQue(b1);
    }
    __aicore__ inline void SplitA()
    {
        LocalTensor<half> a1 = inQueueA1.DeQue<half>();
        LocalTensor<half> a2 = inQueueA2.AllocTensor<half>();
        LoadData2DParams p;
        p.repeatTimes = k / 16;
        p.srcStride = m / 16;
        for (uint32_t i = 0; i < m / 16; ++i) {
            LoadData(a2[i * k * 16], a1[i * 256], p);
        }
        inQueueA2.EnQue<half>(a2);
        inQueueA1.FreeTensor(a1);
    }
    __aicore__ inline void SplitB(const LocalTensor<half>& b1, uint32_t i)
    {
        LocalTensor<half> b2 = inQueueB2.AllocTensor<half>();
        LoadData2DParams p;
        p.repeatTimes = k / 16;
        p.srcStride = 1;
        p.ifTranspose = true;
        LoadData(b2, b1[i * k * 16], p);
        inQueueB2.EnQue<half>(b2);
    }
    __aicore__ inline void Compute(const LocalTensor<half>& a2)
    {
        LocalTensor<half> b2 = inQueueB2.DeQue<half>();
        LocalTensor<float> c1 = outQueueCO1.AllocTensor<float>();
        MmadParams p;
        p.m = m, p.n = 16, p.k = k;
        Mmad(c1, a2, b2, p);
        outQueueCO1.EnQue<float>(c1);
        inQueueB2.FreeTensor(b2);
    }
    __aicore__ inline void CopyOut(uint32_t i)
    {
        LocalTensor<float> c1 = outQueueCO1.DeQue<float>();
        FixpipeParamsV220 p;
        p.nSize = 16, p.mSize = m, p.srcStride = m, p.dstStride = n;
        Fixpipe(cGm[i * 16], c1, p);
        outQueueCO1.FreeTensor(c1);
    }

    TQue<TPosition::A1, 1> inQueueA1;
    TQue<TPosition::A2, 1> inQueueA2;
    TQue<TPosition::B1, 1> inQueueB1;
    TQue<TPosition::B2, 1> inQueueB2;
    TQue<TPosition::CO1, 1> outQueueCO1;
    GlobalTensor<half> aGm;
    GlobalTensor<half> bGm;
    GlobalTensor<float> cGm;
    uint32_t m, n, k;
};
"""
KERNELS = KernelSet(PRELUDE)
# Brace initialisers of every parameter struct, tiling by value in a helper, arrays of queues: it must only compile.
KERNELS.add(
    "spellings",
    "GM_ADDR x, uint32_t never",
    """if (never == 0) { return; }
    TPipe pipe; TQue<QuePosition::VECIN, 1> many[2]; pipe.InitBuffer(many[0], 1, 64); pipe.InitBuffer(many[1], 1, 64);
    auto helper = [&](const AddTiling tiling) { return tiling.elements / tiling.tile; }; (void)helper(AddTiling{8, 2});
    GlobalTensor<half> g; g.SetGlobalBuffer((__gm__ half*)x); LocalTensor<half> t = many[0].AllocTensor<half>();
    DataCopy(t, g, {1, 2, 0, 0}); DataCopyPad(t, g, {1, 20, 0, 0, 0}, {false, 0, 0, 0}); DataCopyPad(t, g, {1, 20, 0, 0}, {false, 0, 0, 0});
    DataCopyPad(g, t, {1, 20, 0, 0, 0}); DataCopyPad(g, t, {1, 20, 0, 0}); DataCopy(g, t, {1, 2, 0, 0});
    TBuf<TPosition::A1> b1; TBuf<TPosition::A2> b2; TBuf<TPosition::CO1> b3; pipe.InitBuffer(b1, 512); pipe.InitBuffer(b2, 512); pipe.InitBuffer(b3, 1024);
    LocalTensor<half> a1 = b1.Get<half>(); LocalTensor<half> a2 = b2.Get<half>(); LocalTensor<float> c = b3.Get<float>();
    DataCopy(a1, g, {1, 16, 16, 0, 16, 16, 1, 0}); LoadData(a2, a1, {0, 1, 1, 0, 0, false, 0});
    Mmad(c, a2, a2, {16, 16, 16, 0, false, true}); Fixpipe(g, c, {16, 16, 16, 16, false, QuantMode_t::F322F16, 0, 1, 0, 0, 0});""",
    "KERNEL_TYPE_AIC_ONLY",
)
ADD = "GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t elements, uint32_t tile"
ADDS = {(1, 1), (1, 2), (2, 2), (2, 3), (4, 4)}
for _depth, _buffers in sorted(ADDS):
    KERNELS.add(
        f"add_{_depth}_{_buffers}",
        ADD,
        f"TPipe pipe; AddKernel<{_depth}, {_buffers}> op; op.Init(&pipe, x, y, z, elements, tile); op.Process();",
    )
KERNELS.add(
    "add_pointer",
    "GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR tiling",
    """TPipe pipe; AddKernel<1, 2> op;
    __gm__ AddTiling* t = (__gm__ AddTiling*)tiling;
    op.Init(&pipe, x, y, z, t->elements, t->tile); op.Process();""",
)
KERNELS.add(
    "matmul",
    "GM_ADDR a, GM_ADDR b, GM_ADDR c, uint32_t m, uint32_t n, uint32_t k",
    "TPipe pipe; MatmulKernel op; op.Init(pipe, a, b, c, m, n, k); op.Process();",
    "KERNEL_TYPE_AIC_ONLY",
)


@pytest.mark.parametrize("name", [f"add_{d}_{b}" for d, b in sorted(ADDS)])
@settings(max_examples=examples(15))
@given(tiles=st.integers(0, 9), tile=st.integers(1, 64), seed=st.integers(0, 9))
def test_vector_add(name: str, tiles: int, tile: int, seed: int) -> None:
    tile *= 16
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-9, 9, (2, max(1, tiles) * tile)).astype(F16)
    z = np.zeros_like(x)
    KERNELS.run(name, x, y, z, tiles * tile, tile)
    expected = np.zeros_like(x)
    expected[: tiles * tile] = (x + y)[: tiles * tile]
    np.testing.assert_array_equal(z, expected)


def test_a_tiling_struct_through_a_gm_pointer() -> None:
    x, y = np.random.default_rng(1).uniform(-9, 9, (2, 1024)).astype(F16)
    z = np.zeros_like(x)
    KERNELS.run("add_pointer", x, y, z, np.array([1024, 256], np.uint32))
    np.testing.assert_array_equal(z, x + y)


@pytest.mark.parametrize("shape", [(16, 16, 16), (32, 64, 48), (128, 96, 64)], ids=str)
def test_matmul_of_queues(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    rng = np.random.default_rng(2)
    a = rng.uniform(-1, 1, (m, k)).astype(F16)
    b = rng.uniform(-1, 1, (k, n)).astype(F16)
    c = np.zeros((m, n), F32)
    KERNELS.run("matmul", a, b, c, m, n, k)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), atol=1e-4)


def test_spellings_compile() -> None:
    KERNELS.run("spellings", np.zeros(512, F16), 0)


# A queue bound to both ends: no vector operation between the copies.
KERNELS.add(
    "bind",
    "GM_ADDR x, GM_ADDR y",
    """TPipe pipe; TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> q; pipe.InitBuffer(q, 2, 512);
    GlobalTensor<float> gx; gx.SetGlobalBuffer((__gm__ float*)x); GlobalTensor<float> gy; gy.SetGlobalBuffer((__gm__ float*)y);
    for (int32_t i = 0; i < 5; ++i) {
        LocalTensor<float> t = q.AllocTensor<float>();
        DataCopy(t, gx[i * 128], 128);
        q.EnQue(t);
        LocalTensor<float> u = q.DeQue<float>();
        DataCopy(gy[i * 128], u, 128);
        q.FreeTensor(u);
    }""",
)
# Ends named at EnQue and DeQue: copy in, double, copy out of one buffer.
KERNELS.add(
    "bind_named",
    "GM_ADDR x, GM_ADDR y",
    """TPipe pipe; TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> q; pipe.InitBuffer(q, 1, 512);
    GlobalTensor<float> gx; gx.SetGlobalBuffer((__gm__ float*)x); GlobalTensor<float> gy; gy.SetGlobalBuffer((__gm__ float*)y);
    for (int32_t i = 0; i < 5; ++i) {
        LocalTensor<float> t = q.AllocTensor<float>();
        DataCopy(t, gx[i * 128], 128);
        q.EnQue<TPosition::GM, TPosition::VECIN, float>(t);
        t = q.DeQue<TPosition::GM, TPosition::VECIN, float>();
        Add(t, t, t, 128);
        q.EnQue<TPosition::VECOUT, TPosition::GM, float>(t);
        t = q.DeQue<TPosition::VECOUT, TPosition::GM, float>();
        DataCopy(gy[i * 128], t, 128);
        q.FreeTensor(t);
    }""",
)
KERNELS.add(
    "counts",
    "GM_ADDR d",
    """TPipe pipe; TQue<TPosition::VECIN, 2> q; pipe.InitBuffer(q, 3, 64); TBuf<> b; pipe.InitBuffer(b, 33);
    GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)d); int32_t i = 0;
    auto put = [&](int32_t v) { g.SetValue(i++, v); };
    put(q.VacantInQue()); put(q.HasTensorInQue()); put(q.HasIdleBuffer()); put(q.GetTensorCountInQue());
    LocalTensor<half> t = q.AllocTensor<half>(); LocalTensor<half> u = q.AllocTensor<half>();
    put((int32_t)q.GetState(t)); q.EnQue(t); put((int32_t)q.GetState(t)); q.EnQue(u);
    put(q.VacantInQue()); put(q.HasTensorInQue()); put(q.HasIdleBuffer()); put(q.GetTensorCountInQue());
    LocalTensor<half> v = q.AllocTensor<half>(); put(q.HasIdleBuffer()); q.FreeTensor(v);
    t = q.DeQue<half>(); put((int32_t)q.GetState(t)); q.FreeTensor(t); put((int32_t)q.GetState(t));
    u = q.DeQue<half>(); q.FreeTensor(u);
    put(t.GetSize()); put((int32_t)(b.Get<half>().GetSize())); put((int32_t)b.GetWithOffset<float>(8, 32).GetSize());
    put((int32_t)pipe.FetchEventID(HardEvent::MTE2_V)); put((int32_t)GetTPipePtr()->AllocEventID<HardEvent::MTE2_MTE3>());
    put((int32_t)pipe.AllocEventID<HardEvent::MTE2_MTE3>()); put((int32_t)pipe.FetchEventID<HardEvent::MTE2_MTE3>());
    pipe.ReleaseEventID<HardEvent::MTE2_MTE3>(0); put((int32_t)pipe.AllocEventID<HardEvent::MTE2_MTE3>());
    q.FreeAllEvent(); put((int32_t)pipe.FetchEventID(HardEvent::V_MTE2));
    pipe.Reset(); TBuf<> whole; pipe.InitBuffer(whole, 196608); put(pipe.FetchEventID(HardEvent::MTE2_MTE3));""",
)


def test_bound_queues() -> None:
    x = np.random.default_rng(3).uniform(-9, 9, 640).astype(F32)
    y = np.zeros_like(x)
    KERNELS.run("bind", x, y)
    np.testing.assert_array_equal(y, x)
    KERNELS.run("bind_named", x, y)
    np.testing.assert_array_equal(y, x + x)


def test_what_a_queue_and_a_pipe_say_of_themselves() -> None:
    d = np.full(40, -1, np.int32)
    KERNELS.run("counts", d)
    expected = [1, 0, 1, 0, 1, 2, 0, 1, 1, 2, 0, 3, 0, 32, 32, 8]
    # V_MTE2 ids 0..2 are taken by FreeTensor and given back by FreeAllEvent.
    assert list(d[:24]) == [*expected, 0, 0, 1, 2, 0, 0, 0, -1]


KERNELS.add(
    "aic_events",
    "GM_ADDR d",
    """TPipe pipe; GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)d);
    TEventID a = pipe.AllocEventID<HardEvent::M_MTE1>(); g.SetValue(0, a);
    g.SetValue(1, pipe.FetchEventID(HardEvent::MTE1_M)); g.SetValue(2, GetTPipePtr() == &pipe);""",
    "KERNEL_TYPE_AIC_ONLY",
)


def test_ids_0_to_2_of_m_mte1_are_the_pipes() -> None:
    d = np.full(4, -1, np.int32)
    KERNELS.run("aic_events", d)
    assert list(d) == [3, 0, 1, -1]


KERNELS.add(
    "again",
    "GM_ADDR d",
    """GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)d);
    for (int32_t i = 0; i < 3; ++i) {
        TPipe pipe; TQue<TPosition::VECOUT, 1> q; pipe.InitBuffer(q, 1, 32);
        LocalTensor<float> t = q.AllocTensor<float>(); Duplicate(t, (float)i, 8); q.EnQue(t);
        t = q.DeQue<float>(); DataCopy(g[i * 8], t, 8); q.FreeTensor(t);
        if (i == 1) { pipe.Destroy(); }
    }""",
)


def test_a_pipe_ends_clean_and_may_be_made_again() -> None:
    d = np.full(24, -1, F32)
    KERNELS.run("again", d)
    np.testing.assert_array_equal(d, np.repeat([0, 1, 2], 8))


# Bias and scales on their way through queues, as the vendor's pages show, with more order: the queue C1 is
# between MTE2 and MTE1, but it is FIX that moves scales out of L1. C = (A * B + bias) * scale to half.
KERNELS.add(
    "tables",
    "GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR scale, GM_ADDR c",
    """TPipe pipe; TQue<TPosition::A1, 1> a1; TQue<TPosition::B1, 1> b1; TQue<TPosition::A2, 1> a2; TQue<TPosition::B2, 1> b2;
    TQue<TPosition::C1, 1> c1; TQue<TPosition::C2, 1> c2; TQue<TPosition::C1, 1> s1; TQue<TPosition::C2PIPE2GM, 1> s2;
    TQue<TPosition::CO1, 1> co1; pipe.InitBuffer(a1, 1, 512); pipe.InitBuffer(b1, 1, 512); pipe.InitBuffer(a2, 1, 512);
    pipe.InitBuffer(b2, 1, 512); pipe.InitBuffer(c1, 1, 64); pipe.InitBuffer(c2, 1, 64); pipe.InitBuffer(s1, 1, 128);
    pipe.InitBuffer(s2, 1, 128); pipe.InitBuffer(co1, 1, 1024);
    GlobalTensor<int8_t> g; GlobalTensor<int32_t> gb; GlobalTensor<uint64_t> gs; GlobalTensor<half> gc;
    for (int32_t round = 0; round < 3; ++round) {
        LocalTensor<int8_t> x = a1.AllocTensor<int8_t>(); g.SetGlobalBuffer((__gm__ int8_t*)a); DataCopy(x, g, 512); a1.EnQue(x);
        LocalTensor<int8_t> y = b1.AllocTensor<int8_t>(); g.SetGlobalBuffer((__gm__ int8_t*)b); DataCopy(y, g, 512); b1.EnQue(y);
        LocalTensor<int32_t> v = c1.AllocTensor<int32_t>(); gb.SetGlobalBuffer((__gm__ int32_t*)bias); DataCopy(v, gb, 16); c1.EnQue(v);
        LocalTensor<uint64_t> s = s1.AllocTensor<uint64_t>(); gs.SetGlobalBuffer((__gm__ uint64_t*)scale); DataCopy(s, gs, 16); s1.EnQue(s);
        LoadData2DParams p; p.repeatTimes = 1;
        x = a1.DeQue<int8_t>(); LocalTensor<int8_t> x2 = a2.AllocTensor<int8_t>(); LoadData(x2, x, p); a2.EnQue(x2); a1.FreeTensor(x);
        y = b1.DeQue<int8_t>(); LocalTensor<int8_t> y2 = b2.AllocTensor<int8_t>(); LoadData(y2, y, p); b2.EnQue(y2); b1.FreeTensor(y);
        v = c1.DeQue<int32_t>(); LocalTensor<int32_t> v2 = c2.AllocTensor<int32_t>(); DataCopyParams one(1, 1, 0, 0); DataCopy(v2, v, one);
        c2.EnQue(v2); c1.FreeTensor(v);
        s = s1.DeQue<uint64_t>(); SetFlag<HardEvent::MTE2_FIX>(0); WaitFlag<HardEvent::MTE2_FIX>(0); LocalTensor<uint64_t> t2 = s2.AllocTensor<uint64_t>(); DataCopy(t2, s, one); s2.EnQue(t2);
        x2 = a2.DeQue<int8_t>(); y2 = b2.DeQue<int8_t>(); v2 = c2.DeQue<int32_t>(); LocalTensor<int32_t> o = co1.AllocTensor<int32_t>();
        MmadParams mp; mp.m = 16; mp.n = 16; mp.k = 32; mp.cmatrixInitVal = false; Mmad(o, x2, y2, v2, mp);
        co1.EnQue(o); a2.FreeTensor(x2); b2.FreeTensor(y2); c2.FreeTensor(v2);
        o = co1.DeQue<int32_t>(); t2 = s2.DeQue<uint64_t>(); SetFixPipeConfig(t2); PipeBarrier<PIPE_FIX>(); SetFixpipeNz2ndFlag(1, 0, 1);
        DataCopyCO12DstParams f; f.nSize = 16; f.mSize = 16; f.srcStride = 16; f.dstStride = 16; f.quantPre = QuantMode_t::VDEQF16; f.nz2ndEn = true;
        gc.SetGlobalBuffer((__gm__ half*)c); DataCopy(gc[round * 256], o, f); co1.FreeTensor(o); s2.FreeTensor(t2); s1.FreeTensor(s); PipeBarrier<PIPE_ALL>();
    }""",
    "KERNEL_TYPE_AIC_ONLY",
)


def test_queues_of_the_tables() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.integers(-20, 20, (2, 16, 32)).astype(np.int8)
    bias = rng.integers(-999, 999, 16).astype(np.int32)
    scale = rng.choice([0.5, 0.25, 2.0], 16).astype(F32)
    c = np.zeros((3, 16, 16), F16)
    words = scale.view(np.uint32).astype(np.uint64)
    KERNELS.run("tables", a, b, bias, words, c)
    expected = ((a.astype(np.int32) @ b.astype(np.int32).T + bias) * scale).astype(F16)
    for part in c:
        np.testing.assert_array_equal(part, expected)


# name, statement, slug, words of the text.
START = "TPipe pipe; TQue<TPosition::VECIN, 2> q; TQue<TPosition::VECOUT, 1> o;"
CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("no_init", "q.AllocTensor<half>();", "queue", ("AllocTensor", "InitBuffer first")),
    ("no_free", "pipe.InitBuffer(q, 2, 32); q.AllocTensor<half>(); q.AllocTensor<half>(); q.AllocTensor<half>();", "queue-no-buffer", ("all 2 buffers", "FreeTensor is missing")),
    ("full", "pipe.InitBuffer(q, 3, 32); for (int i = 0; i < 3; ++i) { LocalTensor<half> t = q.AllocTensor<half>(); q.EnQue(t); }", "queue-full", ("holds 2 tensors",)),
    ("empty", "pipe.InitBuffer(q, 3, 32); q.DeQue<half>();", "queue-empty", ("DeQue", "needs an EnQue")),
    ("enque_twice", "pipe.InitBuffer(q, 3, 32); LocalTensor<half> t = q.AllocTensor<half>(); q.EnQue(t); q.EnQue(t);", "queue", ("the tensor is in the queue",)),
    ("free_twice", "pipe.InitBuffer(q, 3, 32); LocalTensor<half> t = q.AllocTensor<half>(); q.FreeTensor(t); q.FreeTensor(t);", "queue", ("free already",)),
    ("foreign", "pipe.InitBuffer(q, 3, 32); pipe.InitBuffer(o, 1, 32); LocalTensor<half> t = q.AllocTensor<half>(); o.EnQue(t);", "queue", ("not one of this queue's",)),
    ("too_many", "TQue<TPosition::VECIN, 1> r; pipe.InitBuffer(q, 60, 32); pipe.InitBuffer(r, 5, 32);", "bad-argument", ("make 65 in this TPipe", "at most 64")),
    ("zero_buffers", "pipe.InitBuffer(q, 0, 32);", "bad-argument", ("num is 0",)),
    ("zero_bytes", "pipe.InitBuffer(q, 1, 0);", "bad-argument", ("length of a buffer is 0",)),
    ("too_large", "pipe.InitBuffer(q, 2, 98305);", "out-of-bounds", ("do not fit into UB",)),
    ("events", "pipe.InitBuffer(q, 9, 32); LocalTensor<half> t[9]; for (int i = 0; i < 9; ++i) { t[i] = q.AllocTensor<half>(); } for (int i = 0; i < 9; ++i) { q.FreeTensor(t[i]); }", "events-exhausted", ("FreeTensor: all 8 ids",)),
    ("alloc_events", "for (int i = 0; i < 9; ++i) { pipe.AllocEventID<HardEvent::V_MTE3>(); }", "events-exhausted", ("AllocEventID",)),
    ("no_pipe", "pipe.Destroy(); GetTPipePtr();", "bad-argument", ("no TPipe lives",)),
    ("after_reset", "pipe.InitBuffer(q, 1, 32); pipe.Reset(); q.AllocTensor<half>();", "queue", ("has ended or was reset",)),
    ("left_in_queue", "pipe.InitBuffer(q, 1, 32); LocalTensor<half> t = q.AllocTensor<half>(); q.EnQue(t);", "flag-left-set", ("MTE2_V id 0 is still set",)),
    ("release", "pipe.ReleaseEventID<HardEvent::MTE2_V>(8);", "bad-argument", ("event id is 8",)),
]  # fmt: skip
for _name, _statement, _, _ in CASES:
    KERNELS.add(f"bad_{_name}", "GM_ADDR d", f"{START}\n{_statement}", "KERNEL_TYPE_MIX_AIV_1_0")


@pytest.mark.parametrize(("name", "statement", "slug", "words"), CASES, ids=[c[0] for c in CASES])
def test_misuse(name: str, statement: str, slug: str, words: tuple[str, ...]) -> None:
    fault = KERNELS.fault(f"bad_{name}", np.zeros(64, F32))
    assert fault.kind == slug, fault
    for part in words:
        assert part in fault.text, fault
    line = KERNELS.source().splitlines()[fault.line - 1]
    assert line.strip() == statement, fault


# What only the headers of 9.x have.
NEW = KernelSet()
NEW.add(
    "in_place",
    "GM_ADDR x, GM_ADDR y",
    """TPipe pipe; TQue<TPosition::VECIN, 0> q; TQue<TPosition::VECOUT, 0> o; pipe.InitBuffer(q, 2, 512); pipe.InitBuffer(o, 2, 512);
    GlobalTensor<float> gx; gx.SetGlobalBuffer((__gm__ float*)x); GlobalTensor<float> gy; gy.SetGlobalBuffer((__gm__ float*)y);
    for (int32_t i = 0; i < 5; ++i) {
        LocalTensor<float> t; q.AllocTensor(t); DataCopy(t, gx[i * 128], 128); q.EnQue(t); q.DeQue(t);
        LocalTensor<float> u; o.AllocTensor(u); Add(u, t, t, 128); q.FreeTensor(t);
        o.EnQue(u); o.DeQue(u); DataCopy(gy[i * 128], u, 128); o.FreeTensor(u);
    }""",
)
NEW.add(
    "allocator",
    "GM_ADDR x, GM_ADDR y",
    """GlobalTensor<float> gx; gx.SetGlobalBuffer((__gm__ float*)x); GlobalTensor<float> gy; gy.SetGlobalBuffer((__gm__ float*)y);
    LocalMemAllocator allocator;
    LocalTensor<float> a = allocator.Alloc<float, 128>(); LocalTensor<float> b = allocator.Alloc<TPosition::VECIN, float>(128);
    LocalTensor<float> c = allocator.Alloc<TPosition::VECOUT, float, 128>(); LocalTensor<float> same(TPosition::VECCALC, 1024, 128);
    DataCopy(a, gx, 128); DataCopy(b, gx[128], 128); SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0);
    Add(c, a, b, 128); SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); DataCopy(gy, same, 128);
    SetFlag<HardEvent::MTE3_S>(0); WaitFlag<HardEvent::MTE3_S>(0); gy.SetValue(128, (float)allocator.GetCurAddr());""",
)
NEW.add(
    "allocator_full",
    "GM_ADDR x, GM_ADDR y",
    "LocalMemAllocator<Hardware::UB> allocator; allocator.Alloc<float>(49152); allocator.Alloc<int8_t>(1);",
    "KERNEL_TYPE_MIX_AIV_1_0",
)


def test_queues_of_depth_0() -> None:
    x = np.random.default_rng(3).uniform(-9, 9, 640).astype(F32)
    y = np.zeros_like(x)
    NEW.run("in_place", x, y)
    np.testing.assert_array_equal(y, x + x)


def test_local_memory_allocator() -> None:
    x = np.random.default_rng(4).uniform(-9, 9, 256).astype(F32)
    y = np.zeros_like(x)
    NEW.run("allocator", x, y)
    np.testing.assert_array_equal(y[:128], x[:128] + x[128:])
    assert y[128] == 1536
    fault = NEW.fault("allocator_full", x, y)
    assert fault.kind == "out-of-bounds" and "LocalMemAllocator::Alloc: 1 bytes" in fault.text


NEW.add(
    "tscm",
    "GM_ADDR x, GM_ADDR y",
    """TPipe pipe; TSCM<TPosition::GM, 1> q; TSCM<TPosition::GM, 1, 4> shared; TQue<TPosition::A1, 1> a1;
    pipe.InitBuffer(q, 2, 1024); pipe.InitBuffer(shared, 1, 512); pipe.InitBuffer(a1, 1, 524288 - 128 - 2048 - 512);
    GlobalTensor<int8_t> gx; gx.SetGlobalBuffer((__gm__ int8_t*)x); GlobalTensor<int8_t> gy; gy.SetGlobalBuffer((__gm__ int8_t*)y);
    GlobalTensor<int32_t> where; where.SetGlobalBuffer((__gm__ int32_t*)y);
    for (int32_t i = 0; i < 4; ++i) {
        LocalTensor<int8_t> t = q.AllocTensor<int8_t>(); DataCopy(t, gx[i * 32], 32); q.EnQue(t); t = q.DeQue<int8_t>();
        SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0); DataCopy(gy[i * 32], t, 32);
        SetFlag<HardEvent::MTE3_MTE1>(0); WaitFlag<HardEvent::MTE3_MTE1>(0);
        if (i < 2) { where.SetValue(32 + i, (int32_t)((uint8_t*)t.GetPhyAddr() - pipe.GetBaseAddr((int8_t)TPosition::A1))); }
        q.FreeTensor(t);
    }
    LocalTensor<int8_t> u = shared.AllocTensor<int8_t>();
    where.SetValue(34, (int32_t)((uint8_t*)u.GetPhyAddr() - pipe.GetBaseAddr((int8_t)TPosition::A1))); shared.FreeTensor(u);""",
    "KERNEL_TYPE_AIC_ONLY",
)
NEW.add(
    "tscm_full",
    "GM_ADDR x, GM_ADDR y",
    "TPipe pipe; TSCM<TPosition::GM, 1> q; TQue<TPosition::A1, 1> a1; pipe.InitBuffer(q, 2, 1024); pipe.InitBuffer(a1, 1, 524288 - 128);",
    "KERNEL_TYPE_MIX_AIC_1_0",
)


def test_buffers_at_the_top_of_l1() -> None:
    x = np.random.default_rng(8).integers(0, 100, 128).astype(np.int8)
    y = np.zeros(256, np.int8)
    NEW.run("tscm", x, y)
    np.testing.assert_array_equal(y[:128], x)
    top = 524288 - 128
    assert list(y[128:140].view(np.int32)) == [top - 2048, top - 1024, top - 2560]
    fault = NEW.fault("tscm_full", x, y)
    assert fault.kind == "out-of-bounds" and "below its TSCM buffers" in fault.text


# How the op projects of the vendor hand over tiling: the struct is registered, and copied out of GM.
NEW.add(
    "tiling",
    "GM_ADDR x, GM_ADDR tiling",
    """struct Tiling { uint32_t a; float b; uint16_t c[4]; };
    REGISTER_TILING_DEFAULT(Tiling); GET_TILING_DATA(data, tiling);
    GET_TILING_DATA_MEMBER(Tiling, b, second, tiling); GET_TILING_DATA_WITH_STRUCT(Tiling, third, tiling);
    GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)x);
    g.SetValue(0, (float)data.a); g.SetValue(1, second); g.SetValue(2, (float)third.c[3]);""",
)


def test_tiling_data() -> None:
    x = np.zeros(4, F32)
    tiling = np.array([7, 0x3FC00000, 0, 5 << 16], np.uint32)
    NEW.run("tiling", x, tiling)
    np.testing.assert_array_equal(x, [7, 1.5, 5, 0])
    fault = NEW.fault("tiling", x, tiling[:3].copy())
    assert fault.kind == "out-of-bounds" and "the tiling data reads" in fault.text


def test_checks_off_still_protects_the_process() -> None:
    off = launcher().CHECKS_OFF
    for name in ("no_init", "no_free", "full", "empty", "foreign", "too_many"):
        KERNELS.fault(f"bad_{name}", np.zeros(64, F32), checks=off)


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
