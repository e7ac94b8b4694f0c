"""MmadWithSparse: B with at most two values in every four along k, against the full product."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet

I8, I32, U8 = np.int8, np.int32, np.uint8
KERNELS = KernelSet()
START = """
    TPipe pipe; TBuf<TPosition::A1> l1b; TBuf<TPosition::A2> l0a; TBuf<TPosition::B2> l0b; TBuf<TPosition::CO1> l0c;
    pipe.InitBuffer(l1b, 262144); pipe.InitBuffer(l0a, 65536); pipe.InitBuffer(l0b, 65536); pipe.InitBuffer(l0c, 131072);
    LocalTensor<int8_t> l1 = l1b.Get<int8_t>(); LocalTensor<int8_t> a2 = l0a.Get<int8_t>(); LocalTensor<int8_t> b2 = l0b.Get<int8_t>();
    LocalTensor<int32_t> co1 = l0c.Get<int32_t>(); GlobalTensor<int8_t> g; GlobalTensor<int32_t> gc;
    LocalTensor<uint8_t> idx = l1[196608].ReinterpretCast<uint8_t>();
"""
KERNELS.add(
    "sparse",
    "GM_ADDR a, GM_ADDR b, GM_ADDR i, GM_ADDR c, int32_t m, int32_t n, int32_t k, int32_t af, int32_t bf, bool twice",
    f"""{START}
    gc.SetGlobalBuffer((__gm__ int32_t*)c);
    g.SetGlobalBuffer((__gm__ int8_t*)a); DataCopy(l1, g, af * 512);
    g.SetGlobalBuffer((__gm__ int8_t*)b); DataCopy(l1[65536 + 512], g, bf * 512);
    g.SetGlobalBuffer((__gm__ int8_t*)i); DataCopy(l1[196608 + 128], g, bf * 128);
    SetFlag<HardEvent::MTE2_MTE1>(0); WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData2DParams p; p.repeatTimes = af; p.srcStride = 1; LoadData(a2, l1, p);
    LoadData2DParams q; q.startIndex = 1; q.repeatTimes = bf; LoadDataWithSparse(b2[1024], l1[65536], idx, q);
    SetFlag<HardEvent::MTE1_M>(0); WaitFlag<HardEvent::MTE1_M>(0);
    MmadParams mp(m, n, k, false, 0, false, false, false); MmadWithSparse(co1, a2, b2[1024], mp);
    if (twice) {{ PipeBarrier<PIPE_M>(); mp.cmatrixInitVal = false; MmadWithSparse(co1, a2, b2[1024], mp); }}
    SetFlag<HardEvent::M_FIX>(0); WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 f(n, m, (m + 15) / 16 * 16, n, false); Fixpipe(gc, co1, f);""",
    "KERNEL_TYPE_AIC_ONLY",
)
KERNELS.add(
    "no_index",
    "GM_ADDR c",
    f"{START} MmadParams mp; mp.m = mp.n = mp.k = 32; MmadWithSparse(co1, a2, b2, mp);",
    "KERNEL_TYPE_MIX_AIC_1_0",
)


def compress(b: Any, rng: Any) -> tuple[Any, Any, Any]:
    """Zeroes two of every four values; gives the result, what is stored, and the two-bit index."""
    n, k = b.shape
    groups = b.reshape(n, k // 4, 4).copy()
    first = np.array([0, 0, 0, 1, 1, 2])
    second = np.array([1, 2, 3, 2, 3, 3])
    choice = rng.integers(0, 6, (n, k // 4))
    keep = np.stack([first[choice], second[choice]], axis=2)
    stored = np.take_along_axis(groups, keep, axis=2)
    full = np.zeros_like(groups)
    np.put_along_axis(full, keep, stored, axis=2)
    return full.reshape(n, k), stored.reshape(n, k // 2), (keep - [0, 1]).reshape(n, k // 2)


def fractals(x: Any, line: int) -> Any:
    """[rows][columns] to [rows/16][columns/line][16][line]."""
    rows, columns = x.shape
    padded = np.zeros((-(-rows // 16) * 16, -(-columns // line) * line), x.dtype)
    padded[:rows, :columns] = x
    return padded.reshape(-1, 16, padded.shape[1] // line, line).transpose(0, 2, 1, 3)


@settings(max_examples=examples(25))
@given(m=st.integers(2, 40), n=st.integers(1, 5), k=st.integers(1, 50), twice=st.booleans())
def test_sparse_product(m: int, n: int, k: int, twice: bool) -> None:
    n, k = n * 16 - 3, k * 4
    rng = np.random.default_rng(m * n * k)
    a = rng.integers(-128, 128, (m, k)).astype(I8)
    full, stored, index = compress(rng.integers(-128, 128, (n, k)).astype(I8), rng)
    padded = np.zeros((n, -(-k // 2 // 4) * 4), U8)
    padded[:, : k // 2] = index
    quads = padded.reshape(n, -1, 4)
    packed = (quads[..., 0] | quads[..., 1] << 2 | quads[..., 2] << 4 | quads[..., 3] << 6).astype(
        U8
    )
    la = np.ascontiguousarray(fractals(a, 32))
    lb = np.ascontiguousarray(fractals(stored, 32).transpose(1, 0, 2, 3))
    li = np.ascontiguousarray(fractals(packed, 8).transpose(1, 0, 2, 3))
    c = np.zeros((m, n), I32)
    KERNELS.run("sparse", la, lb, li, c, m, n, k, la.size // 512, lb.size // 512, twice)
    expected = a.astype(I32) @ full.astype(I32).T
    np.testing.assert_array_equal(c, expected * (2 if twice else 1))


def test_the_index_must_have_been_loaded() -> None:
    fault = KERNELS.fault("no_index", np.zeros(64, I32))
    assert fault.kind == "bad-argument" and "no index was loaded" in fault.text


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
