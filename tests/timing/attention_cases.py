"""Cases of attention."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, Rows, rows_of, zeros
from measures import TASK

F32 = np.float32
BF16 = np.uint16  # its bits
SPARSE = "tla:examples/sparse_flash_attention/bench_sfa/README.md"
FLASH = "pto:kernels/manual/common/flash_atten/README.md"
BATCHES = "tla:examples/flash_attention/fa_opt/bench_mark.md"


def attention_cases() -> list[Case]:
    return [*flash_cases(), *batch_cases(), *score_cases(), *sparse_cases()]


def score_cases() -> list[Case]:
    """One task of each core, on a part of the keys: a core does all others one after the other."""
    cores, heads, keys = 24, 12, 16384

    def arguments() -> list[Any]:
        q, kv = zeros(cores * 256, 128), (keys, 128)
        workspace = zeros(cores * (2 * (256 * 1024 * 6 + 256 * 512) + 256 * 512), dtype=np.uint8)
        return [q, zeros(*kv), zeros(*kv), zeros(cores * 256, 128), workspace, keys]

    return [
        Case(
            f"{heads} heads, {length // 1024}K keys, score operator", BATCHES, "attention_score_128", cores, arguments,
            rows_of("flash attention AscendC", f"B1 QN12 KVN1 D128 S{length // 1024}K", time=TASK),
            soc="Ascend910_9391", hot=True, full=True,
            part=heads * (length // 256) // cores * (length // keys),
            assumed="the operator the page calls is the vendor's FlashAttentionScore; its cores share K and V in L1",
        )
        for length in (65536, 131072)
    ]  # fmt: skip


def sparse_cases() -> list[Case]:
    """128 heads see 2048 of the first 2560 positions; the cache is as long as the row says."""

    def arguments(cached: int, heads: int, positions: int) -> list[Any]:
        chosen = np.random.default_rng(0).permutation(2560)[:2048].astype(np.int32)
        pages = np.arange(cached // 128, dtype=np.int32)
        of_block = positions * 576 * 2 + heads * positions * 6 + heads * 512 * 4
        workspace = zeros(128 // heads * of_block, dtype=np.uint8)
        q, kv = zeros(128, 576, dtype=BF16), zeros(cached, 576, dtype=BF16)
        return [q, kv, chosen, zeros(128, 512, dtype=BF16), pages, workspace, 2560, 128 // heads]

    def case(name: str, kernel: str, rows: Rows, cached: int, heads: int, positions: int) -> Case:
        return Case(
            name, SPARSE, kernel, 24, lambda: arguments(cached, heads, positions), rows, soc="Ascend910_9391",
        )  # fmt: skip

    return [
        *(
            case(
                f"sparse latent attention, {cached} positions", "sparse_attention_gathered",
                rows_of("sparse MLA TileLang", f"T1 B1 QN128 KVN1 D512 rope64 sparse2048 KVS{cached}", time=TASK),
                cached, 16, 256,
            )
            for cached in (2560, 6400, 48000)
        ),
        case(
            "sparse latent attention, row by row", "sparse_attention_by_rows",
            rows_of("sparse flash attention PA baseline", "see README", time=TASK), 2560, 64, 64,
        ),
    ]  # fmt: skip


def batch_cases() -> list[Case]:
    """One task of each core, on a part of the keys: a core does all others one after the other."""
    cores, heads, keys, batch = 24, 12, 16384, 14

    def arguments() -> list[Any]:
        q, kv = zeros(cores * 128, 128), (keys, 128)
        workspace = zeros(cores * 3 * batch, 128, 128)
        return [q, zeros(*kv), zeros(*kv), zeros(cores * 128, 128), workspace, keys, 1]

    return [
        Case(
            f"{heads} heads, {length // 1024}K keys, in batches", BATCHES, "attention_in_batches_128", cores, arguments,
            rows_of("flash attention TileLang", f"B1 QN12 KVN1 D128 S{length // 1024}K", time=TASK),
            soc="Ascend910_9391", hot=True, full=length > 32768,
            part=heads * (length // 128) // cores * (length // keys),
            assumed="the expert version of the page's table, which names the times 80 % of AscendC's",
        )
        for length in (32768, 65536)
    ]  # fmt: skip


def flash_cases() -> list[Case]:
    found = []
    for cores, keys in (
        (1, 1024), (1, 2048), (1, 4096), (1, 8192), (2, 1024), (2, 4096), (4, 4096), (4, 8192), (8, 1024), (8, 4096), (8, 8192),
    ):  # fmt: skip
        rows = 128 * cores
        name = f"flash attention {cores} core{'s' if cores > 1 else ''} S0={rows}"

        def arguments(cores: int = cores, keys: int = keys) -> list[Any]:
            q, kv = 128 * cores, (keys, 128)
            workspace = cores * 8 * (128 * 256 * 6 + 128 * 128 * 4)
            return [
                zeros(q, 128),
                zeros(*kv),
                zeros(*kv),
                zeros(q, 128, dtype=F32),
                zeros(workspace, dtype=np.uint8),
                keys,
            ]

        found.append(
            Case(
                f"{cores} x 128 queries, {keys} keys",
                FLASH,
                "flash_attention_128",
                cores,
                arguments,
                rows_of(name, f"S1={keys} H128", time=TASK),
                hot=True,
                assumed="tiles of 256 keys, FIFOs of 8 tiles (the defaults; the page does not say)",
                notes="Q, K and V are prefetched into L2 and the cores warmed up before the launch",
            )
        )
    return found
