"""Chips as data: sizes, alignments, event counts, clocks (docs/hardware/machine.md#chips,
docs/hardware/memories.md#alignment).

Everything a pass, the verifier or a cost rule wants to know about a device stands here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tile_ir.machine import Memory


@dataclass(frozen=True, slots=True)
class Target:
    """One SoC. Sizes in bytes, clock in MHz, bandwidths in bytes per cycle and core."""

    name: str
    architecture: str
    cube_cores: int
    vector_cores: int
    clock_mhz: int
    hbm_gigabytes: int | None
    l2_bytes: int
    capacity: Mapping[Memory, int] = field(hash=False)
    alignment: Mapping[Memory, int] = field(hash=False)
    # What documents name and the compiler takes, and what the hardware tells apart.
    events_per_pair: int = 8
    encoded_events_per_pair: int = 16
    cross_flags: int = 16
    user_cross_flags: int = 11
    compiler_cross_flags: int = 8
    cross_counter_limit: int = 15
    vector_repeat_bytes: int = 256
    block_bytes: int = 32
    fractal_rows: int = 16
    fractal_bytes: int = 512
    max_repeats: int = 255
    max_blocks_per_copy: int = 4095


# All there is (docs/hardware/machine.md#chips). The 256 bytes at the end of UB and L1 that
# documents set aside (docs/hardware/memories.md#reserved-bytes) are for messages of the vendor's
# matmul and print services, which emitted code does not use; existing kernels fill both memories to
# the last byte.
_CAPACITY = {
    Memory.UB: 196608,
    Memory.L1: 524288,
    Memory.L0A: 65536,
    Memory.L0B: 65536,
    Memory.L0C: 131072,
    Memory.BT: 1024,
}
# L0C is placed by whole accumulator fractals, the stricter of the two documented alignments.
_ALIGNMENT = {
    Memory.GM: 1,
    Memory.UB: 32,
    Memory.L1: 32,
    Memory.L0A: 512,
    Memory.L0B: 512,
    Memory.L0C: 1024,
    Memory.BT: 64,
}
_MIB = 1 << 20


def _soc(name: str, cube_cores: int, clock: int, hbm: int | None, l2: int, family: str) -> Target:
    return Target(name, family, cube_cores, 2 * cube_cores, clock, hbm, l2, _CAPACITY, _ALIGNMENT)


TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        _soc("Ascend910B1", 24, 1850, 64, 192 * _MIB, "A2"),
        _soc("Ascend910B2", 24, 1800, 64, 192 * _MIB, "A2"),
        _soc("Ascend910B2C", 24, 1800, None, 192 * _MIB, "A2"),
        _soc("Ascend910B3", 20, 1800, 64, 192 * _MIB, "A2"),
        _soc("Ascend910B4", 20, 1500, 32, 96 * _MIB, "A2"),
        _soc("Ascend910B4-1", 20, 1500, 32, 176160768, "A2"),
        _soc("Ascend910_9391", 24, 1850, 64, 192 * _MIB, "A3"),
        _soc("Ascend910_9392", 24, 1850, 64, 192 * _MIB, "A3"),
        _soc("Ascend910_9381", 24, 1800, 64, 192 * _MIB, "A3"),
        _soc("Ascend910_9382", 24, 1800, 64, 192 * _MIB, "A3"),
        _soc("Ascend910_9372", 20, 1800, 64, 192 * _MIB, "A3"),
        _soc("Ascend910_9362", 20, 1500, 32, 176160768, "A3"),
    )
}

DEFAULT_TARGET = TARGETS["Ascend910B2"]
