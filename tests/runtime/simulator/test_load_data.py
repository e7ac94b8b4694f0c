"""LoadData 2D and 3D, LoadDataWithTranspose and constant fill alone: L0 is read back by scalars."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet, launcher

F16, U16, U32 = np.float16, np.uint16, np.uint32
KERNELS = KernelSet(
    """
// Fills L1 from GM and runs a load into L0.
template <class T, TPosition position, class F>
__aicore__ inline void load_alone(GM_ADDR source, uint32_t bytes, F load)
{
    if ASCEND_IS_AIV {
        return;
    }
    TPipe pipe;
    TBuf<TPosition::A1> l1;
    TBuf<position> l0;
    pipe.InitBuffer(l1, bytes);
    pipe.InitBuffer(l0, 65536);
    LocalTensor<T> src = l1.template Get<T>();
    LocalTensor<T> dst = l0.template Get<T>();
    GlobalTensor<T> g;
    g.SetGlobalBuffer((__gm__ T*)source);
    DataCopy(src, g, bytes / sizeof(T));
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    load(dst, src);
}
"""
)


def load(name: str, t: str, position: str, size: int, statement: str) -> None:
    body = f"""
    load_alone<{t}, TPosition::{position}>(s, 32768, [&](LocalTensor<{t}>& dst, LocalTensor<{t}>& src) {{
        {statement}
        GlobalTensor<{t}> out; out.SetGlobalBuffer((__gm__ {t}*)d);
        PipeBarrier<PIPE_ALL>();
        for (uint32_t i = 0; i < {size}; ++i) {{ out.SetValue(i, dst.GetValue(i)); }}
    }});
    """
    KERNELS.add(name, "GM_ADDR d, GM_ADDR s", body, None)


TYPES = {1: ("int8_t", np.uint8), 2: ("half", U16), 4: ("float", U32)}
for _size, (_t, _) in TYPES.items():
    load(
        f"load2d_{_size}",
        _t,
        "A2",
        8192 // _size,
        "LoadData2DParams p; p.startIndex = 3; p.repeatTimes = 5; p.srcStride = 2; p.dstGap = 1; LoadData(dst, src, p);",
    )
    load(
        f"load2d_down_{_size}",
        _t,
        "B2",
        8192 // _size,
        "LoadData2DParams p; p.startIndex = 20; p.repeatTimes = 5; p.srcStride = 3; p.addrMode = 1; LoadData(dst, src, p);",
    )
    load(
        f"transposed_{_size}",
        _t,
        "B2",
        16384 // _size,
        "LoadDataWithTranspose(dst, src, LoadData2dTransposeParams(2, 3, 2, 3, 1, 0));",
    )
load(
    "load2d_turn",
    "half",
    "A2",
    4096,
    "LoadData2DParams p; p.repeatTimes = 5; p.srcStride = 2; p.ifTranspose = true; LoadData(dst, src, p);",
)
load(
    "fill",
    "half",
    "A2",
    4096,
    "InitConstValue(dst, InitConstValueParams<half>(3, 2, 1, (half)1.5f));",
)
load(
    "fill_l1",
    "half",
    "A2",
    4096,
    "InitConstValue(src, InitConstValueParams<half>(3, 5, 2, (half)2.0f)); PipeBarrier<PIPE_ALL>(); "
    "LoadData2DParams p; p.repeatTimes = 16; p.srcStride = 1; LoadData(dst, src, p);",
)


def fresh(dtype: Any, count: int) -> Any:
    return np.full(count, -1 if dtype is not None else 0).astype(np.int64).astype(dtype)


def run_load(name: str, dtype: Any, count: int) -> tuple[Any, Any]:
    src = np.random.default_rng(9).integers(0, 256, 32768).astype(np.uint8).view(dtype)
    if dtype is U16 or dtype is U32:
        src = (src & dtype(0x3FFF)).astype(dtype)  # no NaNs: they need not survive GetValue
    dst = np.zeros(count, dtype)
    # The result is read whole, with what the load left alone: only checks off allow that.
    KERNELS.run(name, dst, src, checks=launcher().CHECKS_OFF)
    return dst, src


@pytest.mark.parametrize("size", [1, 2, 4])
def test_load_2d(size: int) -> None:
    dtype, fractal = TYPES[size][1], 512 // size
    dst, src = run_load(f"load2d_{size}", dtype, 8192 // size)
    expected = fresh(dtype, 8192 // size)
    for i in range(5):
        expected[i * 2 * fractal : (i * 2 + 1) * fractal] = src[
            (3 + 2 * i) * fractal : (4 + 2 * i) * fractal
        ]
    np.testing.assert_array_equal(dst, expected)
    dst, src = run_load(f"load2d_down_{size}", dtype, 8192 // size)
    for i in range(5):
        np.testing.assert_array_equal(
            dst[i * fractal :][:fractal], src[(20 - 3 * i) * fractal :][:fractal]
        )


def test_load_2d_transposes_fractals() -> None:
    dst, src = run_load("load2d_turn", U16, 4096)
    for i in range(5):
        square = src[i * 512 : i * 512 + 256].reshape(16, 16)
        np.testing.assert_array_equal(dst[i * 256 : (i + 1) * 256].reshape(16, 16), square.T)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_load_data_with_transpose(size: int) -> None:
    """startIndex 2, 3 repeats, srcStride 2 squares, dstGap 3 and dstFracGap 1 fractals."""
    dtype, fractal, k0 = TYPES[size][1], 512 // size, 32 // size
    side = 32 if size == 1 else 16
    dst, src = run_load(f"transposed_{size}", dtype, 16384 // size)
    expected = fresh(dtype, 16384 // size)
    for i in range(3):
        start = (2 + 2 * i) * side * side
        square = src[start : start + side * side]
        # Two 16x8 fractals of 32-bit elements lie side by side; those of bytes lie above each other.
        square = np.hstack(square.reshape(2, 16, 8)) if size == 4 else square.reshape(side, side)
        turned = square.T
        parts = np.hsplit(turned, 2) if size == 4 else np.vsplit(turned, side // 16)
        for j, part in enumerate(parts):
            at = i * 4 * fractal + j * 2 * fractal
            expected[at : at + fractal] = part.reshape(-1)
    assert k0 * 16 == fractal
    np.testing.assert_array_equal(dst, expected)


def test_fill() -> None:
    dst, _ = run_load("fill", U16, 4096)
    value = int(F16(1.5).view(U16))
    expected = fresh(U16, 4096)
    for i in range(3):
        expected[i * 768 : i * 768 + 512] = value
    np.testing.assert_array_equal(dst, expected)
    dst, src = run_load("fill_l1", U16, 4096)
    expected = src[:4096].copy()
    for i in range(3):
        expected[i * 112 : i * 112 + 80] = int(F16(2).view(U16))
    np.testing.assert_array_equal(dst, expected)


THREE_D = """
    LoadData3DParamsV2<{t}> p;
    p.padList[0] = 1; p.padList[1] = 1; p.padList[2] = 1; p.padList[3] = 1;
    p.l1H = 6; p.l1W = 7; p.channelSize = 2 * {c0}; p.kExtension = {c0} * 9; p.mExtension = 32; p.mStartPt = 16;
    p.kStartPt = {c0}; p.filterW = 3; p.filterH = 3; p.enTranspose = {turn}; p.padValue = ({t})0;
    LoadData(dst, src, p);
"""
for _size, (_t, _) in TYPES.items():
    load(
        f"im2col_{_size}",
        _t,
        "A2",
        32768 // _size,
        THREE_D.format(t=_t, c0=32 // _size, turn="false"),
    )
load("im2col_turn_2", "half", "A2", 16384, THREE_D.format(t="half", c0=16, turn="true"))
load("im2col_b_2", "half", "B2", 16384, THREE_D.format(t="half", c0=16, turn="false"))


def im2col(src: Any, c0: int) -> Any:
    """Rows = output positions, columns = (c1, filter position, c0); 3x3 filter, padding 1."""
    image = np.pad(src[: 2 * 6 * 7 * c0].reshape(2, 6, 7, c0), ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows = []
    for h, w in itertools.product(range(6), range(7)):
        rows.append(image[:, h : h + 3, w : w + 3, :].reshape(-1))
    return np.array(rows)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_load_3d_is_im2col(size: int) -> None:
    dtype, c0 = TYPES[size][1], 32 // size
    dst, src = run_load(f"im2col_{size}", dtype, 32768 // size)
    whole = np.zeros((48, 18 * c0), dtype)
    whole[:42] = im2col(src, c0)
    part = whole[16:48, c0 : c0 + 9 * c0]
    fractals = part.reshape(2, 16, 9, c0).transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(dst[: fractals.size], fractals.reshape(-1))


def test_load_3d_transposes() -> None:
    dst, src = run_load("im2col_turn_2", U16, 16384)
    whole = np.zeros((48, 288), U16)
    whole[:42] = im2col(src, 16)
    part = whole[16:48, 16:160]
    by_k = part.reshape(2, 16, 9, 16).transpose(2, 0, 3, 1)  # [k/16][m/16][k][m]
    np.testing.assert_array_equal(dst[: by_k.size], by_k.reshape(-1))
    dst, src = run_load("im2col_b_2", U16, 16384)
    by_m = part.reshape(2, 16, 9, 16).transpose(0, 2, 3, 1)  # [m/16][k/16][k][m]
    np.testing.assert_array_equal(dst[: by_m.size], by_m.reshape(-1))


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
