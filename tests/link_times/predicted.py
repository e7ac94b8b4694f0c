"""Predict the published times that check the model, by the constants in use.

Copies by a core and by the engine run on the simulator. What a host or HCCL issues is no kernel of
ours: there a formula says what the constants of links come to. A number that has no entry has its
reason in misses.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from link_times.constants import product_rate
from link_times.copies import by_core, by_engine, copy_us
from link_times.measured import Group, Measured, rows_of
from tile_ir.costs.hccl import all_reduce_link_bytes, derived_us
from tile_ir.costs.links import A2_LINKS, TOPOLOGIES

A3_LINKS = TOPOLOGIES["a3"]
LINK = A2_LINKS.link_write_bandwidth * 1e3  # bytes in a microsecond
HALF = 2  # bytes of a float16


@dataclass(frozen=True)
class PredictedRow:
    """A published value beside what the model says of it, in the unit of the row."""

    row: Measured
    value: float

    @property
    def error(self) -> float:
        return self.value / self.row.value - 1


def _piece_us(row: Measured) -> float:
    """A host gives the next piece when the last is done, and each takes a time of its own, or is
    given while others are under way: A3, RoCE."""
    least, reads = A2_LINKS.network_us, row.metric.startswith("read")
    if "RoCE" in row.metric:
        return max(least, row.bytes / A2_LINKS.network_bandwidth / 1e3)
    table = A3_LINKS if row.system == "A3" else A2_LINKS
    on_link = row.bytes / (table.link_read_bandwidth if reads else table.link_write_bandwidth) / 1e3
    return max(least, on_link) if row.system == "A3" else least + on_link


def _bandwidth(row: Measured) -> float:
    return row.bytes / _piece_us(row) / 1e3


def _ticks_by_core(row: Measured) -> float:
    return copy_us(by_core, row.bytes, A2_LINKS) * 50


def _ticks_by_engine(row: Measured) -> float:
    return copy_us(by_engine, row.bytes, A2_LINKS) * 50


def _all_reduce(row: Measured) -> float:
    return derived_us(all_reduce_link_bytes(row.bytes, row.ranks))


def _product(row: Measured) -> float:
    return row.operations / product_rate(rows_of(Group.CALIBRATE))


def _result_on_link(row: Measured) -> float:
    """What of an all-reduce of the result a link carries, in microseconds."""
    m, _, n = row.extents
    return all_reduce_link_bytes(HALF * m * n, row.ranks) / LINK


def _then_hccl(row: Measured) -> float:
    m, _, n = row.extents
    return _product(row) + derived_us(all_reduce_link_bytes(HALF * m * n, row.ranks))


def _in_pieces(row: Measured) -> float:
    """Rows 512 and four times 896: each piece is summed while the next is computed, and summing
    takes longer."""
    m, k, n = row.extents
    pieces = [512, *[896] * 4]
    assert sum(pieces) == m, "the pieces of the page"
    summed = [derived_us(all_reduce_link_bytes(HALF * rows * n, row.ranks)) for rows in pieces]
    computed = 2 * k * n / product_rate(rows_of(Group.CALIBRATE))
    done = ready = 0.0
    for rows, us in zip(pieces, summed, strict=True):
        ready += rows * computed
        done = max(done, ready) + us
    return done


def _pto(row: Measured) -> float:
    """Scatter and gather have half of the bytes each; the scatter can run beside the product."""
    on_link = _result_on_link(row)
    match row.row:
        case "K10 product":
            return _product(row)
        case "K10 pipelined":
            return max(_product(row), on_link / 2) + on_link / 2
    return _product(row) + on_link


def _gathered(row: Measured) -> float:
    m, k, _ = row.extents
    return HALF * m * k / row.ranks / LINK + _product(row)


def _signal(row: Measured) -> float:
    return A2_LINKS.signal_store_us + A2_LINKS.link_store_us + A2_LINKS.signal_poll_us


_BY_NUMBER: Mapping[str, Callable[[Measured], float]] = {
    "K1": _ticks_by_core,
    "K2": _ticks_by_engine,
    **dict.fromkeys(("K3", "K4", "K5", "K30"), _bandwidth),
    **dict.fromkeys(("K6", "K7"), _all_reduce),
    "K8": _in_pieces,
    "K9": _then_hccl,
    "K10": _pto,
    **{f"K{number}": _gathered for number in range(12, 20)},
    **{f"K{number}": lambda row: A3_LINKS.link_write_bandwidth for number in range(20, 26)},
    "K26": _signal,
    "K27": lambda row: A2_LINKS.signal_store_us,
}


def predictions() -> Iterator[PredictedRow]:
    """Of all rows that check and have a prediction."""
    for row in rows_of(Group.CHECK):
        predict = _BY_NUMBER.get(row.number)
        if predict is not None:
            yield PredictedRow(row, predict(row))
