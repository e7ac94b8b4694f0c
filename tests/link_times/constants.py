"""Compute the constants of links anew, from the rows that calibrate and from nothing else.

`python -m link_times.constants` (with tests/ on the path) prints each beside the value in use.
Latencies are what the modelled copy lacks of the published one: its time is linear in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from link_times.copies import by_core, by_engine, copy_us
from link_times.measured import Group, Measured, rows_of, the_row
from tile_ir.costs.hccl import HEAD_US, all_reduce_link_bytes
from tile_ir.costs.links import A2_LINKS, TOPOLOGIES


@dataclass(frozen=True)
class Constant:
    """A constant of links, or of what stands beside them, and how its rows give it."""

    name: str
    rows: tuple[str, ...]
    used: float
    digits: int
    compute: Callable[[Sequence[Measured]], float]


# What no row fixes, and why it is as it is.
ASSUMED = {
    "link_ports": "no cap below all links together",
    "link_store_us": "as a load",
    "signal_store_us": "of the order of a store of a pipe; K27 checks it",
    "signal_poll_us": "half of a look; K26 checks it with the rest of a signal's way",
}


def _bandwidth(name: str) -> Callable[[Sequence[Measured]], float]:
    return lambda rows: the_row(rows, name).value


def _time(name: str) -> Callable[[Sequence[Measured]], float]:
    return lambda rows: the_row(rows, name).microseconds


def _load_latency(rows: Sequence[Measured]) -> float:
    row = the_row(rows, "C1")
    table = replace(A2_LINKS, link_read_bandwidth=the_row(rows, "C3").value, link_load_us=0.0)
    return row.microseconds - copy_us(by_core, row.bytes, table)


def _engine_latency(rows: Sequence[Measured]) -> float:
    row = the_row(rows, "C4")
    table = replace(A2_LINKS, sdma_bandwidth=_sdma_bandwidth(rows), sdma_us=0.0)
    return row.microseconds - copy_us(by_engine, row.bytes, table)


def _sdma_bandwidth(rows: Sequence[Measured]) -> float:
    """What the large copy takes longer than the small one, it takes for its bytes."""
    small, large = the_row(rows, "C4"), the_row(rows, "C5")
    return (large.bytes - small.bytes) / (large.microseconds - small.microseconds) / 1e3


def _hccl_head(rows: Sequence[Measured]) -> float:
    row = the_row(rows, "C8")
    on_link = all_reduce_link_bytes(row.bytes, row.ranks)
    return row.microseconds - on_link / the_row(rows, "C2").value / 1e3


def product_rate(rows: Sequence[Measured]) -> float:
    """Operations in a microsecond of a large product on one device."""
    row = the_row(rows, "C9")
    return row.operations / row.microseconds


A3 = TOPOLOGIES["a3"]
CONSTANTS = (
    Constant("link_write_bandwidth", ("C2",), A2_LINKS.link_write_bandwidth, 2, _bandwidth("C2")),
    Constant("link_read_bandwidth", ("C3",), A2_LINKS.link_read_bandwidth, 2, _bandwidth("C3")),
    Constant("link_load_us", ("C1", "C3"), A2_LINKS.link_load_us, 2, _load_latency),
    Constant("network_bandwidth", ("C7",), A2_LINKS.network_bandwidth, 2, _bandwidth("C7")),
    Constant("network_us", ("C6 piece",), A2_LINKS.network_us, 2, _time("C6 piece")),
    Constant("sdma_bandwidth", ("C4", "C5"), A2_LINKS.sdma_bandwidth, 2, _sdma_bandwidth),
    Constant("sdma_us", ("C4", "C5"), A2_LINKS.sdma_us, 2, _engine_latency),

    Constant("a3 link_write_bandwidth", ("C6 rate",), A3.link_write_bandwidth, 1, _bandwidth("C6 rate")),
    Constant("a3 link_read_bandwidth", ("C6 rate",), A3.link_read_bandwidth, 1, _bandwidth("C6 rate")),
    Constant("hccl HEAD_US", ("C8", "C2"), HEAD_US, 1, _hccl_head),
)  # fmt: skip


def main() -> None:
    rows = rows_of(Group.CALIBRATE)
    print("| constant | rows | in use | by its rows |")
    print("| --- | --- | --- | --- |")
    for each in CONSTANTS:
        found = each.compute(rows)
        print(f"| {each.name} | {', '.join(each.rows)} | {each.used:g} | {found:.4g} |")


if __name__ == "__main__":
    main()
