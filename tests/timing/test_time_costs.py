"""What one instruction costs in the time model, in the constants of timed_kernel_set.py."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np
import pytest
from kernel_set import builder
from timed_kernel_set import TARGET, TimedKernelSet, times

from tile_ir.costs.timing import timing_of
from tile_runtime.simulator.timeline import PIPES

F16 = np.float16
SIMULATOR = builder().include_directory().parent
KERNELS = TimedKernelSet()


BANKS = KERNELS.add(
    "banks", "int32_t src0, int32_t src1, int32_t dst, int32_t block, int32_t repeat",
    """
LocalTensor<float> a(TPosition::VECCALC, src0, 4096);
LocalTensor<float> b(TPosition::VECCALC, src1, 4096);
LocalTensor<float> c(TPosition::VECCALC, dst, 4096);
Add(c, a, b, 64, 64, BinaryRepeatParams(1, block, 1, 8, repeat, 8));
""",
)  # fmt: skip
# Scenarios of the vendor's sample bank_conflict_ub, and what each adds to 64 repeats.
SCENARIOS = {
    "none": (0, 0x10100, 0x20000, 1, 8, 0),
    "reads, same bank": (0, 0x4000, 0x10000, 1, 8, 64),
    "reads, same group": (0, 0x10000, 0x14100, 1, 8, 64),
    "write pairwise on a read": (0, 0x10100, 0x4000, 1, 8, 0),
    "write across a read": (0, 0x10100, 0x4020, 1, 8, 64),
    "write over a source": (0, 0x10100, 0x10100, 1, 8, 0),
    "one block, moving": (0, 0x10100, 0x10100, 0, 1, 32),
    "one block, in step": (0, 0x10100, 0x10100, 0, 8, 0),
    # The other source comes to that group every second time.
    "all blocks in one group": (0, 0x10100, 0x20000, 16, 0, 7 * 32 + 8 * 32),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_bank_conflicts(name: str) -> None:
    *places, more = SCENARIOS[name]
    ((begin, end),) = times(KERNELS.timeline(BANKS, *places), "V")
    assert end - begin == 64 + more


ND2NZ = KERNELS.add(
    "nd2nz", "GM_ADDR x, int32_t offset, int32_t rows, int32_t columns, int32_t pitch",
    """
LocalTensor<half> l1(TPosition::A1, 0, 512 * 256);
GlobalTensor<half> from;
from.SetGlobalBuffer((__gm__ half*)x);
DataCopy(l1, from[offset], Nd2NzParams(1, rows, columns, 0, pitch, (rows + 15) / 16 * 16, 1, 0));
""",
    "KERNEL_TYPE_AIC_ONLY",
)  # fmt: skip


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(
    ("offset", "columns", "pitch", "row", "asked"),
    [
        (0, 256, 256, 1.8 + 512 / 128, 512),
        (0, 128, 1024, 1.8 + 256 / 128, 256),
        (0, 32, 1024, 3.2, 128),  # the least
        (16, 256, 1024, 1.8 + 1024 / 128, 1024),  # 32 B further
        (8, 256, 1024, 512 / 16, 0),  # rows that do not start on 32 B
        (0, 256, 1001, 512 / 16, 0),
    ],
)
def test_nd2nz_takes_row_by_row(
    offset: int, columns: int, pitch: int, row: float, asked: int, warm: bool
) -> None:
    rows = 100
    x = np.zeros(offset + rows * pitch, F16)
    timeline = KERNELS.timeline(
        ND2NZ, x, offset, rows, columns, pitch, warm=warm, gm_l1_rate=1000.0, gm_l1_cold_rate=1000.0
    )
    ((begin, end),) = times(timeline, "MTE2", core=0)
    miss = 0 if warm or not asked else 1.5 + asked / 170
    assert end - begin == pytest.approx(rows * (row + miss))


MOVE = KERNELS.add(
    "move", "GM_ADDR x, int32_t bytes, bool out",
    """
LocalTensor<uint8_t> ub(TPosition::VECCALC, 0, 65536);
GlobalTensor<uint8_t> gm;
gm.SetGlobalBuffer((__gm__ uint8_t*)x);
for (int32_t i = 0; i < 2; ++i) {
    if (out) { DataCopy(gm, ub, bytes); } else { DataCopy(ub, gm, bytes); }
}
""",
)  # fmt: skip


@pytest.mark.parametrize("out", [False, True])
@pytest.mark.parametrize("size", [32, 512, 1024, 16384, 65536])
def test_a_copy_takes_its_bytes_or_the_least(size: int, out: bool) -> None:
    """Sectors of 128 B, first to lines that are not in L2, then to lines that are."""
    timeline = KERNELS.timeline(MOVE, np.zeros(65536, np.uint8), size, out)
    moved = max(size, 128)
    first, second = (end - begin for begin, end in times(timeline, "MTE3" if out else "MTE2"))
    assert first == pytest.approx(max(10, moved / 50))
    assert second == pytest.approx(max(10, moved / 100))
    assert timeline.totals["write_bytes" if out else "read_bytes"] == 2 * moved


LOADS = KERNELS.add(
    "loads", "int32_t fractals",
    """
LocalTensor<half> l1(TPosition::A1, 0, 65536);
LocalTensor<half> a(TPosition::A2, 0, 32768);
LocalTensor<half> b(TPosition::B2, 0, 32768);
LoadData2DParams p;
p.repeatTimes = fractals;
p.srcStride = 1;
LoadData(a, l1, p);
LoadData(b, l1, p);
LoadData3DParamsV2<half> q;
q.l1H = 1;
q.l1W = 16 * fractals;
q.channelSize = q.kExtension = 16;
q.mExtension = 16 * fractals;
LoadData(a, l1, q);
""",
    "KERNEL_TYPE_AIC_ONLY",
)  # fmt: skip


@pytest.mark.parametrize("fractals", [1, 7, 64])
def test_loads_to_l0(fractals: int) -> None:
    """2 cycles beside the bytes; until the result can be used 28, or 50 from an image."""
    timeline = KERNELS.timeline(LOADS, fractals)
    found = timeline.events[timeline.events["pipe"] == PIPES.index("MTE1")]
    work = found[found["kind"] == 0]
    busy = [float(e["end"] - e["begin"]) for e in work]
    done = [float(e["complete"] - e["begin"]) for e in work]
    size = 512 * fractals
    assert busy == pytest.approx([2 + size / 256, 2 + size / 128, 2 + size / 256])
    assert done == pytest.approx([28 + size / 256, 28 + size / 128, 50 + size / 256])


MMAD = KERNELS.add(
    "mmad", "int32_t m, int32_t n, int32_t k",
    """
LocalTensor<half> a(TPosition::A2, 0, 16384);
LocalTensor<half> b(TPosition::B2, 0, 16384);
LocalTensor<float> c(TPosition::CO1, 0, 32768);
MmadParams p;
p.m = m; p.n = n; p.k = k;
Mmad(c, a, b, p);
""",
    "KERNEL_TYPE_AIC_ONLY",
)  # fmt: skip


@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 16), (128, 256, 64), (17, 33, 40), (2, 1, 1)])
def test_mmad_takes_its_fractals(m: int, n: int, k: int) -> None:
    timeline = KERNELS.timeline(MMAD, m, n, k)
    ((begin, end),) = times(timeline, "M", core=0)
    assert end - begin == 10 + -(-m // 16) * -(-n // 16) * -(-k // 16)
    assert timeline.totals["macs"] == m * n * k
    work = timeline.events[timeline.events["pipe"] == PIPES.index("M")][0]
    assert work["complete"] == end + 47


ELEMENTS = KERNELS.add(
    "elements", "int32_t count",
    """
LocalTensor<float> x(TPosition::VECCALC, 0, 64);
for (int32_t i = 0; i < count; ++i) { x.SetValue(i, x.GetValue(i) + 1.0f); }
""",
)  # fmt: skip


def test_the_scalar_unit_takes_elements_one_by_one() -> None:
    timeline = KERNELS.timeline(ELEMENTS, 20)
    assert times(timeline, "S") == [(5 * i, 5 * i + 5) for i in range(40)]
    assert timeline.busy() == {("aiv", "S"): pytest.approx(200 / timeline.mhz)}


@pytest.mark.parametrize("cores", [1, 3])
def test_what_is_read_off_a_timeline(cores: int) -> None:
    """Six blocks, each two copies of 16 KB out of L2: 163.84 cycles each."""
    timeline = KERNELS.timeline(
        MOVE,
        np.zeros(65536, np.uint8),
        16384,
        False,
        blocks=6,
        vector_cores=cores,
        warm=True,
    )
    mhz = timeline.mhz
    rounds = 6 // cores
    assert timeline.microseconds == pytest.approx(rounds * (1 + 2 * 163.84) / mhz)
    assert timeline.bandwidth == pytest.approx(6 * 32768 / timeline.microseconds * 1e6)
    path = list(timeline.critical_path())
    ends = timeline.events["complete"][path]
    assert (np.diff(ends) <= 0).all()


def test_the_table_holds_what_the_model_takes_and_no_more() -> None:
    library: Any = ctypes.CDLL(str(builder().build_simulator()))
    library.tile_simulator_timing_names.restype = ctypes.c_char_p
    names = library.tile_simulator_timing_names().decode().split()
    assert sorted(names) == sorted(timing_of(TARGET))
    sources = "".join(path.read_text() for path in (SIMULATOR / "src").glob("*.cpp"))
    assert [name for name in names if not re.search(rf"timing_?[.]{name}\b", sources)] == []
