"""Cases with matrix products: GEMMs of every source, some split along K."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from case import AIC_PIPES, ASC, FUSED, GUIDE, Case, Rows, rows_of, zeros
from matmul_tiling import COLUMN_BLOCKS, K_BY_N, MatmulTiling
from measures import TASK, Unit, bandwidth, busy, share, throughput

F16, F32 = np.float16, np.float32
BASIC = ASC + "01_matrix_compute/matmul_basic_api_high_performance/README.md"
HIGH = ASC + "01_matrix_compute/matmul_high_performance/README.md"
MMAD = "asc:docs/zh/api/SIMD-API/基础API/矩阵计算（ISASI）/Mmad计算关键特性说明/UnitFlag.md"  # noqa: RUF001
TUNING = GUIDE + "优秀实践/Matmul性能调优案例/"
CATLASS_GUIDE = "catlass:docs/zh/1_Practice/11_matmul_optimization.md"
SPLIT_K = "catlass:examples/34_single_core_splitk_matmul/34_single_splitk_matmul.md"
GEMM = "pto:kernels/manual/a2a3/gemm_performance/README.md"
PYPTO = "pypto:docs/zh/tutorials/debug/matmul_performance_guide.md"


def matmul(
    name: str, source: str, tiling: MatmulTiling, blocks: int, rows: Rows,
    out: Any = F16, kernel: str = "", **more: Any,
) -> Case:  # fmt: skip
    dtype = F32 if kernel == "matmul_f32_f32" else F16

    def arguments() -> list[Any]:
        t = tiling
        return [
            zeros(t.m, t.k, dtype=dtype), zeros(t.k, t.n, dtype=dtype), zeros(t.m, t.n, dtype=out), t.array(),
        ]  # fmt: skip

    kernel = kernel or ("matmul_f16_f16" if out is F16 else "matmul_f16_f32")
    macs = tiling.m * tiling.n * tiling.k
    return Case(
        name, source, kernel, blocks, arguments, rows, full=more.pop("full", macs > 2**35), **more
    )


def mmad_cases() -> list[Case]:
    """The Mmads alone, in cycles."""
    cycles = replace(busy("aic", "M"), unit=Unit.CYCLE)
    return [
        Case(
            f"8 Mmads of 128x{n}x64", MMAD, "mmad_chain", 1,
            lambda n=n: [zeros(128, 64), zeros(n, 64), zeros(128, n, dtype=F32), 128, n, 8],  # type: ignore[misc]
            rows_of(kernel, shape, measured_cycles=cycles),
        )
        for n, kernel, shape in (
            (256, "Mmad 128x256x512 in 8 Mmad", "128x256x512 in 8 Mmad"), (128, "Mmad 128x128x512", "128x128x512"),
        )
    ]  # fmt: skip


def vendor_matmul_cases() -> list[Case]:
    """8192^3 of the vendor's samples: four panels of rows by six of columns, the last a third as wide."""
    shape = "M8192 N8192 K8192"
    split = MatmulTiling(
        8192,
        8192,
        8192,
        step_ka=8,
        step_kb=4,
        unit_flag=True,
        panel_m=1024,
        panel_n=1536,
        panels_m=4,
    )
    once = replace(split, panel_m=2048)
    high = ("task_duration", *AIC_PIPES)
    plain = replace(once, unit_flag=False)
    library = (
        "what the high-level API issues: taken for the basic-API sample's loop with this tiling"
    )
    return [
        matmul("8192^3 basic API", BASIC, split, 24, rows_of("matmul basic-API scenario2", shape, "task_duration", "aicore_time", "aic_scalar_time", *AIC_PIPES)),
        matmul(
            "8192^3 case 3", HIGH, replace(plain, step_ka=1, step_kb=1, l1_buffers=1), 24, rows_of("matmul case3 case3", shape, *high),
            assumed=library + "; one L1 buffer (SetL1 leaves depth 1)",
        ),
        matmul(
            "8192^3 case 4", HIGH, replace(plain, step_ka=2, step_kb=2), 24, rows_of("matmul case4 case4", shape, *high),
            assumed=library + "; two slices a chunk for B too",
        ),
        matmul("8192^3 case 7", HIGH, replace(split, unit_flag=False), 24, rows_of("matmul case7 case7", shape, *high), assumed=library),
        matmul("8192^3 case 8", HIGH, split, 24, rows_of("matmul case8 case8 best", shape, *high), assumed=library),
        matmul("8192^3 to f32", FUSED, once, 24, rows_of("matmul (before fusion)", shape, "task_duration"), F32),
        matmul(
            "8192^3 and gelu", FUSED, once, 24, rows_of("matmul+gelu fused scenario1", shape, "task_duration"), F32, "matmul_gelu_f32",
            notes="a flag back to the AIC every tile, which the sample does without",
        ),
    ]  # fmt: skip


def guide_matmul_cases() -> list[Case]:
    """Cases of the vendor's tuning guide; their tilings are named, their inner loop is the high-level API's."""
    base = MatmulTiling(4096, 5120, 4096, layout_b=K_BY_N)
    strategy = TUNING + "Matmul算子优化Tiling策略.md"
    small = replace(base, base_m=64, base_n=64, base_k=256, step_ka=1, step_kb=1)
    large = replace(base, panel_m=1024, panel_n=1024, panels_m=4)
    volume = (5120 // 256 * 4096 * 4096 + 4096 // 128 * 4096 * 5120) * 2
    wide = MatmulTiling(128, 30720, 1024, layout_b=K_BY_N, panel_m=128, panel_n=1280)
    tall = MatmulTiling(30720, 4096, 1024, panel_m=1280, panel_n=4096, panels_m=24)
    reorder = MatmulTiling(768, 2048, 6144, layout_b=K_BY_N, panel_m=128, panel_n=512, panels_m=6)
    odd = MatmulTiling(1024, 4095, 1024, layout_b=K_BY_N, panel_m=128, panel_n=1408, panels_m=8)
    norm = "matmul high-level API norm"
    return [
        matmul(
            "64x64x256 tiles, 4 cores", strategy, replace(small, panel_m=2048, panel_n=2560, panels_m=2), 4,
            rows_of("matmul high-level API base 64x64x256", "M4096 N5120 K4096", "task_duration"),
            F32, soc="Ascend910B3", device="A2 4 cores used", assumed="panels 2 x 2, B as [k][n]",
        ),
        matmul(
            "64x64x256 tiles, 20 cores", strategy, replace(small, panel_m=1024, panel_n=1024, panels_m=4), 20,
            rows_of("matmul high-level API base 64x64x256", "M4096 N5120 K4096", "task_duration"),
            F32, soc="Ascend910B3", device="A2 (20 AIC)", assumed="panels 4 x 5, B as [k][n]",
        ),
        matmul(
            "128x256x64 tiles, large chunks", strategy, large, 20,
            rows_of("matmul base 128x256x64 large packets", "M4096 N5120 K4096", "aic_mte2_time")
            | rows_of("matmul large packets", "M4096 N5120 K4096", l2_read_bandwidth=bandwidth("aic", "MTE2", volume, Unit.GB_PER_S)),
            F32, soc="Ascend910B3", assumed="panels 4 x 5, B as [k][n], chunks of 4 slices",
        ),
        matmul(
            "wide, small chunks", TUNING + "Matmul高阶API使能MDL模板.md", replace(wide, step_ka=1, step_kb=1), 24,
            rows_of(norm, "M128 N30720 K1024", "aic_time_max", "aic_mte2_time"), assumed="B as [k][n]",
        ),
        matmul(
            "wide, large chunks", TUNING + "Matmul高阶API使能MDL模板.md", wide, 24,
            rows_of("matmul high-level API MDL", "M128 N30720 K1024", "aic_time_max", "aic_mte2_time"), assumed="B as [k][n]",
        ),
        matmul(
            "wide, preloaded", TUNING + "Matmul高阶API使能MTE2-Preload.md",
            MatmulTiling(128, 24576, 512, base_n=128, step_ka=8, step_kb=8, layout_b=K_BY_N, panel_m=128, panel_n=1024), 24,
            rows_of("matmul high-level API MDL+MTE2 preload", "M128 N24576 K512", "aic_time"),
            assumed="B as [k][n]; A is read again for every tile, the API keeps it",
        ),
        matmul(
            "tall", TUNING + "Matmul高阶API使能L2-Cache切分.md", tall, 24,
            rows_of("matmul high-level API no L2 split", "M30720 N4096 K1024 (B transposed)", "aic_time", "aic_mte2_time"),
            assumed="tile 128x256x64 in chunks of 4, each core 1280 rows",
        ),
        matmul(
            "tall, split for L2", TUNING + "Matmul高阶API使能L2-Cache切分.md", replace(tall, swizzle=12, swizzle_direction=1), 24,
            rows_of("matmul high-level API L2 split", "M30720 N4096 K1024 (B transposed)", "aic_time"),
            assumed="tile and chunks as before; tiles dealt in bands",
        ),
        matmul(
            "same K order", TUNING + "Matmul高阶API使能多核K轴错峰访问内存.md", reorder, 24,
            rows_of("matmul high-level API same K order", "M768 N2048 K6144", "task_duration", "aic_mte2_time"),
            regime="f", assumed="chunks of 4 slices",
        ),
        matmul(
            "shifted K order", TUNING + "Matmul高阶API使能多核K轴错峰访问内存.md", replace(reorder, rotate_k=True), 24,
            rows_of("matmul high-level API shifted K order", "M768 N2048 K6144", "task_duration", "aic_mte2_time"),
            regime="f", assumed="chunks of 4 slices, each core a chunk further",
        ),
        matmul(
            "odd rows", TUNING + "AIV核上的ND2NZ格式转换.md", odd, 24,
            rows_of("matmul high-level API ND2NZ in flight", "M1024 N4095 K1024", "task_duration", "aic_time_max", "aic_mte2_time"),
            regime="a",
        ),
        Case(
            "odd rows, NZ on AIVs", TUNING + "AIV核上的ND2NZ格式转换.md", "matmul_after_nz_f16", 24,
            lambda: [zeros(1024, 1024), zeros(1024, 4095), zeros(256, 1024, 16), zeros(1024, 4095), replace(odd, layout_b=COLUMN_BLOCKS).array()],
            rows_of("matmul high-level API ND2NZ on AIV", "M1024 N4095 K1024", "task_duration", "aic_time_max", "aic_mte2_time", "aiv_mte2_time"),
            assumed="tiles of 64 x 256 dealt to the AIVs, no step of an AIV overlaps another (the page names the calls only)",
        ),
    ]  # fmt: skip


def other_matmul_cases() -> list[Case]:
    """PTO, PyPTO and CATLASS."""
    gemm = MatmulTiling(
        7680, 7680, 7680, prefetch=False, m_inner=False, panel_m=1920, panel_n=1280, panels_m=4
    )
    pypto = MatmulTiling(6144, 6144, 6144, layout_b=K_BY_N, swizzle=6)
    thin = MatmulTiling(20, 6144, 16384, layout_b=COLUMN_BLOCKS, swizzle=3, swizzle_direction=1)
    band = MatmulTiling(160, 6144, 2048, layout_b=COLUMN_BLOCKS, swizzle=3, swizzle_direction=1)
    narrow = replace(thin, base_m=32, base_n=320, base_k=32)
    basic = MatmulTiling(2048, 4096, 4000, layout_b=K_BY_N, swizzle=3)
    b3 = {"soc": "Ascend910B3"}
    return [
        matmul(
            "7680^3", GEMM, gemm, 24,
            rows_of(
                "gemm", "7680^3", time=replace(TASK, unit=Unit.MS), TMATMUL_ratio=share("aic", "M"), TEXTRACT_ratio=share("aic", "MTE1"),
                TLOAD_ratio=share("aic", "MTE2"), TSTORE_ratio=share("aic", "FIX"),
            ),
            F32, soc="Ascend910_9391",
        ),
        matmul(
            "6144^3 split for L2", PYPTO, pypto, 24, rows_of("matmul L2 split", "6144^3", time=replace(TASK, unit=Unit.MS), throughput=throughput(2 * 6144**3)),
            soc="Ascend910_9391", assumed="the framework adds nothing to the kernel", notes="the page says about 1.6 ms",
        ),
        matmul(
            "1024x576x6144", CATLASS_GUIDE, MatmulTiling(1024, 576, 6144, swizzle=3), 20,
            rows_of("matmul case1 before", "M1024 N576 K6144", "task_duration"), assumed="swizzle <3,0>", **b3,
        ),
        matmul(
            "1024x576x6144, even", CATLASS_GUIDE, MatmulTiling(1024, 576, 6144, base_m=256, base_n=128, swizzle=3, rotate_k=True), 20,
            rows_of("matmul case1 after", "M1024 N576 K6144", "task_duration"), assumed="swizzle <3,0>", **b3,
        ),
        matmul("20x6144x16384, zN", CATLASS_GUIDE, thin, 20, rows_of("matmul case2 B zN before", "M20 N6144 K16384", "task_duration"), **b3),
        matmul(
            "20x6144x16384", CATLASS_GUIDE, replace(thin, layout_b=K_BY_N), 20,
            rows_of("matmul case2 B RowMajor a", "M20 N6144 K16384", "task_duration"), regime="a", **b3,
        ),
        matmul("20x6144x16384, zN, even", CATLASS_GUIDE, narrow, 20, rows_of("matmul case2 B zN after", "M20 N6144 K16384", "task_duration"), **b3),
        matmul(
            "20x6144x16384, even", CATLASS_GUIDE, replace(narrow, layout_b=K_BY_N), 20,
            rows_of("matmul case2 B RowMajor b", "M20 N6144 K16384", "task_duration"), regime="a", **b3,
        ),
        matmul(
            "1x768x5120 f32", CATLASS_GUIDE, MatmulTiling(1, 768, 5120, base_n=128, swizzle=3, swizzle_direction=1), 24,
            rows_of("matmul case3 before", "M1 N768 K5120", "task_duration"), F32, "matmul_f32_f32",
        ),
        matmul(
            "1x768x5120 f32, even", CATLASS_GUIDE,
            MatmulTiling(1, 768, 5120, base_m=16, base_n=32, base_k=256, swizzle=3, swizzle_direction=1), 24,
            rows_of("matmul case3 after", "M1 N768 K5120", "task_duration"), F32, "matmul_f32_f32", regime="d",
        ),
        *(
            matmul(
                f"basic {m}x{n}x{k}", SPLIT_K, replace(basic, m=m, n=n, k=k), 24,
                rows_of("basic matmul", f"MNK {m}x{n}x{k}", "task_duration"), soc="Ascend910B2", regime="a",
                assumed="tile 128x256x64 in chunks of 4, swizzle <3,0>: the example the page names",
            )
            for m, n, k in ((2048, 4096, 4000), (4096, 4096, 8000), (4096, 4096, 40000))
        ),
        matmul("160x6144x2048, bands of 3", CATLASS_GUIDE, band, 20, rows_of("matmul swizzle before", "M160 N6144 K2048 B zN", "task_duration"), **b3),
        matmul(
            "160x6144x2048, bands of 4", CATLASS_GUIDE, replace(band, swizzle=4), 20,
            rows_of("matmul swizzle after", "M160 N6144 K2048 B zN", "task_duration"), **b3,
        ),
        *(split_k_case(m, n, k) for m, n, k in ((2048, 4096, 4000), (4096, 4096, 8000), (4096, 4096, 40000))),
        split_k_case(2048, 4096, 80000, part=4),
        matmul(
            "2048x4096x80000", SPLIT_K, MatmulTiling(2048, 4096, 20000, layout_b=K_BY_N, swizzle=3, swizzle_direction=0), 24,
            rows_of("basic matmul", "MNK 2048x4096x80000", "task_duration"), soc="Ascend910B2", part=4,
            assumed="tile 128x256x64 in chunks of 4, swizzle <3,0>: the example the page names",
        ),
    ]  # fmt: skip


def split_k_case(m: int, n: int, whole_k: int, part: int = 1) -> Case:
    k = whole_k // part
    return Case(
        f"split K {m}x{n}x{whole_k}", SPLIT_K, "split_k_matmul", 24,
        lambda: [zeros(m, k), zeros(n, k), zeros(m, n), zeros(m, k), zeros(n, k), zeros(m, n, dtype=F32), m, n, k],
        rows_of("single-core split-K matmul", f"MNK {m}x{n}x{whole_k}", "task_duration"),
        soc="Ascend910B2", full=m * n * k > 2**35, part=part,
        notes="the page's text has B row-major, its source column-major; the source is followed",
    )  # fmt: skip
