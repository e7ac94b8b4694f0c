"""Constants of the time model of a chip, each with its source.

Cycles are those of the core clock; rates are bytes per cycle and core; bandwidths are GB/s of the
whole chip. docs/hardware/time_model.md#published-rates has the published values;
docs/hardware/time_model.md says which
measurement fixes the others.
"""

from __future__ import annotations

from dataclasses import asdict

from tile_ir.costs.links import A2_LINKS, LinkTable
from tile_ir.quick_dataclasses import dataclass
from tile_ir.target import Target

# Elements a cycle, of 2 and of 4 bytes, of most vector instructions: one repeat
# (docs/hardware/time_model.md#vector-rates).
FULL_RATE = (128.0, 64.0)


@dataclass(frozen=True, slots=True)
class TimingTable:
    """Constants of the simulator's clock for a chip, besides core counts, clock and size of L2.

    "fixed by" names the measurement of docs/hardware/time_model.md a constant was read from.
    """

    # Depth of a pipe's queue (vendor's page on constraints: 32).
    queue_depth: float = 32

    # Scalar unit. An API call of a vector core; between add case 1 (4.5) and the instruction curves
    # (one repeat every 3).
    scalar_issue: float = 3
    # Of a cube core, whose calls have more parameters; fixed by 8192^3: 11.5 calls in 58 cycles.
    scalar_issue_cube: float = 5
    # A flag or barrier; PTO's cost model.
    scalar_flag: float = 1
    # From the completion of what a flag stands for until the waiting pipe goes on; fixed by an
    # element through V and through S.
    flag_latency: float = 30
    # An element of GM; assumption: a hit in the data cache.
    scalar_gm: float = 12
    # An element of UB; fixed by add case 0: 34 cycles for two reads and a write.
    scalar_local: float = 11

    # Vector pipe. An instruction holds it for the cycles of its repeats, at least for these; the
    # vendor's instruction curves.
    vector_issue: float = 3
    # From the end of that until its result can be used; fixed by 1000 Adds that wait for each
    # other, 24.4 cycles, and add case 3, 278.5 cycles of 256.
    vector_latency: float = 25
    # From the start of one whose lanes all come together, at least; fixed by the 100 sums of 256
    # by WholeReduceSum.
    sum_latency: float = 117

    # Cube. A product holds the pipe for its fractals and these, at least for the second; the
    # vendor's instruction curves.
    cube_issue: float = 2
    cube_least: float = 5
    # Beside its fractals, where it adds to the result of the one before. Fixed by 8192^3: 522
    # cycles of 512.
    cube_addition: float = 10
    # Until the last results are in L0C; fixed by 8 Mmads alone: 4225 cycles.
    cube_latency: float = 47

    # L1 to L0A and L0B, beside the bytes; the vendor's instruction curves.
    load_issue: float = 2
    # A load alone, until it can be used, two- and three-dimensional; vendor's performance tests.
    load_latency: float = 28
    load_3d_latency: float = 50
    l0a_rate: float = 256
    l0b_rate: float = 128
    # L1 to the bias and Fixpipe tables; the vendor's instruction curves and performance tests.
    table_issue: float = 3
    table_latency: float = 20
    table_rate: float = 32
    # A constant into L1; assumption: as fast as L1 is read.
    fill_rate: float = 256
    # L0C to L1: elements a cycle; vendor's performance tests.
    fix_issue: float = 20
    fix_l1_rate: float = 64

    # GM: until a load can be used, until a store has arrived, and more for what is not in L2.
    gm_load_latency: float = 200
    gm_store_latency: float = 294
    gm_miss_latency: float = 150
    # An instruction, at least; fixed by the 1x64 tiles.
    dma_issue: float = 20.6
    # To UB: in L2 (read x4 in quarters), and not (add case 1: 701 cycles for 2 x 8 KB).
    gm_ub_rate: float = 70
    gm_ub_cold_rate: float = 23.4
    # To L1; the SoC description's rate of L2.
    gm_l1_rate: float = 110
    gm_l1_cold_rate: float = 75
    # From UB: to lines in L2 (fused gelu), and to others (8 KB in 294 cycles).
    ub_gm_rate: float = 46
    ub_gm_new_rate: float = 27
    # From L1; PTO's cost model.
    l1_gm_rate: float = 32
    # From L0C, f16 and f32 alike; fixed by 7680^3 and 6144^3.
    l0c_gm_rate: float = 70
    # ND2NZ, a row: cycles, beside bytes at a rate; fixed by rows of 2 KB (read x4 in quarters) and
    # 512 B (6144^3).
    nd2nz_row: float = 1.8
    nd2nz_rate: float = 128
    # At least; between rows of 128 B that take 3.8 (8192^3 case 3) and 2.8 (64x64x256 tiles).
    nd2nz_row_least: float = 3.2
    # And more for one that is not in L2; between 1.1 (int8 128x256xK), 1.7 (64x64 tiles to L1) and
    # 3 (1x768x5120).
    nd2nz_row_miss: float = 1.5
    nd2nz_miss_rate: float = 170
    # The same for rows that do not start on 32 B; fixed by rows of [12288, 12287].
    nd2nz_unaligned_rate: float = 16

    # The chip, of 64 GB. HBM: reads (read 64x1024), write-back from L2 (add case 3: 70 MB).
    hbm_bandwidth: float = 1500
    hbm_write_bandwidth: float = 930
    # Reads and writes; quoted by the vendor's page on splitting for L2.
    l2_bandwidth: float = 7000
    # A run read past L2 moves this at least; fixed by "all read all to L1, staggered".
    uncached_burst: float = 256
    # What all that read one line past L2 get together; fixed by "all read all to L1".
    same_line_rate: float = 624

    # From a cross-core set to the core that waits; nothing is published: 100 to 300 serve the same.
    cross_flag_latency: float = 200
    # Before and after the cores run: of one (add case 1, 8192^3 on one core), and what each AIC and
    # AIV adds (odd rows: 0.8 us for 24 AICs; the same with B laid out by AIVs: 2.8 us for all 72).
    launch_us: float = 0.5
    launch_core_us: float = 0.03
    # Inside a core, before the first instruction of a block; fixed by blocks beyond the cores.
    block_us: float = 2.8
    # And before the first ones of a launch, for each core that starts with its code and page tables
    # still in memory (copies: 6.1 us for 48 AIVs).
    start_core_us: float = 0.07


DEFAULT_TIMING = TimingTable()


def timing_of(
    target: Target,
    table: TimingTable = DEFAULT_TIMING,
    *,
    warm_l2: bool = False,
    links: LinkTable = A2_LINKS,
) -> dict[str, float]:
    """Everything the time model takes, by name, for a chip.

    With `warm_l2` it is a launch that follows another of the same: all buffers lie in the L2 cache
    when the kernel starts, and the cores have its code. `links` connect it to other chips.
    """
    # Half the memory is half the stacks: the vendor gives 0.8 TB/s for the 32 GB part.
    stacks = (target.hbm_gigabytes or 64) / 64
    return {
        **asdict(table),
        **asdict(links),
        "start_core_us": 0.0 if warm_l2 else table.start_core_us,
        "hbm_bandwidth": table.hbm_bandwidth * stacks,
        "hbm_write_bandwidth": table.hbm_write_bandwidth * stacks,
        "mhz": target.clock_mhz,
        "cube_cores": target.cube_cores,
        "vector_cores": target.vector_cores,
        "l2_bytes": target.l2_bytes,
        "warm_l2": float(warm_l2),
    }
