"""A2 and A3: chips with AI cores of dav-c220, `__NPU_ARCH__` 2201 (docs/hardware/machine.md#chips,
docs/hardware/memories.md#alignment)."""

from __future__ import annotations

from tile_ir.machine import Memory
from tile_ir.target import Target

# All there is (docs/hardware/machine.md#chips). The 256 bytes at the end of UB and L1 that
# documents set aside (docs/hardware/memories.md#reserved-bytes) are for messages of the vendor's
# matmul and print services, which emitted code does not use; existing kernels fill both memories to
# the last byte.
CAPACITY = {
    Memory.UB: 196608,
    Memory.L1: 524288,
    Memory.L0A: 65536,
    Memory.L0B: 65536,
    Memory.L0C: 131072,
    Memory.BT: 1024,
}
# L0C is placed by whole accumulator fractals, the stricter of the two documented alignments.
ALIGNMENT = {
    Memory.GM: 1,
    Memory.UB: 32,
    Memory.L1: 32,
    Memory.L0A: 512,
    Memory.L0B: 512,
    Memory.L0C: 1024,
    Memory.BT: 64,
}


def chip(
    name: str, architecture: str, cube_cores: int, clock: int, hbm: int | None, l2: int
) -> Target:
    """A chip of these cores."""
    return Target(
        name=name,
        architecture=architecture,
        ai_core="dav-c220",
        cube_cores=cube_cores,
        vector_cores=2 * cube_cores,
        clock_mhz=clock,
        hbm_gigabytes=hbm,
        l2_bytes=l2,
        capacity=CAPACITY,
        alignment=ALIGNMENT,
        events_per_pair=8,
        encoded_events_per_pair=16,
        cross_flags=16,
        user_cross_flags=11,
        compiler_cross_flags=8,
        cross_counter_limit=15,
        vector_repeat_bytes=256,
        block_bytes=32,
        fractal_rows=16,
        fractal_bytes=512,
        max_repeats=255,
        max_blocks_per_copy=4095,
    )


_MIB = 1 << 20

CHIPS = (
    chip("Ascend910B1", "A2", 24, 1850, 64, 192 * _MIB),
    chip("Ascend910B2", "A2", 24, 1800, 64, 192 * _MIB),
    chip("Ascend910B2C", "A2", 24, 1800, None, 192 * _MIB),
    chip("Ascend910B3", "A2", 20, 1800, 64, 192 * _MIB),
    chip("Ascend910B4", "A2", 20, 1500, 32, 96 * _MIB),
    chip("Ascend910B4-1", "A2", 20, 1500, 32, 168 * _MIB),
    chip("Ascend910_9391", "A3", 24, 1850, 64, 192 * _MIB),
    chip("Ascend910_9392", "A3", 24, 1850, 64, 192 * _MIB),
    chip("Ascend910_9381", "A3", 24, 1800, 64, 192 * _MIB),
    chip("Ascend910_9382", "A3", 24, 1800, 64, 192 * _MIB),
    chip("Ascend910_9372", "A3", 20, 1800, 64, 192 * _MIB),
    chip("Ascend910_9362", "A3", 20, 1500, 32, 168 * _MIB),
)
