"""Kernels as the vendor's samples write them: buffer pools, tensor lists, dumps of addresses, and
the rules of single instructions that such kernels lean on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet

OFF, DEVICE, STRICT = 0, 1, 2
LEVELS = (OFF, DEVICE, STRICT)
F16, F32, I32, U8, U64 = np.float16, np.float32, np.int32, np.uint8, np.uint64

KERNELS = KernelSet(
    """
constexpr uint32_t N = 256, BYTES = N * sizeof(half);
// A pool that lays its buffers out as it likes: each behind the other.
class OwnPool {
public:
    __aicore__ inline OwnPool() { Init(); }
    template <class T>
    __aicore__ inline bool InitBuffer(T& queue, uint8_t number, uint32_t bytes)
    {
        auto handle = this->GetBufHandle(this->GetCurBufSize());
        auto address = this->GetCurAddr();
        queue.InitStartBufHandle(handle, number, bytes);
        for (uint32_t i = 0; i < number; i++) {
            queue.InitBufHandle(this, i, handle, address + i * bytes, bytes);
        }
        this->SetCurAddr(address + number * bytes);
        this->SetCurBufSize(this->GetCurBufSize() + number);
        return true;
    }
    template <TPosition position>
    __aicore__ inline bool InitBuffer(TBuf<position>& buffer, uint32_t bytes)
    {
        auto handle = this->GetBufHandle(this->GetCurBufSize());
        buffer.InitStartBufHandle(handle, 1, bytes);
        buffer.InitBufHandle(this, 0, handle, this->GetCurAddr(), bytes);
        this->SetCurAddr(this->GetCurAddr() + bytes);
        this->SetCurBufSize(this->GetCurBufSize() + 1);
        return true;
    }
    EXTERN_IMPL_BUFPOOL(OwnPool, TPosition::VECCALC, 16);
};
struct Sum {
    GlobalTensor<half> x, y, z;
    __aicore__ inline Sum(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz)
    {
        x.SetGlobalBuffer((__gm__ half*)gx);
        y.SetGlobalBuffer((__gm__ half*)gy);
        z.SetGlobalBuffer((__gm__ half*)gz);
    }
    template <class In, class Other, class Out>
    __aicore__ inline void Run(In& first, Other& second, Out& out, uint32_t at)
    {
        LocalTensor<half> a = first.template AllocTensor<half>();
        DataCopy(a, x[at], N);
        first.EnQue(a);
        LocalTensor<half> b = second.template AllocTensor<half>();
        DataCopy(b, y[at], N);
        second.EnQue(b);
        LocalTensor<half> p = first.template DeQue<half>(), q = second.template DeQue<half>();
        LocalTensor<half> r = out.template AllocTensor<half>();
        Add(r, p, q, N);
        out.template EnQue<half>(r);
        first.FreeTensor(p);
        second.FreeTensor(q);
        LocalTensor<half> s = out.template DeQue<half>();
        DataCopy(z[at], s, N);
        out.FreeTensor(s);
    }
};
using In = TQue<TPosition::VECIN, 1>;
using Out = TQue<TPosition::VECOUT, 1>;
using Pool = TBufPool<TPosition::VECCALC>;
"""
)
PARAMETERS = "GM_ADDR x, GM_ADDR y, GM_ADDR z"

POOLS = {
    "shared": """
Pool first, second; In a, b, c, d; Out e, f;
pipe.InitBufPool(first, BYTES * 3);
pipe.InitBufPool(second, BYTES * 3, first);
first.InitBuffer(a, 1, BYTES); first.InitBuffer(b, 1, BYTES); first.InitBuffer(e, 1, BYTES);
sum.Run(a, b, e, 0);
first.Reset();
second.InitBuffer(c, 1, BYTES); second.InitBuffer(d, 1, BYTES); second.InitBuffer(f, 1, BYTES);
sum.Run(c, d, f, N);
second.Reset();
""",
    "divided": """
Pool whole, first, second; In a, b, c; Out e, f;
pipe.InitBufPool(whole, BYTES * 4);
whole.InitBufPool(first, BYTES * 2);
whole.InitBuffer(a, 1, BYTES * 2);
whole.InitBufPool(second, BYTES * 2, first);
first.InitBuffer(b, 1, BYTES); first.InitBuffer(e, 1, BYTES);
sum.Run(a, b, e, 0);
first.Reset();
second.InitBuffer(c, 1, BYTES); second.InitBuffer(f, 1, BYTES);
sum.Run(a, c, f, N);
second.Reset();
whole.Reset();
pipe.Reset();
""",
    "own": """
OwnPool pool; In a, b; Out e; TBuf<TPosition::VECIN> spare;
pipe.InitBufPool(pool, BYTES * 7);
pool.InitBuffer(a, 2, BYTES); pool.InitBuffer(spare, BYTES); pool.InitBuffer(b, 2, BYTES);
pool.InitBuffer(e, 2, BYTES);
sum.Run(a, b, e, 0);
sum.Run(a, b, e, N);
pool.Reset();
pipe.Reset();
""",
    "queue_of_two": """
Pool pool; In a, b; Out e;
pipe.InitBufPool(pool, BYTES * 4);
pool.InitBuffer(a, 2, BYTES); pool.InitBuffer(b, 1, BYTES); pool.InitBuffer(e, 1, BYTES);
sum.Run(a, b, e, 0);
sum.Run(a, b, e, N);
""",
}
for _name, _body in POOLS.items():
    KERNELS.add(f"pool_{_name}", PARAMETERS, f"TPipe pipe; Sum sum(x, y, z); {_body}")


@pytest.mark.parametrize("check", LEVELS)
@pytest.mark.parametrize("name", POOLS)
def test_buffer_pools(name: str, check: int) -> None:
    x, y = (np.random.default_rng(i).standard_normal(512).astype(F16) for i in range(2))
    z = np.zeros(512, F16)
    KERNELS.run(f"pool_{name}", x, y, z, checks=check)
    np.testing.assert_array_equal(z, x + y)


WRONG_POOLS = {
    "no_bytes": ("Pool p; In a; p.InitBuffer(a, 1, BYTES);", "the pool has no bytes"),
    "too_large": (
        "Pool p; In a; pipe.InitBufPool(p, BYTES); p.InitBuffer(a, 2, BYTES);",
        "1024 bytes do not fit into the pool, which has 512 bytes",
    ),
    "too_many": (
        "Pool p; In a; pipe.InitBufPool(p, 5 * BYTES); p.InitBuffer(a, 5, BYTES);",
        "the pool has 4 buffers left of 4",
    ),
    "larger_share": (
        "Pool p, q; pipe.InitBufPool(p, BYTES); pipe.InitBufPool(q, 2 * BYTES, p);",
        "the pool to share with has 512",
    ),
    "after_reset": (
        "Pool p; In a; pipe.InitBufPool(p, BYTES); p.Reset(); p.InitBuffer(a, 1, BYTES);",
        "ends with Reset",
    ),
    "other_memory": (
        "Pool p; TQue<TPosition::A1, 1> a; pipe.InitBufPool(p, BYTES); p.InitBuffer(a, 1, 32);",
        "a pool of UB holds no buffers of L1",
    ),
    "own_index": ("OwnPool p; pipe.InitBufPool(p, 64); p.GetBufHandle(16);", "buffer 16 of a pool"),
    "own_handle": (
        "OwnPool p; In a; pipe.InitBufPool(p, 64); "
        "a.InitStartBufHandle(p.GetBufHandle(15), 2, 32);", "the buffers of the queue are gone",
    ),
}  # fmt: skip
for _name, (_body, _) in WRONG_POOLS.items():
    KERNELS.add(f"pool_{_name}", PARAMETERS, f"TPipe pipe; {_body}")


@pytest.mark.parametrize("check", [OFF, DEVICE])
@pytest.mark.parametrize("name", WRONG_POOLS)
def test_misuse_of_pools(name: str, check: int) -> None:
    fault = KERNELS.fault(f"pool_{name}", *(np.zeros(512, F16) for _ in range(3)), checks=check)
    assert WRONG_POOLS[name][1] in fault.text, fault


KERNELS.add("over_the_other", PARAMETERS, """
TPipe pipe; Sum sum(x, y, z);
Pool first, second; In a, b, c; Out e; TBuf<TPosition::VECCALC> t;
pipe.InitBufPool(first, BYTES * 3);
pipe.InitBufPool(second, BYTES * 3, first);
first.InitBuffer(a, 1, BYTES); first.InitBuffer(b, 1, BYTES); first.InitBuffer(e, 1, BYTES);
second.InitBuffer(t, BYTES * 3);
LocalTensor<half> r = e.AllocTensor<half>();
Duplicate(r, (half)1, N);
e.EnQue(r);
LocalTensor<half> s = e.DeQue<half>();
DataCopy(sum.z, s, N);
Duplicate(t.Get<half>(), (half)2, 3 * N);
e.FreeTensor(s);
""")  # fmt: skip


def test_pools_over_the_same_bytes_need_a_reset() -> None:
    arguments = [np.zeros(512, F16) for _ in range(3)]
    fault = KERNELS.fault("over_the_other", *arguments, checks=DEVICE)
    assert fault.kind == "race", fault


KERNELS.add("listed", "GM_ADDR list, GM_ADDR z", """
TPipe pipe; TBuf<TPosition::VECCALC> a, b;
pipe.InitBuffer(a, 256); pipe.InitBuffer(b, 256);
ListTensorDesc tensors((__gm__ void*)list);
uint64_t shape[4] = {0};
TensorDesc<float> desc;
desc.SetShapeAddr(shape);
tensors.GetDesc(desc, 1);
GlobalTensor<float> x, y = desc.GetDataObj(), out;
x.SetGlobalBuffer(tensors.GetDataPtr<__gm__ float>(0));
out.SetGlobalBuffer((__gm__ float*)z);
LocalTensor<float> p = a.Get<float>(), q = b.Get<float>();
DataCopy(p, x, 64); DataCopy(q, y, y.GetSize());
SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0);
Add(p, p, q, 64);
SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0);
DataCopy(out, p, 64);
out.SetValue(64, (float)tensors.GetSize()); out.SetValue(65, (float)desc.GetDim());
out.SetValue(66, (float)desc.GetShape(0)); out.SetValue(67, (float)desc.GetIndex());
DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(out);
""")  # fmt: skip
KERNELS.add("listed_wrong", "GM_ADDR list, GM_ADDR z", """
ListTensorDesc tensors((__gm__ void*)list);
tensors.GetDataPtr<float>(2);
""")  # fmt: skip


def tensor_list(*arrays: Any) -> Any:
    words: list[int] = []
    for i, array in enumerate(arrays):
        words += [array.ndim | i << 32, *array.shape]
    pointers = [a.ctypes.data for a in arrays]
    return np.array([8 + 8 * len(words), *words, *pointers], U64)


@pytest.mark.parametrize("check", LEVELS)
def test_a_list_of_tensors(check: int) -> None:
    x, y = np.arange(64, dtype=F32).reshape(4, 16), np.ones((4, 16), F32)
    z = np.zeros(72, F32)
    words = tensor_list(x, y)
    # The tensors are buffers of the launch as the list itself is.
    KERNELS_WITH_TENSORS.run("listed_with", words, z, x, y, checks=check)
    np.testing.assert_array_equal(z[:64].reshape(4, 16), x + y)
    np.testing.assert_array_equal(z[64:68], [2, 2, 4, 1])
    fault = KERNELS.fault("listed_wrong", words, z, checks=check)
    assert "index is 2, but the list has 2 tensors" in fault.text, fault
    words[1] += 40
    assert "40" not in fault.text
    fault = KERNELS.fault("listed_wrong", words, z, checks=check)
    assert "pointers begin at byte" in fault.text, fault


KERNELS_WITH_TENSORS = KernelSet()
_body = KERNELS._kernels["listed"].body.split("\n", 1)[1]
KERNELS_WITH_TENSORS.add("listed_with", "GM_ADDR list, GM_ADDR z, GM_ADDR x0, GM_ADDR x1", _body)

KERNELS.add("dumps", PARAMETERS, """
TPipe pipe; TBuf<TPosition::VECCALC> a; pipe.InitBuffer(a, 256);
LocalTensor<int32_t> t = a.Get<int32_t>();
Duplicate(t, 7, 64);
PipeBarrier<PIPE_ALL>();
asc_dump_gm((__gm__ int32_t*)x, 1, 3);
asc_dump_ubuf((__ubuf__ int32_t*)t.GetPhyAddr(8), 2, 2);
asc_dump((__ubuf__ int32_t*)t.GetPhyAddr(), 3, 1);
asc_dump((__gm__ int32_t*)x, 4, 2);
asc_dump_cbuf((__cc__ float*)x, 5, 2);
""")  # fmt: skip
KERNELS.add("dump_outside", PARAMETERS, "asc_dump_ubuf((__ubuf__ int32_t*)x, 1, 3);")


@pytest.mark.parametrize("check", LEVELS)
def test_dumps_of_addresses(check: int) -> None:
    arguments = [np.arange(8, dtype=I32) for _ in range(3)]
    lines = KERNELS.run("dumps", *arguments, checks=check).splitlines()
    assert [line.split("desc=")[1] for line in lines] == [
        "1, GM, int32, 3 elements: [0, 1, 2]",
        "2, UB, int32, 2 elements: [7, 7]",
        "3, UB, int32, 1 elements: [7]",
        "4, GM, int32, 2 elements: [0, 1]",
    ]
    fault = KERNELS.fault("dump_outside", *arguments, checks=check)
    assert "does not lie in UB" in fault.text, fault


# Copy: in counter mode the mask counts the elements of each of `repeatTimes` repeats.
KERNELS.add("copy_counted", "GM_ADDR x, GM_ADDR y, int32_t mask, int32_t repeats, int32_t strides", """
TPipe pipe; TBuf<TPosition::VECCALC> a, b; pipe.InitBuffer(a, 16384); pipe.InitBuffer(b, 16384);
GlobalTensor<int32_t> gx, gy; gx.SetGlobalBuffer((__gm__ int32_t*)x); gy.SetGlobalBuffer((__gm__ int32_t*)y);
LocalTensor<int32_t> s = a.Get<int32_t>(), d = b.Get<int32_t>();
DataCopy(s, gx, 4096);
SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0);
Duplicate(d, -1, 4096);
PipeBarrier<PIPE_V>();
SetMaskCount();
SetVectorMask<int32_t, MaskMode::COUNTER>(mask);
Copy<int32_t, false>(d, s, MASK_PLACEHOLDER, repeats,
    {(uint16_t)(strides & 15), (uint16_t)(strides >> 4 & 15), (uint16_t)(strides >> 8 & 255), (uint16_t)(strides >> 16 & 255)});
SetMaskNorm();
ResetMask();
SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0);
DataCopy(gy, d, 4096);
""")  # fmt: skip


@pytest.mark.parametrize("check", LEVELS)
@pytest.mark.parametrize(
    ("mask", "repeats", "strides"),
    [(144, 1, (1, 8, 8, 8)), (8, 18, (1, 1, 1, 8)), (20, 5, (1, 2, 4, 9)), (64, 0, (1, 1, 8, 8)),
     (100, 3, (2, 1, 30, 16)), (1, 1, (1, 1, 8, 8)), (64, 8, (1, 1, 8, 8))],
)  # fmt: skip
def test_copy_in_counter_mode(
    mask: int, repeats: int, strides: tuple[int, int, int, int], check: int
) -> None:
    x = np.arange(4096, dtype=I32)
    y = np.zeros(4096, I32)
    dst_block, src_block, dst_repeat, src_repeat = strides
    packed = dst_block | src_block << 4 | dst_repeat << 8 | src_repeat << 16
    KERNELS.run("copy_counted", x, y, mask, repeats, packed, checks=check)
    expected = np.full(4096, -1, I32)
    for repeat in range(repeats):
        for i in range(mask):
            to = repeat * dst_repeat * 8 + i // 8 * dst_block * 8 + i % 8
            expected[to] = x[repeat * src_repeat * 8 + i // 8 * src_block * 8 + i % 8]
    np.testing.assert_array_equal(y, expected)


CASTS = {
    # statement on tiles h (half) and f (float) over the same bytes, whether it is an error
    "wider_onto_source": ("Cast(f, h, RoundMode::CAST_NONE, 256);", True),
    "wider_one_repeat": ("Cast(f, h, RoundMode::CAST_NONE, 64);", False),
    "narrower_onto_source": ("Cast(h, f, RoundMode::CAST_NONE, 256);", False),
    "wider_behind": ("Cast(f, h[512], RoundMode::CAST_NONE, 128);", False),
    "wider_into_the_rest": ("Cast(f, h[128], RoundMode::CAST_NONE, 256);", True),
    "wider_from_the_end": ("Cast(f, h[768], RoundMode::CAST_NONE, 256);", False),
    "repeats": ("Cast(f, h, RoundMode::CAST_NONE, 64, 4, {1, 1, 8, 4});", True),
    "few_lanes": ("Cast(f, h[16], RoundMode::CAST_NONE, 4, 4, {1, 1, 1, 2});", False),
}
for _name, (_body, _) in CASTS.items():
    KERNELS.add(f"cast_{_name}", "GM_ADDR x", f"""
TPipe pipe; TBuf<TPosition::VECCALC> a; pipe.InitBuffer(a, 4096);
LocalTensor<float> f = a.Get<float>(); LocalTensor<half> h = a.Get<half>();
Duplicate(f, 0.0f, 1024); PipeBarrier<PIPE_V>();
{_body}
""")  # fmt: skip


@pytest.mark.parametrize("name", CASTS)
def test_a_cast_over_its_own_source(name: str) -> None:
    x = np.zeros(8, F32)
    KERNELS.run(f"cast_{name}", x, checks=OFF)
    if CASTS[name][1]:
        fault = KERNELS.fault(f"cast_{name}", x, checks=DEVICE)
        assert fault.kind == "operand-overlap" and "bytes" in fault.text, fault
    else:
        KERNELS.run(f"cast_{name}", x, checks=DEVICE)


# LoadData of a map that begins near the boundary goes on at byte 0 of L1.
KERNELS.add("wraps", "GM_ADDR x, GM_ADDR y, int32_t start, int32_t boundary", """
LocalTensor<half> l1(TPosition::A1, 0, 8192), a(TPosition::A2, 0, 1024), b(TPosition::B2, 0, 256);
LocalTensor<float> c(TPosition::CO1, 0, 64 * 16);
GlobalTensor<half> gx; gx.SetGlobalBuffer((__gm__ half*)x);
GlobalTensor<float> gy; gy.SetGlobalBuffer((__gm__ float*)y);
DataCopy(l1, gx, 8192);
SetFlag<HardEvent::MTE2_MTE1>(0); WaitFlag<HardEvent::MTE2_MTE1>(0);
SetLoadDataBoundary(boundary);
LoadData3DParamsV2<half> p;
p.l1H = 1; p.l1W = 64; p.channelSize = p.kExtension = 16; p.mExtension = 64;
LoadData(a, l1[start / 2], p);
SetLoadDataBoundary(0);
LoadData3DParamsV2<half> q;
q.l1H = 1; q.l1W = 16; q.channelSize = q.kExtension = q.mExtension = 16;
LoadData(b, l1[6144], q);
SetFlag<HardEvent::MTE1_M>(0); WaitFlag<HardEvent::MTE1_M>(0);
MmadParams m; m.m = 64; m.n = 16; m.k = 16; m.cmatrixInitVal = true;
Mmad(c, a, b, m);
SetFlag<HardEvent::M_FIX>(0); WaitFlag<HardEvent::M_FIX>(0);
FixpipeParamsV220 f(16, 64, 64, 16, false);
static constexpr FixpipeConfig rows = {CO2Layout::ROW_MAJOR, false};
Fixpipe<float, float, rows>(gy, c, f);
""", "KERNEL_TYPE_AIC_ONLY")  # fmt: skip


@pytest.mark.parametrize("check", LEVELS)
@pytest.mark.parametrize(("start", "boundary"), [(0, 0), (3072, 4096), (1024, 2048), (4064, 4096),
                                                 (0, 2048), (3072, 8192)])  # fmt: skip
def test_a_load_wraps_at_the_boundary(start: int, boundary: int, check: int) -> None:
    x = np.random.default_rng(1).integers(-3, 4, 8192).astype(F16)
    x[6144:6400] = np.eye(16, dtype=F16).reshape(-1)
    y = np.zeros((64, 16), F32)
    KERNELS.run("wraps", x, y, start, boundary, checks=check)
    bytes_ = np.arange(start, start + 2048)
    halves = (bytes_ % boundary if boundary else bytes_)[::2] // 2
    np.testing.assert_array_equal(y, x[halves].reshape(64, 16).astype(F32))


# The number of matrices means something in rows only.
KERNELS.add("nz_to_l1", "GM_ADDR y, int32_t matrices", """
LocalTensor<float> c(TPosition::CO1, 0, 256);
LocalTensor<half> l1(TPosition::A1, 0, 256), a(TPosition::A2, 0, 256), b(TPosition::B2, 0, 256);
InitConstValueParams<half> one(1, 1, 0, (half)1);
Fill(a, one); Fill(b, one);
PipeBarrier<PIPE_ALL>();
MmadParams m; m.m = m.n = m.k = 16; m.cmatrixInitVal = true;
Mmad(c, a, b, m);
SetFlag<HardEvent::M_FIX>(0); WaitFlag<HardEvent::M_FIX>(0);
FixpipeParamsV220 f(16, 16, 16, 16, false);
f.quantPre = QuantMode_t::F322F16; f.ndNum = matrices; f.srcNdStride = f.dstNdStride = 0;
Fixpipe<half, float, CFG_NZ>(l1, c, f);
SetFlag<HardEvent::FIX_MTE3>(0); WaitFlag<HardEvent::FIX_MTE3>(0);
GlobalTensor<half> g; g.SetGlobalBuffer((__gm__ half*)y);
DataCopy(g, l1, 256);
""", "KERNEL_TYPE_AIC_ONLY")  # fmt: skip


@pytest.mark.parametrize("check", LEVELS)
@pytest.mark.parametrize("matrices", [0, 1, 2])
def test_matrices_of_a_result_for_l1(matrices: int, check: int) -> None:
    y = np.zeros(256, F16)
    KERNELS.run("nz_to_l1", y, matrices, checks=check)
    np.testing.assert_array_equal(y, 16)


# What has no effect is told as a warning, and as an error where it has one.
HEAD = """
TPipe pipe; TBuf<TPosition::VECCALC> a, b, c;
pipe.InitBuffer(a, 256); pipe.InitBuffer(b, 256); pipe.InitBuffer(c, 256);
LocalTensor<float> p = a.Get<float>(), q = b.Get<float>(), r = c.Get<float>();
GlobalTensor<float> gx, gy; gx.SetGlobalBuffer((__gm__ float*)x); gy.SetGlobalBuffer((__gm__ float*)y);
"""
EFFECTS: dict[str, tuple[str, str, bool]] = {
    # name: body, kind, whether it has an effect
    "overwritten_unread": ("DataCopy(p, gx, 64); Duplicate(p, 1.0f, 64);", "race", False),
    "overwritten_and_stored": (
        "DataCopy(p, gx, 64); Duplicate(p, 1.0f, 64); SetFlag<HardEvent::V_MTE3>(0); "
        "WaitFlag<HardEvent::V_MTE3>(0); DataCopy(gy, p, 64);", "race", True,
    ),
    "overwritten_and_passed_on": (
        "DataCopy(p, gx, 64); Duplicate(p, 1.0f, 64); PipeBarrier<PIPE_ALL>(); Adds(q, p, 1.0f, 64); "
        "PipeBarrier<PIPE_ALL>(); DataCopy(gy, q, 64);", "race", True,
    ),
    "overwritten_again": (
        "DataCopy(p, gx, 64); Duplicate(p, 1.0f, 64); PipeBarrier<PIPE_ALL>(); "
        "Duplicate(p, 2.0f, 64); PipeBarrier<PIPE_ALL>(); DataCopy(gy, p, 64);", "race", False,
    ),
    "unwritten_stays": ("Adds(q, p, 1.0f, 64);", "uninitialised-read", False),
    "unwritten_stored": (
        "Adds(q, p, 1.0f, 64); PipeBarrier<PIPE_ALL>(); DataCopy(gy, q, 64);",
        "uninitialised-read", True,
    ),
    "unwritten_beside": (
        "Duplicate(q, 1.0f, 64); Duplicate(p, 2.0f, 32); PipeBarrier<PIPE_ALL>(); "
        "Add(r[32], p[32], q[32], 32); Add(r, p, q, 32); PipeBarrier<PIPE_ALL>(); DataCopy(gy, r, 32);",
        "uninitialised-read", False,
    ),
    "unwritten_branch": (
        "Adds(q, p, 1.0f, 64); PipeBarrier<PIPE_ALL>(); if (q.GetValue(0) > 0) { Trap(); }",
        "uninitialised-read", True,
    ),
    "unwritten_mask": (
        "Duplicate(q, 1.0f, 64); PipeBarrier<PIPE_ALL>(); Compare(p, q, CMPMODE::LT, 64, "
        "BinaryRepeatParams());", "uninitialised-read", True,
    ),
}  # fmt: skip
for _name, (_body, _, _) in EFFECTS.items():
    KERNELS.add(f"effect_{_name}", "GM_ADDR x, GM_ADDR y", HEAD + _body)


@pytest.mark.parametrize("name", EFFECTS)
def test_what_has_no_effect_is_a_warning(name: str) -> None:
    _, kind, has_effect = EFFECTS[name]
    arguments = (np.zeros(64, F32), np.zeros(64, F32))
    fault = KERNELS.fault(f"effect_{name}", *arguments, checks=STRICT)
    assert fault.kind == kind, fault
    if has_effect:
        again = KERNELS.fault(f"effect_{name}", *arguments, checks=DEVICE)
        assert (again.kind, again.line, again.text) == (kind, fault.line, fault.text), again
    else:
        (warning,) = KERNELS.warnings(f"effect_{name}", *arguments, checks=DEVICE)
        assert (warning.kind, warning.line) == (kind, fault.line), warning
        assert "nothing that leaves the core depended on it" in warning.text, warning


MORE_EFFECTS: dict[str, tuple[str, str, bool]] = {
    "equal_bytes_twice": (
        "DataCopy(p, gx, 64); DataCopy(p, gx, 64); PipeBarrier<PIPE_ALL>(); DataCopy(gy, p, 64);",
        "race", False,
    ),
    "other_bytes_twice": (
        "DataCopy(p, gx, 64); DataCopy(p, gx[64], 64); PipeBarrier<PIPE_ALL>(); DataCopy(gy, p, 64);",
        "race", True,
    ),
    "unwritten_addresses": (
        "Duplicate(r, 1.0f, 64); Adds(q.ReinterpretCast<int32_t>(), p.ReinterpretCast<int32_t>(), 1, 64); "
        "PipeBarrier<PIPE_V>(); Gather(p, r, q.ReinterpretCast<uint32_t>(), 0, 64);",
        "uninitialised-read", True,
    ),
}  # fmt: skip
for _name, (_body, _, _) in MORE_EFFECTS.items():
    KERNELS.add(f"effect_{_name}", "GM_ADDR x, GM_ADDR y", HEAD + _body)
BIAS = """
LocalTensor<half> l1(TPosition::A1, 0, 1024), a(TPosition::A2, 0, 256), b(TPosition::B2, 0, 1024);
LocalTensor<float> c1(TPosition::C1, 8192, 64), bias(TPosition::C2, 0, 64), c(TPosition::CO1, 0, 16 * 64);
GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)y);
GlobalTensor<float> gx; gx.SetGlobalBuffer((__gm__ float*)x);
InitConstValueParams<half> one(1, 1, 0, (half)1), more(4, 1, 0, (half)1);
Fill(a, one); Fill(b, more);
DataCopy(c1, gx, 48);
SetFlag<HardEvent::MTE2_MTE1>(0); WaitFlag<HardEvent::MTE2_MTE1>(0);
DataCopy(bias, c1, 48);
PipeBarrier<PIPE_ALL>();
MmadParams m; m.m = m.k = 16; m.n = 64; m.cmatrixInitVal = false;
Mmad(c, a, b, bias, m);
SetFlag<HardEvent::M_FIX>(0); WaitFlag<HardEvent::M_FIX>(0);
FixpipeParamsV220 f(n, 16, 16, n, false);
Fixpipe(g, c, f);
"""
DUMPED = (
    "DataCopy(p, gx, 64); DumpTensor(p, 1, 8); PipeBarrier<PIPE_ALL>(); Add(q, p, p, 64); "
    "DumpTensor(q, 2, 8); PipeBarrier<PIPE_ALL>(); DataCopy(gy, q, 64); DumpTensor(gy, 3, 8);"
)
KERNELS.add("dumped", "GM_ADDR x, GM_ADDR y", HEAD + DUMPED)
OF_ANOTHER = (
    "DataCopy(p, gx, 32); PipeBarrier<PIPE_ALL>(); DataCopy(gy[32 * GetBlockIdx()], p, 32); "
    "DumpTensor(gy[32 - 32 * GetBlockIdx()], 1, 8);"
)
KERNELS.add("dumped_of_another", "GM_ADDR x, GM_ADDR y", HEAD + OF_ANOTHER)
BETWEEN = "DataCopy(p, gx, 64); DumpTensor(p, 1, 8); Adds(q, p, 1.0f, 64);"
KERNELS.add("dumped_between", "GM_ADDR x, GM_ADDR y", HEAD + BETWEEN)
KERNELS.add("bias", "GM_ADDR x, GM_ADDR y, int32_t n", BIAS, "KERNEL_TYPE_AIC_ONLY")


@pytest.mark.parametrize("name", MORE_EFFECTS)
def test_what_is_written_twice_or_dumped(name: str) -> None:
    _, kind, has_effect = MORE_EFFECTS[name]
    arguments = (np.arange(128, dtype=F32), np.zeros(64, F32))
    assert KERNELS.fault(f"effect_{name}", *arguments, checks=STRICT).kind == (kind or "race")
    if has_effect:
        assert KERNELS.fault(f"effect_{name}", *arguments, checks=DEVICE).kind == kind
    else:
        warnings = KERNELS.warnings(f"effect_{name}", *arguments, checks=DEVICE)
        assert [w.kind for w in warnings] == [kind] * bool(kind)


@pytest.mark.parametrize("check", [DEVICE, STRICT])
def test_a_dump_waits_for_the_pipes_of_its_core(check: int) -> None:
    x, y = np.arange(64, dtype=F32), np.zeros(64, F32)
    assert not KERNELS.warnings("dumped", x, y, checks=check)
    np.testing.assert_array_equal(y, 2 * x)


def test_a_dump_orders_nothing_else() -> None:
    fault = KERNELS.fault("dumped_between", np.ones(64, F32), np.zeros(64, F32), checks=STRICT)
    assert fault.kind == "race" and "Adds" in fault.text, fault
    x, y = np.ones(64, F32), np.zeros(64, F32)
    fault = KERNELS.fault("dumped_of_another", x, y, checks=STRICT, blocks=2)
    assert fault.kind == "race" and "DumpTensor" in fault.text, fault


def test_columns_whose_bias_nobody_wrote() -> None:
    """They are a fault once they leave the core, and those beside them are not."""
    x, y = np.arange(64, dtype=F32), np.zeros(16 * 64, F32)
    (warning,) = KERNELS.warnings("bias", x, y, 48, checks=DEVICE)
    assert warning.kind == "uninitialised-read" and "bias reads 64 bytes" in warning.text, warning
    np.testing.assert_array_equal(y[: 16 * 48].reshape(16, 48), np.tile(16 + x[:48], (16, 1)))
    for n, check in ((64, DEVICE), (48, STRICT)):
        fault = KERNELS.fault("bias", x, y, n, checks=check)
        assert fault.kind == "uninitialised-read" and "bias reads 64 bytes" in fault.text, fault
