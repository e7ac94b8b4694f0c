"""dst = src0 + src1 and the like on whole tensors, and the functions of the device's compiler."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_set import KernelSet

DEVICE, STRICT = 1, 2
F16, F32, I16, I32, U16 = np.float16, np.float32, np.int16, np.int32, np.uint16
N = 256

# The vendor's pages on Add, Sub, Mul, Div, And, Or and Compare: sign, type on 910B, NumPy's meaning.
OPERATORS = {
    "add": ("+", F32, np.add), "sub": ("-", F16, np.subtract), "mul": ("*", I32, np.multiply),
    "div": ("/", F32, np.divide), "and": ("&", I16, np.bitwise_and), "or": ("|", U16, np.bitwise_or),
    "lt": ("<", F32, np.less), "gt": (">", F16, np.greater), "le": ("<=", F32, np.less_equal),
    "ge": (">=", F16, np.greater_equal), "eq": ("==", I32, np.equal), "ne": ("!=", F32, np.not_equal),
}  # fmt: skip
TYPES = {F32: "float", F16: "half", I32: "int32_t", I16: "int16_t", U16: "uint16_t"}
KERNELS = KernelSet(
    """
template <class T, class R, class Operator>
__aicore__ inline void whole(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t bytes, Operator apply)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> a, b, c;
    pipe.InitBuffer(a, 256 * sizeof(T));
    pipe.InitBuffer(b, 256 * sizeof(T));
    pipe.InitBuffer(c, bytes);
    GlobalTensor<T> gx, gy;
    gx.SetGlobalBuffer((__gm__ T*)x);
    gy.SetGlobalBuffer((__gm__ T*)y);
    GlobalTensor<R> gz;
    gz.SetGlobalBuffer((__gm__ R*)z);
    LocalTensor<T> p = a.Get<T>(), q = b.Get<T>();
    LocalTensor<R> r = c.Get<R>();
    DataCopy(p, gx, 256);
    DataCopy(q, gy, 256);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    apply(p, q, r);
    set_flag(PIPE_V, PIPE_MTE3, 0);
    wait_flag(PIPE_V, PIPE_MTE3, 0);
    DataCopy(gz, r, bytes / sizeof(R));
}
"""
)
BODY = "whole<{t}, {r}>(x, y, z, {bytes}, [](auto& p, auto& q, auto& r) {{ {statements} }});"
PARAMETERS = "GM_ADDR x, GM_ADDR y, GM_ADDR z"


def is_comparison(name: str) -> bool:
    return len(name) == 2 and name != "or"


for _name, (_sign, _dtype, _) in OPERATORS.items():
    _type, _bits = TYPES[_dtype], is_comparison(_name)
    _bytes = N // 8 if _bits else N * np.dtype(_dtype).itemsize
    KERNELS.add(
        f"operator_{_name}",
        PARAMETERS,
        BODY.format(
            t=_type, r="uint8_t" if _bits else _type, bytes=_bytes, statements=f"r = p {_sign} q;"
        ),
    )
for _name, _statements in {
    "twice": "r = p + q; pipe_barrier(PIPE_V); r = r * p;",
    "race": "r = p + q; r = r * p;",
    "part": "LocalTensor<float> s = r[128]; r = p - q; pipe_barrier(PIPE_ALL); s = p[128] + q[128];",
    "too_short": "LocalTensor<float> s = q[192]; r = p + s;",
}.items():
    KERNELS.add(
        _name, PARAMETERS, BODY.format(t="float", r="float", bytes=1024, statements=_statements)
    )
KERNELS.add(
    "scalars",
    "GM_ADDR z, int32_t n",
    """
GlobalTensor<int32_t> gz;
gz.SetGlobalBuffer((__gm__ int32_t*)z);
const int64_t wide = 3;
const int32_t at = get_block_idx() * 8;
gz.SetValue(at, min(n, wide));
gz.SetValue(at + 1, max(n, 2 * get_block_num()));
gz.SetValue(at + 2, likely(n > 0) + 2 * unlikely(n < 0));
gz.SetValue(at + 3, g_coreType == AIV ? get_subblockid() + 7 : 0);
gz.SetValue(at + 4, TOTAL_UB_SIZE);
ASSERT(n < 100);
DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(gz);
""",
)


def operands(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    return tuple(generator.integers(1, 9, N).astype(dtype) for _ in range(2))


@pytest.mark.parametrize("name", OPERATORS)
def test_whole_tensors(name: str) -> None:
    _, dtype, function = OPERATORS[name]
    x, y = operands(dtype)
    expected = function(x, y)
    if is_comparison(name):
        expected = np.packbits(expected, bitorder="little")
    z = np.zeros_like(expected)
    KERNELS.run(f"operator_{name}", x, y, z, checks=STRICT)
    np.testing.assert_array_equal(z, expected.astype(z.dtype))


def test_as_many_elements_as_the_destination_has() -> None:
    x, y = operands(F32)
    z = np.zeros(N, F32)
    KERNELS.run("twice", x, y, z, checks=STRICT)
    np.testing.assert_array_equal(z, (x + y) * x)
    KERNELS.run("part", x, y, z, checks=DEVICE)
    np.testing.assert_array_equal(z, np.concatenate([(x - y)[:128], (x + y)[128:]]))
    fault = KERNELS.fault("too_short", x, y, z, checks=DEVICE)
    assert fault.kind == "out-of-bounds" and fault.api == "Add", fault


def test_an_operator_is_reported_as_its_instruction() -> None:
    x, y = operands(F32)
    fault = KERNELS.fault("race", x, y, np.zeros(N, F32), checks=STRICT)
    assert fault.kind == "race" and fault.api == "Mul", fault


@pytest.mark.parametrize("n", [1, 99])
def test_functions_of_the_compiler(n: int) -> None:
    z = np.zeros(8, I32)
    KERNELS.run("scalars", z, n, checks=STRICT)
    np.testing.assert_array_equal(z[:5], [min(n, 3), max(n, 2), 1, 7, 192 * 1024])
    assert KERNELS.fault("scalars", z, 100, checks=DEVICE).kind == "assertion"
