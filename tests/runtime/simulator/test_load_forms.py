"""LoadData beyond the common forms: four-bit types, descending addresses, GM sources, registers of the 3D load."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet, launcher

U8, U16, U32 = np.uint8, np.uint16, np.uint32
PRELUDE = """
constexpr IsResetLoad3dConfig KEEP = {false, false};

// Fills L1 from GM, runs a load into L0, and copies the bytes of L0 to GM by scalars.
template <class T, TPosition position, class F>
__aicore__ inline void load_alone(GM_ADDR target, uint32_t size, GM_ADDR source, uint32_t bytes, F load)
{
    TPipe pipe;
    TBuf<TPosition::A1> l1;
    TBuf<position> l0;
    pipe.InitBuffer(l1, 262144);
    pipe.InitBuffer(l0, 65536);
    GlobalTensor<int8_t> g;
    g.SetGlobalBuffer((__gm__ int8_t*)source);
    DataCopy(l1.template Get<int8_t>(), g, bytes);
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    LocalTensor<T> src = l1.template Get<T>();
    LocalTensor<T> dst = l0.template Get<T>();
    load(dst, src);
    PipeBarrier<PIPE_ALL>();
    GlobalTensor<uint32_t> out;
    out.SetGlobalBuffer((__gm__ uint32_t*)target);
    LocalTensor<uint32_t> words = l0.template Get<uint32_t>();
    for (uint32_t i = 0; i < size / 4; ++i) {
        out.SetValue(i, words.GetValue(i));
    }
}
"""
KERNELS = KernelSet(PRELUDE)
REJECTED = KernelSet(PRELUDE)  # what the vendor's headers do not compile for this chip
TYPES = {
    "int4b_t": None,
    "int8_t": U8,
    "half": U16,
    "bfloat16_t": U16,
    "float": U32,
    "int32_t": U32,
}
SOURCE = 131072  # bytes in L1
FORM = "int32_t start, int32_t repeats, int32_t stride, int32_t gap, int32_t inner, int32_t down"


def add(
    name: str, t: str, position: str, parameters: str, statement: str, kernels: KernelSet = KERNELS
) -> None:
    kernels.add(
        name,
        f"GM_ADDR d, int32_t size, GM_ADDR s{', ' + parameters if parameters else ''}",
        f"""load_alone<{t}, TPosition::{position}>(d, size, s, {SOURCE}, [&](LocalTensor<{t}>& dst, LocalTensor<{t}>& src) {{
        {statement}
    }});""",
        "KERNEL_TYPE_AIC_ONLY",
    )


for _t, _position in itertools.product(TYPES, ("A2", "B2")):
    add(
        f"plain_{_t}_{_position}",
        _t,
        _position,
        FORM,
        "LoadData2DParams p(start, repeats, stride, 0, gap, inner != 0, down); LoadData(dst, src, p);",
    )
    if _t != "int4b_t" or _position == "B2":
        add(
            f"turned_{_t}_{_position}",
            _t,
            _position,
            FORM,
            "LoadData2dTransposeParams p(start, repeats, stride, gap, inner, down); LoadDataWithTranspose(dst, src, p);",
        )
add(
    "from_gm",
    "half",
    "A2",
    FORM,
    "GlobalTensor<half> g; g.SetGlobalBuffer((__gm__ half*)s); "
    "LoadData2DParams p(start, repeats, stride, 0, gap, false, down); LoadData(dst, g, p);",
)
add(
    "from_gm_l1",
    "half",
    "A2",
    FORM,
    "GlobalTensor<half> g; g.SetGlobalBuffer((__gm__ half*)s); LoadData2DParams p(start, repeats, stride, 0, gap, false, down); "
    "LoadData(src, g, p); SetFlag<HardEvent::MTE2_MTE1>(0); WaitFlag<HardEvent::MTE2_MTE1>(0); "
    "LoadData2DParams q(0, 128, 1, 0, 0, false, 0); LoadData(dst, src, q);",
)

RNG = np.random.default_rng(9)
BYTES = RNG.integers(0, 256, SOURCE).astype(U8)
FORMS = st.tuples(
    st.integers(0, 20),
    st.integers(0, 8),
    st.integers(0, 5),
    st.integers(0, 4),
    st.integers(0, 3),
    st.integers(0, 1),
)


def run(name: str, size: int, *arguments: int) -> Any:
    d = np.zeros(size, U8)
    # Read whole, with what was left alone: only checks off allow that.
    KERNELS.run(name, d, size, BYTES, *arguments, checks=launcher().CHECKS_OFF)
    return d


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("position", ["A2", "B2"])
@settings(max_examples=examples(12))
@given(form=FORMS)
def test_fractals(t: str, position: str, form: Any) -> None:
    start, repeats, stride, gap, _, down = form
    start += 40 * down
    expected = np.full(32768, 255, U8)
    for i in range(repeats):
        at = start + (-i if down else i) * stride
        expected[i * (gap + 1) * 512 :][:512] = BYTES[at * 512 :][:512]
    np.testing.assert_array_equal(
        run(f"plain_{t}_{position}", 32768, start, repeats, stride, gap, 0, down), expected
    )


@pytest.mark.parametrize("t", ["half", "bfloat16_t"])
@pytest.mark.parametrize("position", ["A2", "B2"])
def test_fractals_turned(t: str, position: str) -> None:
    got = run(f"plain_{t}_{position}", 2048, 1, 4, 3, 0, 1, 0).view(U16)
    for i in range(4):
        square = BYTES[(1 + 3 * i) * 512 :][:512].view(U16).reshape(16, 16)
        np.testing.assert_array_equal(got[i * 256 :][:256].reshape(16, 16), square.T)


def square_of(t: str, index: int) -> tuple[Any, int]:
    """The transposed square, as rows of its fractals, and the number of fractals."""
    dtype = TYPES[t]
    if t == "int4b_t":
        pairs = BYTES[index * 2048 :][:2048]
        square = np.stack([pairs & 15, pairs >> 4], axis=1).reshape(64, 64).T
        flat = np.ascontiguousarray(square).reshape(-1, 2)
        return (flat[:, 0] | flat[:, 1] << 4).reshape(4, 512), 4
    if dtype is U8:
        return np.ascontiguousarray(BYTES[index * 1024 :][:1024].reshape(32, 32).T).reshape(
            2, 512
        ), 2
    if dtype is U16:
        square = BYTES[index * 512 :][:512].view(U16).reshape(16, 16).T
        return np.ascontiguousarray(square).view(U8).reshape(1, 512), 1
    parts = BYTES[index * 1024 :][:1024].view(U32).reshape(2, 16, 8)
    square = np.hstack([parts[0], parts[1]]).T
    fractals = np.stack(np.hsplit(square, 2))
    return np.ascontiguousarray(fractals).view(U8).reshape(2, 512), 2


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("position", ["A2", "B2"])
@settings(max_examples=examples(12))
@given(form=FORMS)
def test_squares_turned(t: str, position: str, form: Any) -> None:
    if t == "int4b_t" and position == "A2":
        pytest.skip("four-bit squares go to L0B only")
    start, repeats, stride, gap, inner, down = form
    start += 40 * down
    repeats, gap = min(repeats, 5), gap + 12  # squares that do not overlap
    size = 65536
    expected = np.full(size, 255, U8)
    for i in range(repeats):
        fractals, count = square_of(t, start + (-i if down else i) * stride)
        for j in range(count):
            expected[(i * (gap + 1) + j * (inner + 1)) * 512 :][:512] = fractals[j]
    np.testing.assert_array_equal(
        run(f"turned_{t}_{position}", size, start, repeats, stride, gap, inner, down)[:49152],
        expected[:49152],
    )


@settings(max_examples=examples(12))
@given(form=FORMS)
def test_loads_from_gm(form: Any) -> None:
    start, repeats, stride, gap, _, down = form
    start += 40 * down
    fresh, memory = np.full(65536, 255, U8), BYTES[:65536].copy()
    for i in range(repeats):
        at = start + (-i if down else i) * stride
        for target in (fresh, memory):
            target[i * (gap + 1) * 512 :][:512] = BYTES[at * 512 :][:512]
    arguments = (start, repeats, stride, gap, 0, down)
    np.testing.assert_array_equal(run("from_gm", 65536, *arguments), fresh)
    np.testing.assert_array_equal(run("from_gm_l1", 65536, *arguments), memory)


# The 3D load: 6 x 7 pixels of 2 x C0 channels under a 3 x 3 filter, 32 rows from row 16, 9 * C0 columns from C0.
VALUES = """uint8_t pads[4] = {1, 1, 1, 1}; p.channelSize = 2 * c0;"""
RANGE = "p.kExtension = c0 * 9; p.mExtension = 32; p.mStartPt = 16; p.kStartPt = c0; p.filterW = 3; p.filterH = 3;"
for _t, _c0 in (("int4b_t", 64), ("int8_t", 32), ("half", 16), ("float", 8)):
    _v2 = f"constexpr int32_t c0 = {_c0}; LoadData3DParamsV2<{_t}> p; {VALUES} {RANGE}"
    add(
        f"im2col_{_t}",
        _t,
        "A2",
        "int32_t pad",
        f"{_v2} p.l1H = 6; p.l1W = 7; for (int32_t i = 0; i < 4; ++i) {{ p.padList[i] = 1; }} "
        f"p.padValue = ({_t})pad; LoadData(dst, src, p);",
    )
    add(
        f"im2col_registers_{_t}",
        _t,
        "A2",
        "int32_t pad",
        f"{_v2} SetFmatrix(6, 7, pads, FmatrixMode::FMATRIX_LEFT); SetLoadDataPaddingValue(({_t})pad); SetLoadDataBoundary(0); "
        f"SetLoadDataRepeat(LoadDataRepeatParam(0, 1, 0)); LoadData<{_t}, KEEP>(dst, src, p);",
    )
    add(
        f"im2col_packed_{_t}",
        _t,
        "A2",
        "int32_t pad",
        f"constexpr int32_t c0 = {_c0}; LoadData3DParamsV2Pro p; {VALUES} "
        f"SetFmatrix(6, 7, pads, FmatrixMode::FMATRIX_LEFT); SetLoadDataPaddingValue(({_t})pad); "
        "p.extConfig = (uint64_t)16 << 48 | (uint64_t)c0 << 32 | (uint64_t)32 << 16 | c0 * 9; "
        "p.filterConfig = 0x10103030101; LoadData(dst, src, p);",
    )


@pytest.mark.parametrize("t", ["int4b_t", "int8_t", "half", "float"])
@pytest.mark.parametrize("form", ["im2col", "im2col_registers", "im2col_packed"])
@pytest.mark.parametrize("pad", [0, 3])
def test_im2col(t: str, form: str, pad: int) -> None:
    """Blocks of 32 B move whole, so the model works on bytes; the padding value fills elements."""
    filler = {
        "int4b_t": [pad * 17],
        "int8_t": [pad],
        "half": np.float16(pad),
        "float": np.float32(pad),
    }[t]
    block = np.resize(
        np.atleast_1d(np.asarray(filler)).view(U8)
        if t in ("half", "float")
        else np.array(filler, U8),
        32,
    )
    image = np.empty((2, 8, 9, 32), U8)
    image[:] = block
    image[:, 1:7, 1:8] = BYTES[: 2 * 6 * 7 * 32].reshape(2, 6, 7, 32)
    rows = [
        image[:, h : h + 3, w : w + 3].reshape(18, 32)
        for h, w in itertools.product(range(6), range(7))
    ]
    whole = np.empty((48, 18, 32), U8)
    whole[:] = block
    whole[:42] = rows
    part = whole[16:48, 1:10]  # 32 rows, 9 blocks
    expected = part.reshape(2, 16, 9, 32).transpose(0, 2, 1, 3).reshape(-1)
    np.testing.assert_array_equal(run(f"{form}_{t}", expected.size, pad), expected)


CASES: list[tuple[str, str, str, str]] = [
    ("v2", "half", "LoadData2DParamsV2 p; LoadData(dst, src, p);", "LoadData(2D V2) does not exist on 910B; use LoadData2DParams"),
    ("v1", "half", "LoadData3DParamsV1<half> p; LoadData(dst, src, p);", "LoadData(3D V1) does not exist on 910B"),
    ("repeat", "half", "SetLoadDataRepeat(LoadDataRepeatParam(1, 2, 0)); LoadData3DParamsV2<half> p; p.l1H = 1; p.l1W = 16; p.channelSize = p.kExtension = p.mExtension = 16; LoadData(dst, src, p);", "repeatTime 2 is not simulated"),
    ("boundary", "half", "SetLoadDataBoundary(1024); LoadData3DParamsV2<half> p; p.l1H = 1; p.l1W = 64; p.channelSize = p.kExtension = p.mExtension = 16; LoadData(dst, src[512], p);", "starts at byte 1024 of L1, beyond the 1024 bytes"),
    ("k_start", "half", "LoadData3DParamsV2<half> p; p.l1H = 1; p.l1W = 64; p.channelSize = 32; p.kExtension = 16; p.kStartPt = 8; p.mExtension = 16; LoadData(dst, src, p);", "kStartPt is 8"),
    ("m_start", "half", "LoadData3DParamsV2<half> p; p.l1H = 1; p.l1W = 64; p.channelSize = p.kExtension = p.mExtension = 16; p.mStartPt = 8; LoadData(dst, src, p);", "mStartPt is 8"),
    ("outside", "half", "LoadData3DParamsV2<half> p; p.l1H = 1; p.l1W = 16; p.channelSize = p.kExtension = 16; p.mExtension = 32; LoadData(dst, src, p);", "leave the 16 x 16 matrix"),
    ("filter", "half", "LoadData3DParamsV2<half> p; p.l1H = 1; p.l1W = 2; p.filterW = 3; p.channelSize = p.kExtension = p.mExtension = 16; LoadData(dst, src, p);", "larger than the padded feature map"),
    ("turned_bytes", "int8_t", "LoadData3DParamsV2<int8_t> p; p.l1H = 1; p.l1W = 32; p.channelSize = p.kExtension = p.mExtension = 32; p.enTranspose = true; LoadData(dst, src, p);", "16- or 32-bit type"),
    ("nibbles", "int4b_t", "LoadDataWithTranspose(dst, src, LoadData2dTransposeParams(0, 1, 0, 0, 0));", "4-bit (L0B only)"),
    ("below", "half", "LoadDataWithTranspose(dst, src, LoadData2dTransposeParams(0, 2, 1, 0, 0, 1));", "below the start of L1"),
]  # fmt: skip
UNCHECKED = {"v2", "v1"}
for _name, _t, _statement, _ in CASES:
    _kernels = REJECTED if _name in UNCHECKED else KERNELS
    add(f"bad_{_name}", _t, "A2", "", f"\n{_statement}", _kernels)


@pytest.mark.parametrize(("name", "t", "statement", "words"), CASES, ids=[c[0] for c in CASES])
def test_misuse(name: str, t: str, statement: str, words: str) -> None:
    kernels = REJECTED if name in UNCHECKED else KERNELS
    fault = kernels.fault(f"bad_{name}", np.zeros(64, U8), 64, BYTES)
    assert words in fault.text, fault
    assert kernels.source().splitlines()[fault.line - 1].strip() == statement, fault


# Nothing can be computed with these: refused whatever is checked.
FIELDS: list[tuple[str, str]] = [
    ("mStartPt", "0xffffffffu"), ("kStartPt", "0xfffffff0u"), ("strideW", "0"), ("filterH", "0"),
    ("l1W", "0x80000000u"), ("dilationFilterW", "0xffffffffu"),
]  # fmt: skip
for _field, _value in FIELDS:
    add(f"field_{_field}", "half", "A2", "", f"\nLoadData3DParamsV2<half> p; p.l1H = 1; p.l1W = 64; p.channelSize = p.kExtension = p.mExtension = 16; p.{_field} = {_value}; LoadData(dst, src, p);")  # fmt: skip


@pytest.mark.parametrize("field", [f for f, _ in FIELDS])
@pytest.mark.parametrize("checks", ["CHECKS_OFF", "CHECKS_DEVICE"])
def test_fields_that_no_load_has(field: str, checks: str) -> None:
    level = getattr(launcher(), checks)
    fault = KERNELS.fault(f"field_{field}", np.zeros(64, U8), 64, BYTES, checks=level)
    assert fault.kind == "bad-argument" and field in fault.text, fault


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
