"""What is known of a chip: its cores, clock, memory sizes, alignments and counts.

The chips themselves stand in `chips/`, a file for each architecture of AI core. Everything a pass,
the verifier or a cost rule wants to know about a device is a field here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tile_ir.machine import Memory


@dataclass(frozen=True, slots=True)
class Target:
    """One SoC. Sizes in bytes, clock in MHz, bandwidths in bytes per cycle and core.

    `architecture` is the family that scripts name (A2, A3); `ai_core` is the architecture of its
    cores (dav-c220), by which instructions differ.
    """

    name: str
    architecture: str
    ai_core: str
    cube_cores: int
    vector_cores: int
    clock_mhz: int
    hbm_gigabytes: int | None
    l2_bytes: int
    capacity: Mapping[Memory, int]
    alignment: Mapping[Memory, int]
    # What documents name and the compiler takes, and what the hardware tells apart.
    events_per_pair: int
    encoded_events_per_pair: int
    cross_flags: int
    user_cross_flags: int
    compiler_cross_flags: int
    cross_counter_limit: int
    vector_repeat_bytes: int
    block_bytes: int
    fractal_rows: int
    fractal_bytes: int
    max_repeats: int
    max_blocks_per_copy: int

    def __hash__(self) -> int:
        return hash(self.name)
