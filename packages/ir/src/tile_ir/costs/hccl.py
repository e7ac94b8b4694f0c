"""Estimate how long HCCL's collectives take on an A2 server, to set beside modelled kernels.

The vendor publishes the time of an all-reduce of eight ranks (docs/hardware/index.md#links). Other
collectives and numbers of ranks are derived from it: a head, and the bytes of the busiest link.
"""

from __future__ import annotations

from tile_ir.costs.links import A2_LINKS

# Of every collective; row C8 of tests/link_times/measured.csv, less its bytes at the rate of C2.
HEAD_US = 66.8
_MIB = 1 << 20


def published_all_reduce_us(size: float) -> float:
    """Time of an all-reduce of `size` bytes over the eight ranks of a server, in microseconds."""
    x = size / _MIB
    if x < 8:
        return 14.769 + 27.0622573 * x - 0.9698202 * x * x
    return 61.508333 + 13.58491263 * x


def derived_us(link_bytes: float, head: float = HEAD_US) -> float:
    """Time of a collective whose busiest link carries so many bytes, in microseconds."""
    return head + link_bytes / (A2_LINKS.link_write_bandwidth * 1e3)


def all_reduce_link_bytes(size: float, ranks: int) -> float:
    """Bytes on each link of a mesh: every rank gets a share of the rest, and hands out its sum."""
    return 2 * size / ranks if ranks > 1 else 0.0
