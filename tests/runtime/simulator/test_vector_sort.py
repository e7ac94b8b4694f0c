"""Sort32, MrgSort and what the basic API builds of them, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet
from limits import limit_tests
from vector_kernels import BYTES, PRELUDE, add, bit_pattern

KERNELS = KernelSet(PRELUDE)
TYPES: dict[str, Any] = {"half": np.float16, "float": np.float32}
PAIRS = BYTES // 8
SLOW = settings(max_examples=examples(30))

for _type in TYPES:
    _per_pair = 4 if _type == "half" else 2
    _sort = f"{_type}, {_type}, uint32_t"
    _merge = f"{_type}, {_type}, {_type}"
    _lists = (
        f"MrgSortSrcList<{_type}> lists(src0[first * {_per_pair}], src0[second * {_per_pair}], "
        f"src0[third * {_per_pair}], src0[fourth * {_per_pair}]); "
        "uint16_t lengths[4] = {(uint16_t)n1, (uint16_t)n2, (uint16_t)n3, (uint16_t)n4}; "
    )
    _lengths = ", ".join(
        [f"int32_t {p}" for p in ("first", "second", "third", "fourth")]
        + [f"int32_t n{i}" for i in range(1, 5)]
    )
    add(KERNELS, f"sort32_{_type}", _sort, "Sort32(dst, src0, src1, repeats);", "int32_t repeats")
    add(
        KERNELS,
        f"merge_{_type}",
        _merge,
        f"{_lists} MrgSort4Info info(lengths, suspend, valid, repeats); MrgSort(dst, lists, info); "
        "uint16_t taken[4] = {0, 0, 0, 0}; "
        "if (suspend) { GetMrgSortResult(taken[0], taken[1], taken[2], taken[3]); } "
        "LocalTensor<uint16_t> out = dst.template ReinterpretCast<uint16_t>(); "
        "for (int i = 0; i < 4; ++i) { out.SetValue(12284 + i, taken[i]); }",
        f"{_lengths}, bool suspend, uint32_t valid, uint32_t repeats",
    )
    add(
        KERNELS,
        f"merge_counted_{_type}",
        _merge,
        f"{_lists} uint32_t taken[4] = {{0, 0, 0, 0}}; "
        f"MrgSort<{_type}, true>(dst, lists, lengths, taken, 15, 1); "
        "LocalTensor<uint16_t> out = dst.template ReinterpretCast<uint16_t>(); "
        "for (int i = 0; i < 4; ++i) { out.SetValue(12284 + i, (uint16_t)taken[i]); }",
        _lengths,
    )
    add(
        KERNELS,
        f"sort_all_{_type}",
        _sort,
        f"LocalTensor<{_type}> tmp = temp.template ReinterpretCast<{_type}>(); "
        f"LocalTensor<{_type}> joined; Concat(joined, src0, tmp, repeats); "
        f"Sort<{_type}, true>(dst, joined, src1, tmp, repeats); PipeBarrier<PIPE_V>(); "
        f"LocalTensor<{_type}> scores = src0; Extract(scores, src1, dst, repeats); PipeBarrier<PIPE_V>(); "
        f"DataCopy(dst, scores, 32 * repeats); "
        f"DataCopy(dst[GetSortOffset<{_type}>(1536)].template ReinterpretCast<uint32_t>(), src1, 32 * repeats);",
        "int32_t repeats",
    )


def scores(cpp: str, seed: int, distinct: int) -> Any:
    """Random scores with many ties."""
    rng = np.random.default_rng(seed)
    count = BYTES // np.dtype(TYPES[cpp]).itemsize
    return rng.integers(-distinct, distinct + 1, count).astype(TYPES[cpp])


def paired(score: Any, index: Any) -> Any:
    """(score, index) pairs as they lie in UB: 8 bytes each."""
    words = np.zeros((score.size, 2), np.uint32)
    words[:, 0] = score.view(f"u{score.itemsize}")
    words[:, 1] = index
    return words.reshape(-1).view(np.uint8)


def descending(score: Any) -> Any:
    return np.argsort(-score.astype(np.float64), kind="stable")


@pytest.mark.parametrize("cpp", TYPES)
@SLOW
@given(repeats=st.integers(0, 96), seed=st.integers(0, 99), distinct=st.sampled_from([3, 1000]))
def test_sort32(cpp: str, repeats: int, seed: int, distinct: int) -> None:
    a, index = scores(cpp, seed, distinct), bit_pattern(np.uint32, seed)
    dst = bit_pattern(TYPES[cpp], 1)
    expected = dst.copy().view(np.uint8)
    for r in range(repeats):
        part = slice(r * 32, r * 32 + 32)
        order = descending(a[part])
        expected[r * 256 : r * 256 + 256] = paired(a[part][order], index[part][order])
    KERNELS.run(f"sort32_{cpp}", dst, a, index, repeats)
    np.testing.assert_array_equal(dst.view(np.uint8), expected)


def sorted_lists(cpp: str, starts: list[int], lengths: list[int], seed: int) -> tuple[Any, Any]:
    """UB bytes with a sorted list at each start, and the scores of every pair."""
    a = scores(cpp, seed, 20)[:PAIRS]
    for start, length in zip(starts, lengths, strict=True):
        part = slice(start, start + length)
        a[part] = a[part][descending(a[part])]
    return paired(a, np.arange(PAIRS, dtype=np.uint32)), a


@pytest.mark.parametrize("cpp", TYPES)
@SLOW
@given(data=st.data())
def test_merge(cpp: str, data: st.DataObject) -> None:
    valid = data.draw(st.integers(2, 4))
    lengths = [data.draw(st.integers(0, 300)) for _ in range(valid)]
    suspend = data.draw(st.booleans())
    starts = [i * 400 for i in range(4)]
    memory, a = sorted_lists(cpp, starts[:valid], lengths, data.draw(st.integers(0, 99)))
    lists = [list(range(s, s + n)) for s, n in zip(starts, lengths, strict=False)]
    merged: list[int] = []
    while any(lists) and not (suspend and not all(lists)):
        best = max((part for part in lists if part), key=lambda part: a[part[0]])
        merged.append(best.pop(0))
    taken = [n - len(part) for n, part in zip(lengths, lists, strict=True)] if suspend else []
    dst = bit_pattern(np.uint8, 2)
    expected = dst.copy()
    expected[: 8 * len(merged)] = memory.reshape(-1, 8)[merged].reshape(-1)
    expected.view(np.uint16)[12284:] = taken + [0] * (4 - len(taken))
    padded = lengths + [0] * (4 - valid)
    KERNELS.run(f"merge_{cpp}", dst, memory, memory, *starts, *padded, suspend, (1 << valid) - 1, 1)
    np.testing.assert_array_equal(dst, expected)
    if suspend and valid == 4:
        again = bit_pattern(np.uint8, 2)
        KERNELS.run(f"merge_counted_{cpp}", again, memory, memory, *starts, *padded)
        np.testing.assert_array_equal(again, expected)


@pytest.mark.parametrize("cpp", TYPES)
@pytest.mark.parametrize("repeats", [0, 1, 3])
def test_merge_repeats(cpp: str, repeats: int) -> None:
    length = 60
    starts = [i * length for i in range(4 * repeats)]
    memory, a = sorted_lists(cpp, starts, [length] * len(starts), 5)
    dst = bit_pattern(np.uint8, 3)
    expected = dst.copy()
    for r in range(repeats):
        part = np.arange(r * 4 * length, (r + 1) * 4 * length)
        expected[r * 32 * length :][: 32 * length] = memory.reshape(-1, 8)[
            part[descending(a[part])]
        ].reshape(-1)
    expected.view(np.uint16)[12284:] = 0
    first = [i * length for i in range(4)]
    KERNELS.run(f"merge_{cpp}", dst, memory, memory, *first, *[length] * 4, False, 15, repeats)
    np.testing.assert_array_equal(dst, expected)


@pytest.mark.parametrize("cpp", TYPES)
@SLOW
@given(repeats=st.integers(1, 48), seed=st.integers(0, 99))
def test_sort_everything(cpp: str, repeats: int, seed: int) -> None:
    a = scores(cpp, seed, 50)
    index = np.arange(BYTES // 4, dtype=np.uint32)
    count = 32 * repeats
    order = descending(a[:count])
    dst = np.zeros(BYTES, np.uint8)
    KERNELS.run(f"sort_all_{cpp}", dst, a.copy(), index.copy(), repeats)
    np.testing.assert_array_equal(dst.view(TYPES[cpp])[:count], a[:count][order])
    np.testing.assert_array_equal(dst.view(np.uint32)[3072:][:count], index[:count][order])


ERRORS = KernelSet()
UB = (
    "TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 196608); "
    "LocalTensor<float> x = buffer.Get<float>(); LocalTensor<uint32_t> t = buffer.Get<uint32_t>(); "
    "MrgSortSrcList<float> lists(x[1024], x[1088], x[1152], x[1216]); MrgSort4Info info; "
    "info.validBit = 15; for (int i = 0; i < 4; ++i) { info.elementLengths[i] = 32; } "
)
CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("repeat", "Sort32(x, x[1024], t, value);", "bad-argument", ("Sort32: repeatTime is 256", "0..255")),
    ("sort_odd", "Sort32(x[1], x[1024], t, 1);", "misaligned", ("Sort32: dst",)),
    ("sort_end", "Sort32(x[49152 - 32], x[1024], t, 1);", "out-of-bounds", ("Sort32: dst",)),
    ("length", "info.elementLengths[2] = 4096; MrgSort(x, lists, info);", "bad-argument", ("elementLengths is 4096", "0..4095")),
    ("valid", "info.validBit = 5; MrgSort(x, lists, info);", "bad-argument", ("validBit is 5", "3, 7 or 15")),
    ("overlap", "MrgSort(x[1024], lists, info);", "operand-overlap", ("as dst and reads", "which must share no byte")),
    ("repeats", "info.repeatTimes = 2; lists.src3 = x[2048]; MrgSort(x, lists, info);", "bad-argument", ("four contiguous lists",)),
    ("suspended", "info.repeatTimes = 2; info.ifExhaustedSuspension = true; MrgSort(x, lists, info);", "bad-argument", ("no suspension",)),
    ("list_odd", "lists.src2 = x[1089]; MrgSort(x, lists, info);", "misaligned", ("MrgSort: src2", "multiple of 8")),
    ("list_end", "lists.src4 = x[49152 - 62]; MrgSort(x, lists, info);", "out-of-bounds", ("MrgSort: src4",)),
    ("no_counts", "uint16_t a, b, c, d2; Duplicate(x, 1.0f, 2048); MrgSort(x, lists, info); GetMrgSortResult(a, b, c, d2);", "bad-argument", ("GetMrgSortResult", "ifExhaustedSuspension")),
]  # fmt: skip
test_limits = limit_tests(
    ERRORS, CASES, "GM_ADDR d, int32_t value", lambda statement: f"{UB} (void)t; {statement}", 256
)


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
    ERRORS.vendor_check()
