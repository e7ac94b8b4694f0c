"""Rows about tuning: how long a tuner takes that has nothing on disk, and what it finds."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Mapping
from typing import Any

import torch

from bench.row import Examples, Measurement, Row, exactly, summary
from tile_frontend import recommend_configs
from tile_ir.switches import override
from tile_runtime.scripts.module import load_script
from tile_runtime.tuning.autotuner import autotune

SIZES = (1024, 1024, 1024)
# Of the proposals, so many from the best to the worst.
CONFIGS = 64


def tuned_gemm(examples: Examples) -> list[Row]:
    """64 configurations of a product, each compiled, checked and timed; and all of them for
    comparison, in what the winner may be slower than the best of all."""
    proposed = recommend_configs("gemm", *SIZES)
    configs = list(itertools.islice(proposed, 0, None, len(proposed) // CONFIGS))[:CONFIGS]
    factory = load_script(examples.folder / "developer" / "gemm.py").gemm
    seconds, found, tried = _tuned(factory, configs)
    # A plain dictionary has no bound by which it is left out.
    _, best, _ = _tuned(factory, [dict(config) for config in configs])
    name = f"{CONFIGS} gemm configurations tuned, nothing on disk"
    behind, left = 100 * (found / best - 1), CONFIGS - tried
    return [
        summary(name, [seconds], "s", 90),
        exactly("tuned gemm: slower than the best of all", behind, "%", 2),
        Row("tuned gemm: left out by their least time", left, left, left, "configurations", 1),
    ]


def _tuned(factory: Any, configs: list[Any]) -> tuple[float, float, int]:
    """Seconds it took, milliseconds of the winner, and how many were tried."""
    with tempfile.TemporaryDirectory() as folder, override(cache_dir=folder):
        started = time.perf_counter()
        kernel = autotune(configs=configs, ref_prog=_product)(factory)(*SIZES)
        seconds = time.perf_counter() - started
        return seconds, float(kernel.latency), len(kernel.tuning.rows)


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.float() @ b.float()


TUNING: Mapping[str, Measurement] = {"tuning": tuned_gemm}
