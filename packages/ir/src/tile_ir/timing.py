"""Constants of the time model of a chip, each with its source.

Cycles are those of the core clock; rates are bytes per cycle and core; bandwidths are GB/s of the
whole chip. hardware.md section 4 has the published values; docs/time_model.md says which
measurement fixes the others.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tile_ir.target import Target


@dataclass(frozen=True, slots=True)
class TimingTable:
    """What the simulator's clock knows of a chip, beside core counts, clock and size of L2."""

    # Scalar unit: handing an instruction to a pipe; a flag; an access to GM, to a local memory.
    scalar_issue: float = 4
    scalar_flag: float = 2
    scalar_gm: float = 12
    scalar_local: float = 4
    # Depth of a pipe's queue (hardware.md 1.2).
    queue_depth: float = 32
    # Cycles before the first result and after the last (4.4).
    vector_head: float = 13
    vector_tail: float = 10
    cube_head: float = 15
    cube_tail: float = 0
    # L1 to L0A, L0B and the tables (4.1).
    load_head: float = 28
    load_3d_head: float = 50
    l0a_rate: float = 256
    l0b_rate: float = 128
    table_head: float = 20
    table_rate: float = 32
    # L0C to L1: elements per cycle (4.1).
    fix_head: float = 20
    fix_l1_rate: float = 64
    # DMA: latency, cycles from start to start, transfers in flight per queue, rates (4.1, 4.4).
    gm_read_latency: float = 210
    gm_write_latency: float = 210
    dma_issue: float = 20
    dma_outstanding: float = 2
    gm_ub_rate: float = 58.6
    gm_l1_rate: float = 78.4
    ub_gm_rate: float = 109
    l1_gm_rate: float = 32
    l0c_gm_rate: float = 40.6
    nd2nz_block: float = 0.5
    # The chip (4.1).
    hbm_bandwidth: float = 1500
    l2_bandwidth: float = 5000
    # Between cores, at the start of a block, at the start of a launch (4.1, 4.4).
    cross_flag_latency: float = 100
    block_start: float = 500
    launch_us: float = 2
    launch_core_us: float = 0.25


DEFAULT_TIMING = TimingTable()


def timing_of(target: Target, table: TimingTable = DEFAULT_TIMING) -> dict[str, float]:
    """Everything the time model takes, by name, for a chip."""
    return {
        **asdict(table),
        "mhz": target.clock_mhz,
        "cube_cores": target.cube_cores,
        "vector_cores": target.vector_cores,
        "l2_bytes": target.l2_bytes,
    }
