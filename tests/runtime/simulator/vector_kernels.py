"""Kernels that bring arrays into UB, run a few vector calls on them, and take one array back."""

from __future__ import annotations

from typing import Any

import numpy as np
from kernel_set import KernelSet

BYTES = 24576  # of every UB operand

PRELUDE = """
// dst, src0 and src1 start at bytes 0, 24576 and 49152 of UB; temp has the 32 KB behind them.
template <class D, class A, class B, class F>
__aicore__ inline void with_arrays(GM_ADDR d, GM_ADDR a, GM_ADDR b, F body)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 3 * 24576 + 32768);
    LocalTensor<D> dst = buffer.GetWithOffset<D>(24576 / sizeof(D), 0);
    LocalTensor<A> src0 = buffer.GetWithOffset<A>(24576 / sizeof(A), 24576);
    LocalTensor<B> src1 = buffer.GetWithOffset<B>(24576 / sizeof(B), 49152);
    LocalTensor<uint8_t> temp = buffer.GetWithOffset<uint8_t>(32768, 73728);
    GlobalTensor<D> gd;
    GlobalTensor<A> ga;
    GlobalTensor<B> gb;
    gd.SetGlobalBuffer((__gm__ D*)d);
    ga.SetGlobalBuffer((__gm__ A*)a);
    gb.SetGlobalBuffer((__gm__ B*)b);
    DataCopy(dst, gd, 24576 / sizeof(D));
    DataCopy(src0, ga, 24576 / sizeof(A));
    DataCopy(src1, gb, 24576 / sizeof(B));
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    SetFlag<HardEvent::MTE2_S>(0);
    WaitFlag<HardEvent::MTE2_S>(0);
    body(dst, src0, src1, temp);
    SetFlag<HardEvent::S_MTE3>(0);
    WaitFlag<HardEvent::S_MTE3>(0);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(gd, dst, 24576 / sizeof(D));
}
"""


def add(kernels: KernelSet, name: str, types: str, statements: str, parameters: str = "") -> str:
    """A kernel (d, a, b, *parameters) that runs `statements` on dst, src0, src1, temp.

    `types` are those of the three arrays, as in "float, float, uint32_t".
    """
    d, a, b = (t.strip() for t in types.split(","))
    body = (
        f"with_arrays<{types}>(d, a, b, [&](LocalTensor<{d}>& dst, LocalTensor<{a}>& src0, "
        f"LocalTensor<{b}>& src1, LocalTensor<uint8_t>& temp) {{ {statements} }});"
    )
    arrays = "GM_ADDR d, GM_ADDR a, GM_ADDR b"
    return kernels.add(name, f"{arrays}, {parameters}" if parameters else arrays, body)


def bit_pattern(dtype: Any, seed: int) -> Any:
    """An array of random bits, to be moved but not computed with."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, BYTES, dtype=np.uint8).view(dtype)


def numbers(dtype: Any, seed: int, low: float = -4, high: float = 4) -> Any:
    rng = np.random.default_rng(seed)
    count = BYTES // np.dtype(dtype).itemsize
    if np.dtype(dtype).kind == "f":
        return rng.uniform(low, high, count).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)


def signed(word: int) -> int:
    """A 64-bit mask word as the int64_t a kernel takes."""
    return word - (1 << 64) if word >= 1 << 63 else word
