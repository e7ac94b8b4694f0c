"""Constants of the links between devices, each with its source.

Bandwidths are GB/s in one direction, times microseconds. C1 to C8 are rows of
tests/link_times/measured.csv, from which tests/link_times/constants.py computes the value anew;
"[a]" marks assumptions that nothing published fixes (docs/hardware/index.md).
"""

from __future__ import annotations

from dataclasses import dataclass

# How devices are connected, by the number the simulator knows it by.
MESH, RING, TWO_SERVERS = 0.0, 1.0, 2.0


@dataclass(frozen=True, slots=True)
class LinkTable:
    """Constants of the time model for the links between devices. The values are those of an A2
    server: a link for each pair."""

    topology: float = MESH
    # C2, C3.
    link_write_bandwidth: float = 20.28
    link_read_bandwidth: float = 26.81
    # What goes out of or into a device at a time, in links: no cap below that of all seven [a].
    link_ports: float = 7
    # From the end of a transfer until a load can be used: C1.
    link_load_us: float = 0.67
    # And until a store has arrived: as a load [a].
    link_store_us: float = 0.67
    # A store of the scalar unit and its way out of the cache [a].
    signal_store_us: float = 0.2
    # From the arrival of a value until a loop sees it: half of a look [a].
    signal_poll_us: float = 0.15
    # Between servers, RoCE: C7, and at least for a piece, C6.
    network_bandwidth: float = 23.73
    network_us: float = 0.91
    # The engine that copies without cores: C4, C5.
    sdma_bandwidth: float = 14.24
    sdma_us: float = 2.06


# What `Ranks(topology=...)` can be. On A3 a die has one way out and in to all others (C6, for reads
# as for writes [a]); in a ring traffic goes the shorter way over the devices between.
TOPOLOGIES = {
    "a2": LinkTable(),
    "a3": LinkTable(link_write_bandwidth=164.6, link_read_bandwidth=164.6, link_ports=1),
    "ring": LinkTable(topology=RING, link_ports=2),
    "two-servers": LinkTable(topology=TWO_SERVERS),
}
A2_LINKS = TOPOLOGIES["a2"]
