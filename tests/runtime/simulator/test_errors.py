"""Every check stops the kernel with its slug, a text that says what was found and required, and the place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet, launcher

KERNELS = KernelSet()
REJECTED = KernelSet()

VECTOR = """
    TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 196608);
    LocalTensor<float> x = buffer.Get<float>(); LocalTensor<half> h = buffer.Get<half>();
    GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)d);
"""
CUBE = """
    TPipe pipe; TBuf<TPosition::A1> l1; TBuf<TPosition::A2> l0a; TBuf<TPosition::B2> l0b; TBuf<TPosition::CO1> l0c;
    pipe.InitBuffer(l1, 524288); pipe.InitBuffer(l0a, 65536); pipe.InitBuffer(l0b, 65536); pipe.InitBuffer(l0c, 131072);
    LocalTensor<half> a1 = l1.Get<half>(); LocalTensor<half> a2 = l0a.Get<half>(); LocalTensor<half> b2 = l0b.Get<half>();
    LocalTensor<float> c = l0c.Get<float>(); GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)d);
    GlobalTensor<half> gh; gh.SetGlobalBuffer((__gm__ half*)d); MmadParams mp; LoadData2DParams lp; FixpipeParamsV220 fp;
"""
BINARY = "{1, 1, 1, 8, 8, 8}"

# name, statement, slug, words of the text. GM buffer d has 4096 bytes.
VECTOR_CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("ub_end", "Add(x, x, x[49152 - 8], 64);", "out-of-bounds", ("Add: src1", "[196576, 196832) of the UB buffer", "196608")),
    ("ub_write", "Duplicate(x[49152], 1.0f, 8);", "out-of-bounds", ("Duplicate: dst", "UB")),
    ("ub_repeat", f"Add(x[40000], x, x, (uint64_t)64, 200, {BINARY});", "out-of-bounds", ("Add: dst",)),
    ("gm_end", "DataCopy(x, g[1016], 16);", "out-of-bounds", ("DataCopy: src reads bytes [4064, 4128) of GM buffer 'd'", "4096")),
    ("gm_write", "DataCopy(g[1020], x, 8);", "out-of-bounds", ("DataCopy: dst writes bytes", "'d'")),
    ("gm_far", "DataCopy(x, g[1 << 20], 8);", "out-of-bounds", ("bytes [4194304, 4194336) of GM buffer 'd'",)),
    ("gm_null", "g.SetGlobalBuffer((__gm__ float*)nullptr); DataCopy(x, g, 8);", "out-of-bounds", ("lies in no buffer",)),
    ("gm_scalar", "g.GetValue(1024);", "out-of-bounds", ("GetValue", "bytes [4096, 4100) of GM buffer 'd'")),
    ("gm_strided", "DataCopy(x, g, DataCopyParams(4, 1, 45, 0));", "out-of-bounds", ("src reads bytes [0, 4448)",)),
    ("scalar_ub", "x.GetValue(49152);", "out-of-bounds", ("GetValue", "UB")),
    ("buffers", "TBuf<TPosition::VECCALC> more; pipe.InitBuffer(more, 32);", "out-of-bounds", ("TPipe::InitBuffer", "do not fit into UB")),
    ("tbuf_range", "buffer.Get<float>(49153);", "out-of-bounds", ("TBuf::Get", "196608")),
    ("align_vector", "Add(x[1], x, x, 64);", "misaligned", ("Add: dst starts at byte 4 of UB", "multiple of 32")),
    ("align_source", "Exp(x, x[4], 64);", "misaligned", ("Exp: src", "32")),
    ("align_copy", "DataCopy(x[4], g, 8);", "misaligned", ("DataCopy: dst",)),
    ("align_pad", "DataCopyPad(g, x[2], DataCopyExtParams(1, 4, 0, 0, 0));", "misaligned", ("DataCopyPad: src",)),
    ("align_reduce", "WholeReduceMax(h[1], h, 128, 1, 1, 1, 8);", "misaligned", ("WholeReduceMax: dst", "multiple of 4")),
    ("repeat", f"Add(x, x, x, (uint64_t)64, repeat, {BINARY});", "bad-argument", ("Add: repeatTimes is 256", "0..255")),
    ("mask", f"Add(x, x, x, (uint64_t)65, 1, {BINARY});", "bad-argument", ("Add: mask is 65", "0..64")),
    ("mask_bits", f"uint64_t m[2] = {{1, 1}}; Add(x, x, x, m, 1, {BINARY});", "bad-argument", ("mask[] selects lanes beyond the 64",)),
    ("mask_reduce", "WholeReduceSum(h, h, 129, 1, 1, 1, 8);", "bad-argument", ("WholeReduceSum: mask is 129",)),
    ("stride_zero", "Add(x, x, x, (uint64_t)64, 1, {0, 1, 1, 8, 8, 8});", "bad-argument", ("block stride of dst is 0",)),
    ("stride_repeat", "BinaryRepeatParams p; p.src1RepStride = stride; Add(x, x, x, (uint64_t)64, 1, p);", "bad-argument", ("src1 is 256 blocks", "0..255")),
    ("count", "Add(x, x, x, -1);", "bad-argument", ("count is -1",)),
    ("counter", f"SetMaskCount(); Add(x, x, x, (uint64_t)64, 1, {BINARY});", "bad-argument", ("counter mode",)),
    ("event_id", "SetFlag<HardEvent::MTE2_V>(16);", "bad-argument", ("event id is 16", "0..15")),
    ("event_kind", "SetFlag<HardEvent::M_FIX>(0);", "bad-argument", ("event M_FIX does not exist on an AIV",)),
    ("set_twice", "SetFlag<HardEvent::MTE2_V>(1); SetFlag<HardEvent::MTE2_V>(1);", "flag-set-twice", ("MTE2_V id 1 is already set (at ",)),
    ("wait_unset", "WaitFlag<HardEvent::MTE2_V>(2);", "flag-wait-without-set", ("flag MTE2_V id 2 is not set", "SetFlag<HardEvent::MTE2_V>(2)")),
    ("left_set", "SetFlag<HardEvent::MTE3_MTE2>(5);", "flag-left-set", ("flag MTE3_MTE2 id 5 is still set when the kernel ends",)),
    ("barrier", "PipeBarrier<PIPE_M>();", "bad-argument", ("PipeBarrier: an AIV does not have this pipe",)),
    ("barrier_scalar", "PipeBarrier<PIPE_S>();", "bad-argument", ("PIPE_S has no barrier",)),
    ("cross_id", "CrossCoreSetFlag<0, PIPE_MTE3>(16);", "bad-argument", ("flag id is 16", "0..15")),
    ("cross_pipe", "CrossCoreSetFlag<0, PIPE_FIX>(1);", "bad-argument", ("an AIV does not have this pipe",)),
    ("copy_count", "DataCopyParams p; p.blockCount = 4096; p.blockLen = 1; DataCopy(x, g, p);", "bad-argument", ("blockCount is 4096", "0..4095")),
    ("pad_unit", "DataCopyPad(x, g, DataCopyExtParams(1, 6, 0, 0, 0), DataCopyPadExtParams<float>());", "bad-argument", ("blockLen is 6 bytes", "element size 4")),
    ("pad_wide", "DataCopyPad(x, g, DataCopyExtParams(1, 8, 0, 0, 0), DataCopyPadExtParams<float>(true, 9, 0, 0.0f));", "bad-argument", ("leftPadding in bytes is 36", "0..32")),
    ("atomic_type", "SetAtomicAdd<half>(); DataCopy(g, x, 8);", "bad-argument", ("atomic mode was set for half, but dst is float",)),
    ("compare_size", "LocalTensor<uint8_t> b = x.ReinterpretCast<uint8_t>(); Compare(b, x, x, CMPMODE::LT, 65);", "bad-argument", ("count is 65", "256 bytes")),
    ("compare_int", "LocalTensor<uint8_t> b = x.ReinterpretCast<uint8_t>(); LocalTensor<int32_t> i = x.ReinterpretCast<int32_t>(); Compare(b, i, i, CMPMODE::LT, 64);", "bad-argument", ("int32 supports CMPMODE::EQ only",)),
    ("no_tensor", "LocalTensor<float> never; Add(x, never, x, 64);", "bad-argument", ("src0 is in GM",)),
    ("brcb_stride", "Brcb(x, x, 1, {0, 8});", "bad-argument", ("Brcb: dstBlkStride is 0",)),
    ("shift", "LocalTensor<int16_t> i = x.ReinterpretCast<int16_t>(); ShiftLeft(i, i, (int16_t)17, 64);", "bad-argument", ("ShiftLeft: scalar is 17",)),
]  # fmt: skip
CUBE_CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("l1_end", "DataCopy(a1[262144 - 16], gh, 32);", "out-of-bounds", ("DataCopy: dst", "L1", "524288")),
    ("l0_end", "lp.repeatTimes = 255; LoadData(a2, a1, lp);", "out-of-bounds", ("LoadData: dst", "L0A", "65536")),
    ("l0c_end", "mp.m = 512; mp.n = 512; mp.k = 16; Mmad(c, a2, b2, mp);", "out-of-bounds", ("Mmad:",)),
    ("l0_align", "lp.repeatTimes = 1; LoadData(a2[16], a1, lp);", "misaligned", ("LoadData: dst starts at byte 32 of L0A", "512")),
    ("l0c_align", "mp.m = mp.n = mp.k = 16; Mmad(c[16], a2, b2, mp);", "misaligned", ("Mmad: dst", "1024")),
    ("fix_align", "fp.nSize = fp.mSize = fp.srcStride = fp.dstStride = 16; Fixpipe(g, c[8], fp);", "misaligned", ("Fixpipe: src", "64")),
    ("fix_gm", "fp.nSize = fp.mSize = fp.srcStride = 64; fp.dstStride = 64; Fixpipe(g, c, fp);", "out-of-bounds", ("Fixpipe: dst writes bytes [0, 16384) of GM buffer 'd'",)),
    ("fix_quant", "fp.nSize = fp.mSize = fp.srcStride = fp.dstStride = 16; Fixpipe(gh, c, fp);", "bad-argument", ("quantPre is NoQuant, but must be F322F16",)),
    ("fix_stride", "fp.nSize = fp.mSize = fp.dstStride = 16; fp.srcStride = 8; Fixpipe(g, c, fp);", "bad-argument", ("srcStride is 8",)),
    ("fix_dst_stride", "fp.nSize = fp.mSize = fp.srcStride = 16; fp.dstStride = 0; Fixpipe(g, c, fp);", "bad-argument", ("dstStride is 0",)),
    ("mmad_memory", "mp.m = mp.n = mp.k = 16; Mmad(c, b2, a2, mp);", "bad-argument", ("fm is in L0B, but must be in L0A",)),
    ("mmad_size", "mp.m = mp.n = 16; mp.k = 4096; Mmad(c, a2, b2, mp);", "bad-argument", ("k is 4096", "0..4095")),
    ("load_transpose", "LocalTensor<float> f = a2.ReinterpretCast<float>(); LocalTensor<float> s = a1.ReinterpretCast<float>(); lp.repeatTimes = 1; lp.ifTranspose = true; LoadData(f, s, lp);", "bad-argument", ("16-bit types only", "LoadDataWithTranspose")),
    ("load_source", "lp.repeatTimes = 1; LoadData(a2, b2, lp);", "bad-argument", ("src is in L0B, but must be in L1",)),
    ("load_repeats", "lp.repeatTimes = 256; LoadData(a2, a1, lp);", "bad-argument", ("repeatTimes is 256",)),
    ("nd_stride", "Nd2NzParams n(1, 16, 16, 0, 16, 0, 1, 0); DataCopy(a1, gh, n);", "bad-argument", ("dstNzC0Stride is 0", "1..16384")),
    ("nd_gm", "Nd2NzParams n(1, 16, 16, 0, 2048, 16, 1, 0); DataCopy(a1, gh, n);", "out-of-bounds", ("DataCopy(ND2NZ): src reads bytes",)),
    ("preset", "SetFlag<HardEvent::M_MTE1>(0);", "flag-set-twice", ("M_MTE1 id 0 is already set (at ",)),
    ("preset_wait", "WaitFlag<HardEvent::M_MTE1>(1);", "flag-wait-without-set", ("the TPipe waits for flag M_MTE1 id 1", "ids 3..7")),
    ("mode_one", "CrossCoreSetFlag<1, PIPE_FIX>(1);", "bad-argument", ("mode 1 is between the two AIVs",)),
    ("vector_pipe", "CrossCoreSetFlag<2, PIPE_V>(1);", "bad-argument", ("an AIC does not have PIPE_V",)),
]  # fmt: skip
# Calls that the vendor's headers reject when they are compiled.
REJECTED_CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("mmad_types", "LocalTensor<int8_t> i = a2.ReinterpretCast<int8_t>(); mp.m = mp.n = mp.k = 16; Mmad(c, i, b2, mp);", "bad-argument", ("int8 times half into float",)),
]  # fmt: skip
# Wrong only by the device's rules: with checks off the kernel goes on.
LENIENT = {
    "align_vector",
    "set_twice",
    "left_set",
    "stride_zero",
    "mask_bits",
    "l0c_align",
    "preset",
    "preset_wait",
}

ARGS = "GM_ADDR d, int32_t repeat, int32_t stride"
for _name, _statement, _, _ in VECTOR_CASES:
    KERNELS.add(f"v_{_name}", ARGS, f"{VECTOR}\n{_statement}", "KERNEL_TYPE_MIX_AIV_1_0")
for _name, _statement, _, _ in CUBE_CASES:
    KERNELS.add(f"c_{_name}", ARGS, f"{CUBE}\n{_statement}", "KERNEL_TYPE_MIX_AIC_1_0")
for _name, _statement, _, _ in REJECTED_CASES:
    REJECTED.add(_name, ARGS, f"{CUBE}\n{_statement}", "KERNEL_TYPE_MIX_AIC_1_0")
CASES = [(f"v_{c[0]}", *c[1:]) for c in VECTOR_CASES] + [(f"c_{c[0]}", *c[1:]) for c in CUBE_CASES]


def buffer() -> Any:
    return np.zeros(1024, np.float32)


@pytest.mark.parametrize(("name", "statement", "slug", "words"), CASES, ids=[c[0] for c in CASES])
def test_error(name: str, statement: str, slug: str, words: tuple[str, ...]) -> None:
    fault = KERNELS.fault(name, buffer(), 256, 256)
    assert fault.kind == slug, fault
    for part in words:
        assert part in fault.text, fault
    assert fault.block == 0
    assert fault.core == ("aic" if name.startswith("c_") else "aiv0")
    if "preset_wait" not in name:
        line = KERNELS.source().splitlines()[fault.line - 1]
        assert fault.file.endswith(".cpp") and line.strip() == statement, fault
    plain = name[2:]
    if plain in LENIENT:
        KERNELS.run(name, buffer(), 256, 256, checks=launcher().CHECKS_OFF)
    elif slug == "out-of-bounds":
        assert KERNELS.fault(name, buffer(), 256, 256, checks=launcher().CHECKS_OFF).kind == slug


@pytest.mark.parametrize(("name", "slug", "words"), [(c[0], *c[2:]) for c in REJECTED_CASES])
def test_error_of_a_call_the_vendor_rejects(name: str, slug: str, words: tuple[str, ...]) -> None:
    fault = REJECTED.fault(name, buffer(), 256, 256)
    assert fault.kind == slug and all(part in fault.text for part in words), fault


KERNELS.add(
    "some_block",
    ARGS,
    f"""{VECTOR}
    if (GetBlockIdx() >= 11) {{ DataCopy(x, g[1024], 8); }}
""",
    "KERNEL_TYPE_MIX_AIV_1_0",
)
KERNELS.add(
    "others_wait",
    ARGS,
    f"""
    if ASCEND_IS_AIC {{ CrossCoreWaitFlag(1); }}
    if ASCEND_IS_AIV {{ if (GetSubBlockIdx() == 1) {{ {VECTOR} DataCopy(x, g[1024], 8); }} else {{ CrossCoreWaitFlag(2); }} }}
""",
    None,
)
KERNELS.add(
    "wrong_core",
    ARGS,
    f"""
    if ASCEND_IS_AIC {{ {VECTOR} Add(x, x, x, 1 << 20); DataCopy(x, g, 1 << 20); Duplicate(x, 1.0f, 8); DataCopy(g, x, 1 << 20);
        SetFlag<HardEvent::MTE2_V>(0); SetFlag<HardEvent::MTE2_V>(0); }}
    if ASCEND_IS_AIV {{ {CUBE} mp.m = mp.n = mp.k = 4000; Mmad(c, a2, b2, mp); LoadData(a2, a1, lp); Fixpipe(g, c, fp);
        DataCopy(a1, gh, 1 << 20); }}
""",
    None,
)


def test_the_lowest_block_is_reported() -> None:
    for threads in (1, 2):
        fault = KERNELS.fault("some_block", buffer(), 0, 0, blocks=400, threads=threads)
        assert fault.kind == "out-of-bounds"
        assert fault.block == 11 if threads == 1 else fault.block >= 11


def test_other_cores_are_stopped() -> None:
    fault = KERNELS.fault("others_wait", buffer(), 0, 0, blocks=5)
    assert (fault.kind, fault.core) == ("out-of-bounds", "aiv1")
    KERNELS.run(
        "c_fix_align", buffer(), 0, 0, checks=launcher().CHECKS_OFF
    )  # the next launch is not affected


def test_apis_of_the_other_kind_of_core_do_nothing() -> None:
    KERNELS.run("wrong_core", buffer(), 0, 0)


def test_a_launch_without_blocks_is_an_error() -> None:
    fault = KERNELS.fault("wrong_core", buffer(), 0, 0, blocks=0)
    assert fault.kind == "bad-argument" and "0 blocks" in fault.text


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
