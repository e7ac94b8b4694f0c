"""How element-wise vector calls walk UB: random strides, masks, tails, repeats and modes of the mask register."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import KernelSet
from vector_kernels import BYTES, PRELUDE, add, numbers, signed
from vector_model import Strides, apply, mask_bits, positions

KERNELS = KernelSet(PRELUDE)
NAMES = KernelSet(PRELUDE)  # as CANN 9.x calls them
SLOW = settings(max_examples=examples(25))
F16, F32, I16, I32, U16, U32 = np.float16, np.float32, np.int16, np.int32, np.uint16, np.uint32
CPP = {F16: "half", F32: "float", I16: "int16_t", I32: "int32_t", U16: "uint16_t", U32: "uint32_t"}
BITS = "uint64_t mask[2] = {(uint64_t)low, (uint64_t)high}; "
STRIDES = (
    "int32_t dst_block, int32_t block0, int32_t block1, int32_t dst_rep, int32_t rep0, int32_t rep1"
)
BINARY = (
    "BinaryRepeatParams p; p.dstBlkStride = dst_block; p.src0BlkStride = block0; p.src1BlkStride = block1; "
    "p.dstRepStride = dst_rep; p.src0RepStride = rep0; p.src1RepStride = rep1; "
)
UNARY = (
    "UnaryRepeatParams p; p.dstBlkStride = dst_block; p.srcBlkStride = block0; p.dstRepStride = dst_rep; "
    "p.srcRepStride = rep0; "
)
Function = Callable[..., Any]


def rounded(function: Function) -> Function:
    """Computed in double and rounded once; integers wrap."""

    def run(old: Any, *sources: Any) -> Any:
        wide = np.float64 if old.dtype.kind == "f" else np.int64
        with np.errstate(all="ignore"):
            return function(old.astype(wide), *(s.astype(wide) for s in sources)).astype(old.dtype)

    return run


# call with operands and a form to fill in, types of dst and sources, number of sources, model
CASES: list[tuple[str, str, Any, Any, int, Function]] = []
for _type in (F16, F32, I16, I32):
    for _api, _function in (("Add", np.add), ("Sub", np.subtract), ("Max", np.maximum)):
        CASES.append(
            (_api, f"{_api}(dst, src0, src1, {{}});", _type, _type, 2,
             rounded(lambda o, a, b, f=_function: f(a, b)))
        )  # fmt: skip
    CASES.append(
        ("Mins", f"Mins(dst, src0, ({CPP[_type]})1, {{}});", _type, _type, 1,
         rounded(lambda o, a: np.minimum(a, 1)))
    )  # fmt: skip
for _type in (I16, U16):
    CASES.append(("And", "And(dst, src0, src1, {});", _type, _type, 2, lambda o, a, b: a & b))
    CASES.append(("Not", "Not(dst, src0, {});", _type, _type, 1, lambda o, a: ~a))
for _type in (I16, U16, I32, U32):
    CASES.append(
        ("ShiftLeft", f"ShiftLeft(dst, src0, ({CPP[_type]})3, {{}});", _type, _type, 1,
         rounded(lambda o, a: a << 3))
    )  # fmt: skip
for _type in (F16, F32):
    CASES.append(
        ("Axpy", f"Axpy(dst, src0, ({CPP[_type]})0.5f, {{}});", _type, _type, 1,
         rounded(lambda o, a: o + a * 0.5))
    )  # fmt: skip
    CASES.append(
        ("FusedMulAdd", "FusedMulAdd(dst, src0, src1, {});", _type, _type, 2,
         rounded(lambda o, a, b: a * o + b))
    )  # fmt: skip
CASES += [
    ("AxpyMixed", "Axpy(dst, src0, (half)0.5f, {});", F32, F16, 1, rounded(lambda o, a: o + a * 0.5)),
    ("MulAddDstMixed", "MulAddDst(dst, src0, src1, {});", F32, F16, 2, rounded(lambda o, a, b: o + a * b)),
    ("CastUp", "Cast(dst, src0, RoundMode::CAST_NONE, {});", F32, F16, 1, lambda o, a: a.astype(F32)),
    ("CastDown", "Cast(dst, src0, RoundMode::CAST_NONE, {});", F16, F32, 1, lambda o, a: a.astype(F16)),
    ("CastByte", "Cast(dst, src0, RoundMode::CAST_NONE, {});", F16, np.int8, 1, lambda o, a: a.astype(F16)),
    ("CastLong", "Cast(dst, src0, RoundMode::CAST_NONE, {});", np.int64, I32, 1, lambda o, a: a.astype(np.int64)),
]  # fmt: skip
CPP |= {np.int8: "int8_t", np.int64: "int64_t"}


def name_of(case: tuple[str, str, Any, Any, int, Function]) -> str:
    return f"{case[0]}_{CPP[case[2]]}_{CPP[case[3]]}"


for _case in CASES:
    _call, _name = _case[1], name_of(_case)
    _types = f"{CPP[_case[2]]}, {CPP[_case[3]]}, {CPP[_case[3]]}"
    _params = BINARY if _case[4] == 2 else UNARY
    add(KERNELS, f"{_name}_count", _types, _call.format("(int32_t)count"), "int32_t count")
    add(
        KERNELS,
        f"{_name}_mask",
        _types,
        _params + _call.format("(uint64_t)mask, repeats, p"),
        f"int32_t mask, int32_t repeats, {STRIDES}",
    )
    add(
        KERNELS,
        f"{_name}_bits",
        _types,
        _params + BITS + _call.format("mask, repeats, p"),
        f"int64_t low, int64_t high, int32_t repeats, {STRIDES}",
    )


def operand(dtype: Any, seed: int) -> Any:
    return numbers(dtype, seed)


@pytest.mark.parametrize("case", CASES, ids=name_of)
@SLOW
@given(data=st.data())
def test_walk(case: tuple[str, str, Any, Any, int, Function], data: st.DataObject) -> None:
    _, _, dst_type, src_type, sources, function = case
    name = name_of(case)
    old = operand(dst_type, 1)
    a, b = operand(src_type, 2), operand(src_type, 3)
    result, expected = old.copy(), old.copy()
    inputs = [a, b][:sources]
    form = data.draw(st.sampled_from(["count", "mask", "bits"]))
    if form == "count":
        count = data.draw(st.integers(0, min(old.size, a.size)))
        expected[:count] = function(old[:count], *(x[:count] for x in inputs))
        KERNELS.run(f"{name}_count", result, a, b, count)
    else:
        lanes = 256 // max(old.itemsize, a.itemsize)
        low = data.draw(st.integers(0, 2 ** min(lanes, 64) - 1))
        high = data.draw(st.integers(0, 2**64 - 1)) if lanes == 128 else 0
        mask: Any = data.draw(st.integers(0, lanes)) if form == "mask" else (low, high)
        repeats = data.draw(st.integers(0, 8))
        blocks = [data.draw(st.integers(1, 4)), *(data.draw(st.integers(0, 4)) for _ in "01")]
        # Repeats may reuse their sources, but not what an earlier repeat wrote.
        apart = 8 * blocks[0]
        reps = [
            data.draw(st.integers(apart, apart + 20)),
            *(data.draw(st.integers(0, 40)) for _ in "01"),
        ]
        strides = [Strides(x, y) for x, y in zip(blocks, reps, strict=True)]
        apply(function, expected, inputs, mask, repeats, strides[: 1 + sources])
        words = (mask,) if form == "mask" else (signed(low), signed(high))
        KERNELS.run(f"{name}_{form}", result, a, b, *words, repeats, *blocks, *reps)
    if result.dtype.kind == "f":
        ulp = np.spacing(np.abs(expected))
        wide = np.abs(result.astype(np.float64) - expected.astype(np.float64))
        assert ((wide <= ulp) | (result == expected)).all()
    else:
        np.testing.assert_array_equal(result, expected)


# The mask register -------------------------------------------------------------------------------

add(
    KERNELS,
    "counter",
    "half, half, half",
    f"{BINARY} SetMaskCount(); SetVectorMask<half, MaskMode::COUNTER>(0, count); "
    "Add<half, false>(dst, src0, src1, MASK_PLACEHOLDER, 1, p); SetMaskNorm(); ResetMask();",
    f"int32_t count, {STRIDES}",
)
add(
    KERNELS,
    "counter_scalar",
    "float, float, float",
    "SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(count); "
    "Adds<float, false>(dst, src0, 2.0f, 1); PipeBarrier<PIPE_V>(); Muls<float, false>(dst, dst, 3.0f, 1); "
    "SetMaskNorm(); ResetMask();",
    "int32_t count",
)
add(
    KERNELS,
    "preset",
    "float, float, float",
    "SetVectorMask<float>((uint64_t)high, (uint64_t)low); "
    "Mul<float, false>(dst, src0, src1, MASK_PLACEHOLDER, 3, {1, 1, 1, 8, 8, 8}); ResetMask(); "
    "Mul<float, false>(dst[2048], src0, src1, MASK_PLACEHOLDER, 3, {1, 1, 1, 8, 8, 8});",
    "int64_t low, int64_t high",
)
add(
    KERNELS,
    "filled",
    "half, half, half",
    f"{BITS} Duplicate(dst, (half)5.0f, mask, 3, 1, 8); CopyRepeatParams p; p.dstStride = p.srcStride = 1; "
    "p.dstRepeatSize = p.srcRepeatSize = 8; Copy(dst[2048], src0, mask, 3, p);",
    "int64_t low, int64_t high",
)


@SLOW
@given(
    count=st.integers(0, 2000),
    blocks=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    extra=st.integers(0, 9),
)
def test_counter_mode(count: int, blocks: list[int], extra: int) -> None:
    """The number of repeats follows from the count; strides hold as ever."""
    count = min(count, 128 * 20)
    a, b, dst = numbers(F16, 1), numbers(F16, 2), numbers(F16, 3)
    reps = [8 * block + extra for block in blocks]
    expected = dst.copy()
    strides = [Strides(x, y) for x, y in zip(blocks, reps, strict=True)]
    for repeat in range(-(-count // 128)):
        lanes = min(128, count - 128 * repeat)
        at = [positions(s, 2, lanes, repeat) for s in strides]
        expected[at[0]] = (a[at[1]].astype(F32) + b[at[2]]).astype(F16)
    KERNELS.run("counter", dst, a, b, count, *blocks, *reps)
    np.testing.assert_array_equal(dst, expected)


@SLOW
@given(count=st.integers(0, 6144))
def test_counter_mode_with_the_count_form(count: int) -> None:
    a = numbers(F32, 1)
    dst, expected = numbers(F32, 2), numbers(F32, 2)
    expected[:count] = (a[:count] + F32(2)) * F32(3)
    KERNELS.run("counter_scalar", dst, a, a, count)
    np.testing.assert_array_equal(dst, expected)


@SLOW
@given(low=st.integers(0, 2**64 - 1), high=st.integers(0, 2**64 - 1))
def test_preset_masks_and_fills(low: int, high: int) -> None:
    a, b, dst = numbers(F32, 1), numbers(F32, 2), numbers(F32, 3)
    expected = dst.copy()
    active = np.tile(mask_bits((low, 0), 64), 3)
    expected[:192][active] = (a * b)[:192][active]
    expected[2048 : 2048 + 192] = (a * b)[:192]
    KERNELS.run("preset", dst, a, b, signed(low), 0)
    np.testing.assert_array_equal(dst, expected)
    x, filled = numbers(F16, 4), numbers(F16, 5)
    expected = filled.copy()
    active = np.tile(mask_bits((low, high), 128), 3)
    expected[:384][active] = 5
    expected[2048 : 2048 + 384][active] = x[:384][active]
    KERNELS.run("filled", filled, x, x, signed(low), signed(high))
    np.testing.assert_array_equal(filled, expected)


# Names of 9.x, and atomics -----------------------------------------------------------------------

for _type in ("half", "float"):
    for _api, _set in (("FusedMulAddRelu", KERNELS), ("MulAddRelu", NAMES)):
        add(
            _set,
            f"{_api}_{_type}",
            f"{_type}, {_type}, {_type}",
            f"uint64_t bits[2] = {{0x0ff0, 0}}; {_api}(dst, src0, src1, (int32_t)100); "
            f"{_api}(dst[1024], src0, src1, (uint64_t)33, 3, {{1, 1, 1, 8, 8, 8}}); "
            f"{_api}(dst[2048], src0, src1, bits, 3, {{1, 1, 1, 8, 8, 8}});",
        )


@pytest.mark.parametrize(("cpp", "dtype"), [("half", F16), ("float", F32)])
def test_mul_add_relu_under_both_names(cpp: str, dtype: Any) -> None:
    a, b, start = numbers(dtype, 1), numbers(dtype, 2), numbers(dtype, 3)
    old, new = start.copy(), start.copy()
    KERNELS.run(f"FusedMulAddRelu_{cpp}", old, a, b)
    NAMES.run(f"MulAddRelu_{cpp}", new, a, b)
    np.testing.assert_array_equal(old, new)
    assert (old[:100] != start[:100]).any() and (old[100:1024] == start[100:1024]).all()


_STORE = (
    "SetFlag<HardEvent::MTE2_MTE3>(1); WaitFlag<HardEvent::MTE2_MTE3>(1); GlobalTensor<float> g; "
    "g.SetGlobalBuffer((__gm__ float*)b); {} DataCopy(g, src0, 8); PipeBarrier<PIPE_MTE3>(); {}"
)
add(
    KERNELS,
    "atomic_type",
    "float, float, float",
    _STORE.format("SetAtomicAdd<half>(); SetAtomicType<float>();", "SetAtomicNone();"),
)
add(
    NAMES,
    "atomic_off",
    "float, float, float",
    _STORE.format("SetAtomicMax<float>();", "DisableDmaAtomic(); DataCopy(g[8], src0[8], 8);"),
)


def test_atomics() -> None:
    a, dst = numbers(F32, 1), np.zeros(BYTES // 4, F32)
    b = numbers(F32, 2)
    expected = b.copy()
    expected[:8] += a[:8]
    KERNELS.run("atomic_type", dst, a, b)
    np.testing.assert_array_equal(b, expected)
    expected[:8] = np.maximum(expected[:8], a[:8])
    expected[8:16] = a[8:16]
    NAMES.run("atomic_off", dst, a, b)
    np.testing.assert_array_equal(b, expected)


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
