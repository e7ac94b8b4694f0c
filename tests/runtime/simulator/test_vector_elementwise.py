"""Element-wise vector APIs: every operation, data type and form against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet
from vector_model import Strides, apply

BYTES = 24576  # of every UB operand

PRELUDE = """
template <class D, class S, class F>
__aicore__ inline void with_tensors(GM_ADDR d, GM_ADDR a, GM_ADDR b, F body)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 3 * 24576);
    LocalTensor<D> dst = buffer.GetWithOffset<D>(24576 / sizeof(D), 0);
    LocalTensor<S> src0 = buffer.GetWithOffset<S>(24576 / sizeof(S), 24576);
    LocalTensor<S> src1 = buffer.GetWithOffset<S>(24576 / sizeof(S), 49152);
    GlobalTensor<D> gd;
    GlobalTensor<S> ga;
    GlobalTensor<S> gb;
    gd.SetGlobalBuffer((__gm__ D*)d);
    ga.SetGlobalBuffer((__gm__ S*)a);
    gb.SetGlobalBuffer((__gm__ S*)b);
    DataCopy(dst, gd, 24576 / sizeof(D));
    DataCopy(src0, ga, 24576 / sizeof(S));
    DataCopy(src1, gb, 24576 / sizeof(S));
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    body(dst, src0, src1);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(gd, dst, 24576 / sizeof(D));
}
"""

KERNELS = KernelSet(PRELUDE)
F16, F32, I16, I32, U16, U32 = np.float16, np.float32, np.int16, np.int32, np.uint16, np.uint32
CPP = {F16: "half", F32: "float", I16: "int16_t", I32: "int32_t", U16: "uint16_t", U32: "uint32_t"}
Function = Callable[..., Any]


def in_float(function: Function) -> Function:
    """half arithmetic as the hardware's: computed wide, rounded once. Wrapping for integers."""

    def run(old: Any, *sources: Any) -> Any:
        if old.dtype.kind == "f":
            wide = np.float64
            return function(old.astype(wide), *(s.astype(wide) for s in sources)).astype(old.dtype)
        wide = np.int64
        return function(old.astype(wide), *(s.astype(wide) for s in sources)).astype(old.dtype)

    return run


ARITHMETIC = (F16, F32, I16, I32)
# name, data types, function(old, a, b)
BINARY: list[tuple[str, tuple[Any, ...], Function]] = [
    ("Add", ARITHMETIC, lambda o, a, b: a + b),
    ("Sub", ARITHMETIC, lambda o, a, b: a - b),
    ("Mul", ARITHMETIC, lambda o, a, b: a * b),
    ("Div", (F16, F32), lambda o, a, b: a / b),
    ("Max", ARITHMETIC, lambda o, a, b: np.maximum(a, b)),
    ("Min", ARITHMETIC, lambda o, a, b: np.minimum(a, b)),
    ("And", (I16, U16), lambda o, a, b: a & b),
    ("Or", (I16, U16), lambda o, a, b: a | b),
    ("AddRelu", (F16, F32), lambda o, a, b: np.maximum(a + b, 0)),
    ("SubRelu", (F16, F32), lambda o, a, b: np.maximum(a - b, 0)),
    ("FusedMulAdd", (F16, F32), lambda o, a, b: a * o + b),
    ("FusedMulAddRelu", (F16, F32), lambda o, a, b: np.maximum(a * o + b, 0)),
    ("MulAddDst", (F16, F32), lambda o, a, b: o + a * b),
]
UNARY: list[tuple[str, tuple[Any, ...], Function]] = [
    ("Relu", (F16, F32, I32), lambda o, a: np.maximum(a, 0)),
    ("Abs", (F16, F32), lambda o, a: np.abs(a)),
    ("Exp", (F16, F32), lambda o, a: np.exp(a)),
    ("Ln", (F16, F32), lambda o, a: np.log(a)),
    ("Sqrt", (F16, F32), lambda o, a: np.sqrt(a)),
    ("Rsqrt", (F16, F32), lambda o, a: 1 / np.sqrt(a)),
    ("Reciprocal", (F16, F32), lambda o, a: 1 / a),
    ("Not", (I16, U16), lambda o, a: ~a),
]
SHIFTS = (I16, U16, I32, U32)
# name, data types, scalar, function(old, a); the scalar is applied in the operand's type
SCALAR: list[tuple[str, tuple[Any, ...], float, Function]] = [
    ("Adds", ARITHMETIC, 3, lambda o, a: a + 3),
    ("Muls", ARITHMETIC, -2, lambda o, a: a * -2),
    ("Maxs", ARITHMETIC, 1, lambda o, a: np.maximum(a, 1)),
    ("Mins", ARITHMETIC, 1, lambda o, a: np.minimum(a, 1)),
    ("LeakyRelu", (F16, F32), 0.5, lambda o, a: np.where(np.signbit(a), a * 0.5, a)),
    ("ShiftLeft", SHIFTS, 3, lambda o, a: a << 3),
    ("ShiftRight", SHIFTS, 3, lambda o, a: a >> 3),
    ("Axpy", (F16, F32), 1.5, lambda o, a: o + a * 1.5),
]

STRIDES2 = "{2, 1, 0, 24, 8, 9}"
MODEL2 = (Strides(2, 24), Strides(1, 8), Strides(0, 9))
STRIDES1 = "{1, 3, 10, 25}"
MODEL1 = (Strides(1, 10), Strides(3, 25))
BITS = (0x5A5A_0F0F_FFFF_0001, 0x8000_0000_0000_0003)


def full(dtype: Any) -> int:
    return 256 // np.dtype(dtype).itemsize


def bits_for(dtype: Any) -> tuple[int, int]:
    return BITS if np.dtype(dtype).itemsize == 2 else (BITS[0], 0)


def mask_statement(dtype: Any) -> str:
    low, high = bits_for(dtype)
    return f"uint64_t mask[2] = {{{low:#x}ull, {high:#x}ull}};"


def add_kernels(api: str, dtype: Any, operands: str, strides: str) -> None:
    """Three forms of one API: count with a tail, continuous mask with strides, bit mask with strides."""
    t = CPP[dtype]
    name = f"{api}_{t}"
    statements = {
        "count": f"{api}({operands}, 1003);",
        "mask": f"{api}({operands}, (uint64_t){full(dtype) - 5}, 6, {strides});",
        "bits": f"{mask_statement(dtype)} {api}({operands}, mask, 6, {strides});",
    }
    for form, statement in statements.items():
        body = (
            f"with_tensors<{t}, {t}>(d, a, b, [&](LocalTensor<{t}>& dst, LocalTensor<{t}>& src0, "
            f"LocalTensor<{t}>& src1) {{ {statement} }});"
        )
        KERNELS.add(f"{name}_{form}", "GM_ADDR d, GM_ADDR a, GM_ADDR b", body)


CASES: list[tuple[str, Any, Function, int]] = []
for _name, _types, _function in BINARY:
    for _type in _types:
        add_kernels(_name, _type, "dst, src0, src1", STRIDES2)
        CASES.append((_name, _type, _function, 2))
for _name, _types, _function in UNARY:
    for _type in _types:
        add_kernels(_name, _type, "dst, src0", STRIDES1)
        CASES.append((_name, _type, _function, 1))
for _name, _types, _scalar, _function in SCALAR:
    for _type in _types:
        add_kernels(_name, _type, f"dst, src0, ({CPP[_type]}){_scalar}", STRIDES1)
        CASES.append((_name, _type, _function, 1))


def inputs(api: str, dtype: Any) -> list[Any]:
    rng = np.random.default_rng(abs(hash((api, np.dtype(dtype).name))) % 1000)
    count = BYTES // np.dtype(dtype).itemsize
    if np.dtype(dtype).kind == "f":
        arrays = [rng.uniform(-4, 4, count).astype(dtype) for _ in range(3)]
        if api in ("Ln", "Sqrt", "Rsqrt"):
            arrays[1] = np.abs(arrays[1]) + dtype(0.001)
        return arrays
    limits = np.iinfo(dtype)
    return [
        rng.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True) for _ in range(3)
    ]


def check(actual: Any, expected: Any) -> None:
    if actual.dtype.kind == "f":
        # Rounded once from double: one ulp of room for the device-like single rounding of other widths.
        ulp = np.spacing(np.abs(expected))
        difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        bad = ~(
            (actual == expected) | (difference <= ulp) | (np.isnan(actual) & np.isnan(expected))
        )
        assert not bad.any(), (np.flatnonzero(bad)[:5], actual[bad][:5], expected[bad][:5])
    else:
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("form", ["count", "mask", "bits"])
@pytest.mark.parametrize(
    ("api", "dtype", "function", "sources"),
    CASES,
    ids=[f"{c[0]}-{np.dtype(c[1]).name}" for c in CASES],
)
def test_elementwise(api: str, dtype: Any, function: Function, sources: int, form: str) -> None:
    dst, a, b = inputs(api, dtype)
    expected = dst.copy()
    operands = [a, b][:sources]
    with np.errstate(all="ignore"):
        exact = in_float(function)
        if form == "count":
            expected[:1003] = exact(dst[:1003], *(s[:1003] for s in operands))
        else:
            mask = full(dtype) - 5 if form == "mask" else bits_for(dtype)
            apply(exact, expected, operands, mask, 6, MODEL2 if sources == 2 else MODEL1)
    KERNELS.run(f"{api}_{CPP[dtype]}_{form}", dst, a, b)
    check(dst, expected)


def one(name: str, d: str, s: str, statement: str) -> str:
    body = (
        f"with_tensors<{d}, {s}>(d, a, b, [&](LocalTensor<{d}>& dst, LocalTensor<{s}>& src0, LocalTensor<{s}>& src1) "
        f"{{ {statement} }});"
    )
    return KERNELS.add(name, "GM_ADDR d, GM_ADDR a, GM_ADDR b", body)


one("axpy_mixed", "float", "half", "Axpy(dst, src0, (half)1.5f, 1003);")
one(
    "axpy_mixed_strided",
    "float",
    "half",
    "Axpy(dst, src0, (half)1.5f, (uint64_t)40, 4, {1, 1, 8, 4});",
)
one("muladd_mixed", "float", "half", "MulAddDst(dst, src0, src1, 1003);")
one("accumulate", "float", "float", "Add(dst, src0, dst, (uint64_t)64, 10, {1, 1, 1, 0, 8, 0});")
one("in_place", "float", "float", "Add(dst, dst, dst, 1003); Exp(dst, dst, 1003);")
one(
    "counter",
    "float",
    "float",
    "SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(0, 1003); "
    "Add<float, false>(dst, src0, src1, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8}); "
    "Add<float, false>(dst[2048], src0, src1, MASK_PLACEHOLDER, 1, {2, 1, 1, 16, 8, 8}); SetMaskNorm(); ResetMask();",
)
one(
    "preset",
    "float",
    "float",
    "SetVectorMask<float>(0, 0xff00ull); Mul<float, false>(dst, src0, src1, MASK_PLACEHOLDER, 3, {1, 1, 1, 8, 8, 8}); "
    "SetVectorMask<float>(7); Mul<float, false>(dst[1024], src0, src1, MASK_PLACEHOLDER, 3, {1, 1, 1, 8, 8, 8});",
)
one(
    "round_shift",
    "int32_t",
    "int32_t",
    "ShiftRight(dst, src0, (int32_t)3, (uint64_t)64, 4, {1, 1, 8, 8}, true);",
)
one(
    "nothing",
    "float",
    "float",
    "Add(dst, src0, src1, 0); Add(dst, src0, src1, (uint64_t)64, 0, {1, 1, 1, 8, 8, 8}); Exp(dst, src0, 0);",
)
one(
    "edges",
    "float",
    "float",
    "Exp(dst, src0, 64); Ln(dst[64], src0, 64); Rsqrt(dst[128], src0, 64); Reciprocal(dst[192], src0, 64); "
    "Max(dst[256], src0, src1, 64); Min(dst[320], src0, src1, 64); Relu(dst[384], src0, 64); Sqrt(dst[448], src0, 64);",
)
one("exp_all", "float", "float", "Exp(dst, src0, 6144);")
one("ln_all", "float", "float", "Ln(dst, src0, 6144);")


def test_half_sources_into_float() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(-2, 2, BYTES // 2).astype(F16) for _ in range(2))
    start = rng.uniform(-2, 2, BYTES // 4).astype(F32)
    dst = start.copy()
    KERNELS.run("axpy_mixed", dst, a, b)
    check(
        dst[:1003],
        (start[:1003].astype(np.float64) + a[:1003].astype(np.float64) * 1.5).astype(F32),
    )
    np.testing.assert_array_equal(dst[1003:], start[1003:])
    dst = start.copy()
    KERNELS.run("muladd_mixed", dst, a, b)
    check(dst[:1003], (start[:1003] + a[:1003].astype(np.float64) * b[:1003]).astype(F32))
    dst = start.copy()
    expected = start.copy()
    apply(
        lambda o, x: (o + x.astype(np.float64) * 1.5).astype(F32),
        expected,
        [a],
        40,
        4,
        (Strides(1, 8), Strides(1, 4)),
    )
    KERNELS.run("axpy_mixed_strided", dst, a, b)
    check(dst, expected)


def test_repeats_accumulate_into_one_address() -> None:
    rng = np.random.default_rng(2)
    a = rng.uniform(-1, 1, BYTES // 4).astype(F32)
    dst = np.zeros_like(a)
    KERNELS.run("accumulate", dst, a, a)
    np.testing.assert_allclose(dst[:64], a[:640].reshape(10, 64).sum(0), rtol=1e-5, atol=1e-6)


def test_destination_may_be_a_source() -> None:
    a = np.random.default_rng(3).uniform(-1, 1, BYTES // 4).astype(F32)
    dst = a.copy()
    KERNELS.run("in_place", dst, a, a)
    check(dst[:1003], np.exp(2.0 * a[:1003].astype(np.float64)).astype(F32))
    np.testing.assert_array_equal(dst[1003:], a[1003:])


def test_counter_mode_and_preset_masks() -> None:
    rng = np.random.default_rng(4)
    a, b, start = (rng.uniform(-1, 1, BYTES // 4).astype(F32) for _ in range(3))
    dst = start.copy()
    KERNELS.run("counter", dst, a, b)
    expected = start.copy()
    expected[:1003] = a[:1003] + b[:1003]
    for i in range(1003):
        expected[2048 + i // 8 * 16 + i % 8] = a[i] + b[i]
    np.testing.assert_array_equal(dst, expected)
    dst = start.copy()
    KERNELS.run("preset", dst, a, b)
    expected = start.copy()
    for r in range(3):
        expected[r * 64 + 8 : r * 64 + 16] = (a * b)[r * 64 + 8 : r * 64 + 16]
        expected[1024 + r * 64 : 1024 + r * 64 + 7] = (a * b)[r * 64 : r * 64 + 7]
    np.testing.assert_array_equal(dst, expected)


def test_shift_right_rounds() -> None:
    a = np.random.default_rng(5).integers(-(2**31), 2**31, BYTES // 4).astype(I32)
    dst = np.zeros_like(a)
    KERNELS.run("round_shift", dst, a, a)
    np.testing.assert_array_equal(dst[:256], (a[:256] >> 3) + ((a[:256] >> 2) & 1))


def test_zero_count_or_repeats_do_nothing() -> None:
    a = np.ones(BYTES // 4, F32)
    dst = np.full_like(a, 7)
    KERNELS.run("nothing", dst, a, a)
    assert (dst == 7).all()


def test_edge_values() -> None:
    """The vendor's boundary values: docs/hardware/units.md#edge-values."""
    inf, nan = np.inf, np.nan
    a = np.ones(BYTES // 4, F32)
    b = np.ones(BYTES // 4, F32)
    a[:12] = [-inf, inf, nan, 0.0, -0.0, -1.0, 88.8, -104.0, 3.4028235e38, 1e-45, 0.0, -0.0]
    b[:12] = [1, 1, 1, -0.0, 0.0, nan, 1, 1, 1, 1, nan, 0.0]
    dst = np.zeros_like(a)
    KERNELS.run("edges", dst, a, b)
    with np.errstate(all="ignore"):
        wide = a[:64].astype(np.float64)
        np.testing.assert_array_equal(dst[:64], np.exp(wide).astype(F32))
        np.testing.assert_array_equal(dst[64:128], np.log(wide).astype(F32))
        np.testing.assert_array_equal(dst[128:192], (1 / np.sqrt(wide)).astype(F32))
        np.testing.assert_array_equal(dst[192:256], (1 / a[:64]).astype(F32))
        np.testing.assert_array_equal(dst[448:512], np.sqrt(a[:64]))
    assert dst[64 + 4] == -inf and dst[128 + 4] == -inf and dst[192 + 4] == -inf
    assert dst[192 + 8] == np.float32(1) / np.float32(3.4028235e38)  # subnormal results are kept
    maximum, minimum, relu = dst[256:320], dst[320:384], dst[384:448]
    assert np.isnan(maximum[[2, 5, 10]]).all() and np.isnan(minimum[[2, 5, 10]]).all()
    assert not np.signbit(maximum[[3, 4, 11]]).any() and np.signbit(minimum[[3, 4, 11]]).all()
    assert not np.signbit(relu[4]) and relu[1] == inf


@pytest.mark.parametrize(("kernel", "function"), [("exp_all", np.exp), ("ln_all", np.log)])
def test_transcendental_accuracy(kernel: str, function: Function) -> None:
    """Within one ulp of the double result rounded once, over the whole range; nearly always equal to it."""
    rng = np.random.default_rng(6)
    wrong = 0
    total = 0
    for round_ in range(20):
        if kernel == "exp_all":
            a = rng.uniform(-104, 89, BYTES // 4).astype(F32)
        else:
            a = rng.integers(1, 0x7F800000, BYTES // 4).astype(U32).view(F32)
            if round_ % 2:
                a = rng.uniform(0.5, 2.0, BYTES // 4).astype(F32)
        dst = np.zeros_like(a)
        KERNELS.run(kernel, dst, a, a)
        with np.errstate(all="ignore"):
            expected = function(a.astype(np.float64)).astype(F32)
        distance = np.abs(dst.view(I32).astype(np.int64) - expected.view(I32))
        assert distance.max() <= 1
        wrong += int((distance != 0).sum())
        total += a.size
    assert wrong / total < 1e-4


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
