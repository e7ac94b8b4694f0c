"""The vendor's instruction curves beside the same instructions on the simulator's clock: one core, one instruction in a
loop with nothing between (instruction_curves.csv, curve_kernels.py).

They are a second opinion on rates and on how often instructions start; what depends on GM is left out, as the chips'
files differ there beyond reason.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from curve_kernels import KERNELS, LOAD_L0A, LOAD_TABLE, MMAD, VECTOR
from modelled import rank

from tile_ir.costs.timing import DEFAULT_TIMING
from tile_runtime.simulator.timeline import KINDS, PIPES

CURVES = Path(__file__).with_name("instruction_curves.csv")
TIMES = 40
# The vendor's name of an instruction, and the API that is it.
APIS = {
    "VABS": "abs", "VREC": "reciprocal", "VSQRT": "sqrt", "VNOT": "not", "VADD": "add", "VSUB": "sub", "VMUL": "mul",
    "VMIN": "min", "VDIV": "div", "VMLA": "mul_add_dst", "VMADD": "fused_mul_add", "VADDS": "adds", "VMULS": "muls",
    "VMAXS": "maxs", "VMINS": "mins", "VAXPY": "axpy", "VLRELU": "leaky_relu", "VSHL": "shift_left",
    "VECTORDUP": "duplicate", "VCONV": "cast", "VCMPV": "compare", "VCGADD": "block_sum", "VCGMAX": "block_max",
    "VCGMIN": "block_min", "VCMIN": "whole_min", "VCADD": "whole_sum", "VCPADD": "pair_sum",
}  # fmt: skip
TYPES = {
    "FP16": "f16",
    "FP32": "f32",
    "INT16": "i16",
    "INT32": "i32",
    "UINT16": "u16",
    "UINT32": "u32",
}


@dataclass(frozen=True)
class Point:
    """A point of a curve in cycles, and what the simulator's clock has for it."""

    family: str
    instruction: str
    size: str
    published: float
    modelled: float

    @property
    def error(self) -> float:
        """Relative, with its sign."""
        return self.modelled / self.published - 1


def points() -> Iterator[Point]:
    """All points of which there is a kernel."""
    with CURVES.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        launch = _launch(row)
        if launch is not None and _is_possible(row, rows):
            family, pipe, name, arguments = launch
            words = f"{row['instruction']} {row['types']}".strip()
            yield Point(
                family, words, row["size"], float(row["cycles"]), cycles(name, pipe, *arguments)
            )


def _is_possible(row: dict[str, str], rows: list[dict[str, str]]) -> bool:
    """Not where a vector instruction takes longer than one of far more repeats of the same curve, or less than a cycle
    for a repeat, which no source has: six points of the file."""
    if row["unit"] != "repeats of 256 bytes":
        return True
    size, found = int(row["size"]), float(row["cycles"])
    curve = [
        r for r in rows if (r["instruction"], r["types"]) == (row["instruction"], row["types"])
    ]
    larger = [float(r["cycles"]) for r in curve if int(r["size"]) > size]
    return (
        found >= 0.9 * size and all(found <= 1.5 * other for other in larger) and found <= 60 * size
    )


def _launch(row: dict[str, str]) -> tuple[str, str, str, tuple[int, ...]] | None:
    """Family, pipe, kernel and arguments of a row."""
    match row["kind"], row["instruction"]:
        case "vector", name if name in APIS:
            first, second, *_ = row["types"].split("_")
            given = (first, second) if name == "VCONV" else (first,)
            kernel = VECTOR.get((APIS[name], *(TYPES.get(t, t) for t in given)))
            return None if kernel is None else ("vector", "V", kernel, (int(row["size"]),))
        case "transfer", "UB_TO_UB":
            return "vector", "V", VECTOR["copy", "f16"], (int(float(row["size"]) * 32),)
        case "transfer", "L1_TO_L0A":
            return "MTE1", "MTE1", LOAD_L0A, (int(float(row["size"]) * 2),)
        case "transfer", "L1_TO_BT":
            return "MTE1", "MTE1", LOAD_TABLE, (int(float(row["size"]) * 16),)
        case "matrix", _:
            m, k, n = (int(size) for size in row["size"].split("x"))
            return "M", "M", MMAD, (m, k, n)
    return None


def cycles(kernel: str, pipe: str, *arguments: int) -> float:
    """From one start of the instruction to the next, the first few left out: the queue is still filling."""
    events = KERNELS.timeline(kernel, *arguments, TIMES, table=DEFAULT_TIMING).events
    work = events[(events["pipe"] == PIPES.index(pipe)) & (events["kind"] == KINDS.index("work"))]
    starts = np.sort(work["begin"][work["core"] == work["core"][-1]])[-TIMES:]
    return float((starts[-1] - starts[TIMES // 4]) / (len(starts) - 1 - TIMES // 4))


def families(found: list[Point]) -> dict[str, tuple[int, float, float]]:
    """Number of points, median error and rank correlation of each family."""
    result = {}
    for family in dict.fromkeys(p.family for p in found):
        chosen = [p for p in found if p.family == family]
        error = float(np.median([abs(p.error) for p in chosen]))
        order = rank([(p.modelled, p.published) for p in chosen])
        result[family] = len(chosen), error, order
    return result


if __name__ == "__main__":
    all_points = list(points())
    for point in all_points:
        if abs(point.error) > 0.1:
            print(
                f"{point.instruction:24} {point.size:>10} {point.published:9.1f} {point.modelled:9.1f} {point.error:+.0%}"
            )
    print(families(all_points))
