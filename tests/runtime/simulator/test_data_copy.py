"""DataCopy, DataCopyPad, Nd2Nz, atomics and scalar access."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet, launcher

KERNELS = KernelSet(
    """
template <class T>
__aicore__ inline LocalTensor<T> whole_ub(TPipe& pipe, TBuf<TPosition::VECCALC>& buffer)
{
    pipe.InitBuffer(buffer, 65536);
    return buffer.Get<T>();
}
"""
)
START = """
    TPipe pipe; TBuf<TPosition::VECCALC> buffer; LocalTensor<T> ub = whole_ub<T>(pipe, buffer);
    GlobalTensor<T> gd; gd.SetGlobalBuffer((__gm__ T*)d); GlobalTensor<T> gs; gs.SetGlobalBuffer((__gm__ T*)s);
    DataCopy(ub, gd, 4096);
    PipeBarrier<PIPE_ALL>();
"""
END = """
    SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(gd, ub, 4096);
"""
TYPES = {"int8_t": np.uint8, "half": np.uint16, "float": np.uint32, "int64_t": np.uint64}


def copy_in(name: str, t: str, statement: str) -> None:
    KERNELS.add(
        f"{name}_{t}", "GM_ADDR d, GM_ADDR s", f"using T = {t};\n{START}\n{statement}\n{END}"
    )


def copy_out(name: str, t: str, statement: str) -> None:
    """UB holds the first 4096 elements of s; the statement writes to d."""
    body = f"""using T = {t};
    TPipe pipe; TBuf<TPosition::VECCALC> buffer; LocalTensor<T> ub = whole_ub<T>(pipe, buffer);
    GlobalTensor<T> gd; gd.SetGlobalBuffer((__gm__ T*)d); GlobalTensor<T> gs; gs.SetGlobalBuffer((__gm__ T*)s);
    DataCopy(ub, gs, 4096);
    SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0);
    {statement}"""
    KERNELS.add(f"{name}_{t}", "GM_ADDR d, GM_ADDR s", body)


for _t in TYPES:
    _n = "sizeof(T)"
    copy_in("count", _t, "DataCopy(ub, gs[3], 1001);")
    copy_in("strided", _t, "DataCopy(ub, gs, DataCopyParams(5, 2, 3, 1));")
    copy_in(
        "pad",
        _t,
        f"DataCopyPad(ub, gs[1], DataCopyExtParams(4, 7 * {_n}, 5 * {_n}, 2, 0), "
        "DataCopyPadExtParams<T>(true, 2, 3, (T)0));",
    )
    copy_in(
        "nopad",
        _t,
        f"DataCopyPad(ub, gs[1], DataCopyExtParams(4, 7 * {_n}, 5 * {_n}, 2, 0), "
        "DataCopyPadExtParams<T>(false, 0, 0, (T)0));",
    )
    copy_out("out", _t, "DataCopy(gd, ub, DataCopyParams(5, 2, 3, 1));")
    copy_out(
        "outpad", _t, f"DataCopyPad(gd[3], ub, DataCopyExtParams(4, 7 * {_n}, 2, 5 * {_n}, 0));"
    )
    copy_out(
        "local",
        _t,
        "SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0); "
        "DataCopy(ub[2048], ub, DataCopyParams(5, 2, 3, 1)); "
        "SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); DataCopy(gd, ub, 4096);",
    )
copy_in(
    "short",
    "float",
    "DataCopyPad(ub, gs[1], DataCopyParams(2, 20, 4, 0), DataCopyPadParams(true, 1, 2, 0x40400000));",
)
copy_in(
    "nothing",
    "float",
    "DataCopy(ub, gs, 7); DataCopy(ub, gs, DataCopyParams(0, 4, 0, 0)); "
    "DataCopyPad(ub, gs, DataCopyExtParams(1, 0, 0, 0, 0), DataCopyPadExtParams<T>());",
)
FILL = 9


def arrays(t: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    d = np.full(4096, FILL, TYPES[t])
    return d, rng.integers(0, 100, 4096).astype(TYPES[t])


@pytest.mark.parametrize("t", TYPES)
def test_copy_in(t: str) -> None:
    d, s = arrays(t)
    per = 32 // d.itemsize
    KERNELS.run(f"count_{t}", d, s)
    whole = 1001 // per * per  # rounded down to 32 B
    np.testing.assert_array_equal(d[:whole], s[3 : 3 + whole])
    assert (d[whole:] == FILL).all()
    d, s = arrays(t)
    expected = d.copy()
    for i in range(5):
        expected[i * 3 * per : (i * 3 + 2) * per] = s[i * 5 * per : (i * 5 + 2) * per]
    KERNELS.run(f"strided_{t}", d, s)
    np.testing.assert_array_equal(d, expected)


@pytest.mark.parametrize("t", TYPES)
def test_copy_in_padded(t: str) -> None:
    d, s = arrays(t)
    per = 32 // d.itemsize
    rows = -(-12 // per) * per
    expected = d.copy()
    for i in range(4):
        row = np.full(rows, np.iinfo(d.dtype).max, d.dtype)  # unspecified bytes are 0xFF
        row[:12] = 0
        row[2:9] = s[1 + i * 12 : 8 + i * 12]
        at = i * (rows + 2 * per)
        expected[at : at + rows] = row
    KERNELS.run(f"pad_{t}", d, s)
    np.testing.assert_array_equal(d, expected)
    d, s = arrays(t)
    rows = -(-7 // per) * per
    KERNELS.run(f"nopad_{t}", d, s)
    for i in range(4):
        at = i * (rows + 2 * per)
        np.testing.assert_array_equal(d[at : at + 7], s[1 + i * 12 : 8 + i * 12])


def test_short_parameter_forms_and_nothing() -> None:
    d, s = arrays("float")
    KERNELS.run("short_float", d, s)
    three = 0x40400000
    np.testing.assert_array_equal(d[:8], [three, *s[1:6], three, three])
    np.testing.assert_array_equal(d[8:16], [three, *s[7:12], three, three])
    d, s = arrays("float")
    KERNELS.run("nothing_float", d, s)
    assert (d == FILL).all()


@pytest.mark.parametrize("t", TYPES)
def test_copy_out_and_local(t: str) -> None:
    d, s = arrays(t)
    per = 32 // d.itemsize
    expected = d.copy()
    for i in range(5):
        expected[i * 3 * per : (i * 3 + 2) * per] = s[i * 5 * per : (i * 5 + 2) * per]
    KERNELS.run(f"out_{t}", d, s)
    np.testing.assert_array_equal(d, expected)
    d, s = arrays(t)
    expected = d.copy()
    rows = -(-7 // per) * per
    for i in range(4):
        at = i * (rows + 2 * per)
        expected[3 + i * 12 : 10 + i * 12] = s[at : at + 7]
    KERNELS.run(f"outpad_{t}", d, s)
    np.testing.assert_array_equal(d, expected)
    d, s = arrays(t)
    expected = s.copy()
    for i in range(5):
        expected[2048 + i * 3 * per :][: 2 * per] = s[i * 5 * per : (i * 5 + 2) * per]
    KERNELS.run(f"local_{t}", d, s)
    np.testing.assert_array_equal(d, expected)


for _t in ("float", "half", "int8_t"):
    KERNELS.add(
        f"nz_{_t}",
        "GM_ADDR d, GM_ADDR s",
        f"""using T = {_t};
    TPipe pipe; TBuf<TPosition::A1> l1; pipe.InitBuffer(l1, 65536); LocalTensor<T> a = l1.Get<T>();
    GlobalTensor<T> gd; gd.SetGlobalBuffer((__gm__ T*)d); GlobalTensor<T> gs; gs.SetGlobalBuffer((__gm__ T*)s);
    DataCopy(a, gd, 8192); PipeBarrier<PIPE_MTE2>();
    DataCopy(a, gs, Nd2NzParams(2, 5, 37, 300, 41, 7, 1, 2048));
    SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(gd, a, 8192);""",
        "KERNEL_TYPE_AIC_ONLY",
    )


@pytest.mark.parametrize("t", ["float", "half", "int8_t"])
def test_nd_to_nz(t: str) -> None:
    dtype = TYPES[t]
    d = np.full(8192, FILL, dtype)
    s = np.random.default_rng(2).integers(1, 100, 1000).astype(dtype)
    expected = d.copy()
    c0 = 32 // d.itemsize
    for nd in range(2):
        for row in range(5):
            line = np.zeros(-(-37 // c0) * c0, dtype)  # the last column block is filled with zeros
            line[:37] = s[nd * 300 + row * 41 :][:37]
            for column in range(line.size // c0):
                at = nd * 2048 + (column * 7 + row) * c0
                expected[at : at + c0] = line[column * c0 : (column + 1) * c0]
    KERNELS.run(f"nz_{t}", d, s)
    np.testing.assert_array_equal(d, expected)


ATOMIC = {
    "int8_t": np.int8,
    "int16_t": np.int16,
    "half": np.float16,
    "int32_t": np.int32,
    "float": np.float32,
}
for _t in [*ATOMIC, "bfloat16_t"]:
    for _op in ("Add", "Max", "Min"):
        KERNELS.add(
            f"atomic_{_op}_{_t}",
            "GM_ADDR d, GM_ADDR s",
            f"""using T = {_t};
        TPipe pipe; TBuf<TPosition::VECCALC> buffer; LocalTensor<T> ub = whole_ub<T>(pipe, buffer);
        GlobalTensor<T> gd; gd.SetGlobalBuffer((__gm__ T*)d); GlobalTensor<T> gs; gs.SetGlobalBuffer((__gm__ T*)s);
        DataCopy(ub, gs, 256); SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0);
        SetAtomic{_op}<T>(); DataCopyPad(gd[1], ub, DataCopyExtParams(1, 100 * sizeof(T), 0, 0, 0)); SetAtomicNone();
        PipeBarrier<PIPE_MTE3>(); DataCopyPad(gd[200 + 16 * GetBlockIdx()], ub, DataCopyExtParams(1, 10 * sizeof(T), 0, 0, 0));""",
        )


@pytest.mark.parametrize("t", ATOMIC)
@pytest.mark.parametrize("op", ["Add", "Max", "Min"])
def test_atomics_over_many_blocks(t: str, op: str) -> None:
    rng = np.random.default_rng(3)
    d = rng.integers(0, 3, 512).astype(ATOMIC[t])
    s = rng.integers(-2, 5, 256).astype(ATOMIC[t])
    expected = d.copy()
    combine = {"Add": lambda a, b: a + 8 * b, "Max": np.maximum, "Min": np.minimum}[op]
    expected[1:101] = combine(d[1:101], s[:100])
    for block in range(8):
        expected[200 + 16 * block :][:10] = s[:10]
    KERNELS.run(f"atomic_{op}_{t}", d, s, blocks=8)
    np.testing.assert_array_equal(d, expected)


def test_atomic_add_of_bfloat16() -> None:
    d = np.zeros(512, np.uint16)
    s = np.full(256, 0x3F80, np.uint16)  # 1.0
    KERNELS.run("atomic_Add_bfloat16_t", d, s, blocks=8)
    assert (d[1:101] == 0x4100).all()  # 8.0


KERNELS.add(
    "scalars",
    "GM_ADDR d, GM_ADDR s",
    """
    TPipe pipe; TBuf<TPosition::VECCALC> buffer; LocalTensor<half> ub = whole_ub<half>(pipe, buffer);
    GlobalTensor<half> gs; gs.SetGlobalBuffer((__gm__ half*)s, 64);
    GlobalTensor<float> gd; gd.SetGlobalBuffer((__gm__ float*)d);
    for (uint32_t i = 0; i < 32; ++i) { ub.SetValue(i, gs.GetValue(i)); }
    ub(5) = (half)9.0f;
    LocalTensor<uint16_t> raw = ub.ReinterpretCast<uint16_t>();
    raw.SetValue(6, (uint16_t)0x3c00);
    for (uint32_t i = 0; i < 32; ++i) { gd.SetValue(i, (float)ub.GetValue(i) * 2.0f); }
    gd.SetValue(32, (float)gs.GetSize()); gd.SetValue(33, (float)ub.GetSize()); gd.SetValue(34, (float)ub[100].GetSize());
    gd(35) = (float)(ub.GetValue(0) + ub.GetValue(1));
    DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(gd);
""",
)


def test_scalar_access() -> None:
    s = np.arange(64).astype(np.float16)
    d = np.zeros(64, np.float32)
    KERNELS.run("scalars", d, s)
    expected = np.arange(32, dtype=np.float32) * 2
    expected[5], expected[6] = 18, 2
    np.testing.assert_array_equal(d[:32], expected)
    np.testing.assert_array_equal(d[32:36], [64, 32768, 32668, 1])


KERNELS.add(
    "fresh",
    "GM_ADDR d, GM_ADDR s",
    f"using T = half;\n{START.replace('DataCopy(ub, gd, 4096);', '')} if (GetBlockIdx() == 0) "
    "{ SetFlag<HardEvent::S_V>(0); WaitFlag<HardEvent::S_V>(0); Duplicate(ub, (half)1, 4096); "
    "SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); } else { DataCopy(gd, ub, 4096); }",
)


def test_every_block_starts_with_memory_full_of_nan() -> None:
    d = np.zeros(4096, np.float16)
    KERNELS.run("fresh", d, d, blocks=2, threads=1, checks=launcher().CHECKS_OFF)
    assert np.isnan(d).all()


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
