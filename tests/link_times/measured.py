"""Read the published times of links: measured.csv, each row with its group and its source.

Constants are computed from the rows that *calibrate* alone; rows that *check* are compared with
what the model says; those of *other* hardware are there for the shape of results only.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path

FOLDER = Path(__file__).parent
_BYTES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20}


class Group(Enum):
    CALIBRATE = "calibrate"
    CHECK = "check"
    OTHER = "other"


@dataclass(frozen=True)
class Measured:
    """One published value. The number of a row, as K3, is what scale-out rows are quoted by."""

    row: str
    group: Group
    metric: str
    system: str
    ranks: int
    size: str
    value: float
    unit: str
    source: str

    @property
    def number(self) -> str:
        return self.row.partition(" ")[0]

    @property
    def bytes(self) -> int:
        """Of a size in bytes, KB or MB, which are powers of two."""
        count, unit = self.size.split()
        return round(float(count) * _BYTES[unit])

    @property
    def extents(self) -> tuple[int, int, int]:
        """M, K, N of a product."""
        m, k, n = (int(extent) for extent in self.size.split("x"))
        return m, k, n

    @property
    def operations(self) -> int:
        return 2 * math.prod(self.extents)

    @property
    def microseconds(self) -> float:
        """Of a duration, or of the bytes that a bandwidth is of. A tick is 20 ns."""
        match self.unit:
            case "us":
                return self.value
            case "tick":
                return self.value / 50
            case "GB/s":
                return self.bytes / self.value / 1e3
        raise ValueError(f"{self.row}: {self.unit} is no time")


@lru_cache(maxsize=1)
def measured() -> tuple[Measured, ...]:
    with (FOLDER / "measured.csv").open(newline="", encoding="utf-8") as file:
        return tuple(
            Measured(
                found["row"], Group(found["group"]), found["metric"], found["system"],
                int(found["ranks"]), found["size"], float(found["value"]), found["unit"],
                found["source"],
            )
            for found in csv.DictReader(file)
        )  # fmt: skip


def rows_of(group: Group) -> list[Measured]:
    return [row for row in measured() if row.group is group]


def the_row(rows: Sequence[Measured], name: str) -> Measured:
    (found,) = (row for row in rows if row.row == name)
    return found


def sources() -> dict[str, dict[str, str]]:
    """Repository, commit, path and what to read there, by the key that rows have."""
    with (FOLDER / "sources.csv").open(newline="", encoding="utf-8") as file:
        return {found.pop("source"): found for found in csv.DictReader(file)}
