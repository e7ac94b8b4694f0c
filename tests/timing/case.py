"""A case: one launch of a kernel that stands for published rows, and those rows.

published.csv holds all rows as published, with their sources, further.csv more values of the same pages;
unmodelled.py names those that no case stands for.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from measures import BY_METRIC, Measure

PUBLISHED = [Path(__file__).with_name(name) for name in ("published.csv", "further.csv")]
ASC = "asc:examples/01_simd_cpp_api/05_best_practices/"
GUIDE = "asc:docs/zh/guide/算子实践参考/"
FUSED = ASC + "03_fusion_compute/matmul_gelu_high_performance/README.md"
AIV_PIPES = ("aiv_vec_time", "aiv_mte2_time", "aiv_mte3_time")
AIC_PIPES = ("aic_mac_time", "aic_mte1_time", "aic_mte2_time", "aic_fixpipe_time")

# (kernel, shape, metric) of published rows, and what of the modelled launch they are compared with.
Rows = Mapping[tuple[str, str, str], Measure]


@dataclass(frozen=True)
class Row:
    """One published value."""

    source: str
    device: str
    kernel: str
    shape: str
    dtype: str
    metric: str
    value: float
    unit: str


@dataclass(frozen=True)
class Case:
    """One launch. `assumed` says what the source leaves open and was chosen here."""

    name: str
    source: str
    kernel: str
    blocks: int
    arguments: Callable[[], list[Any]]
    rows: Rows
    soc: str = "Ascend910B1"
    device: str = ""  # of the published rows, where two differ in nothing else
    part: float = 1  # the launch does this part of the published work, one after the other
    less: int = 0  # blocks of the same launch whose time is taken off before
    regime: str = ""  # letter of a regime whose median is limited (regimes.py)
    hot: bool = False  # inputs lie in L2 when the kernel starts
    full: bool = False  # too long for every run of the tests: seconds on two host cores
    assumed: str = ""
    notes: str = ""


@lru_cache(maxsize=1)
def published() -> tuple[Row, ...]:
    return tuple(row for path in PUBLISHED for row in _rows(path))


def _rows(path: Path) -> Iterator[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    for source, device, kernel, shape, dtype, metric, value, unit in rows:
        yield Row(source, device, kernel, shape, dtype, metric, float(value), unit)


def zeros(*shape: int, dtype: Any = np.float16) -> Any:
    """GM data. Its values do not matter to time; pages nobody writes cost no host memory."""
    return np.zeros(shape, dtype)


def rows_of(
    kernel: str, shape: str, *metrics: str, **special: Measure
) -> dict[tuple[str, str, str], Measure]:
    """Rows of one published kernel: metrics whose meaning their name says, and others with it."""
    found = {(kernel, shape, metric): BY_METRIC[metric] for metric in metrics}
    return found | {(kernel, shape, metric): measure for metric, measure in special.items()}
