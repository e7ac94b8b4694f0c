"""Cases of int8 products with their dequantisation: CATLASS's, and grouped ones of the vendor's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from case import ASC, GUIDE, Case, Rows, rows_of, zeros
from matmul_tiling import COLUMN_BLOCKS, K_BY_N, MatmulTiling

F16, F32, I8, I32 = np.float16, np.float32, np.int8, np.int32
SPLIT = "catlass:examples/52_quant_multi_core_splitk_matmul_tla/52_quant_multi_core_splitk_matmul_tla.md"
FULL_A = "catlass:examples/44_quant_matmul_full_loadA_tla/44_quant_matmul_full_loadA_tla.md"
GROUP = ASC + "03_fusion_compute/quant_group_matmul_high_performance/README.md"
GROUPED = GUIDE + "优秀实践/GroupedMatmul算子性能调优案例.md"


def quant_cases() -> list[Case]:
    sizes = (
        (128, 256, 1024),
        (128, 256, 2048),
        (128, 256, 4096),
        (128, 256, 8192),
        (128, 256, 16384),
        (256, 512, 16384),
        (256, 1024, 16384),
    )
    in_runs = {"swizzle": 1, "swizzle_direction": 0, "in_runs": True}
    return [
        *(dealt(SPLIT, "Ascend910B3", 20, *mnk) for mnk in sizes),
        *(dealt(FULL_A, "Ascend910B1", 24, *mnk, layout_b=K_BY_N) for mnk in ((512, 4096, 1024), (512, 8192, 1024), (128, 16384, 1024), (1024, 4096, 1024), (128, 16384, 2048))),
        full_a(512, 4096, 1024, **in_runs),
        full_a(1024, 4096, 1024, **in_runs),
        full_a(128, 16384, 1024, swizzle=3, swizzle_direction=0),
        split_k(128, 256, 16384),
        *group_cases(),
    ]  # fmt: skip


def dealt(source: str, soc: str, cores: int, m: int, n: int, k: int, **more: Any) -> Case:
    tiling = MatmulTiling(
        m, n, k, base_k=128, swizzle=3, swizzle_direction=int(m <= n), rotate_k=True, **more
    )
    rows = rows_of("quant matmul basic", f"MNK {m}x{n}x{k}", "task_duration")
    return _quant(f"int8 {m}x{n}x{k}", source, soc, cores, tiling, rows)


def full_a(m: int, n: int, k: int, **dealing: Any) -> Case:
    tiling = MatmulTiling(
        m, n, k, base_k=128, layout_b=K_BY_N, keep_a=True, rotate_k=True, **dealing
    )
    rows = rows_of("quant matmul full-load A", f"MNK {m}x{n}x{k}", "task_duration")
    return _quant(f"int8 {m}x{n}x{k}, A kept", FULL_A, "Ascend910B1", 24, tiling, rows)


def _quant(name: str, source: str, soc: str, cores: int, tiling: MatmulTiling, rows: Rows) -> Case:
    t = tiling

    def arguments() -> list[Any]:
        a, b = zeros(t.m, t.k, dtype=I8), zeros(t.k, t.n, dtype=I8)
        workspace = zeros(2, cores, 128, 256, dtype=I32)
        return [a, b, zeros(t.n), zeros(t.m), zeros(t.m, t.n), workspace, t.array()]

    return Case(
        name, source, "quant_matmul_i8", cores, arguments, rows, soc=soc,
        regime="d" if t.m * t.n * t.k <= 2**26 else "",  # most of it is starting
        notes="scales are f16 here, f32 there",
    )  # fmt: skip


def split_k(m: int, n: int, k: int) -> Case:
    """As many slices as cores: 20, of one or two chunks of 512."""
    cores = 20
    tiling = MatmulTiling(m, n, k, base_k=128, unit_flag=True)

    def arguments() -> list[Any]:
        partial, reduced = zeros(cores, m, n, dtype=I32), zeros(m, n, dtype=I32)
        a, b = zeros(m, k, dtype=I8), zeros(n, k, dtype=I8)
        return [a, b, zeros(n), zeros(m), zeros(m, n), partial, reduced, tiling.array(), cores]

    return Case(
        f"int8 {m}x{n}x{k}, depth dealt", SPLIT, "quant_split_k_matmul_i8", cores, arguments,
        rows_of("quant multi-core split-K matmul", f"MNK {m}x{n}x{k}", "task_duration"), soc="Ascend910B3",
        notes="scales are f16 here, f32 there",
    )  # fmt: skip


def group_cases() -> list[Case]:
    sample = MatmulTiling(
        1024, 8192, 1024, base_k=128, layout_b=COLUMN_BLOCKS, unit_flag=True, keep_a=True
    )
    guide = replace(sample, m=128)
    shape = "x(1024,1024) w(8,1024,8192) NZ"
    bands = "the guide's kernel is the sample's: shares of 128 x 1024, tiles of 128 x 256, bands of 24 rows, FasterGelu; no bias"
    return [
        _group(
            "grouped int8 8192x8192x1024", GROUP, 24, sample,
            rows_of("quant group matmul scenario2", "M8192 N8192 K1024", "task_duration", "aic_mac_time", "aiv_vec_time"),
            slots=4, doubled=True, bypass=False,
            assumed="A's rows stay in L1 for the tiles of a share (the library chooses), B in chunks of 4 slices",
        ),
        _group(
            "grouped int8 1024x8192x1024, one AIV", GROUPED, 8, guide,
            rows_of("grouped matmul + dequant + activation baseline", shape, "task_duration"),
            slots=2, doubled=False, bypass=True, kernel="quant_group_matmul_one_aiv", assumed=bands,
        ),
        _group(
            "grouped int8 1024x8192x1024, two AIVs", GROUPED, 8, guide,
            rows_of("grouped matmul + dequant + activation 1:2 mix", shape, "task_duration"),
            slots=2, doubled=False, bypass=True, assumed=bands,
        ),
    ]  # fmt: skip


def _group(
    name: str, source: str, cores: int, tiling: MatmulTiling, rows: Rows, *, slots: int, doubled: bool, bypass: bool,
    kernel: str = "quant_group_matmul_two_aivs", assumed: str,
) -> Case:  # fmt: skip
    """Eight groups."""
    t, groups = tiling, 8

    def arguments() -> list[Any]:
        m = groups * t.m
        x, weight = zeros(m, t.k, dtype=I8), zeros(groups, t.n, t.k, dtype=I8)
        scale, token = zeros(groups, t.n, dtype=F32), zeros(m, dtype=F32)
        workspace = zeros(slots, cores, 128, 256, dtype=I32)
        return [
            x,
            weight,
            scale,
            token,
            zeros(m, t.n),
            workspace,
            t.array(),
            groups,
            slots,
            doubled,
            bypass,
        ]

    return Case(
        name, source, kernel, cores, arguments, rows, full=t.m > 128, assumed=assumed,
    )  # fmt: skip
