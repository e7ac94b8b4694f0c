"""Which published rows fixed a constant of the time model; all others only check it.

Constants by their names in tile_ir/timing.py. What a row did not fix has its source in words. docs/time_model.md says
how a value was read from a row.
"""

from __future__ import annotations

# (case, metric) of the rows a constant was read from.
FIXED_BY = {
    "scalar_issue": (("add case 1", "aiv_scalar_time"), ("8192^3 basic API", "aic_scalar_time")),
    "scalar_local": (("add case 0", "task_duration"),),
    "vector_issue": (("add case 3", "aiv_vec_time"),),
    "sum_latency": (("100 sums of 256, WholeReduceSum", "time"), ("100 sums of 256, BlockReduceSum", "time")),
    "cube_issue": (("8192^3 basic API", "aic_mac_time"),),
    "cube_latency": (("8 Mmads of 128x256x64", "measured_cycles"), ("8 Mmads of 128x128x64", "measured_cycles")),
    "load_issue": (("8192^3 basic API", "aic_mte1_time"),),
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

_TESTS = "vendor's performance tests"
_ASSUMED = "assumed, nothing is published"

OTHERWISE = {
    "queue_depth": "vendor's page on constraints",
    "scalar_flag": "PTO's cost model",
    "scalar_gm": _ASSUMED,
    "vector_drain": "PTO's cost model",
    "load_latency": _TESTS,
    "load_3d_latency": _TESTS,
    "l0a_rate": "vendor's table",
    "l0b_rate": "vendor's table",
    "table_issue": _TESTS,
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
    "cross_flag_latency": _ASSUMED,
}


def fixed(case: str, metric: str) -> list[str]:
    """The constants a published value of a case fixed."""
    return [name for name, rows in FIXED_BY.items() if (case, metric) in rows]
