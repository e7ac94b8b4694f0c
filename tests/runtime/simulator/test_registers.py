"""Registers that keep what a kernel sets: those it leaves set at its end, and those it relies on without setting
them. Each finding has a twin that differs by the mend only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet

DEVICE, STRICT = 1, 2
KERNELS = KernelSet()
VECTOR = """
TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 4096);
LocalTensor<float> x = buffer.Get<float>(); LocalTensor<int32_t> n = buffer.Get<int32_t>();
LocalTensor<half> h = buffer.Get<half>()[1024];
GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)d);
Duplicate(x, 1.0f, 1024); PipeBarrier<PIPE_ALL>();
"""
# Without a TPipe nothing gives the registers their values.
TENSOR = "LocalTensor<float> x(TPosition::VECCALC, 0, 1024);"
FILL = "Duplicate<float, false>(x, 1.0f, MASK_PLACEHOLDER, 1, 1, 8);"
CUBE = """
TPipe pipe; TBuf<TPosition::A1> l1; TBuf<TPosition::CO1> l0c; pipe.InitBuffer(l1, 4096); pipe.InitBuffer(l0c, 4096);
LocalTensor<float> c = l0c.Get<float>();
TBuf<TPosition::A2> l0a; TBuf<TPosition::B2> l0b; pipe.InitBuffer(l0a, 4096); pipe.InitBuffer(l0b, 4096);
LocalTensor<half> a = l0a.Get<half>(), b = l0b.Get<half>();
GlobalTensor<half> g; g.SetGlobalBuffer((__gm__ half*)d);
GlobalTensor<float> f; f.SetGlobalBuffer((__gm__ float*)d);
InitConstValue(a, {1, 1, 0, half(1.0f)}); InitConstValue(b, {1, 1, 0, half(1.0f)}); PipeBarrier<PIPE_ALL>();
Mmad(c, a, b, MmadParams(16, 16, 16, 0, false, true)); PipeBarrier<PIPE_ALL>();
"""
LEFT, UNSET = "register-left-set", "register-not-set"
ADD = "Add<float, false>(x, x, x, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8}); PipeBarrier<PIPE_V>();"
STORE = "DataCopy(g, x, 64);"
FIXPIPE = "DataCopyCO12DstParams p(16, 16, 16, 16, {quant}, 0, 0, {nd});"
AIV, AIC = "KERNEL_TYPE_AIV_ONLY", "KERNEL_TYPE_AIC_ONLY"


@dataclass(frozen=True)
class Case:
    """`wrong` holds one line, marked by //!, that the finding names; `right` is the twin."""

    kind: str
    setup: str
    wrong: str
    right: str
    words: str
    hint: str
    core: str = AIV


CASES = {
    "mask": Case(
        LEFT, VECTOR, f"SetVectorMask<float>(32); //!\n{ADD}", f"SetVectorMask<float>(32);\n{ADD}\nResetMask();",
        "this mask is still in the mask register", "call ResetMask() after",
    ),
    "mask_of_bits": Case(
        LEFT, VECTOR, f"SetVectorMask<float>(0, 0xff); //!\n{ADD}", f"SetVectorMask<float>(0, 0xff);\n{ADD}\nResetMask();",
        "this mask is still in the mask register", "call ResetMask() after",
    ),
    "second_mask": Case(
        LEFT, VECTOR, f"SetVectorMask<float>(16);\n{ADD}\nSetVectorMask<float>(32); //!\n{ADD}",
        f"SetVectorMask<float>(16);\n{ADD}\nSetVectorMask<float>(32);\n{ADD}\nResetMask();",
        "this mask is still in the mask register", "call ResetMask() after",
    ),
    "counter_mode": Case(
        LEFT, VECTOR, f"SetMaskCount(); //!\nSetVectorMask<float, MaskMode::COUNTER>(100);\n{ADD}\nResetMask();",
        f"SetMaskCount();\nSetVectorMask<float, MaskMode::COUNTER>(100);\n{ADD}\nSetMaskNorm();\nResetMask();",
        "the mask is still in counter mode", "call SetMaskNorm() after",
    ),
    "atomic_add": Case(
        LEFT, VECTOR, f"SetAtomicAdd<float>(); //!\n{STORE}", f"SetAtomicAdd<float>();\n{STORE}\nSetAtomicNone();",
        "SetAtomicAdd: the core is still in atomic mode", "call SetAtomicNone() after",
    ),
    "atomic_max": Case(
        LEFT, VECTOR, f"SetAtomicMax<float>(); //!\n{STORE}", f"SetAtomicMax<float>();\n{STORE}\nDisableDmaAtomic();",
        "SetAtomicMax: the core is still in atomic mode", "call SetAtomicNone() after",
    ),
    "hf32": Case(
        LEFT, CUBE, "SetHF32Mode(HF32Mode::ENABLE); //!",
        "SetHF32Mode(HF32Mode::ENABLE);\nSetHF32Mode(HF32Mode::DISABLE);",
        "HF32 mode is still on", "call SetHF32Mode(HF32Mode::DISABLE) after", AIC,
    ),
    "hf32_rounding": Case(
        LEFT, CUBE, "SetHF32TransMode(HF32TransMode::NEAREST_ZERO); //!",
        "SetHF32TransMode(HF32TransMode::NEAREST_ZERO);\nSetHF32TransMode(HF32TransMode::NEAREST_EVEN);",
        "HF32 mode still rounds to zero", "call SetHF32TransMode(HF32TransMode::NEAREST_EVEN) after", AIC,
    ),
    "saturation_of_floats": Case(
        LEFT, VECTOR, "SetSaturationFlag<SaturationMode::FLOAT>(true); //!",
        "SetSaturationFlag<SaturationMode::FLOAT>(true);\nSetSaturationFlag<SaturationMode::FLOAT>(false);",
        "SetSaturationFlag: the saturation of half and bfloat16 differs", "call SetSaturationFlag<SaturationMode::FLOAT>(false)",
    ),
    "saturation_of_integers": Case(
        LEFT, VECTOR, "SetSaturationFlag<SaturationMode::INT>(true); //!",
        "SetSaturationFlag<SaturationMode::INT>(true);\nSetSaturationFlag<SaturationMode::INT>(false);",
        "the saturation of integers differs", "call SetSaturationFlag<SaturationMode::INT>(false)",
    ),
    "saturation_of_casts": Case(
        LEFT, VECTOR, "SetSaturationFlag<SaturationMode::CAST>(false); //!",
        "SetSaturationFlag<SaturationMode::CAST>(false);\nSetSaturationFlag<SaturationMode::CAST>(true);",
        "the saturation of casts differs", "call SetSaturationFlag<SaturationMode::CAST>(true)",
    ),
    "mask_of_another_kernel": Case(
        UNSET, f"{TENSOR}SetMaskNorm();", f"{FILL} //!", f"ResetMask();\n{FILL}",
        "Duplicate depends on the lanes in the mask register, which this kernel has not set",
        "call SetVectorMask before this line, or InitSocState() at the start of the kernel",
    ),
    "mode_of_another_kernel": Case(
        UNSET, f"{TENSOR}Duplicate(x, 1.0f, 64, 1, 1, 8); PipeBarrier<PIPE_V>();", f"{ADD} //!", f"SetMaskNorm();\n{ADD}",
        "Add depends on the mode of the mask, which this kernel has not set",
        "call SetMaskNorm or SetMaskCount before this line, or InitSocState() at the start of the kernel",
    ),
    "no_initial_state": Case(
        UNSET, TENSOR, f"{FILL} //!", f"InitSocState();\n{FILL}",
        "Duplicate depends on the mode of the mask", "or InitSocState() at the start of the kernel",
    ),
    "scale_of_a_cast": Case(
        UNSET, VECTOR, "Cast(h, n, RoundMode::CAST_NONE, 64); //!",
        "SetDeqScale(half(1.0f));\nCast(h, n, RoundMode::CAST_NONE, 64);",
        "Cast depends on the scale of SetDeqScale, which this kernel has not set", "call SetDeqScale before this line",
    ),
    "scale_of_a_sum": Case(
        UNSET, VECTOR, "AddDeqRelu(h, n, n[64], 64); //!", "SetDeqScale(half(1.0f));\nAddDeqRelu(h, n, n[64], 64);",
        "AddDeqRelu depends on the scale of SetDeqScale", "call SetDeqScale before this line",
    ),
    "compare_mask": Case(
        UNSET, VECTOR, "Select<float, SELMODE::VSEL_CMPMASK_SPR>(x, x[64], x[128], 1, {1, 1, 1, 8, 8, 8}); //!",
        "Compare(x[64], x[128], CMPMODE::LT, 64, {1, 1, 1, 8, 8, 8}); PipeBarrier<PIPE_V>();\n"
        "Select<float, SELMODE::VSEL_CMPMASK_SPR>(x, x[64], x[128], 1, {1, 1, 1, 8, 8, 8});",
        "Select depends on the compare mask register", "call SetCmpMask, or Compare without a destination, before",
    ),
    "nd_matrices": Case(
        UNSET, CUBE + FIXPIPE.format(quant="QuantMode_t::NoQuant", nd="true"), "DataCopy(f, c, p); //!",
        "SetFixpipeNz2ndFlag(1, 0, 1);\nDataCopy(f, c, p);",
        "depends on the ND matrices of SetFixpipeNz2ndFlag", "call SetFixpipeNz2ndFlag before this line", AIC,
    ),
    "pre_quantization": Case(
        UNSET, CUBE + "GlobalTensor<int8_t> q; q.SetGlobalBuffer((__gm__ int8_t*)d); "
        + FIXPIPE.format(quant="QuantMode_t::QF322B8_PRE", nd="false"), "DataCopy(q, c, p); //!",
        "SetFixpipePreQuantFlag(0x3f800000);\nDataCopy(q, c, p);",
        "depends on the scale of SetFixpipePreQuantFlag", "call SetFixpipePreQuantFlag before this line", AIC,
    ),
}  # fmt: skip
for _name, _case in CASES.items():
    KERNELS.add(f"{_name}_wrong", "GM_ADDR d", f"{_case.setup}\n{_case.wrong}", _case.core)
    KERNELS.add(f"{_name}_right", "GM_ADDR d", f"{_case.setup}\n{_case.right}", _case.core)
# What an API with a mask leaves in the register is not the kernel's doing.
KERNELS.add("mask_of_an_api", "GM_ADDR d", VECTOR + "Add(x, x, x, 32, 1, {1, 1, 1, 8, 8, 8});")
KERNELS.add(
    "mask_of_an_api_last", "GM_ADDR d",
    f"{VECTOR}SetVectorMask<float>(16);\n{ADD}\nAdd(x, x, x, 32, 1, {{1, 1, 1, 8, 8, 8}});",
)  # fmt: skip
KERNELS.add(
    "in_the_pipe_again", "GM_ADDR d", f"{VECTOR}SetAtomicAdd<float>();\n{STORE}\npipe.Reset();"
)


def line_of(name: str) -> int:
    """The line of the kernel that is marked."""
    lines = KERNELS.source().splitlines()
    start = next(i for i, text in enumerate(lines) if f"{name}_wrong(GM_ADDR d)" in text)
    return next(i for i in range(start, len(lines)) if lines[i].endswith("//!")) + 1


def run(name: str, level: int, **options: Any) -> list[Any]:
    return KERNELS.warnings(name, np.zeros(4096, np.float32), checks=level, **options)


@pytest.mark.parametrize("name", CASES)
def test_a_warning_names_the_register_and_the_line(name: str) -> None:
    case = CASES[name]
    (warning,) = run(f"{name}_wrong", DEVICE)
    assert (warning.kind, warning.line) == (case.kind, line_of(name)), warning
    assert case.words in warning.text and case.hint in warning.hint, warning


@pytest.mark.parametrize("name", CASES)
def test_strict_makes_it_an_error(name: str) -> None:
    fault = KERNELS.fault(f"{name}_wrong", np.zeros(4096, np.float32), checks=STRICT)
    assert (fault.kind, fault.line) == (CASES[name].kind, line_of(name)), fault


@pytest.mark.parametrize("level", [DEVICE, STRICT])
@pytest.mark.parametrize("name", CASES)
def test_its_twin_is_clean(name: str, level: int) -> None:
    assert run(f"{name}_right", level) == []


@pytest.mark.parametrize("name", ["mask_of_an_api", "mask_of_an_api_last", "in_the_pipe_again"])
def test_what_the_api_itself_leaves_is_no_finding(name: str) -> None:
    assert run(name, STRICT) == []


@pytest.mark.parametrize("threads", [1, 4])
def test_one_finding_for_all_blocks(threads: int) -> None:
    (warning,) = run("atomic_add_wrong", DEVICE, blocks=4, threads=threads)
    assert (warning.kind, warning.block) == (LEFT, 0)
