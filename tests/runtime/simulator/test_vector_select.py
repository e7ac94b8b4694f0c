"""Compare and Select in every mode and form against NumPy, and the compare mask register."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet
from limits import limit_tests
from vector_kernels import BYTES, PRELUDE, add, bit_pattern, signed
from vector_model import Strides, apply, mask_bits, positions

KERNELS = KernelSet(PRELUDE)
NAMES = KernelSet(PRELUDE)  # as CANN 9.x calls them
TYPES: dict[str, Any] = {"half": np.float16, "float": np.float32}
SLOW = settings(max_examples=examples(25))
MODES = {
    "LT": np.less, "GT": np.greater, "EQ": np.equal, "LE": np.less_equal, "GE": np.greater_equal,
    "NE": lambda a, b: (a < b) | (a > b),
}  # fmt: skip
BITS = "uint64_t mask[2] = {(uint64_t)low, (uint64_t)high}; "
LANES = {
    "mask": ("int32_t mask", "(uint64_t)mask", ""),
    "bits": ("int64_t low, int64_t high", "mask", BITS),
}
STRIDES = "int32_t repeats, int32_t dst_rep, int32_t src0_rep, int32_t src1_rep, int32_t block"
PARAMS = (
    "BinaryRepeatParams p; p.dstBlkStride = block; p.src0BlkStride = 1; p.src1BlkStride = block; "
    "p.dstRepStride = dst_rep; p.src0RepStride = src0_rep; p.src1RepStride = src1_rep; "
)

for _type in TYPES:
    _types, _packed = f"{_type}, {_type}, {_type}", f"uint8_t, {_type}, {_type}"
    for _mode in MODES:
        add(
            KERNELS,
            f"compare_{_mode}_{_type}",
            _packed,
            f"{PARAMS} Compare(dst, src0, src1, CMPMODE::{_mode}, (uint64_t)3, repeats, p);",
            STRIDES,
        )
        for _api, _set in (("CompareScalar", KERNELS), ("Compares", NAMES)):
            add(
                _set,
                f"{_api}_{_mode}_{_type}",
                _packed,
                f"UnaryRepeatParams p; p.srcBlkStride = block; p.srcRepStride = src0_rep; uint64_t all[2] = {{1, 0}}; "
                f"{_api}(dst, src0, ({_type})0.5f, CMPMODE::{_mode}, all, repeats, p); "
                f"{_api}(dst[2048], src0, ({_type})0.5f, CMPMODE::{_mode}, (uint64_t)1, repeats, p); "
                f"{_api}(dst[4096], src0, ({_type})0.5f, CMPMODE::{_mode}, (uint32_t)1024);",
                "int32_t repeats, int32_t src0_rep, int32_t block",
            )
        for _form, (_parameters, _mask, _setup) in LANES.items():
            add(
                KERNELS,
                f"register_{_mode}_{_form}_{_type}",
                _packed,
                "SetFlag<HardEvent::S_V>(2); WaitFlag<HardEvent::S_V>(2); SetCmpMask(dst[64]); PipeBarrier<PIPE_V>(); "
                f"{_setup} Compare(src0, src1, CMPMODE::{_mode}, {_mask}, {{1, 1, 1, 8, 8, 8}}); "
                "PipeBarrier<PIPE_V>(); GetCmpMask(dst);",
                _parameters,
            )
    _halves = f"LocalTensor<uint8_t> bits = temp; DataCopy(bits, src0[{BYTES // 2} / sizeof({_type})].template ReinterpretCast<uint8_t>(), 1024); PipeBarrier<PIPE_V>(); "
    for _number, _mode in enumerate(
        ("VSEL_CMPMASK_SPR", "VSEL_TENSOR_SCALAR_MODE", "VSEL_TENSOR_TENSOR_MODE")
    ):
        _other = f"({_type})2.5f" if _number == 1 else "src1"
        add(
            KERNELS,
            f"select{_number}_count_{_type}",
            _types,
            f"{_halves} Select(dst, bits, src0, {_other}, SELMODE::{_mode}, (uint32_t)count);",
            "int32_t count",
        )
        for _form, (_parameters, _mask, _setup) in LANES.items():
            add(
                KERNELS,
                f"select{_number}_{_form}_{_type}",
                _types,
                f"{_halves} {PARAMS} {_setup} "
                f"Select(dst, bits, src0, {_other}, SELMODE::{_mode}, {_mask}, repeats, p);",
                f"{_parameters}, {STRIDES}",
            )
    _register = f"{_halves} {PARAMS} "
    _lanes = f"SetVectorMask<{_type}>((uint64_t)high, (uint64_t)low); "
    add(
        KERNELS,
        f"preset0_{_type}",
        _types,
        f"{_register} SetCmpMask(bits); PipeBarrier<PIPE_V>(); {_lanes} "
        f"Select<{_type}, SELMODE::VSEL_CMPMASK_SPR>(dst, src0, src1, repeats, p);",
        f"int64_t low, int64_t high, {STRIDES}",
    )
    add(
        KERNELS,
        f"preset1_{_type}",
        _types,
        f"{_register} LocalTensor<{_type}> number = temp[8192].template ReinterpretCast<{_type}>(); "
        f"Duplicate(number, ({_type})2.5f, (uint64_t)32, 1, 1, 8); PipeBarrier<PIPE_V>(); SetCmpMask(number); "
        f"PipeBarrier<PIPE_V>(); {_lanes} Select(dst, bits, src0, repeats, p);",
        f"int64_t low, int64_t high, {STRIDES}",
    )
    add(
        KERNELS,
        f"preset2_{_type}",
        _types,
        f"{_register} LocalTensor<uint32_t> place = temp[8192].template ReinterpretCast<uint32_t>(); "
        "uint32_t address = (uint32_t)(uint64_t)bits.GetPhyAddr(); "
        "Duplicate(place, address, (uint64_t)32, 1, 1, 8); PipeBarrier<PIPE_V>(); SetCmpMask(place); "
        f"PipeBarrier<PIPE_V>(); {_lanes} "
        f"Select<{_type}, SELMODE::VSEL_TENSOR_TENSOR_MODE>(dst, src0, src1, repeats, p);",
        f"int64_t low, int64_t high, {STRIDES}",
    )
add(
    KERNELS,
    "compare_int",
    "uint8_t, int32_t, int32_t",
    "Compare(dst, src0, src1, CMPMODE::EQ, 384); CompareScalar(dst[2048], src0, (int32_t)2, CMPMODE::EQ, 384);",
)
# Select uses the end of UB as temporary space: what a kernel keeps there is lost.
KERNELS.add(
    "reserved",
    "GM_ADDR d",
    "TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 196608); "
    "LocalTensor<float> x = buffer.Get<float>(); GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)d); "
    "Duplicate(x, 0.0f, 2048); Duplicate(x[47104], 7.0f, 64); PipeBarrier<PIPE_V>(); "
    "Select(x[1024], x.ReinterpretCast<uint8_t>(), x, 3.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, (uint32_t)64); "
    "SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); DataCopy(g, x[47104], 64);",
)


def values(cpp: str, seed: int) -> Any:
    """Few distinct numbers, so that many are equal, and some NaN and infinities."""
    rng = np.random.default_rng(seed)
    count = BYTES // np.dtype(TYPES[cpp]).itemsize
    table = np.array([-1, -0.0, 0, 0.5, 1, 2, np.nan, np.inf, -np.inf])
    return table[rng.integers(0, table.size, count)].astype(TYPES[cpp])


def picked(a: Any, strides: Strides, repeats: int) -> Any:
    lanes = 256 // a.itemsize
    if repeats == 0:
        return a[:0]
    return np.concatenate(
        [a[positions(strides, a.itemsize, lanes, repeat)] for repeat in range(repeats)]
    )


def packed(bits: Any) -> Any:
    return np.packbits(bits, bitorder="little")


@pytest.mark.parametrize("cpp", TYPES)
@pytest.mark.parametrize("mode", MODES)
@SLOW
@given(data=st.data())
def test_compare(cpp: str, mode: str, data: st.DataObject) -> None:
    a, b = values(cpp, 1), values(cpp, 2)
    repeats, block = data.draw(st.integers(0, 6)), data.draw(st.integers(1, 2))
    reps = [data.draw(st.integers(0, 20)) for _ in range(2)]
    with np.errstate(invalid="ignore"):
        bits = MODES[mode](
            picked(a, Strides(1, reps[0]), repeats), picked(b, Strides(block, reps[1]), repeats)
        )
        scalar = MODES[mode](picked(a, Strides(block, reps[0]), repeats), a.dtype.type(0.5))
        counted = MODES[mode](a[:1024], a.dtype.type(0.5))
    dst, expected = bit_pattern(np.uint8, 3), bit_pattern(np.uint8, 3)
    expected[: bits.size // 8] = packed(bits)
    KERNELS.run(f"compare_{mode}_{cpp}", dst, a, b, repeats, 1, *reps, block)
    np.testing.assert_array_equal(dst, expected)
    expected = bit_pattern(np.uint8, 3)
    for at in (0, 2048):
        expected[at : at + scalar.size // 8] = packed(scalar)
    expected[4096 : 4096 + 128] = packed(counted)
    for name, kernels in (("CompareScalar", KERNELS), ("Compares", NAMES)):
        dst = bit_pattern(np.uint8, 3)
        kernels.run(f"{name}_{mode}_{cpp}", dst, a, b, repeats, reps[0], block)
        np.testing.assert_array_equal(dst, expected)


@pytest.mark.parametrize("cpp", TYPES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", LANES)
def test_compare_into_the_register(cpp: str, mode: str, form: str) -> None:
    a, b = values(cpp, 4), values(cpp, 5)
    lanes = 256 // a.itemsize
    mask: Any = lanes - 5 if form == "mask" else (0x5A5A_0F0F_FFFF_0001, 3 if lanes == 128 else 0)
    dst = bit_pattern(np.uint8, 6)
    expected = dst.copy()
    before = np.unpackbits(dst[64:80], bitorder="little").astype(bool)
    with np.errstate(invalid="ignore"):
        bits = MODES[mode](a[:lanes], b[:lanes])
    active = np.array(mask_bits(mask, lanes))
    before[:lanes][active] = bits[active]
    expected[:16] = packed(before)
    words = (mask,) if form == "mask" else (signed(mask[0]), signed(mask[1]))
    KERNELS.run(f"register_{mode}_{form}_{cpp}", dst, a, b, *words)
    np.testing.assert_array_equal(dst, expected)


def test_compare_integers() -> None:
    rng = np.random.default_rng(7)
    a, b = (rng.integers(0, 4, BYTES // 4).astype(np.int32) for _ in range(2))
    dst = np.zeros(BYTES, np.uint8)
    KERNELS.run("compare_int", dst, a, b)
    np.testing.assert_array_equal(dst[:48], packed(a[:384] == b[:384]))
    np.testing.assert_array_equal(dst[2048 : 2048 + 48], packed(a[:384] == 2))


def selection(a: Any, mode: int) -> Any:
    """Bits the kernels select by: the second half of src0; of mode 0, the first repeat's again and again."""
    lanes = 256 // a.itemsize
    bits = np.unpackbits(a.view(np.uint8)[BYTES // 2 :][:1024], bitorder="little").astype(bool)
    return np.tile(bits[:lanes], 8192 // lanes) if mode == 0 else bits


@pytest.mark.parametrize("cpp", TYPES)
@pytest.mark.parametrize("mode", [0, 1, 2])
@SLOW
@given(data=st.data())
def test_select(cpp: str, mode: int, data: st.DataObject) -> None:
    a, b = bit_pattern(TYPES[cpp], 1), bit_pattern(TYPES[cpp], 2)
    word = f"u{a.itemsize}"
    if mode == 1:
        b[:] = 2.5
    bits = selection(a, mode)
    dst = bit_pattern(TYPES[cpp], 3)
    expected = dst.copy()
    form = data.draw(st.sampled_from(["count", "mask", "bits", "preset"]))
    lanes = 256 // a.itemsize
    if form == "count":
        count = data.draw(st.integers(0, 3000))
        chosen = np.where(bits[:count], a.view(word)[:count], b.view(word)[:count])
        expected.view(word)[:count] = chosen
        KERNELS.run(f"select{mode}_count_{cpp}", dst, a, b, count)
    else:
        low = data.draw(st.integers(0, 2**64 - 1))
        high = data.draw(st.integers(0, 2**64 - 1)) if lanes == 128 else 0
        mask: Any = data.draw(st.integers(0, lanes)) if form == "mask" else (low, high)
        repeats, block = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 2))
        reps = [data.draw(st.integers(0, 20)) for _ in range(3)]
        strides = [Strides(block, reps[0]), Strides(1, reps[1]), Strides(block, reps[2])]
        if mode == 1:
            strides[2] = Strides(0, 0)
        active = mask_bits(mask, lanes)
        turn = iter(range(repeats))

        def choose(old: Any, x: Any, y: Any) -> Any:
            at = next(turn) * lanes
            return np.where(bits[at : at + lanes][active], x, y)

        apply(
            choose,
            expected.view(word),
            [a.view(word), b.view(word)],
            mask,
            repeats,
            strides,
        )
        words = (mask,) if form == "mask" else (signed(low), signed(high))
        name = f"preset{mode}_{cpp}" if form == "preset" else f"select{mode}_{form}_{cpp}"
        KERNELS.run(name, dst, a, b, *words, repeats, *reps, block)
    np.testing.assert_array_equal(dst.view(word), expected.view(word))


def test_select_uses_the_end_of_ub() -> None:
    out = np.zeros(64, np.float32)
    KERNELS.run("reserved", out)
    np.testing.assert_array_equal(out, [3.0] * 32 + [7.0] * 32)


ERRORS = KernelSet()
UB = (
    "TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 196608); "
    "LocalTensor<float> x = buffer.Get<float>(); LocalTensor<uint8_t> b = buffer.Get<uint8_t>(); "
    "Duplicate(x, 1.0f, 4096); "
)
CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("bits_odd", "Select(x, b[16], x, x, SELMODE::VSEL_TENSOR_TENSOR_MODE, (uint32_t)64);", "misaligned", ("Select: selMask", "32")),
    ("bits_end", "Select(x, b[196608 - 32], x, x, SELMODE::VSEL_TENSOR_TENSOR_MODE, (uint32_t)512);", "out-of-bounds", ("Select: selMask",)),
    ("scalar_mode", "Select(x, b, x, x, SELMODE::VSEL_TENSOR_SCALAR_MODE, (uint32_t)64);", "bad-argument", ("takes a scalar src1",)),
    ("no_address", "SetCmpMask(b); Select<float, SELMODE::VSEL_TENSOR_TENSOR_MODE>(x, x, x, 1, {1, 1, 1, 8, 8, 8});", "out-of-bounds", ("compare mask register holds 0x3f800000", "SetCmpMask")),
    ("register_odd", "SetCmpMask(b[8]);", "misaligned", ("SetCmpMask: src", "16")),
    ("register_end", "GetCmpMask(b[196608 - 8]);", "out-of-bounds", ("GetCmpMask: dst",)),
    ("compare_mode", "Compare(b, x.ReinterpretCast<int32_t>(), x.ReinterpretCast<int32_t>(), CMPMODE::LT, (uint64_t)64, 1, {1, 1, 1, 8, 8, 8});", "bad-argument", ("int32 supports CMPMODE::EQ only",)),
]  # fmt: skip
test_limits = limit_tests(
    ERRORS, CASES, "GM_ADDR d", lambda statement: f"{UB} (void)b; {statement}"
)


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
    ERRORS.vendor_check()
