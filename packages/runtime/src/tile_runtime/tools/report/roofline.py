"""Compute the roofline share of a timed run: operations, bytes, and the least time that
the slowest of matrix units, vector units and HBM would need for them.

The bytes that must move are those of the tensors the kernel was called with, each once, or the
moved bytes if those are fewer. Operations of the cube units are counted by the simulator: two for
every multiply-accumulate, of which a cycle does more the narrower the operands are. Those of the
vector units are one for every element of the widest operand of an instruction that calculates. For
an instruction of which only the span is known, its time gives a bound, at 256 bytes a cycle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.timeline import MEMORIES, PIPES, WORK, Timeline
from tile_runtime.tools.report.timed_run import TimedRun

# What a vector unit takes in a cycle.
_VECTOR_BYTES = 256
# Vector instructions that move or convert: no operation is done.
_MOVES = frozenset(
    ("Duplicate", "Copy", "Cast", "CastDeq", "Brcb", "Gather", "Gatherb", "GatherMask", "Scatter",
     "Transpose", "TransDataTo5HD", "CreateVecIndex", "ArithProgression")
)  # fmt: skip
_ELEMENT = re.compile(r"LocalTensor<(\w+)>")
_BYTES = {
    "half": 2, "bfloat16_t": 2, "float": 4, "int8_t": 1, "uint8_t": 1, "int16_t": 2,
    "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8,
}  # fmt: skip
# How many times the multiply-accumulates of 16 bits a matrix unit does a cycle, by operand.
_RATES = {"int4b_t": 4.0, "int8_t": 2.0, "uint8_t": 2.0, "float": 0.25}
_HF32_RATE = 0.5


@dataclass(frozen=True, slots=True)
class Roofline:
    """Counts of one run, and the seconds each part of the chip would need for them alone."""

    operations: float
    bytes: float
    seconds: float
    least: Mapping[str, float]

    @property
    def bound(self) -> str:
        """The part of the chip that decides how fast the kernel could be."""
        return max(self.least, key=lambda part: self.least[part])

    @property
    def share(self) -> float:
        """The least time over the modelled one."""
        return self.least[self.bound] / self.seconds if self.seconds > 0 else 0.0


def roofline(run: TimedRun) -> Roofline:
    """The roofline of a run by the bytes of its tensors; where these are unknown, by the bytes that
    missed L2."""
    line = run.timeline
    moved = line.totals["read_bytes"] + line.totals["write_bytes"]
    needed = min(float(run.facts.tensor_bytes or line.totals["hbm_bytes"]), moved)
    matrix = 2 * line.totals["macs"]
    vector, vector_bytes = _vector_work(run)
    least = {
        "HBM": needed / (line.hbm_bandwidth * 1e9),
        "matrix units": matrix / (line.peak_flops * _matrix_rate(run)),
        "vector units": vector_bytes / (_VECTOR_BYTES * line.vector_cores * line.mhz * 1e6),
    }
    return Roofline(matrix + vector, needed, line.microseconds * 1e-6, least)


def _matrix_rate(run: TimedRun) -> float:
    """How many times faster than products of 16 bits the products of a run could be: the mean over
    the cycles they took."""
    line, lines = run.timeline, run.sources.get(run.main_source(), "").splitlines()
    rates = dict(_RATES)
    if any("SetHF32Mode(" in text for text in lines):
        rates["float"] = _HF32_RATE
    of_matrix = (line.events["pipe"] == PIPES.index("M")) & (line.events["kind"] == WORK)
    in_l0a = line.accesses["memory"] == MEMORIES.index("L0A")
    found = line.accesses[in_l0a & of_matrix[line.accesses["event"]]]
    if not len(found):
        return 1.0
    made, buffer = np.unique(found["made"], return_inverse=True)
    rate = np.array([rates.get(_element_type(lines, int(m)), 1.0) for m in made])[buffer.ravel()]
    cycles = (line.events["end"] - line.events["begin"])[found["event"]].astype(float)
    return float(np.average(rate, weights=cycles)) if cycles.any() else 1.0


def _vector_work(run: TimedRun) -> tuple[float, float]:
    """Operations of vector instructions, and the bytes of the elements they were done on."""
    line, lines = run.timeline, run.sources.get(run.main_source(), "").splitlines()
    in_ub = line.accesses["memory"] == MEMORIES.index("UB")
    found = line.accesses[in_ub & _calculating(line)[line.accesses["event"]]]
    made, buffer = np.unique(found["made"], return_inverse=True)
    sizes = np.array([_element_bytes(lines, int(m)) for m in made], float)[buffer.ravel()]
    cycles = (line.events["end"] - line.events["begin"])[found["event"]]
    spanned = (found["end"] - found["begin"]).astype(float)
    taken = np.minimum(spanned, _VECTOR_BYTES * cycles)
    # Of an instruction the operand with most elements.
    order = np.lexsort((taken, taken / sizes, found["event"]))
    last = np.diff(found["event"][order].astype(np.int64), append=-1) != 0
    widest = order[last]
    return float((taken / sizes)[widest].sum()), float(taken[widest].sum())


def _calculating(line: Timeline) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which events are vector instructions that calculate."""
    moves = [i for i, text in enumerate(line.strings) if text in _MOVES]
    of_vector = (line.events["pipe"] == PIPES.index("V")) & (line.events["kind"] == WORK)
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = of_vector & ~np.isin(
        line.events["api"], moves
    )
    return found


def _element_bytes(lines: list[str], made: int) -> int:
    """Of a buffer, from the line of C++ that makes it; 4 where it does not say."""
    return _BYTES.get(_element_type(lines, made), 4)


def _element_type(lines: list[str], made: int) -> str:
    """Of a buffer, from the line of C++ that makes it; "" where it does not say."""
    match = _ELEMENT.search(lines[made - 1]) if 0 < made <= len(lines) else None
    return match[1] if match else ""
