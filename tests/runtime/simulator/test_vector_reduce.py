"""ReduceSum, ReduceMax, ReduceMin and the registers reductions leave, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet
from limits import limit_tests
from vector_kernels import BYTES, PRELUDE, add, numbers, signed
from vector_model import mask_bits

KERNELS = KernelSet(PRELUDE)
NAMES = KernelSet(PRELUDE)  # as CANN 9.x calls them
TYPES: dict[str, Any] = {"half": np.float16, "float": np.float32}
INDEX: dict[str, Any] = {"half": np.uint16, "float": np.uint32}
SLOW = settings(max_examples=examples(30))
BITS = "uint64_t mask[2] = {(uint64_t)low, (uint64_t)high};"

for _type in TYPES:
    _types = f"{_type}, {_type}, {_type}"
    add(
        KERNELS,
        f"Sum_count_{_type}",
        _types,
        f"ReduceSum(dst, src0, src1, count); {_type} sum = count ? GetAccVal<{_type}>() : ({_type})0; "
        "dst.SetValue(1, sum);",
        "int32_t count",
    )
    add(
        KERNELS,
        f"Sum_mask_{_type}",
        _types,
        "ReduceSum(dst, src0, src1, mask, repeats, stride);",
        "int32_t mask, int32_t repeats, int32_t stride",
    )
    add(
        KERNELS,
        f"Sum_bits_{_type}",
        _types,
        f"{BITS} ReduceSum(dst, src0, src1, mask, repeats, stride);",
        "int64_t low, int64_t high, int32_t repeats, int32_t stride",
    )
    for _op in ("Max", "Min"):
        add(
            KERNELS,
            f"{_op}_count_{_type}",
            _types,
            f"Reduce{_op}(dst, src0, src1, count, index); {_type} value = 0; {_type} place = 0; "
            "if (count) { GetReduceMaxMinCount(value, place); dst.SetValue(2, value); }",
            "int32_t count, bool index",
        )
        add(
            KERNELS,
            f"{_op}_mask_{_type}",
            _types,
            f"Reduce{_op}(dst, src0, src1, mask, repeats, stride, index);",
            "int32_t mask, int32_t repeats, int32_t stride, bool index",
        )
        add(
            KERNELS,
            f"{_op}_bits_{_type}",
            _types,
            f"{BITS} Reduce{_op}(dst, src0, src1, mask, repeats, stride, index);",
            "int64_t low, int64_t high, int32_t repeats, int32_t stride, bool index",
        )
        add(
            KERNELS,
            f"{_op}_register_{_type}",
            _types,
            f"WholeReduce{_op}(src1, src0, mask, repeats, 1, 1, 8); SetFlag<HardEvent::V_S>(1); "
            f"WaitFlag<HardEvent::V_S>(1); {_type} value; {_type} place; GetReduceMaxMinCount(value, place); "
            "dst.SetValue(0, value); dst.SetValue(1, place);",
            "int32_t mask, int32_t repeats",
        )
    for _name, _statement in {
        "repeat_sum": "ReduceRepeat<ReduceType::SUM>(dst, src0, mask, 6, 2, 1, 9);",
        "repeat_max": "ReduceRepeat<ReduceType::MAX>(dst, src0, mask, 6, 2, 1, 9);",
        "repeat_min": "ReduceRepeat<ReduceType::MIN>(dst, src0, mask, 6, 2, 1, 9, "
        "ReduceOrder::ORDER_ONLY_VALUE);",
        "block_sum": "ReduceDataBlock<ReduceType::SUM>(dst, src0, mask, 6, 2, 1, 9);",
        "block_max": "ReduceDataBlock<ReduceType::MAX>(dst, src0, mask, 6, 2, 1, 9);",
        "block_min": "ReduceDataBlock<ReduceType::MIN>(dst, src0, mask, 6, 2, 1, 9);",
        "pair_sum": "ReducePairElem<ReduceType::SUM>(dst, src0, mask, 6, 2, 1, 9);",
    }.items():
        _old = (
            _statement.replace("ReduceRepeat<ReduceType::SUM>", "WholeReduceSum")
            .replace("ReduceRepeat<ReduceType::MAX>", "WholeReduceMax")
            .replace("ReduceRepeat<ReduceType::MIN>", "WholeReduceMin")
            .replace("ReduceDataBlock<ReduceType::SUM>", "BlockReduceSum")
            .replace("ReduceDataBlock<ReduceType::MAX>", "BlockReduceMax")
            .replace("ReduceDataBlock<ReduceType::MIN>", "BlockReduceMin")
            .replace("ReducePairElem<ReduceType::SUM>", "PairReduceSum")
        )
        if not _name.startswith("repeat"):
            _old = _old.replace("mask, 6", "6, mask")
        for _form, _mask in (
            ("lanes", "int32_t mask = {};"),
            ("bits", "uint64_t mask[2] = {{{}}};"),
        ):
            _value = (
                (128 if _type == "half" else 64) - 5
                if _form == "lanes"
                else "0x5a5a0f0fffff0001ull, "
                + ("0x8000000000000003ull" if _type == "half" else "0")
            )
            add(NAMES, f"{_name}_{_form}_{_type}", _types, _mask.format(_value) + _statement)
            add(KERNELS, f"{_name}_{_form}_{_type}", _types, _mask.format(_value) + _old)
    add(
        NAMES,
        f"registers_{_type}",
        _types,
        f"ReduceSum(dst, src0, src1, 300); dst.SetValue(1, GetReduceRepeatSumSpr<{_type}>()); "
        f"WholeReduceMax(src1, src0, 64, 1, 1, 1, 8); {_type} v; {_type} i; GetReduceRepeatMaxMinSpr(v, i); "
        "dst.SetValue(2, v); dst.SetValue(3, i);",
    )
add(
    KERNELS,
    "sum_preset",
    "float, float, float",
    "SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(0, 100); "
    "ReduceSum<float, false>(dst, src0, src1, 1); SetMaskNorm(); ResetMask();",
)


def tree(values: Any) -> Any:
    """Neighbours first, every level rounded to the operand's type."""
    while values.size > 1:
        values = (values[0::2] + values[1::2]).astype(values.dtype)
    return values[0]


def repeats_of(a: Any, active: Any, repeats: int, stride: int) -> list[Any]:
    lanes = 256 // a.itemsize
    zero = a.dtype.type(0)
    return [
        np.where(active, a[r * stride * 32 // a.itemsize :][:lanes], zero) for r in range(repeats)
    ]


@pytest.mark.parametrize("cpp", TYPES)
@SLOW
@given(count=st.integers(0, 6000), seed=st.integers(0, 99))
def test_sum_of_a_count(cpp: str, count: int, seed: int) -> None:
    a = numbers(TYPES[cpp], seed)
    lanes = 256 // a.itemsize
    dst = numbers(TYPES[cpp], 1)
    expected = dst.copy()
    padded = np.concatenate([a[:count], np.zeros(-count % lanes, a.dtype)]).reshape(-1, lanes)
    total = a.dtype.type(0)
    for i, row in enumerate(padded):
        total = tree(row) if i == 0 else a.dtype.type(total + tree(row))
    expected[1] = 0
    if count:
        expected[:2] = total
    KERNELS.run(f"Sum_count_{cpp}", dst, a, a.copy(), count)
    np.testing.assert_array_equal(dst, expected)


def test_sum_with_the_mask_set_before() -> None:
    a = numbers(np.float32, 3)
    dst = np.zeros_like(a)
    KERNELS.run("sum_preset", dst, a, a)
    tail = np.where(np.arange(64) < 36, a[64:128], np.float32(0))
    assert dst[0] == tree(a[:64]) + tree(tail)


def draw_mask(data: st.DataObject, lanes: int) -> Any:
    low = data.draw(st.integers(1, 2**64 - 1))
    high = data.draw(st.integers(0, 2**64 - 1)) if lanes == 128 else 0
    return data.draw(st.one_of(st.integers(1, lanes), st.just((low, high))))


def run_masked(op: str, cpp: str, dst: Any, a: Any, mask: Any, *arguments: Any) -> None:
    if isinstance(mask, int):
        KERNELS.run(f"{op}_mask_{cpp}", dst, a, np.zeros_like(a), mask, *arguments)
    else:
        words = (signed(mask[0]), signed(mask[1]))
        KERNELS.run(f"{op}_bits_{cpp}", dst, a, np.zeros_like(a), *words, *arguments)


@pytest.mark.parametrize("cpp", TYPES)
@SLOW
@given(data=st.data())
def test_sum_of_repeats(cpp: str, data: st.DataObject) -> None:
    """Trees inside repeats, and trees over their results, 128 or 64 at a time."""
    a = numbers(TYPES[cpp], 2)
    lanes = 256 // a.itemsize
    stride = data.draw(st.integers(0, 9))
    repeats = data.draw(st.one_of(st.integers(0, 80), st.just(600)))
    repeats = min(repeats, (BYTES // 32 - 8) // max(stride, 1))
    mask = draw_mask(data, lanes)
    dst = numbers(TYPES[cpp], 3)
    expected = dst.copy()
    values = [tree(v) for v in repeats_of(a, mask_bits(mask, lanes), repeats, stride)]
    while len(values) > 1:
        rows = [values[i : i + lanes] for i in range(0, len(values), lanes)]
        values = [tree(np.array(r + [0] * (lanes - len(r)), a.dtype)) for r in rows]
    if repeats:
        expected[0] = values[0]
    run_masked("Sum", cpp, dst, a, mask, repeats, stride)
    np.testing.assert_array_equal(dst, expected)


@pytest.mark.parametrize("op", ["Max", "Min"])
@pytest.mark.parametrize("cpp", TYPES)
@SLOW
@given(data=st.data())
def test_extremum_of_repeats(cpp: str, op: str, data: st.DataObject) -> None:
    distinct = data.draw(st.sampled_from([2, 4000]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    a = rng.integers(-distinct, distinct, BYTES // np.dtype(TYPES[cpp]).itemsize).astype(TYPES[cpp])
    lanes = 256 // a.itemsize
    stride = data.draw(st.integers(0, 9))
    repeats = data.draw(st.one_of(st.integers(0, 80), st.just(600)))
    repeats = min(repeats, (BYTES // 32 - 8) // max(stride, 1))
    index = data.draw(st.booleans())
    mask = draw_mask(data, lanes)
    active = np.flatnonzero(mask_bits(mask, lanes))
    dst = numbers(TYPES[cpp], 3)
    expected = dst.copy()
    if repeats:
        pitch = stride * 32 // a.itemsize
        places = np.concatenate([r * pitch + active for r in range(repeats)])
        best = (np.argmax if op == "Max" else np.argmin)(a[places])
        expected[0] = a[places[best]]
        if index:
            # The index counts elements from the first repeat on, gaps included.
            repeat, lane = divmod(int(best), active.size)
            expected.view(INDEX[cpp])[1] = repeat * pitch + active[lane]
    run_masked(op, cpp, dst, a, mask, repeats, stride, index)
    np.testing.assert_array_equal(dst.view(INDEX[cpp]), expected.view(INDEX[cpp]))


@pytest.mark.parametrize("op", ["Max", "Min"])
@pytest.mark.parametrize("cpp", TYPES)
@SLOW
@given(data=st.data())
def test_extremum_of_a_count(cpp: str, op: str, data: st.DataObject) -> None:
    size = np.dtype(TYPES[cpp]).itemsize
    count = data.draw(st.one_of(st.integers(0, 400), st.integers(0, BYTES // size)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    a = rng.integers(-50, 50, BYTES // size).astype(TYPES[cpp])
    index = data.draw(st.booleans())
    dst = numbers(TYPES[cpp], 3)
    expected = dst.copy()
    if count:
        best = int((np.argmax if op == "Max" else np.argmin)(a[:count]))
        expected[[0, 2]] = a[best]
        if index:
            expected.view(INDEX[cpp])[1] = best
    KERNELS.run(f"{op}_count_{cpp}", dst, a, np.zeros_like(a), count, index)
    if count and not index:
        expected[1] = dst[1]  # a partial result may lie there
    np.testing.assert_array_equal(dst.view(INDEX[cpp]), expected.view(INDEX[cpp]))


@pytest.mark.parametrize("op", ["Max", "Min"])
@pytest.mark.parametrize("cpp", TYPES)
@SLOW
@given(mask=st.integers(1, 64), repeats=st.integers(1, 90), seed=st.integers(0, 9))
def test_register_of_the_extremum(cpp: str, op: str, mask: int, repeats: int, seed: int) -> None:
    size = np.dtype(TYPES[cpp]).itemsize
    a = np.random.default_rng(seed).integers(-50, 50, BYTES // size).astype(TYPES[cpp])
    lanes = 256 // size
    rows = a[: repeats * lanes].reshape(repeats, lanes)[:, :mask]
    best = int((np.argmax if op == "Max" else np.argmin)(rows))
    dst = np.zeros_like(a)
    KERNELS.run(f"{op}_register_{cpp}", dst, a, a.copy(), mask, repeats)
    assert dst[0] == rows.reshape(-1)[best]
    assert dst.view(INDEX[cpp])[1] == best // mask * lanes + best % mask


@pytest.mark.parametrize("cpp", TYPES)
@pytest.mark.parametrize("form", ["lanes", "bits"])
@pytest.mark.parametrize(
    "name",
    ["repeat_sum", "repeat_max", "repeat_min", "block_sum", "block_max", "block_min", "pair_sum"],
)
def test_new_names_do_what_the_old_ones_do(name: str, form: str, cpp: str) -> None:
    a, start = numbers(TYPES[cpp], 5), numbers(TYPES[cpp], 6)
    old, new = start.copy(), start.copy()
    KERNELS.run(f"{name}_{form}_{cpp}", old, a, a.copy())
    NAMES.run(f"{name}_{form}_{cpp}", new, a, a.copy())
    np.testing.assert_array_equal(old.view(INDEX[cpp]), new.view(INDEX[cpp]))
    assert (old != start).any()


@pytest.mark.parametrize("cpp", TYPES)
def test_new_names_of_registers(cpp: str) -> None:
    a = numbers(TYPES[cpp], 7)
    dst = np.zeros_like(a)
    NAMES.run(f"registers_{cpp}", dst, a, a.copy())
    assert dst[0] == dst[1] and dst[2] == a[:64].max()
    assert dst.view(INDEX[cpp])[3] == a[:64].argmax()


def test_a_group_without_a_lane_keeps_its_place() -> None:
    a, start = numbers(np.float32, 8), numbers(np.float32, 9)
    dst = start.copy()
    NAMES.run("block_sum_bits_float", dst, a, a.copy())
    word = 0x5A5A0F0FFFFF0001
    for block in range(8):
        assert (dst[block] == start[block]) == ((word >> (8 * block)) & 0xFF == 0)


ERRORS = KernelSet()
UB = (
    "TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 196608); "
    "LocalTensor<float> x = buffer.Get<float>(); Duplicate(x, 1.0f, 16384); float v = 0; float i = 0; half h = 0; "
)
CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("dst", "WholeReduceMax(x[1], x[64], 64, 1, 1, 1, 8);", "misaligned", ("WholeReduceMax: dst", "multiple of 8")),
    ("tmp", "ReduceMax(x, x[1024], x[513], 64, 2, 8);", "misaligned", ("ReduceMax: dst starts at byte 2052",)),
    ("src", "ReduceSum(x, x[1], x[512], 64);", "misaligned", ("ReduceSum: src",)),
    ("src_end", "ReduceSum(x, x[49152 - 64], x[512], 65);", "out-of-bounds", ("ReduceSum: src",)),
    ("mask", "ReduceMin(x, x[1024], x[512], 65, 2, 8);", "bad-argument", ("mask is 65",)),
    ("negative", "ReduceMin(x, x[1024], x[512], -1);", "bad-argument", ("count is -1",)),
    ("no_sum", "GetAccVal<float>();", "bad-argument", ("GetAccVal: no result to read",)),
    ("other_sum", "ReduceSum(x, x[64], x[512], 64); GetAccVal<half>();", "bad-argument", ("read as half, but the result is float",)),
    ("no_extremum", "GetReduceMaxMinCount(v, i);", "bad-argument", ("GetReduceMaxMinCount: no result to read",)),
    ("strided", "WholeReduceMax(x, x[1024], 64, 2, 1, 1, 9); GetReduceMaxMinCount(v, i);", "bad-argument", ("srcRepStride 8",)),
    ("counter", "SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(0, 100); WholeReduceMax<float, false>(x, x[1024], 0, 1, 1, 1, 8); GetReduceMaxMinCount(v, i);", "bad-argument", ("no counter mode",)),
]  # fmt: skip
test_limits = limit_tests(
    ERRORS, CASES, "GM_ADDR d", lambda statement: f"{UB} (void)v; (void)i; (void)h; {statement}"
)


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
    ERRORS.vendor_check()
