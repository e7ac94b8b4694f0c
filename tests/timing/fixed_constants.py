"""Which published rows fixed a constant of the time model, and the pages that calibrate it: rows of all others check.

Constants by their names in tile_ir/costs/timing.py. What a row did not fix has its source in words. fit_constants.py finds a
constant from its rows; docs/hardware/time_model.md says what a row leaves open.
"""

from __future__ import annotations

from case import ASC, GUIDE

# (case, metric) of the rows a constant was read from.
FIXED_BY = {
    "scalar_issue": (("add case 1", "aiv_scalar_time"),),
    "scalar_issue_cube": (("8192^3 basic API", "aic_scalar_time"),),
    "flag_latency": (("an element through V", "iteration"), ("an element through S", "iteration")),
    "scalar_local": (("add case 0", "task_duration"),),
    "vector_latency": (("add case 3", "aiv_vec_time"), ("1000 Adds, read-read conflict", "GetSystemCycle_ticks_50MHz")),
    "sum_latency": (("100 sums of 256, WholeReduceSum", "time"),),
    "cube_addition": (("8192^3 basic API", "aic_mac_time"),),
    "cube_latency": (("8 Mmads of 128x256x64", "measured_cycles"), ("8 Mmads of 128x128x64", "measured_cycles")),
    "dma_issue": (("read 1x64 to UB", "mte2_time"),),
    "gm_ub_rate": (("read x4 to UB, quarters", "task_duration"),),
    "gm_ub_cold_rate": (("add case 1", "aiv_mte2_time"),),
    "ub_gm_new_rate": (("add case 1", "aiv_mte3_time"),),
    "l0c_gm_rate": (("7680^3", "TSTORE_ratio"),),
    "nd2nz_row": (("read x4 to L1, quarters", "task_duration"),),
    "nd2nz_rate": (("read x4 to L1, quarters", "task_duration"),),
    "nd2nz_row_least": (("8192^3 case 3", "aic_mte2_time"), ("64x64x256 tiles, 4 cores", "task_duration")),
    "gm_l1_cold_rate": (("20x6144x16384, zN", "task_duration"),),
    "gm_store_latency": (("add case 1", "aiv_mte3_time"),),
    "nd2nz_row_miss": (("read 64x64 to L1", "mte2_time"),),
    "nd2nz_miss_rate": (("int8 128x256x4096", "task_duration"), ("int8 128x256x16384", "task_duration")),
    "nd2nz_unaligned_rate": (("read unaligned rows to L1", "mte2_time"),),
    "hbm_bandwidth": (("read 64x1024 to UB", "mte2_time"),),
    "hbm_write_bandwidth": (("add case 3", "task_duration"),),
    "uncached_burst": (("all read all to L1, staggered", "task_duration"),),
    "same_line_rate": (("all read all to L1", "task_duration"),),
    "launch_us": (("add case 1", "task_duration"),),
    "launch_core_us": (
        ("odd rows", "task_duration"), ("odd rows", "aic_time_max"),
        ("odd rows, NZ on AIVs", "task_duration"), ("odd rows, NZ on AIVs", "aic_time_max"),
    ),
    "block_us": (("a further block on a core", "further_block_on_a_core"),),
    "start_core_us": (("read 64x1024 to UB", "task_duration"),),
}  # fmt: skip

# Rates of instructions, which stand with them (docs/hardware/time_model.md#vector-rates).
RATES = {
    "Sort32 and MrgSort": (("1000 of 1024 in 4800 rows, f32", "task_duration"),),
    "LoadDataWithTranspose of bytes": (("int8 512x4096x1024", "task_duration"),),
}

# The pages whose rows fixed something. No row of theirs counts as a check, whatever it says of the other constants.
CALIBRATING = frozenset(
    {
        ASC + "00_vector_compute/add_high_performance/README.md",
        ASC + "01_matrix_compute/matmul_basic_api_high_performance/README.md",
        ASC + "01_matrix_compute/matmul_high_performance/README.md",
        ASC + "04_memory_access/bank_conflict_ub/README.md",
        ASC + "04_memory_access/data_copy/README.md",
        GUIDE + "SIMD算子性能优化/矢量计算/选择低延迟指令-优化归约操作性能.md",
        GUIDE + "优秀实践/Matmul性能调优案例/Matmul算子优化Tiling策略.md",
        GUIDE + "优秀实践/Matmul性能调优案例/AIV核上的ND2NZ格式转换.md",
        "asc:docs/zh/api/SIMD-API/基础API/矩阵计算（ISASI）/Mmad计算关键特性说明/UnitFlag.md",  # noqa: RUF001
        "catlass:docs/zh/1_Practice/11_matmul_optimization.md",
        "catlass:examples/44_quant_matmul_full_loadA_tla/44_quant_matmul_full_loadA_tla.md",
        "catlass:examples/52_quant_multi_core_splitk_matmul_tla/52_quant_multi_core_splitk_matmul_tla.md",
        "hardware.md 4.5",
        "pto:kernels/manual/a2a3/gemm_performance/README.md",
        "pto:kernels/manual/a2a3/topk/README.md",
    }
)

_TESTS = "vendor's performance tests"
_CURVES = "vendor's instruction curves"
_ASSUMED = "assumed, nothing is published"

OTHERWISE = {
    "queue_depth": "vendor's page on constraints",
    "scalar_flag": "PTO's cost model",
    "scalar_gm": _ASSUMED,
    "vector_issue": _CURVES,
    "cube_issue": _CURVES,
    "cube_least": _CURVES,
    "load_issue": _CURVES,
    "load_latency": _TESTS,
    "load_3d_latency": _TESTS,
    "l0a_rate": "vendor's table",
    "l0b_rate": "vendor's table",
    "table_issue": _CURVES,
    "table_latency": _TESTS,
    "table_rate": _TESTS,
    "fill_rate": _ASSUMED,
    "fix_issue": _TESTS,
    "fix_l1_rate": _TESTS,
    "gm_l1_rate": "the SoC's description",
    "ub_gm_rate": "pipe columns of the fused gelu's page, no rows here",
    "l1_gm_rate": "PTO's cost model",
    "gm_load_latency": "PyPTO's simulator",
    "gm_miss_latency": "PyPTO's simulator",
    "l2_bandwidth": "vendor's page on splitting for L2",
    "cross_flag_latency": "nothing is published; between 100 and 300 by int8 128x256x16384 with its depth dealt",
}


def fixed(case: str, metric: str) -> list[str]:
    """The constants and rates a published value of a case fixed."""
    return [name for name, rows in (FIXED_BY | RATES).items() if (case, metric) in rows]
