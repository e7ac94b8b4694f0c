"""Rows about how good schedules are: modelled times of kernels whose operands do not all stay in
L2, as shares of the least time in which the chip could do the same.

A row is added by a line in one of the tables. Rooflines name what a kernel is measured against:

* the cube's peak: multiply-accumulates of the operation itself, however much is padded, at the full
  rate of all cube cores;
* loads of unaligned rows: what the cores need to load operands whose rows do not start on 32 bytes
  into the tiles for which that is least, those of squares that fill l0c;
* HBM: every input read once, at the rate of reads, and every result written once, at that of
  write-back, but for what of the results is still in L2 when the launch ends: their share of it, as
  what was read and written last is what it holds. A kernel that only copies comes to 99 % of this.

Kernels run once, with zeros for arguments; times are from the start of the first block to the end
of the last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.row import Examples, Measurement, Row, exactly
from tile_ir import Memory, Target
from tile_ir.costs.timing import timing_of
from tile_ir.switches import override
from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType, supply_tensors
from tile_runtime.scripts.module import load_script


@dataclass(frozen=True, slots=True)
class Launch:
    """What one timed launch took: its chip, the modelled seconds, and the bytes of its inputs and
    of its results."""

    target: Target
    seconds: float
    read: int
    written: int


@dataclass(frozen=True, slots=True)
class Roofline:
    """A part of the chip and the seconds it needs at least for what a launch has to do."""

    name: str
    least: Callable[[Launch], float]


def cube(m: int, n: int, k: int, bits: int = 16) -> Roofline:
    """Of a product [m, k] x [k, n] with operands of so many bits; of several, put their sum in one
    of the sizes."""
    rate = 4096 * 16 / bits

    def least(launch: Launch) -> float:
        return m * n * k / (rate * launch.target.cube_cores * launch.target.clock_mhz * 1e6)

    return Roofline("cube peak", least)


def unaligned_rows(m: int, n: int, k: int, bits: int = 16) -> Roofline:
    """Of a product [m, k] x [k, n] with operands of so many bits, results of 32 in l0c."""

    def least(launch: Launch) -> float:
        side = math.sqrt(launch.target.capacity[Memory.L0C] / 4)
        loaded = 2 * m * n * k / side * bits / 8
        rate = timing_of(launch.target)["nd2nz_unaligned_rate"]
        return loaded / (rate * launch.target.cube_cores * launch.target.clock_mhz * 1e6)

    return Roofline("loads of unaligned rows", least)


def _hbm(launch: Launch) -> float:
    rates = timing_of(launch.target)
    moved = launch.read + launch.written
    left = launch.written * max(0.0, 1 - launch.target.l2_bytes / moved)
    reads, writes = rates["hbm_bandwidth"] * 1e9, rates["hbm_write_bandwidth"] * 1e9
    return launch.read / reads + left / writes


HBM = Roofline("HBM bound", _hbm)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A kernel: a script of the examples, its factory and arguments. At least the share `share` of
    the roofline is asked for, at most so many milliseconds.

    Where the same work is repeated, as over the heads of an attention, `part` of it may be run that
    keeps all cores as busy; its time is multiplied.
    """

    name: str
    script: str
    factory: str
    arguments: tuple[Any, ...]
    roofline: Roofline
    share: float | None = None
    milliseconds: float | None = None
    soc: str = "Ascend910B2"
    part: float = 1.0


@dataclass(frozen=True, slots=True)
class Ratio:
    """The time of one schedule over that of another of the same table, at most or at least so
    much."""

    name: str
    over: str
    under: str
    most: float | None = None
    least: float | None = None


_EXPERT_GEMM = ("03_gemm_intrinsic", "gemm_intrinsic")
_DEVELOPER_GEMM = ("developer/gemm", "gemm")

GEMM = (
    Schedule(
        "gemm 4096^3 by hand", *_EXPERT_GEMM, (4096, 4096, 4096, 128, 256, 256, 64, 24),
        cube(4096, 4096, 4096),
    ),
    Schedule(
        "gemm 4096^3", *_DEVELOPER_GEMM, (4096, 4096, 4096, 128, 256, 64),
        cube(4096, 4096, 4096), 0.88,
    ),
    Schedule(
        "gemm 6144^3", *_DEVELOPER_GEMM, (6144, 6144, 6144, 128, 256, 64),
        cube(6144, 6144, 6144), 0.91,
    ),
    Schedule(
        "gemm 8192x1024x4096", *_DEVELOPER_GEMM, (8192, 1024, 4096, 128, 256, 64),
        cube(8192, 1024, 4096), 0.75,
    ),
    Schedule(
        "dequantised gemm 4096^3 int8", "developer/dequantised_gemm", "int8_gemm",
        (4096, 4096, 4096, 128, 256, 128), cube(4096, 4096, 4096, bits=8), 0.7,
    ),
    # With the tiles of the result that T.recommend_tiles proposes.
    Schedule(
        "ragged gemm 4000x4001x4002", *_DEVELOPER_GEMM, (4000, 4001, 4002, 144, 224, 128),
        unaligned_rows(4000, 4001, 4002), 0.9,
    ),
)  # fmt: skip
# Loads take longer than the products of what they bring: serial rounds do one after the other. Of
# two cores that bring all from HBM the loads are so much longer, 61 us beside 37, that nothing
# under them could make the serial loop 1.6 times as fast.
_LOAD_BOUND_SIZES = ((2048, 2048, 2048), (256, 256, 8192))
LOAD_BOUND = tuple(
    Schedule(
        f"load-bound gemm {m}x{n}x{k}, {name}", *_DEVELOPER_GEMM,
        (m, n, k, 128, 256, 256, "float16", "float32", stages), cube(m, n, k),
    )
    for m, n, k in _LOAD_BOUND_SIZES
    for name, stages in (("serial", 0), ("two stages", 2))
)  # fmt: skip
LOAD_BOUND_RATIOS = (
    Ratio(
        "load-bound gemm, serial against two stages",
        LOAD_BOUND[0].name, LOAD_BOUND[1].name, least=1.6,
    ),
    Ratio(
        "load-bound gemm of two cores, serial against two stages",
        LOAD_BOUND[2].name, LOAD_BOUND[3].name, least=1.4,
    ),
)  # fmt: skip
# Two tiles of 128 queries take turns with the same 512 keys.
_LONG_TILES, _LONG_TILES_CAUSAL = (
    (128, 128, 512, 1, causal, "float16", "float32", 24, 2) for causal in (False, True)
)
ATTENTION = (
    Schedule(
        "flash attention 1x12x4096x128", "13_long_attention", "long_attention",
        (1, 12, 4096, *_LONG_TILES), cube(12 * 4096, 4096, 2 * 128),
        milliseconds=34 / 64, soc="Ascend910_9392",
    ),
    Schedule(
        "causal flash attention 1x12x4096x128", "13_long_attention", "long_attention",
        (1, 12, 4096, *_LONG_TILES_CAUSAL), cube(6 * 4096, 4096, 2 * 128),
        soc="Ascend910_9392",
    ),
)  # fmt: skip
ATTENTION_RATIOS = (
    Ratio(
        "causal against full attention", "causal flash attention 1x12x4096x128",
        "flash attention 1x12x4096x128", most=0.6,
    ),
)  # fmt: skip
LONG = (
    Schedule(
        "flash attention 1x12x16384x128", "13_long_attention", "long_attention",
        (1, 3, 16384, *_LONG_TILES), cube(12 * 16384, 16384, 2 * 128),
        milliseconds=34 / 4, soc="Ascend910_9392", part=0.25,
    ),
    Schedule(
        "flash attention 1x12x32768x128", "13_long_attention", "long_attention",
        (1, 3, 32768, *_LONG_TILES), cube(12 * 32768, 32768, 2 * 128),
        milliseconds=34, soc="Ascend910_9392", part=0.25,
    ),
)  # fmt: skip
# At least twice L2 is read, and as much written where the result is as large.
VECTOR = (
    Schedule(
        "vector add 65536x2048 float32", "01_vector_add", "vector_add",
        (65536, 2048, 64), HBM, 0.8,
    ),
    Schedule(
        "softmax 24576x4096 float32", "developer/softmax", "softmax",
        (24576, 4096, 4, "float32"), HBM, 0.85,
    ),
    Schedule(
        "softmax 49152x4096 float16", "developer/softmax", "softmax",
        (49152, 4096, 8, "float16"), HBM, 0.85,
    ),
    Schedule(
        "rms norm 98304x2048 float16", "developer/rms_norm", "rms_norm",
        (98304, 2048, 12), HBM, 0.85,
    ),
    Schedule(
        "cross entropy 24576x4096 float32", "developer/cross_entropy", "cross_entropy",
        (24576, 4096, 8), HBM, 0.85,
    ),
    Schedule(
        "rope 49152x16x128 float32", "developer/rope", "rope", (49152, 16, 128), HBM, 0.8,
    ),
    Schedule(
        "softmax 24576x4096 float32 by hand", "04_online_softmax", "online_softmax",
        (24576, 4096, 2, 4096, "float32"), HBM, 0.85,
    ),
    Schedule(
        "rms norm 98304x2048 float16 by hand", "06_rms_norm", "rms_norm",
        (98304, 2048, 4, 24), HBM, 0.85,
    ),
    Schedule(
        "softmax 49152x4096 float16 by hand", "04_online_softmax", "online_softmax",
        (49152, 4096, 3, 4096, "float16"), HBM, 0.85,
    ),
    Schedule(
        "cross entropy 24576x4096 float32 by hand", "09_cross_entropy", "cross_entropy",
        (24576, 4096, 16, 512, 24, "float32"), HBM, 0.85,
    ),
    Schedule(
        "cross entropy 24576x4096 float16 by hand", "09_cross_entropy", "cross_entropy",
        (24576, 4096, 32, 512, 24), HBM, 0.85,
    ),
    Schedule(
        "rope 98304x8x128 float16 by hand", "08_rope", "rope",
        (98304, 8, 128, 4096, 8, 24), HBM, 0.8,
    ),
    Schedule(
        "gelu mul 49152x4096 float16 by hand", "07_gelu_mul", "gelu_mul",
        (49152, 4096, 8, 512, 24), HBM, 0.8,
    ),
)  # fmt: skip

# With grids and tiles for a GPU: what the compiler makes of them.
FOREIGN = (
    Schedule(
        "matmul, relu of a GPU 4096^3", "gpu/matmul_relu", "matmul_relu", (4096, 4096, 4096),
        cube(4096, 4096, 4096), 0.8,
    ),
    Schedule(
        "rms norm of a GPU 65536x2048 float32", "gpu/rms_norm", "rms_norm", (65536, 2048), HBM, 0.8,
    ),
    Schedule(
        "softmax of a GPU 32768x4096 float32", "gpu/softmax", "softmax",
        (("M", 32768), ("N", 4096)), HBM, 0.8,
    ),
    Schedule(
        "attention of a GPU 1x12x4096x128", "gpu/attention", "attention", (1, 12, 4096, 128),
        cube(12 * 4096, 4096, 2 * 128), soc="Ascend910_9392",
    ),
    Schedule(
        "attention of developer style 1x12x4096x128", "developer/flash_attention", "flash_attention",
        (1, 12, 4096, 128, 64, 128), cube(12 * 4096, 4096, 2 * 128), soc="Ascend910_9392",
    ),
)  # fmt: skip
FOREIGN_RATIOS = (
    Ratio(
        "attention of a GPU against developer style", "attention of a GPU 1x12x4096x128",
        "attention of developer style 1x12x4096x128", most=1.25,
    ),
)  # fmt: skip


def measure(examples: Examples, schedules: tuple[Schedule, ...], *ratios: Ratio) -> list[Row]:
    """A row with the time of each schedule, one with its share, and the ratios."""
    rows: list[Row] = []
    times: dict[str, float] = {}
    for schedule in schedules:
        launch = _launch(examples, schedule)
        seconds = launch.seconds / schedule.part
        times[schedule.name] = seconds
        rows.append(
            exactly(f"{schedule.name}: modelled", seconds * 1e3, "ms", schedule.milliseconds)
        )
        share = 100 * schedule.roofline.least(launch) / seconds
        asked = None if schedule.share is None else 100 * schedule.share
        name = f"{schedule.name}: share of {schedule.roofline.name}"
        rows.append(exactly(name, share, "%", asked, more_is_better=True))
    for ratio in ratios:
        value = times[ratio.over] / times[ratio.under]
        limit = ratio.least if ratio.most is None else ratio.most
        rows.append(exactly(ratio.name, value, "times", limit, more_is_better=ratio.most is None))
    return rows


def _launch(examples: Examples, schedule: Schedule) -> Launch:
    with override(soc=schedule.soc, time=True, check="off", timeout=0):
        module = load_script(examples.folder / f"{schedule.script}.py")
        factory = getattr(module, schedule.factory)
        # A function that is a kernel itself takes its sizes by name.
        own = getattr(factory, "mode", "") == "eager"
        kernel = (
            factory.compile(**dict(schedule.arguments)) if own else factory(*schedule.arguments)
        )
        inputs = supply_tensors(kernel, TensorSupplyType.Zero)
        results = kernel(*inputs)
    outputs = [results] if len(kernel.out_idx) == 1 else list(results)
    line = kernel.timeline()
    assert line is not None, "the simulator models time"
    return Launch(kernel.target, line.microseconds * 1e-6, _bytes(inputs), _bytes(outputs))


def _bytes(tensors: list[Any]) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)


def gemm_schedules(examples: Examples) -> list[Row]:
    """Products."""
    return measure(examples, (*GEMM, *LOAD_BOUND), *LOAD_BOUND_RATIOS)


def attention_schedules(examples: Examples) -> list[Row]:
    """Flash attention forward, of lengths that take seconds to run."""
    return measure(examples, ATTENTION, *ATTENTION_RATIOS)


def vector_schedules(examples: Examples) -> list[Row]:
    """What only the vector cores do."""
    return measure(examples, VECTOR)


def foreign_schedules(examples: Examples) -> list[Row]:
    """Kernels that were written for a GPU, and what an attention of ours takes."""
    return measure(examples, FOREIGN, *FOREIGN_RATIOS)


def long_schedules(examples: Examples) -> list[Row]:
    """Flash attention forward, of lengths that take minutes to run."""
    return measure(examples, LONG)


SCHEDULES: Mapping[str, Measurement] = {
    "schedules.gemm": gemm_schedules,
    "schedules.attention": attention_schedules,
    "schedules.vector": vector_schedules,
    "schedules.foreign": foreign_schedules,
}
# Measured only when named.
LONG_SCHEDULES: Mapping[str, Measurement] = {"schedules.long": long_schedules}
