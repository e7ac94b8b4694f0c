"""Small kernels and constants in round numbers, so that what the time model gives can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernel_set import KernelSet

from tile_ir.chips import TARGETS
from tile_ir.costs.timing import TimingTable, timing_of
from tile_runtime.simulator.timeline import KINDS, PIPES, Timeline, timeline_from

TARGET = TARGETS["Ascend910B1"]
ROUND = replace(
    TimingTable(),
    scalar_issue=1, scalar_issue_cube=1, scalar_flag=1, flag_latency=0, scalar_local=5, vector_issue=2, vector_latency=10, sum_latency=0, cube_issue=10, cube_addition=10, cube_least=0,
    dma_issue=10, gm_load_latency=0, gm_store_latency=0, gm_miss_latency=0, gm_ub_rate=100, gm_ub_cold_rate=50, ub_gm_rate=100, ub_gm_new_rate=50,
    hbm_bandwidth=100_000, hbm_write_bandwidth=100_000, l2_bandwidth=1_000_000,
    cross_flag_latency=20, launch_us=0, launch_core_us=0, start_core_us=0,
    block_us=0,
)  # fmt: skip


class TimedKernelSet(KernelSet):
    """Runs its kernels timed, with a clock of 1 GHz: GB/s of the chip are bytes a cycle."""

    def timeline(
        self, name: str, *arguments: Any, blocks: int = 1, table: TimingTable = ROUND,
        threads: int = 0, warm: bool = False, **constants: float,
    ) -> Timeline:  # fmt: skip
        timing = timing_of(TARGET, table, warm_l2=warm) | {"mhz": 1000.0} | constants
        options: Any = {
            "checks": 0, "threads": threads, "timing": timing,
            "cube_cores": int(timing["cube_cores"]), "vector_cores": int(timing["vector_cores"]),
        }  # fmt: skip
        self.run(name, *arguments, blocks=blocks, **options)
        return timeline_from(*self._opened[name].timeline(), TARGET)


def times(
    timeline: Timeline, pipe: str, kind: str = "work", core: int = 1
) -> list[tuple[float, float]]:
    """Begin and end of the events of a pipe of one core of each block (1: the first AIV)."""
    events = timeline.events
    chosen = events[
        (events["pipe"] == PIPES.index(pipe))
        & (events["kind"] == KINDS.index(kind))
        & (events["core"] == core)
    ]
    return [(float(e["begin"]), float(e["end"])) for e in chosen]
