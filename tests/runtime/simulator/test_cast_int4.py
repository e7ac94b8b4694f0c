"""Cast between half and int4: every half and every pair, counts, strides, masks and odd ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet, launcher

F16, U8, U16 = np.float16, np.uint8, np.uint16
KERNELS = KernelSet(
    """
// Both operands whole from GM, the cast, and dst back.
template <class D, class S, class F>
__aicore__ inline void cast(GM_ADDR d, GM_ADDR s, int32_t dst_bytes, int32_t src_bytes, F statement)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> a, b;
    pipe.InitBuffer(a, dst_bytes);
    pipe.InitBuffer(b, src_bytes);
    GlobalTensor<int8_t> gd, gs;
    gd.SetGlobalBuffer((__gm__ int8_t*)d);
    gs.SetGlobalBuffer((__gm__ int8_t*)s);
    DataCopy(a.Get<int8_t>(), gd, dst_bytes);
    DataCopy(b.Get<int8_t>(), gs, src_bytes);
    PipeBarrier<PIPE_ALL>();
    statement(a.Get<D>(), b.Get<S>());
    PipeBarrier<PIPE_ALL>();
    DataCopy(gd, a.Get<int8_t>(), dst_bytes);
}
"""
)
MODES = ("NONE", "RINT", "FLOOR", "CEIL", "ROUND", "TRUNC")
FORM = "GM_ADDR d, GM_ADDR s, int32_t dst, int32_t src, int32_t n, int32_t m, int32_t r, int32_t db, int32_t dr, int32_t sb, int32_t sr"
HEAD = "UnaryRepeatParams p(db, sb, dr, sr); uint64_t bits[2] = {{0x5555000000000f0full, 0x10ull}};"
for _name, _d, _s, _mode in (
    *((f"narrow_{m}", "int4b_t", "half", m) for m in MODES),
    ("widen", "half", "int4b_t", "NONE"),
):
    KERNELS.add(
        _name,
        FORM,
        HEAD.replace("{{", "{").replace("}}", "}")
        + f"""cast<{_d}, {_s}>(d, s, dst, src, [&](LocalTensor<{_d}> to, LocalTensor<{_s}> from) {{
        if (n > 0) {{ Cast(to, from, RoundMode::CAST_{_mode}, n); }}
        else if (m > 0) {{ Cast(to, from, RoundMode::CAST_{_mode}, (uint64_t)m, r, p); }}
        else {{ Cast(to, from, RoundMode::CAST_{_mode}, bits, r, p); }} }});""",
    )


def pack(values: Any) -> Any:
    four = values.astype(np.int64) & 15
    return (four[::2] | four[1::2] << 4).astype(U8)


def unpack(packed: Any) -> Any:
    four = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1).astype(np.int8)
    return np.where(four >= 8, four - 16, four)


def narrowed(x: Any, mode: str) -> Any:
    round_ = {
        "FLOOR": np.floor, "CEIL": np.ceil, "TRUNC": np.trunc,
        "ROUND": lambda v: np.trunc(v + np.copysign(0.5, v)),
    }.get(mode, np.rint)  # fmt: skip
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.clip(round_(x.astype(np.float64)), -8, 7), nan=0).astype(np.int8)


def run(name: str, dst: Any, src: Any, *form: int) -> None:
    KERNELS.run(name, dst, src, dst.nbytes, src.nbytes, *form, *([0] * (7 - len(form))))


@pytest.mark.parametrize("mode", MODES)
def test_every_half(mode: str) -> None:
    for start in range(0, 65536, 32768):
        x = np.arange(start, start + 32768).astype(U16).view(F16)
        dst = np.zeros(16384, U8)
        run(f"narrow_{mode}", dst, x, 32768)
        np.testing.assert_array_equal(unpack(dst), narrowed(x, mode))


def test_every_pair() -> None:
    packed = np.arange(256).astype(U8)
    dst = np.zeros(512, F16)
    run("widen", dst, packed, 512)
    np.testing.assert_array_equal(dst, unpack(packed).astype(F16))


def lanes_of(form: int) -> Any:
    if form:
        return np.arange(128) < form
    bits = (0x10 << 64) | 0x5555000000000F0F
    return np.array([bits >> i & 1 for i in range(128)], bool)


@pytest.mark.parametrize("mask", [128, 64, 33, 1, 0])
@pytest.mark.parametrize("strides", [(1, 8, 1, 2), (2, 20, 3, 7), (1, 9, 2, 5)])
def test_strides_and_masks(mask: int, strides: tuple[int, ...]) -> None:
    """`strides` are those of the halves, then of the four-bit operand, in 32 B."""
    rng = np.random.default_rng(mask)
    x = rng.uniform(-9, 9, 2048).astype(F16)
    four = rng.integers(0, 256, 1024).astype(U8)
    hb, hr, fb, fr = strides
    wide, narrow = x.copy(), unpack(four)
    for repeat in range(4):
        for lane in np.flatnonzero(lanes_of(mask)):
            h = (repeat * hr + lane // 16 * hb) * 16 + lane % 16
            f = (repeat * fr + lane // 64 * fb) * 64 + lane % 64
            wide[h] = unpack(four)[f]
            narrow[f] = narrowed(x[h : h + 1], "RINT")[0]
    got = x.copy()
    run("widen", got, four, 0, mask, 4, hb, hr, fb, fr)
    np.testing.assert_array_equal(got, wide)
    got4 = four.copy()
    run("narrow_RINT", got4, x, 0, mask, 4, fb, fr, hb, hr)
    np.testing.assert_array_equal(unpack(got4), narrow)


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 66, 126, 128, 129, 130])
def test_counts(count: int) -> None:
    """Odd ones are an error of the device (asc_half2int4, asc_int42half: the count is even)."""
    x = np.linspace(-9, 9, 256).astype(F16)
    dst = np.full(128, 0x55, U8)
    if count % 2:
        for name, d, s in (("narrow_RINT", dst, x), ("widen", x, dst)):
            form = (d.nbytes, s.nbytes, count, *[0] * 6)
            fault = KERNELS.fault(name, d, s, *form, checks=launcher().CHECKS_DEVICE)
            assert fault.kind == "bad-argument" and "must be even" in fault.text
        KERNELS.run("narrow_RINT", dst, x, 128, 512, count, *[0] * 6, checks=launcher().CHECKS_OFF)
    else:
        run("narrow_RINT", dst, x, count)
    expected = np.full(256, 5)
    expected[:count] = narrowed(x[:count], "RINT")
    np.testing.assert_array_equal(unpack(dst), expected)


def test_modes_that_do_not_exist() -> None:
    bad = KernelSet()
    bad.add(
        "odd",
        "GM_ADDR d",
        "TPipe pipe; TBuf<TPosition::VECCALC> a; pipe.InitBuffer(a, 512); "
        "Cast(a.Get<int4b_t>(), a.Get<half>(), RoundMode::CAST_ODD, 64);",
    )
    fault = bad.fault("odd", np.zeros(8, U8), checks=launcher().CHECKS_DEVICE)
    assert fault.kind == "bad-argument" and "half to int4 with CAST_ODD" in fault.text


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
