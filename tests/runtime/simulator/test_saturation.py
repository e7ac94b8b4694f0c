"""Saturation as SetSaturationFlag chooses it, against the vendor's tables of edge values: every pair
of edge values through every arithmetic instruction, conversions, sums, atomics and the cube unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet
from vector_kernels import BYTES, PRELUDE, add

F16, F32, I16, I32 = np.float16, np.float32, np.int16, np.int32
CPP = {F16: "half", F32: "float", I16: "int16_t", I32: "int32_t"}
FLOATS, INTEGERS, CASTS = 1, 2, 4  # bits of `mode`: what saturates
MODE = (
    "SetSaturationFlag<SaturationMode::FLOAT>(mode & 1); SetSaturationFlag<SaturationMode::INT>(mode & 2); "
    "SetSaturationFlag<SaturationMode::CAST>(mode & 4); "
)
KERNELS = KernelSet(PRELUDE)


def add_kernel(name: str, types: str, statements: str) -> None:
    add(KERNELS, name, types, MODE + statements, "int32_t mode, float scalar")


def extremes(dtype: Any) -> Any:
    """MIN, MAX, +0, -0 and, of floats, NaN, inf and -inf, as in the vendor's tables; and a few between."""
    if np.dtype(dtype).kind == "i":
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.max, 0, 1, -1, 2, limits.max - 1], dtype)
    limit = np.finfo(dtype).max
    return np.array([-limit, limit, 0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.5], dtype)


def pairs(dtype: Any) -> tuple[Any, Any]:
    first, second = np.meshgrid(extremes(dtype), extremes(dtype), indexing="ij")
    return first.ravel(), second.ravel()


def saturated(values: Any) -> Any:
    """inf and -inf become the largest values of half, NaN becomes 0; float has no saturation."""
    if values.dtype != F16:
        return values
    return np.nan_to_num(values, nan=0.0, posinf=65504.0, neginf=-65504.0).astype(F16)


def in_array(values: Any) -> Any:
    padded = np.zeros(BYTES // values.itemsize, values.dtype)
    padded[: values.size] = values
    return padded


def assert_same(actual: Any, expected: Any, context: Any = None) -> None:
    """Equal with the sign of zeros; any NaN equals any other."""
    np.testing.assert_array_equal(actual, expected, err_msg=str(context))
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(
        np.signbit(actual[numbers]), np.signbit(expected[numbers]), err_msg=str(context)
    )


Function = Callable[[Any, Any], Any]
BINARY: dict[str, Function] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
    "Max": np.maximum, "Min": np.minimum,
}  # fmt: skip
RELUS: dict[str, Function] = {"AddRelu": np.add, "SubRelu": np.subtract}
UNARY: dict[str, Callable[[Any], Any]] = {
    "Exp": np.exp, "Ln": np.log, "Abs": np.abs, "Reciprocal": lambda a: 1 / a,
    "Sqrt": np.sqrt, "Rsqrt": lambda a: 1 / np.sqrt(a), "Relu": lambda a: np.where(a <= 0, 0.0, a),
}  # fmt: skip
SCALAR: dict[str, Function] = {
    "Adds": np.add,
    "Muls": np.multiply,
    "Maxs": np.maximum,
    "Mins": np.minimum,
}

for _t in ("half", "float"):
    for _api in (*BINARY, *RELUS):
        add_kernel(f"{_api}_{_t}", f"{_t}, {_t}, {_t}", f"{_api}(dst, src0, src1, 256);")
    for _api in ("FusedMulAdd", "FusedMulAddRelu", "MulAddDst"):
        add_kernel(f"{_api}_{_t}", f"{_t}, {_t}, {_t}", f"{_api}(dst, src0, src1, 1024);")
    for _api in UNARY:
        add_kernel(f"{_api}_{_t}", f"{_t}, {_t}, {_t}", f"{_api}(dst, src0, 256);")
    for _api in (*SCALAR, "LeakyRelu", "Axpy"):
        add_kernel(f"{_api}_{_t}", f"{_t}, {_t}, {_t}", f"{_api}(dst, src0, ({_t})scalar, 256);")
for _t in ("int16_t", "int32_t"):
    for _api in ("Add", "Sub", "Mul", "Max", "Min"):
        add_kernel(f"{_api}_{_t}", f"{_t}, {_t}, {_t}", f"{_api}(dst, src0, src1, 256);")
    for _api in ("Adds", "Muls"):
        add_kernel(
            f"{_api}_{_t}", f"{_t}, {_t}, {_t}", f"{_api}(dst, src0, src1.GetValue(0), 256);"
        )


def computed(name: str, dst: Any, a: Any, b: Any, mode: int, scalar: float = 0.0) -> Any:
    result = in_array(dst)
    KERNELS.run(name, result, in_array(a), in_array(b), mode, scalar)
    return result[: dst.size]


def ieee(function: Callable[..., Any], *sources: Any) -> Any:
    with np.errstate(all="ignore"):
        return function(*(s.astype(np.float64) for s in sources)).astype(sources[0].dtype)


def extremum(op: str, a: Any, b: Any) -> Any:
    """The larger or smaller one, where -0 is below +0, which NumPy leaves open."""
    result = ieee(BINARY[op], a, b)
    signs = (np.signbit(a), np.signbit(b))
    negative = signs[0] & signs[1] if op == "Max" else signs[0] | signs[1]
    zeros = (a == 0) & (b == 0)
    result[zeros] = np.where(negative, -0.0, 0.0)[zeros]
    return result


@pytest.mark.parametrize("mode", [0, FLOATS], ids=["inf-nan", "saturated"])
@pytest.mark.parametrize("dtype", [F16, F32], ids=["f16", "f32"])
def test_every_pair_of_edge_values(dtype: Any, mode: int) -> None:
    """Tables 9 to 14, 24 and 25: the result of IEEE 754, and then saturated if it is a half."""
    a, b = pairs(dtype)
    settle = saturated if mode else (lambda values: values)
    for api, function in BINARY.items():
        expected = extremum(api, a, b) if api in ("Max", "Min") else ieee(function, a, b)
        assert_same(computed(f"{api}_{CPP[dtype]}", a, a, b, mode), settle(expected), api)
    for api, function in RELUS.items():
        expected = ieee(lambda x, y, f=function: np.where(f(x, y) <= 0, 0.0, f(x, y)), a, b)
        assert_same(computed(f"{api}_{CPP[dtype]}", a, a, b, mode), settle(expected), api)


@pytest.mark.parametrize("mode", [0, FLOATS], ids=["inf-nan", "saturated"])
@pytest.mark.parametrize("dtype", [F16, F32], ids=["f16", "f32"])
def test_every_edge_value(dtype: Any, mode: int) -> None:
    """Tables 2 to 8 and 15 to 18."""
    a = extremes(dtype)
    settle = saturated if mode else (lambda values: values)
    for api, function in UNARY.items():
        result = computed(f"{api}_{CPP[dtype]}", a, a, a, mode)
        expected = settle(ieee(function, a))
        finite = np.isfinite(expected)
        np.testing.assert_allclose(
            result[finite], expected[finite], rtol=1e-3 if dtype == F16 else 1e-6
        )
        np.testing.assert_array_equal(result[~finite], expected[~finite], err_msg=api)
    for api, binary in SCALAR.items():
        for scalar in a:
            with np.errstate(all="ignore"):
                expected = settle(ieee(binary, a, np.full_like(a, scalar)))
            result = computed(f"{api}_{CPP[dtype]}", a, a, a, mode, float(scalar))
            np.testing.assert_array_equal(result, expected, err_msg=f"{api} {scalar}")


# Table 19: the results of LeakyRelu in the mode of inf and NaN, by source, for the factors in the order of SCALARS.
SCALARS = ("MIN", "MAX", "+0", "-0", "nan", "inf", "-inf")
LEAKY = {
    "MIN": ("inf", "-inf", "-0", "+0", "nan", "-inf", "inf"),
    "MAX": ("MAX",) * 7,
    "+0": ("+0",) * 7,
    "-0": ("+0", "-0", "-0", "+0", "nan", "nan", "nan"),
    "nan": ("nan",) * 7,
    "inf": ("inf",) * 7,
    "-inf": ("inf", "-inf", "nan", "nan", "nan", "-inf", "inf"),
}


def named(name: str, dtype: Any) -> Any:
    largest = np.finfo(dtype).max
    return dtype({"MIN": -largest, "MAX": largest, "+0": 0.0, "-0": -0.0}.get(name, 0.0) if name[-1] not in "nf"
                 else float(name))  # fmt: skip


@pytest.mark.parametrize("mode", [0, FLOATS], ids=["inf-nan", "saturated"])
@pytest.mark.parametrize("dtype", [F16, F32], ids=["f16", "f32"])
def test_leaky_relu(dtype: Any, mode: int) -> None:
    """Of table 19 the saturated MIN times inf and MIN times -inf of half are taken with the sign of the
    other mode and of all other rows: there the table has them the other way round."""
    sources = np.array([named(name, dtype) for name in LEAKY])
    for column, factor in enumerate(SCALARS):
        expected = np.array([named(row[column], dtype) for row in LEAKY.values()])
        name = f"LeakyRelu_{CPP[dtype]}"
        result = computed(name, sources, sources, sources, mode, float(named(factor, dtype)))
        assert_same(result, saturated(expected) if mode else expected, factor)


def half_product(a: Any, b: Any, mode: int) -> Any:
    """A product in the range of half, not rounded otherwise."""
    exact = a * b
    with np.errstate(all="ignore"):
        overflows = np.abs(exact) >= 65520
        exact = np.where(overflows, np.copysign(65504.0 if mode else np.inf, exact), exact)
    return np.nan_to_num(exact, nan=0.0) if mode else exact


@pytest.mark.parametrize("mode", [0, FLOATS], ids=["inf-nan", "saturated"])
@pytest.mark.parametrize("dtype", [F16, F32], ids=["f16", "f32"])
def test_products_that_are_added(dtype: Any, mode: int) -> None:
    """Tables 20 to 23: a product of halves overflows, or saturates, before it is added."""
    edges = extremes(dtype)
    grid = [g.ravel() for g in np.meshgrid(edges, edges, edges, indexing="ij")]
    a, b, old = (g.astype(np.float64) for g in grid)
    with np.errstate(all="ignore"):
        product = half_product if dtype == F16 else (lambda x, y, _: x * y)
        sums = {"FusedMulAdd": product(a, old, mode) + b, "MulAddDst": product(a, b, mode) + old}
        sums["FusedMulAddRelu"] = np.where(sums["FusedMulAdd"] <= 0, 0.0, sums["FusedMulAdd"])
        for api, exact in sums.items():
            expected = exact.astype(dtype)
            result = computed(f"{api}_{CPP[dtype]}", grid[2], grid[0], grid[1], mode)
            np.testing.assert_array_equal(
                result, saturated(expected) if mode else expected, err_msg=api
            )
        for scalar in edges:
            x, y = (g.ravel() for g in np.meshgrid(edges, edges, indexing="ij"))
            factor = np.full(x.shape, scalar, np.float64)
            expected = (product(x.astype(np.float64), factor, mode) + y).astype(dtype)
            result = computed(f"Axpy_{CPP[dtype]}", y, x, x, mode, float(scalar))
            np.testing.assert_array_equal(result, saturated(expected) if mode else expected)


@pytest.mark.parametrize("mode", [0, FLOATS, INTEGERS], ids=["wraps", "floats-only", "saturated"])
@pytest.mark.parametrize("dtype", [I16, I32], ids=["i16", "i32"])
def test_integers(dtype: Any, mode: int) -> None:
    """The rows of int16 and int32 in tables 9 to 16."""
    a, b = pairs(dtype)
    limits = np.iinfo(dtype)
    for api in ("Add", "Sub", "Mul", "Max", "Min"):
        exact = BINARY[api](a.astype(object), b.astype(object))
        if mode == INTEGERS:
            exact = np.clip(exact, limits.min, limits.max)
        size = 8 * np.dtype(dtype).itemsize
        expected = np.array(
            [(v + 2 ** (size - 1)) % 2**size - 2 ** (size - 1) for v in exact], dtype
        )
        np.testing.assert_array_equal(
            computed(f"{api}_{CPP[dtype]}", a, a, b, mode), expected, err_msg=api
        )
        if api in ("Add", "Mul"):
            for scalar in extremes(dtype):
                chosen = b == scalar
                result = computed(f"{api}s_{CPP[dtype]}", a[chosen], a[chosen], b[chosen], mode)
                np.testing.assert_array_equal(result, expected[chosen], err_msg=f"{api}s {scalar}")


# Conversions -------------------------------------------------------------------------------------

TO = {
    "half": F16,
    "int16_t": I16,
    "int32_t": I32,
    "int64_t": np.int64,
    "int8_t": np.int8,
    "uint8_t": np.uint8,
}
CASTS_OF = [
    ("float", "half"), ("float", "bfloat16_t"), ("float", "int16_t"), ("float", "int32_t"), ("float", "int64_t"),
    ("half", "int8_t"), ("half", "uint8_t"), ("half", "int16_t"), ("half", "int32_t"),
    ("int32_t", "int16_t"), ("int64_t", "int32_t"),
]  # fmt: skip
FROM = {"float": F32, "half": F16, "int32_t": I32, "int64_t": np.int64}
for _s, _d in CASTS_OF:
    _mode = "CAST_NONE" if _s.startswith("int") else "CAST_RINT"
    add_kernel(f"cast_{_s}_{_d}", f"{_d}, {_s}, {_s}", f"Cast(dst, src0, RoundMode::{_mode}, 64);")


def low_bits(value: Any, dtype: Any) -> int:
    info = np.iinfo(dtype)
    size = 8 * np.dtype(dtype).itemsize
    if isinstance(value, float) and not np.isfinite(value):  # has none: as if it saturated
        return 0 if np.isnan(value) else info.max if value > 0 else info.min
    return (round(value) - info.min) % 2**size + info.min


@pytest.mark.parametrize(
    ("source", "target"), [c for c in CASTS_OF if c[1] not in ("half", "bfloat16_t")]
)
def test_conversions_to_integers(source: str, target: str) -> None:
    """Table 32 is the same in both modes of floats; CAST decides between ends and low bits."""
    dtype = TO[target]
    info = np.iinfo(dtype)
    a = extremes(FROM[source])
    more = [300.0, -300.0, 40000.0, 2.5, 65535.0, -32769.0]
    if source == "float":
        more += [2.0**31, 3e9, -3e9, 2.0**62, 2.0**63, -(2.0**63), 1.5 * 2.0**63, 2.0**64, 2.0**70]
    with np.errstate(over="ignore"):
        a = np.concatenate([a, np.array(more).astype(a.dtype)])
    values = [v.item() for v in a]
    ends = [0 if v != v else int(info.max if v >= info.max else max(info.min, v if np.isinf(v) else round(v)))
            for v in values]  # fmt: skip
    for mode in (CASTS, CASTS | FLOATS):
        result = computed(f"cast_{source}_{target}", np.zeros(a.size, dtype), a, a, mode)
        np.testing.assert_array_equal(result, np.array(ends, dtype))
    result = computed(f"cast_{source}_{target}", np.zeros(a.size, dtype), a, a, 0)
    np.testing.assert_array_equal(result, np.array([low_bits(v, dtype) for v in values], dtype))


def test_conversions_to_small_floats() -> None:
    a = np.concatenate(
        [extremes(F32), np.array([65504, 65519, 65520, -65520, 1e6, 3.3895314e38], F32)]
    )
    with np.errstate(all="ignore"):
        expected = a.astype(F16)
    for mode, wanted in ((CASTS, expected), (CASTS | FLOATS, saturated(expected))):
        assert_same(computed("cast_float_half", np.zeros(a.size, F16), a, a, mode), wanted)
    largest = 0x7F7F
    for mode, infinity, nan in ((CASTS, 0x7F80, None), (CASTS | FLOATS, largest, 0)):
        words = computed("cast_float_bfloat16_t", np.zeros(a.size, np.uint16), a, a, mode)
        assert words[0] == infinity | 0x8000 and words[1] == infinity  # MIN, MAX
        assert words[5] == infinity and words[6] == infinity | 0x8000
        assert words[4] & 0x7FFF > 0x7F80 if nan is None else words[4] == nan
        assert words[14] == largest and words[2] == 0 and words[3] == 0x8000


# Sums and extrema --------------------------------------------------------------------------------

for _op in ("Sum", "Max", "Min"):
    for _t, _n in (("half", 128), ("float", 64)):
        _tail = ", ReduceOrder::ORDER_ONLY_VALUE" if _op != "Sum" else ""
        add_kernel(
            f"whole_{_op}_{_t}",
            f"{_t}, {_t}, {_t}",
            f"WholeReduce{_op}<{_t}>(dst, src0, {_n}, 1, 1, 1, 8{_tail});",
        )
        add_kernel(
            f"block_{_op}_{_t}",
            f"{_t}, {_t}, {_t}",
            f"BlockReduce{_op}<{_t}>(dst, src0, 1, {_n}, 1, 1, 8);",
        )
add_kernel("total_half", "half, half, half",
    "ReduceSum<half>(dst, src0, temp.ReinterpretCast<half>(), 256);")  # fmt: skip


def filled(*pattern: float) -> Any:
    return np.resize(np.array(pattern, F16), 128)


def ones_and(last: float) -> Any:
    """127 ones and another value, in the lane before the last."""
    row = np.ones(128, F16)
    row[126] = last
    return row


INF, NAN, MAX = np.inf, np.nan, 65504.0
# Source; sum, maximum and minimum of a repeat when saturated (tables 36 to 38).
REPEATS = [
    (filled(-MAX), -MAX, -MAX, -MAX), (filled(MAX), MAX, MAX, MAX), (filled(0.0), 0, 0, 0),
    (filled(NAN), 0, 0, 0), (filled(INF), MAX, MAX, MAX), (filled(-INF), -MAX, -MAX, -MAX),
    (filled(INF, -INF, NAN), 0, 0, 0), (filled(INF, -INF), 0, MAX, -MAX), (filled(INF, NAN), 0, 0, 0),
    (filled(-INF, NAN), 0, 0, 0), (ones_and(INF), MAX, MAX, 1), (ones_and(-INF), -65376, 1, -MAX),
    (ones_and(NAN), 126, 0, 0),
]  # fmt: skip


@pytest.mark.parametrize(("row", "total", "largest", "smallest"), REPEATS)
def test_reductions_of_a_repeat(row: Any, total: float, largest: float, smallest: float) -> None:
    """Every level of the tree saturates: that is how 127 ones and -inf make -65376, as in table 38."""
    for op, value in (("Sum", total), ("Max", largest), ("Min", smallest)):
        result = computed(f"whole_{op}_half", np.zeros(1, F16), row, row, FLOATS)
        assert result[0] == value, (op, result, value)
    unchanged = computed("whole_Sum_half", np.zeros(1, F16), row, row, 0)
    with np.errstate(all="ignore"):
        expected = row.astype(np.float64).sum().astype(F16)
    np.testing.assert_array_equal(unchanged[0], expected)


def test_reductions_of_blocks() -> None:
    """The vendor's page of ReduceDataBlock: 60000 + 60000 saturates, then -30000 + 100 is added. Its
    figure of 35604 is what exact sums give; half has 35584 or 35616 there."""
    row = np.zeros(128, F16)
    row[:4] = [60000, 60000, -30000, 100]
    row[16:32] = [INF, NAN] * 8
    saturates = computed("block_Sum_half", np.zeros(8, F16), row, row, FLOATS)
    assert saturates[:2].tolist() == [35584, 0]
    assert computed("block_Sum_half", np.zeros(8, F16), row, row, 0)[0] == INF
    assert computed("block_Max_half", np.zeros(8, F16), row, row, FLOATS)[1] == 0
    floats = np.full(64, 3e38, F32)  # never saturate
    assert (computed("block_Sum_float", np.zeros(8, F32), floats, floats, FLOATS) == INF).all()


def test_sum_of_repeats() -> None:
    row = np.resize(np.array([500.0], F16), 256)
    assert computed("total_half", np.zeros(1, F16), row, row, FLOATS)[0] == MAX
    assert computed("total_half", np.zeros(1, F16), row, row, 0)[0] == INF


# Atomics and the cube unit -----------------------------------------------------------------------

for _op in ("Add", "Max", "Min"):
    KERNELS.add(f"atomic_{_op}", "GM_ADDR d, GM_ADDR s, int32_t mode", MODE + f"""
        TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 256);
        LocalTensor<half> x = buffer.Get<half>();
        GlobalTensor<half> to, from;
        to.SetGlobalBuffer((__gm__ half*)d); from.SetGlobalBuffer((__gm__ half*)s);
        DataCopy(x, from, 96);
        SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0);
        SetAtomic{_op}<half>(); DataCopy(to, x, 96); SetAtomicNone();
    """)  # fmt: skip
KERNELS.add("product", "GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR h, int32_t mode", MODE + """
    TPipe pipe;
    TBuf<TPosition::A1> in; TBuf<TPosition::A2> left; TBuf<TPosition::B2> right; TBuf<TPosition::CO1> out;
    pipe.InitBuffer(in, 1024); pipe.InitBuffer(left, 512); pipe.InitBuffer(right, 512); pipe.InitBuffer(out, 1024);
    LocalTensor<half> l1 = in.Get<half>(), l0a = left.Get<half>(), l0b = right.Get<half>();
    LocalTensor<float> l0c = out.Get<float>();
    GlobalTensor<half> ga, gb, gh; GlobalTensor<float> gc;
    ga.SetGlobalBuffer((__gm__ half*)a); gb.SetGlobalBuffer((__gm__ half*)b);
    gh.SetGlobalBuffer((__gm__ half*)h); gc.SetGlobalBuffer((__gm__ float*)c);
    DataCopy(l1, ga, 256); DataCopy(l1[256], gb, 256);
    SetFlag<HardEvent::MTE2_MTE1>(0); WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData2DParams load; load.repeatTimes = 1; load.srcStride = 1;
    LoadData(l0a, l1, load);
    load.ifTranspose = true; LoadData(l0b, l1[256], load);
    SetFlag<HardEvent::MTE1_M>(0); WaitFlag<HardEvent::MTE1_M>(0);
    MmadParams multiply; multiply.m = 16; multiply.n = 16; multiply.k = 16; multiply.cmatrixInitVal = true;
    Mmad(l0c, l0a, l0b, multiply);
    SetFlag<HardEvent::M_FIX>(0); WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 move; move.nSize = 16; move.mSize = 16; move.srcStride = 16; move.dstStride = 16;
    Fixpipe<float, float, CFG_ROW_MAJOR>(gc, l0c, move);
    move.quantPre = QuantMode_t::F322F16;
    Fixpipe<half, float, CFG_ROW_MAJOR>(gh, l0c, move);
""", kind="KERNEL_TYPE_AIC_ONLY")  # fmt: skip


@pytest.mark.parametrize("mode", [0, FLOATS], ids=["inf-nan", "saturated"])
def test_atomics(mode: int) -> None:
    """Tables of edge values of atomic operations."""
    a, b = pairs(F16)
    for op in ("Add", "Max", "Min"):
        d, s = np.zeros(96, F16), np.zeros(96, F16)
        d[: a.size], s[: a.size] = a, b
        KERNELS.run(f"atomic_{op}", d, s, mode)
        expected = ieee(np.add, a, b) if op == "Add" else extremum(op, a, b)
        assert_same(d[: a.size], saturated(expected) if mode else expected, op)


@pytest.mark.parametrize("mode", [0, FLOATS], ids=["inf-nan", "saturated"])
def test_products_of_matrices(mode: int) -> None:
    """The vendor's pages of Mmad and Fixpipe: infinities end at the largest value, NaN at 0."""
    a, b = np.zeros((16, 16), F16), np.zeros((16, 16), F16)
    a[:5, 0] = [np.inf, -np.inf, np.nan, 65504, -65504]
    b[0, :2] = [1, 65504]
    c, h = np.zeros((16, 16), F32), np.zeros((16, 16), F16)
    KERNELS.run("product", a, b, c, h, mode)
    with np.errstate(all="ignore"):
        expected = a.astype(F32) @ b.astype(F32)
    if mode:
        expected = np.nan_to_num(expected)
    np.testing.assert_array_equal(c, expected)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            h, saturated(expected.astype(F16)) if mode else expected.astype(F16)
        )


# What does not compute, and the register ---------------------------------------------------------

add_kernel(
    "moved",
    "half, half, half",
    "Copy(dst, src0, 64, 1, {1, 1, 8, 8}); Duplicate(dst[128], src0.GetValue(0), 64);",
)
add_kernel(
    "masked",
    "half, half, half",
    "uint64_t mask[2] = {0x5555, 0}; Add(dst, src0, src1, mask, 1, {1, 1, 1, 8, 8, 8});",
)
KERNELS.add("registers", "GM_ADDR d", """
    GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)d);
    g.SetValue(0, GetSaturationFlag<SaturationMode::FLOAT>());
    g.SetValue(1, GetSaturationFlag<SaturationMode::INT>());
    g.SetValue(2, GetSaturationFlag<SaturationMode::CAST>());
    g.SetValue(3, GetCtrlSpr<48, 48>());
    SetCtrlSpr<48, 48>(0);
    g.SetValue(4, GetSaturationFlag<SaturationMode::FLOAT>());
    g.SetValue(5, GetCtrlSpr<48, 48>());
    SetSaturationFlag<SaturationMode::FLOAT>(false);
    SetSaturationFlag<SaturationMode::INT>(true);
    SetSaturationFlag<SaturationMode::CAST>(false);
    g.SetValue(6, GetCtrlSpr<48, 48>());
    g.SetValue(7, GetSaturationFlag<SaturationMode::INT>());
    g.SetValue(8, GetSaturationFlag<SaturationMode::CAST>());
    DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(g);
""")  # fmt: skip
KERNELS.add("beyond_the_bit", "GM_ADDR d", "SetCtrlSpr<48, 48>(2);")


def test_moves_keep_their_elements() -> None:
    a = np.array([INF, NAN, -INF], F16)
    result = computed("moved", np.zeros(192, F16), a, a, FLOATS)
    np.testing.assert_array_equal(result[:3], a)
    assert (result[128:192] == INF).all()


def test_lanes_left_out_keep_their_elements() -> None:
    old = np.full(16, INF, F16)
    a = np.full(16, MAX, F16)
    assert computed("masked", old, a, a, FLOATS).tolist() == [MAX, INF] * 8


def test_registers_begin_and_keep() -> None:
    for _ in range(2):  # a kernel finds them as they are at first, whatever another left
        d = np.zeros(16, I32)
        KERNELS.run("registers", d)
        assert d[:9].tolist() == [0, 0, 1, 1, 1, 0, 1, 1, 0]


def test_a_value_beyond_the_bit() -> None:
    fault = KERNELS.fault("beyond_the_bit", np.zeros(8, I32))
    assert (fault.kind, fault.api) == ("bad-argument", "SetCtrlSpr") and "value" in fault.text


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
