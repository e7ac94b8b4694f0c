"""DataCopy beyond plain blocks: slices, ND2NZ and NZ2ND in UB, padding values, BT and FB, and what 910B lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet, launcher

F16, F32, U8, U16, U32, U64 = np.float16, np.float32, np.uint8, np.uint16, np.uint32, np.uint64
TYPES = {"int8_t": U8, "half": U16, "float": U32}
KERNELS = KernelSet(
    """
template <class T>
struct Buffers {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    LocalTensor<T> ub;
    GlobalTensor<T> gd;
    GlobalTensor<T> gs;
    __aicore__ inline Buffers(GM_ADDR d, GM_ADDR s)
    {
        pipe.InitBuffer(buffer, 131072);
        ub = buffer.Get<T>();
        gd.SetGlobalBuffer((__gm__ T*)d);
        gs.SetGlobalBuffer((__gm__ T*)s);
    }
    // UB to GM, once everything is in UB.
    __aicore__ inline void Out(int32_t elements)
    {
        SetFlag<HardEvent::MTE2_MTE3>(0);
        WaitFlag<HardEvent::MTE2_MTE3>(0);
        DataCopy(gd, ub, elements);
    }
};
"""
)
SLICE = "int32_t start, int32_t pieces, int32_t burst, int32_t gap, int32_t width, int32_t rows, int32_t row_gap"
SLICES = """
    constexpr int32_t e = 32 / sizeof(T);
    int32_t used = pieces * burst * e;
    SliceInfo strided[2] = {SliceInfo(start, start + used + (pieces - 1) * gap - 1, gap, burst, width),
        SliceInfo(0, (rows - 1) * (1 + row_gap), row_gap, 1, rows * (1 + row_gap))};
    SliceInfo packed[2] = {SliceInfo(0, used - 1, 0, burst, used), SliceInfo(0, rows - 1, 0, 1, rows)};
    Buffers<T> o(d, s);
"""
NZ = "int32_t nd, int32_t n, int32_t w, int32_t src_matrix, int32_t src_n, int32_t dst_row, int32_t dst_matrix"
for _t in TYPES:
    KERNELS.add(
        f"slices_in_{_t}",
        f"GM_ADDR d, GM_ADDR s, {SLICE}",
        f"using T = {_t}; {SLICES} DataCopy(o.ub, o.gs, packed, strided, 2); o.Out(used * rows);",
    )
    KERNELS.add(
        f"slices_out_{_t}",
        f"GM_ADDR d, GM_ADDR s, {SLICE}",
        f"""using T = {_t}; {SLICES} DataCopy(o.ub, o.gs, used * rows);
    SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0); DataCopy(o.gd, o.ub, strided, packed, 2);""",
    )
    if _t != "int8_t":
        KERNELS.add(
            f"nz2nd_{_t}",
            f"GM_ADDR d, GM_ADDR s, {NZ}",
            f"""using T = {_t}; Buffers<T> o(d, s); DataCopy(o.ub, o.gs, 32768);
    SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0);
    Nz2NdParamsFull p(nd, n, w, src_matrix, src_n, dst_row, dst_matrix); DataCopy(o.gd, o.ub, p);""",
        )
    KERNELS.add(
        f"nd2nz_{_t}",
        "GM_ADDR d, GM_ADDR s, int32_t n, int32_t w, int32_t pitch, int32_t c0, int32_t step",
        f"using T = {_t}; Buffers<T> o(d, s); Nd2NzParams p(1, n, w, 0, pitch, c0, step, 0); "
        "DataCopy(o.ub, o.gd, 16384 / sizeof(T)); DataCopy(o.ub, o.gs, p); o.Out(16384 / sizeof(T));",
    )
    KERNELS.add(
        f"pad_{_t}",
        "GM_ADDR d, GM_ADDR s, int32_t length, int32_t left, int32_t right",
        f"""using T = {_t}; Buffers<T> o(d, s); DataCopyExtParams p(2, length * sizeof(T), 0, 1, 0);
    DataCopyPadExtParams<T> q(false, left, right, (T)0); SetPadValue((T)3); DataCopyPad(o.ub, o.gs, p, q);
    DataCopyPadExtParams<T> r(true, left, right, (T)5); DataCopyPad(o.ub[4096], o.gs, p, r);
    DataCopyPad(o.ub[8192], o.gs, p, q); o.Out(12288);""",
    )

SHAPE = st.tuples(
    st.integers(0, 9),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 20),
    st.integers(1, 4),
    st.integers(0, 2),
)


def strided(
    s: Any, start: int, pieces: int, burst: int, gap: int, width: int, rows: int, row_gap: int
) -> Any:
    """Index of every element the slices name, row by row."""
    row = np.concatenate([start + i * (burst + gap) + np.arange(burst) for i in range(pieces)])
    return np.concatenate([r * (1 + row_gap) * width + row for r in range(rows)])


@pytest.mark.parametrize("t", TYPES)
@settings(max_examples=examples(25))
@given(shape=SHAPE, extra=st.integers(0, 9))
def test_slices(t: str, shape: Any, extra: int) -> None:
    start, pieces, burst, gap, rows, row_gap = shape
    dtype = TYPES[t]
    per = 32 // np.dtype(dtype).itemsize
    width = start + pieces * burst * per + (pieces - 1) * gap + extra
    arguments = (start, pieces, burst, gap, width, rows, row_gap)
    index = strided(None, start, pieces, burst * per, gap, width, rows, row_gap)
    s = np.random.default_rng(1).integers(0, 200, 8192).astype(dtype)
    d = np.zeros(index.size, dtype)
    KERNELS.run(f"slices_in_{t}", d, s, *arguments)
    np.testing.assert_array_equal(d, s[index])
    d = np.full(8192, 7, dtype)
    expected = d.copy()
    expected[index] = s[: index.size]
    KERNELS.run(f"slices_out_{t}", d, s, *arguments)
    np.testing.assert_array_equal(d, expected)


KERNELS.add(
    "slices_page",
    "GM_ADDR d, GM_ADDR s",
    """using T = float; Buffers<T> o(d, s);
    SliceInfo from[] = {{16, 70, 7, 3, 87}, {0, 2, 1, 1, 3}}; SliceInfo to[] = {{0, 47, 0, 3, 48}, {0, 1, 0, 1, 2}};
    DataCopy(o.ub, o.gs, to, from, 2); o.Out(96);""",
)


def test_the_slices_of_the_vendors_page() -> None:
    s = np.arange(3 * 87, dtype=F32)
    d = np.zeros(96, F32)
    KERNELS.run("slices_page", d, s)
    rows = s.reshape(3, 87)[[0, 2]]
    np.testing.assert_array_equal(d, np.hstack([rows[:, 16:40], rows[:, 47:71]]).reshape(-1))


@pytest.mark.parametrize("t", ["half", "float"])
@settings(max_examples=examples(20))
@given(
    nd=st.integers(0, 2),
    n=st.integers(1, 40),
    w=st.integers(1, 4),
    gap=st.integers(0, 9),
    room=st.integers(0, 5),
)
def test_nz_to_nd(t: str, nd: int, n: int, w: int, gap: int, room: int) -> None:
    dtype = TYPES[t]
    src_n, w = n + room, 16 * w
    src_matrix = -(-src_n * w // 256)
    row = w + gap
    s = np.random.default_rng(2).integers(0, 60000, 32768).astype(dtype)
    d = np.full(8192, 7, dtype)
    expected = d.copy()
    for matrix in range(nd):
        blocks = s[matrix * src_matrix * 256 :][: src_n * w].reshape(w // 16, src_n, 16)
        rows = blocks.transpose(1, 0, 2)[:n].reshape(n, w)
        for r in range(n):
            at = matrix * n * row + r * row
            expected[at : at + w] = rows[r]
    KERNELS.run(f"nz2nd_{t}", d, s, nd, n, w, src_matrix, src_n, row, max(1, n * row))
    np.testing.assert_array_equal(d, expected)


@pytest.mark.parametrize("t", TYPES)
@settings(max_examples=examples(20))
@given(n=st.integers(1, 30), w=st.integers(1, 60), gap=st.integers(0, 5), step=st.integers(1, 2))
def test_nd_to_nz_in_ub(t: str, n: int, w: int, gap: int, step: int) -> None:
    dtype = TYPES[t]
    per = 32 // np.dtype(dtype).itemsize
    c0 = n * step
    s = np.random.default_rng(3).integers(0, 200, 4096).astype(dtype)
    d = np.full(16384 // np.dtype(dtype).itemsize, 7, dtype)
    expected = d.copy()
    for r in range(n):
        line = np.zeros(-(-w // per) * per, dtype)
        line[:w] = s[r * (w + gap) :][:w]
        for column in range(line.size // per):
            at = (column * c0 + r * step) * per
            expected[at : at + per] = line[column * per : (column + 1) * per]
    KERNELS.run(f"nd2nz_{t}", d, s, n, w, w + gap, c0, step, checks=launcher().CHECKS_OFF)
    np.testing.assert_array_equal(d, expected)


@pytest.mark.parametrize("t", TYPES)
@settings(max_examples=examples(20))
@given(length=st.integers(1, 40), left=st.integers(0, 8), right=st.integers(0, 8))
def test_padding_values(t: str, length: int, left: int, right: int) -> None:
    """SetPadValue counts where isPad is false; a value given with isPad stays for later calls."""
    dtype = TYPES[t]
    s = np.random.default_rng(4).integers(10, 200, 128).astype(dtype)
    d = np.zeros(12288, dtype)
    # Read whole, with what was left alone: only checks off allow that.
    KERNELS.run(f"pad_{t}", d, s, length, left, right, checks=launcher().CHECKS_OFF)
    per = 32 // d.itemsize
    row = -(-(left + length + right) // per) * per
    for start, value in ((0, 3), (4096, 5), (8192, 5)):
        for block in range(2):
            at = start + block * (row + per)
            got = d[at : at + left + length + right]
            number = np.array(value, {"int8_t": U8, "half": F16, "float": F32}[t])
            expected = np.full(got.size, number.view(dtype), dtype)
            expected[left : left + length] = s[block * length :][:length]
            np.testing.assert_array_equal(got, expected)


CUBE_START = """TPipe pipe; TBuf<TPosition::C1> l1b; TBuf<TPosition::C2> btb; TBuf<TPosition::C2PIPE2GM> fbb;
    pipe.InitBuffer(l1b, 65536); pipe.InitBuffer(btb, 1024); pipe.InitBuffer(fbb, 4096);
    LocalTensor<float> l1 = l1b.Get<float>(); LocalTensor<float> bt = btb.Get<float>(); LocalTensor<uint64_t> fb = fbb.Get<uint64_t>();
    GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)s); GlobalTensor<float> out; out.SetGlobalBuffer((__gm__ float*)d);
    DataCopy(l1, g, 4096); SetFlag<HardEvent::MTE2_MTE1>(0); WaitFlag<HardEvent::MTE2_MTE1>(0);
    SetFlag<HardEvent::MTE2_FIX>(0); WaitFlag<HardEvent::MTE2_FIX>(0);"""
KERNELS.add(
    "tables",
    "GM_ADDR d, GM_ADDR s",
    f"""{CUBE_START}
    DataCopyParams all(1, 16, 0, 0); DataCopy(bt, l1, all); PipeBarrier<PIPE_MTE1>();
    DataCopyParams some(3, 1, 2, 1); DataCopy(bt, l1[1024], some);
    DataCopyParams half_blocks(2, 1, 0, 0); DataCopy(bt[128], l1[2048].ReinterpretCast<half>(), half_blocks);
    DataCopyParams words(1, 4, 0, 0); DataCopy(fb, l1.ReinterpretCast<uint64_t>(), words); PipeBarrier<PIPE_FIX>();
    DataCopyParams steps(2, 1, 8, 2); DataCopy(fb, l1[1024].ReinterpretCast<uint64_t>(), steps);
    PipeBarrier<PIPE_ALL>();
    for (uint32_t i = 0; i < 256; ++i) {{ out.SetValue(i, bt.GetValue(i)); }}
    for (uint32_t i = 0; i < 128; ++i) {{ out.SetValue(256 + i, fb.ReinterpretCast<float>().GetValue(i)); }}""",
    "KERNEL_TYPE_AIC_ONLY",
)


def test_copies_to_the_tables() -> None:
    """BT: 64 B blocks, gaps of 32 B in L1 and 64 B in BT. FB: 128 B blocks, strides from start to start."""
    s = np.arange(4096, dtype=F32)
    halves = np.random.default_rng(5).uniform(-9, 9, 64).astype(F16)
    s[2048:2080] = halves.view(F32)
    d = np.zeros(384, F32)
    KERNELS.run("tables", d, s)
    bias = s[:256].copy()
    for i in range(3):
        bias[i * 32 : i * 32 + 16] = s[1024 + i * 32 :][:16]
    bias[128:192] = halves
    np.testing.assert_array_equal(d[:256], bias)
    scales = s[:128].copy()
    for i in range(2):
        scales[i * 64 : i * 64 + 32] = s[1024 + i * 64 :][:32]
    np.testing.assert_array_equal(d[256:], scales)


VECTOR_CASES: list[tuple[str, str, str]] = [
    ("slice_differs", "SliceInfo p[] = {{0, 15, 0, 2, 16}}; SliceInfo q[] = {{0, 7, 0, 1, 8}}; DataCopy(o.ub, o.gs, p, q, 1);", "the two sides differ"),
    ("slice_end", "SliceInfo p[] = {{8, 7, 0, 1, 8}}; DataCopy(o.ub, o.gs, p, p, 1);", "must end behind its start"),
    ("slice_gap", "SliceInfo p[] = {{0, 16, 1, 1, 32}}; DataCopy(o.ub, o.gs, p, p, 1);", "whole 32 B blocks"),
    ("slice_dims", "SliceInfo p[9]; DataCopy(o.ub, o.gs, p, p, 9);", "dimValue is 9"),
    ("nz_width", "Nz2NdParamsFull p(1, 4, 17, 1, 4, 32, 1); DataCopy(o.gd, o.ub, p);", "multiple of 16"),
    ("nz_rows", "Nz2NdParamsFull p(1, 8193, 16, 1, 4, 32, 1); DataCopy(o.gd, o.ub, p);", "nValue is 8193"),
    ("pad_wide", "DataCopyPad(o.ub, o.gs, DataCopyExtParams(1, 4, 0, 0, 0), DataCopyPadExtParams<float>(true, 9, 0, 0.0f));", "leftPadding in bytes is 36"),
    ("pad_length", "DataCopyPad(o.ub, o.gs, DataCopyExtParams(1, 6, 0, 0, 0), DataCopyPadExtParams<float>());", "multiple of the element size 4"),
    ("pad_long", "DataCopyPad(o.gd, o.ub, DataCopyExtParams(1, 2097152, 0, 0, 0));", "blockLen is 2097152"),
    ("count_blocks", "DataCopyParams p; p.blockCount = 4096; p.blockLen = 1; DataCopy(o.ub, o.gs, p);", "blockCount is "),
    ("enhanced", "DataCopyEnhancedParams e; e.blockMode = BlockMode::BLOCK_MODE_MATRIX; DataCopy(o.ub, o.gs, DataCopyParams(1, 1, 0, 0), e);", "without a block mode"),
    ("ub_to_l1", "TBuf<TPosition::A1> l1; o.pipe.InitBuffer(l1, 64); DataCopy(l1.Get<float>(), o.ub, 8);", "910B has no way from UB to L1"),
    ("ub_to_l1_nz", "TBuf<TPosition::TSCM> l1; o.pipe.InitBuffer(l1, 64); DataCopy(l1.Get<float>(), o.ub, Nd2NzParams(1, 1, 8, 0, 8, 1, 1, 0));", "910B has no way from UB to L1"),
]  # fmt: skip
CUBE_CASES: list[tuple[str, str, str]] = [
    ("pad_l1", "DataCopyPad(l1, g, DataCopyExtParams(1, 4, 0, 0, 0), DataCopyPadExtParams<float>());", "GM to L1 does not exist on 910B"),
    ("l1_to_l1", "DataCopy(l1, l1[32], 8);", "a copy from L1 to L1 does not exist"),
    ("fb_type", "DataCopy(fb.ReinterpretCast<float>(), l1, DataCopyParams(1, 1, 0, 0));", "legal is uint64 to uint64"),
    ("bt_type", "DataCopy(bt.ReinterpretCast<half>(), l1.ReinterpretCast<half>(), DataCopyParams(1, 1, 0, 0));", "half to float"),
    ("fb_end", "DataCopyParams p(1, 57, 0, 0); DataCopy(fb, l1.ReinterpretCast<uint64_t>(), p);", "dst covers bytes [0, 7296) of the FB buffer"),
]  # fmt: skip
for _name, _statement, _ in VECTOR_CASES:
    KERNELS.add(
        f"bad_{_name}",
        "GM_ADDR d, GM_ADDR s",
        f"Buffers<float> o(d, s);\n{_statement}",
        "KERNEL_TYPE_MIX_AIV_1_0",
    )
for _name, _statement, _ in CUBE_CASES:
    KERNELS.add(
        f"bad_{_name}",
        "GM_ADDR d, GM_ADDR s",
        f"{CUBE_START}\n{_statement}",
        "KERNEL_TYPE_MIX_AIC_1_0",
    )


@pytest.mark.parametrize(
    ("name", "statement", "words"),
    [*VECTOR_CASES, *CUBE_CASES],
    ids=[c[0] for c in [*VECTOR_CASES, *CUBE_CASES]],
)
def test_misuse(name: str, statement: str, words: str) -> None:
    fault = KERNELS.fault(f"bad_{name}", np.zeros(65536, F32), np.zeros(65536, F32))
    assert words in fault.text, fault
    assert KERNELS.source().splitlines()[fault.line - 1].strip() == statement, fault


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
