"""Vector APIs and data types that A2 and A3 do not have are errors of the compiler that say so."""

from __future__ import annotations

import subprocess

import pytest
from kernel_set import builder

BODY = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void kernel(GM_ADDR d)
{{
    TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 1024);
    LocalTensor<float> x = buffer.Get<float>(); LocalTensor<half> h = buffer.Get<half>();
    LocalTensor<uint32_t> u = buffer.Get<uint32_t>(); LocalTensor<int8_t> b = buffer.Get<int8_t>();
    LocalTensor<int32_t> w = buffer.Get<int32_t>(); LocalTensor<int64_t> l = buffer.Get<int64_t>();
    LocalTensor<bfloat16_t> f = buffer.Get<bfloat16_t>(); LocalTensor<uint64_t> t = buffer.Get<uint64_t>();
    uint64_t n = 0; int32_t i = 0; MrgSortSrcList<float> lists; MrgSort4Info info;
    (void)n; (void)i;
    {}
}}
"""
CHIP = "does not exist on Ascend 910B / A3"
CASES = {
    "Scatter(x, x, u, (uint32_t)0, (uint32_t)64);": CHIP,
    "Scatter(x, x, u, (uint32_t)0, (uint64_t)64, (uint8_t)1, (uint8_t)8);": CHIP,
    "VectorPadding(x, x, (uint8_t)0, false, (uint32_t)64);": CHIP,
    "MrgSort4(x, lists, info);": CHIP,
    "RpSort16(x, x, 1);": CHIP,
    "ProposalConcat(x, x, 1, 0);": CHIP,
    "ProposalExtract(x, x, 1, 0);": CHIP,
    "Truncate<float, RoundMode::CAST_FLOOR>(x, x, (uint32_t)64);": CHIP,
    "float v = 0; GetReduceMaxMinCount(v);": CHIP,
    "float v = 0; GetReduceRepeatMaxMinSpr(v);": CHIP,
    "Gather(b, b, u, 0, (uint32_t)64);": "Gather: 16- and 32-bit types only",
    "Gatherb(x, x, u, 1, {1, 8});": "Gatherb: uint16 and uint32 only",
    "GatherMask(b, b, (uint8_t)1, false, 0, {1, 1, 8, 0}, n);": "GatherMask: 16- and 32-bit types only",
    "GatherMask(h, h, u, false, 0, {1, 1, 8, 0}, n);": "GatherMask: src1Pattern is a uint16 tensor",
    "Sort32(w, w, u, 1);": "Sort32: half and float only",
    "Transpose(x, x);": "Transpose: int16, uint16 and half only",
    "Transpose(f, f);": "Transpose: int16, uint16 and half only",
    "CreateVecIndex(u, (uint32_t)0, (uint32_t)64);": "CreateVecIndex: int16, half, int32 and float only",
    "ReduceSum(w, w, w, 64);": "ReduceSum: half and float only",
    "ReduceMax(f, f, f, 64);": "ReduceMax: half and float only",
    "ReduceRepeat<ReduceType::NONE>(x, x, 64, 1, 1, 1, 8);": "ReduceType::SUM, MAX or MIN",
    "ReduceRepeat<ReduceType::SUM>(x, h, 64, 1, 1, 1, 8);": "the same for dst and src",
    "ReducePairElem<ReduceType::MAX>(x, x, 64, 1, 1, 1, 8);": "ReducePairElem: ReduceType::SUM only",
    "AddReluCast(b, x, x, (uint32_t)64);": "this conversion does not exist on 910B",
    "MulCast(h, x, x, (uint32_t)64);": "this conversion does not exist on 910B",
    "CastDeq(b, w, (uint32_t)64);": "CastDeq: int32 to half, int16 to int8 or uint8 only",
    "AddDeqRelu(x, w, w, 64);": "AddDeqRelu: int32 to half only",
    "SetDeqScale(u, VdeqInfo());": "SetDeqScale: the table is a uint64 tensor",
    "Select(w, b, w, w, SELMODE::VSEL_TENSOR_TENSOR_MODE, (uint32_t)64);": "Select: half and float only",
    "SetAtomicType<uint32_t>();": "SetAtomicType: int8, int16, half, bfloat16, int32 or float",
}


@pytest.mark.parametrize("statement", CASES)
def test_compiler_error(statement: str) -> None:
    flags = [f for f in builder().kernel_flags() if f not in ("-O2", "-Werror")]
    command = [builder().find_compiler(), *flags, "-fsyntax-only", "-x", "c++", "-"]
    result = subprocess.run(
        command, input=BODY.format(statement), capture_output=True, text=True, check=False
    )
    assert result.returncode != 0
    assert CASES[statement] in result.stderr, result.stderr[:2000]


def test_the_frame_of_these_tests_compiles() -> None:
    flags = [f for f in builder().kernel_flags() if f != "-O2"]
    command = [builder().find_compiler(), *flags, "-fsyntax-only", "-x", "c++", "-"]
    result = subprocess.run(
        command, input=BODY.format(";"), capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
