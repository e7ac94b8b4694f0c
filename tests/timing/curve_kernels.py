"""One instruction in a loop, each time the same and with nothing between: kernels for the instruction curves."""

from __future__ import annotations

from timed_kernel_set import TimedKernelSet

KERNELS = TimedKernelSet()
C_TYPES = {
    "f16": "half", "f32": "float", "i16": "int16_t", "i32": "int32_t", "u16": "uint16_t", "u32": "uint32_t",
    "u8": "uint8_t",
}  # fmt: skip
_ARGUMENTS = "int32_t repeats, int32_t times"
# Operands lie a multiple of 512 bytes apart, as buffers do that follow each other: sources share
# their groups of banks.
_VECTOR = """
using T = {source};
using U = {result};
LocalTensor<U> dst(TPosition::VECCALC, 131072, 32768 / sizeof(U));
LocalTensor<T> a(TPosition::VECCALC, 0, 32768 / sizeof(T));
LocalTensor<T> b(TPosition::VECCALC, 65536, 32768 / sizeof(T));
constexpr uint64_t mask = 256 / (sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U));
const UnaryRepeatParams one(1, 1, mask * sizeof(U) / 32, mask * sizeof(T) / 32);
const BinaryRepeatParams two(1, 1, 1, 8, 8, 8);
for (int32_t i = 0; i < times; ++i) {{
    {call};
}}
"""
ONE, TWO, NUMBER = (
    "(dst, a, mask, repeats, one)",
    "(dst, a, b, mask, repeats, two)",
    "(dst, a, T(1), mask, repeats, one)",
)
FLOATS, SHORT, NUMBERS = ("f16", "f32"), ("i16", "u16"), ("f16", "f32", "i16", "i32")
# API, how it is called, and the types of which there are curves.
_CALLS = {
    "abs": ("Abs" + ONE, FLOATS), "reciprocal": ("Reciprocal" + ONE, FLOATS), "sqrt": ("Sqrt" + ONE, FLOATS),
    "not": ("Not" + ONE, SHORT),
    "add": ("Add" + TWO, NUMBERS), "sub": ("Sub" + TWO, NUMBERS), "mul": ("Mul" + TWO, NUMBERS),
    "min": ("Min" + TWO, NUMBERS), "div": ("Div" + TWO, FLOATS),
    "mul_add_dst": ("MulAddDst" + TWO, FLOATS), "fused_mul_add": ("FusedMulAdd" + TWO, FLOATS),
    "adds": ("Adds" + NUMBER, NUMBERS), "muls": ("Muls" + NUMBER, NUMBERS), "maxs": ("Maxs" + NUMBER, NUMBERS),
    "mins": ("Mins" + NUMBER, NUMBERS), "axpy": ("Axpy" + NUMBER, FLOATS), "leaky_relu": ("LeakyRelu" + NUMBER, FLOATS),
    "shift_left": ("ShiftLeft" + NUMBER, ("i16", "i32", "u16", "u32")),
    "duplicate": ("Duplicate(dst, T(1), mask, repeats, 1, 8)", (*NUMBERS, "u16", "u32")),
    "block_sum": ("BlockReduceSum(dst, a, repeats, mask, 1, 1, 8)", FLOATS),
    "block_max": ("BlockReduceMax(dst, a, repeats, mask, 1, 1, 8)", FLOATS),
    "block_min": ("BlockReduceMin(dst, a, repeats, mask, 1, 1, 8)", FLOATS),
    "whole_min": ("WholeReduceMin(dst, a, mask, repeats, 1, 1, 8)", FLOATS),
    "whole_sum": ("WholeReduceSum(dst, a, mask, repeats, 1, 1, 8)", FLOATS),
    "pair_sum": ("PairReduceSum(dst, a, repeats, mask, 1, 1, 8)", FLOATS),
    "dependent_add": ("Add" + TWO + "; PipeBarrier<PIPE_V>()", ("f32",)),
    "copy": ("DataCopy(dst, a, DataCopyParams(1, uint16_t(repeats), 0, 0))", ("f16",)),
}  # fmt: skip
_CASTS = {
    ("f16", "f32"): "CAST_NONE", ("f32", "f16"): "CAST_RINT", ("f16", "i16"): "CAST_RINT", ("f32", "i32"): "CAST_RINT",
    ("i32", "f32"): "CAST_NONE",
}  # fmt: skip


def _add(name: str, source: str, result: str, call: str) -> str:
    text = _VECTOR.format(source=C_TYPES[source], result=C_TYPES[result], call=call)
    return KERNELS.add(name, _ARGUMENTS, text)


# Kernels of vector instructions, by API and types.
VECTOR = {
    (api, kind): _add(f"{api}_{kind}", kind, kind, call)
    for api, (call, kinds) in _CALLS.items()
    for kind in kinds
}
VECTOR |= {
    ("cast", *pair): _add(
        f"cast_{pair[0]}_{pair[1]}", *pair, f"Cast(dst, a, RoundMode::{mode}, mask, repeats, one)"
    )
    for pair, mode in _CASTS.items()
}
VECTOR |= {
    ("compare", kind): _add(
        f"compare_{kind}",
        kind,
        "u8",
        "Compare(dst, a, b, CMPMODE::LT, uint64_t(256 / sizeof(T)), repeats, two)",
    )
    for kind in FLOATS
}

LOAD_L0A = KERNELS.add("load_l0a", _ARGUMENTS, """
LocalTensor<half> l1(TPosition::A1, 0, 32768);
LocalTensor<half> a(TPosition::A2, 0, 32768);
LoadData2DParams p;
p.repeatTimes = repeats;
p.srcStride = 1;
for (int32_t i = 0; i < times; ++i) { LoadData(a, l1, p); }
""", "KERNEL_TYPE_AIC_ONLY")  # fmt: skip
LOAD_TABLE = KERNELS.add("load_table", "int32_t blocks, int32_t times", """
LocalTensor<float> l1(TPosition::C1, 0, 4096);
LocalTensor<float> table(TPosition::C2, 0, 256);
for (int32_t i = 0; i < times; ++i) { DataCopy(table, l1, DataCopyParams(1, blocks, 0, 0)); }
""", "KERNEL_TYPE_AIC_ONLY")  # fmt: skip
MMAD = KERNELS.add("mmad", "int32_t m, int32_t k, int32_t n, int32_t times", """
LocalTensor<half> a(TPosition::A2, 0, 32768);
LocalTensor<half> b(TPosition::B2, 0, 32768);
LocalTensor<float> c(TPosition::CO1, 0, 32768);
MmadParams p;
p.m = m;
p.n = n;
p.k = k;
p.cmatrixInitVal = true;
for (int32_t i = 0; i < times; ++i) { Mmad(c, a, b, p); }
""", "KERNEL_TYPE_AIC_ONLY")  # fmt: skip
