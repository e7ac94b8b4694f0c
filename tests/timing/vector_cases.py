"""Cases of the AIVs and of data movement alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from case import AIV_PIPES, ASC, FUSED, GUIDE, Case, Rows, rows_of, zeros
from measures import TICKS, Measure, Span, Unit, bandwidth, busy, share

F16, F32 = np.float16, np.float32
ADD = ASC + "00_vector_compute/add_high_performance/README.md"
COPY = ASC + "04_memory_access/data_copy/README.md"
ND_TO_NZ = ASC + "04_memory_access/bank_conflict_nd2nz/README.md"
BANKS = ASC + "04_memory_access/bank_conflict_ub/README.md"
REDUCE = GUIDE + "SIMD算子性能优化/矢量计算/选择低延迟指令-优化归约操作性能.md"
FACTS = "hardware.md 4.5"
TOPK = "pto:kernels/manual/a2a3/topk/README.md"
PROFILE = GUIDE + "性能分析/分析性能数据.md"


def add_cases() -> list[Case]:
    side = 8192

    def one(tile: int, element: bool = False) -> Callable[[], list[Any]]:
        return lambda: [*(zeros(side, side) for _ in range(3)), side, side, tile, element]

    def two(tile: int, apart: int) -> Callable[[], list[Any]]:
        return lambda: [*(zeros(side, side) for _ in range(3)), side, side, tile, True, apart]

    def rows(kernel: str, *metrics: str, **special: Measure) -> dict[tuple[str, str, str], Measure]:
        return rows_of(f"add z=x+y {kernel}", "8192x8192", *metrics, **special)

    all_four = ("task_duration", *AIV_PIPES)
    both = bandwidth("aiv", "MTE2", 3 * side * side * 2)
    return [
        Case(
            "add case 0", ADD, "add_one_buffer", 1,
            lambda: [*(zeros(side // 256, side) for _ in range(3)), side // 256, side, 4096, True],
            rows("case0 scalar single core", "task_duration"), part=256,
        ),
        Case(
            "add case 1", ADD, "add_one_buffer", 1, one(4096),
            rows("case1 single core vector 8KB tiles", *all_four) | rows("case1", "aiv_scalar_time"),
        ),
        Case("add case 2", ADD, "add_one_buffer", 48, one(4096), rows("case2 multi core", *all_four)),
        Case(
            "add case 3", ADD, "add_one_buffer", 48, one(16384),
            rows("case3", *all_four, read_bandwidth=bandwidth("aiv", "MTE2", 2 * side * side * 2)),
        ),
        Case("add case 5", ADD, "add_two_buffers", 48, two(16384, 0), rows("case5", *all_four, read_write_bandwidth=both)),
        Case(
            "add case 6", ADD, "add_two_buffers", 48, two(16256, 32512),
            rows("case6 best", *all_four) | rows("case6", read_write_bandwidth=both),
        ),
    ]  # fmt: skip


def copy_cases() -> list[Case]:
    side, square = 12288, "12288x12288"

    def read(
        columns: int, tile: tuple[int, int], parts: int = 1, repeats: int = 1
    ) -> Callable[[], list[Any]]:
        return lambda: [zeros(side, columns), zeros(1), side, columns, *tile, parts, repeats, False]

    def whole(tile: tuple[int, int], staggered: bool) -> Callable[[], list[Any]]:
        return lambda: [zeros(6144, 512), zeros(1), 6144, 512, *tile, staggered, False]

    ub, l1 = {"mte2_time": busy("aiv", "MTE2")}, {"mte2_time": busy("aic", "MTE2")}
    tiles = [
        Case(
            f"read {m}x{n} to UB", COPY, "read_to_ub", 48, read(side, (m, n)),
            rows_of(f"copy GM->UB tile {m}x{n}", square, "task_duration", **ub),
        )
        for m, n in ((1, 64), (64, 64), (64, 1024))
    ]  # fmt: skip
    return [
        *tiles,
        Case(
            "read unaligned rows to UB", COPY, "read_to_ub", 48, read(side - 1, (64, 1024)),
            rows_of("copy GM->UB unaligned", "12288x12287", "task_duration", **ub), regime="a",
        ),
        Case(
            "read 64x256 to L1", COPY, "read_to_l1", 24, read(side, (64, 256)),
            rows_of("ND2NZ GM->L1 tile 64x256", square, "task_duration", **l1),
        ),
        Case(
            "read 64x64 to L1", COPY, "read_to_l1", 24, read(side, (64, 64)),
            rows_of("ND2NZ GM->L1 tile 64x64", square, "task_duration", **l1),
        ),
        Case(
            "read unaligned rows to L1", COPY, "read_to_l1", 24, read(side - 1, (64, 256)),
            rows_of("ND2NZ GM->L1 unaligned", square, "task_duration", **l1), regime="a",
            notes="the csv says 12288x12288; the page: [12288, 12287], tile 64x256",
        ),
        Case(
            "read x4 to UB", COPY, "read_to_ub", 48, read(side, (64, 1024), 1, 4),
            rows_of("UB read x4 whole (no L2 split)", square, "task_duration"),
        ),
        Case(
            "read x4 to UB, quarters", COPY, "read_to_ub", 48, read(side, (64, 1024), 4, 4),
            rows_of("UB read x4 split for L2", square, "task_duration"),
        ),
        Case(
            "read x4 to L1", COPY, "read_to_l1", 24, read(side, (64, 1024), 1, 4),
            rows_of("L1 read x4 whole (no L2 split)", square, "task_duration"),
        ),
        Case(
            "read x4 to L1, quarters", COPY, "read_to_l1", 24, read(side, (64, 1024), 4, 4),
            rows_of("L1 read x4 split for L2", square, "task_duration"),
        ),
        Case(
            "all read all to UB", COPY, "read_whole_to_ub", 48, whole((128, 64), False),
            rows_of("same-address read UB all cores", "6144x512", "task_duration", **ub), regime="f",
        ),
        Case(
            "all read all to UB, staggered", COPY, "read_whole_to_ub", 48, whole((128, 64), True),
            rows_of("same-address read UB staggered", "6144x512", "task_duration"), regime="f",
        ),
        Case(
            "all read all to L1", COPY, "read_whole_to_l1", 24, whole((256, 64), False),
            rows_of("same-address read L1 all cores", "6144x512", "task_duration"), regime="f",
        ),
        Case(
            "all read all to L1, staggered", COPY, "read_whole_to_l1", 24, whole((256, 64), True),
            rows_of("same-address read L1 staggered", "6144x512", "task_duration"), regime="f",
        ),
        Case(
            "read f32", PROFILE, "read_to_ub", 32,
            lambda: [zeros(8192, 16384), zeros(1), 8192, 16384, 4, 16384, 1, 1, False],
            rows_of("elementwise read", "8192x8192", "task_duration"),
            soc="Ascend910B4", assumed="which operator it is, and 32 cores (of 40), which deal the rows evenly",
        ),
    ]  # fmt: skip


def block_cases() -> list[Case]:
    """Starting a block, and handing one element from unit to unit. 128 rounds are 6144 blocks on 48 cores."""
    count, rounds, rows, pitch = 1024 * 65536, 128, 1000, 256
    whole = Measure(Span.BODY)
    iteration = {"iteration": whole}
    return [
        Case(
            "a further block on a core", FACTS, "add_one_by_blocks", 8192,
            lambda: [zeros(count), zeros(count), count],
            rows_of("elementwise with more blocks than cores", "1024x65536", further_block_on_a_core=whole),
            soc="Ascend910B2", part=1 / rounds, less=2048, regime="b",
            assumed="half, one operand, a block's share in one piece",
        ),
        *(
            Case(
                f"an element through {unit}", FACTS, "add_one_by_elements", 1,
                lambda scalar=scalar: [zeros(rows, pitch, dtype=F32), zeros(rows, pitch, dtype=F32), rows, pitch, scalar],  # type: ignore[misc]
                rows_of(f"element loaded used on {unit} and stored back", "-", **iteration),
                part=1 / rows, regime="c", assumed="f32, an element of each row of 1 KB",
            )
            for unit, scalar in (("V", False), ("S", True))
        ),
    ]  # fmt: skip


def sort_cases() -> list[Case]:
    """The largest of each row. All five values were measured on 48 cores."""
    vector_share = share("aiv", "V")

    def case(rows: int, k: int, dtype: Any, published: Rows) -> Case:
        name = "f32" if dtype is F32 else "f16"
        return Case(
            f"{k} of 1024 in {rows} rows, {name}", TOPK, f"topk_{name}", 48,
            lambda: [
                zeros(rows, 1280, dtype=dtype), zeros(1024, dtype=np.uint32),
                zeros(rows, k, dtype=dtype), zeros(rows, k, dtype=np.uint32), rows, 1280, k,
            ],
            published, soc="Ascend910_9391", regime="e",
        )  # fmt: skip

    def task(rows: int, k: int) -> Rows:
        return rows_of("topk", f"rows {rows} valid cols 1024 (1280) k {k}", "task_duration")

    ratio = rows_of("topk", "rows 2304", aiv_vec_ratio=vector_share)
    return [
        case(4800, 1000, F32, task(4800, 1000)),
        case(3456, 1000, F32, task(3456, 1000)),
        case(2304, 1000, F32, {**task(2304, 1000), **ratio}),
        case(4800, 1008, F16, task(4800, 1008)),
    ]


def vector_cases() -> list[Case]:
    def nd_to_nz(pitch: int) -> Callable[[], list[Any]]:
        return lambda: [zeros(8192, 8192), zeros(8192, 8192), 8192, 8192, 6, 8, pitch]

    def repeated_add(*addresses: int) -> Callable[[], list[Any]]:
        return lambda: [*(zeros(4096, dtype=F32) for _ in range(3)), 1000, *addresses]

    def sums(steps: int) -> Callable[[], list[Any]]:
        return lambda: [zeros(256, dtype=F32), zeros(8, dtype=F32), 100, steps]

    vector_ticks = replace(busy("aiv", "V"), unit=Unit.TICK)
    ticks = "GetSystemCycle_ticks_50MHz"
    body = Measure(Span.BODY)
    return [
        *(
            Case(
                f"ND to NZ in UB, pitch {pitch}", ND_TO_NZ, "nd_to_nz_in_ub", 48, nd_to_nz(pitch),
                rows_of(f"ND2NZ on AIV scenario{i}", "8192x8192", "task_duration", *AIV_PIPES),
            )
            for i, pitch in ((1, 144), (2, 145))
        ),
        Case(
            "1000 Adds, read-read conflict", BANKS, "repeated_add", 1, repeated_add(0, 0x4000, 0x10000, 1, 8),
            rows_of("Add x1000 read-read conflict", "4096 elements", **{ticks: vector_ticks}),
        ),
        Case(
            "1000 Adds, one block of src0", BANKS, "repeated_add", 1, repeated_add(0, 0x10100, 0x10100, 0, 1),
            rows_of("Add x1000 partial conflict", "4096 elements", **{ticks: vector_ticks}),
        ),
        Case(
            "gelu", FUSED, "gelu", 48, lambda: [zeros(8192, 8192, dtype=F32), zeros(8192, 8192, dtype=F32), 8192, 8192, 1366, 1024],
            rows_of("gelu", "8192x8192", "task_duration", *AIV_PIPES),
            assumed="6 x 8 shares of rows and columns (the page gives 48 cores only)",
            notes="the csv says fp16; the page's kernel is f32 throughout",
        ),
        Case(
            "100 sums of 256, WholeReduceSum", REDUCE, "sum_256", 1, sums(0),
            rows_of("sum of 256, 100 times: 2x ReduceRepeat", "256", time=body),
        ),
        Case(
            "100 sums of 256, BlockReduceSum", REDUCE, "sum_256", 1, sums(1),
            rows_of("sum of 256, 100 times: 3x BlockReduce", "256", time=body),
        ),
        Case(
            "sum of 30000", REDUCE, "sum_long", 1, lambda: [zeros(30000, dtype=F32), zeros(8, dtype=F32), 30000, False],
            rows_of("sum 30000: ReduceRepeat only", "30000", **{ticks: TICKS}),
            notes="the sample's counter starts before the load has arrived, so the load is measured too",
        ),
        Case("empty", PROFILE, "empty_aiv", 48, lambda: [zeros(1)], rows_of("empty kernel, all cores", "-", "launch_head")),
    ]  # fmt: skip
