"""A2 and A3: chips with AI cores of dav-c220, `__NPU_ARCH__` 2201 (docs/hardware/index.md#chips,
docs/hardware/units.md#alignment)."""

from __future__ import annotations

from itertools import permutations

from tile_ir.dtypes import BFLOAT16, FLOAT16, FLOAT32, INT4, INT8, INT32
from tile_ir.machine import Core, Memory, Pipe
from tile_ir.target import Target

# All there is (docs/hardware/index.md#chips). The 256 bytes at the end of UB and L1 that
# documents set aside (docs/hardware/units.md#alignment) are for messages of the vendor's
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

PIPES = {
    Core.CUBE: (Pipe.S, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.FIX),
    Core.VECTOR: (Pipe.S, Pipe.V, Pipe.MTE2, Pipe.MTE3),
}
# docs/hardware/index.md#legal-pairs. The same pipe twice is a barrier, not a flag.
FLAG_PAIRS = {
    Core.CUBE: frozenset(
        {
            (Pipe.M, Pipe.MTE1),
            (Pipe.MTE1, Pipe.M),
            (Pipe.M, Pipe.MTE2),
            (Pipe.MTE2, Pipe.M),
            (Pipe.M, Pipe.FIX),
            (Pipe.FIX, Pipe.M),
            (Pipe.MTE1, Pipe.MTE2),
            (Pipe.MTE2, Pipe.MTE1),
            (Pipe.MTE1, Pipe.MTE3),
            (Pipe.MTE3, Pipe.MTE1),
            (Pipe.MTE1, Pipe.FIX),
            (Pipe.FIX, Pipe.MTE1),
            (Pipe.MTE2, Pipe.MTE3),
            (Pipe.MTE3, Pipe.MTE2),
            (Pipe.S, Pipe.MTE2),
            (Pipe.MTE2, Pipe.S),
            (Pipe.S, Pipe.MTE3),
            (Pipe.MTE3, Pipe.S),
            (Pipe.FIX, Pipe.S),
            (Pipe.M, Pipe.S),
            (Pipe.MTE2, Pipe.FIX),
            (Pipe.FIX, Pipe.MTE2),
            (Pipe.FIX, Pipe.MTE3),
        }
    ),
    Core.VECTOR: frozenset(permutations(PIPES[Core.VECTOR], 2)),
}
# docs/hardware/index.md#pipes.
PATHS = frozenset(
    {
        (Memory.GM, Memory.UB),
        (Memory.UB, Memory.GM),
        (Memory.UB, Memory.UB),
        (Memory.GM, Memory.L1),
        (Memory.L1, Memory.GM),
        (Memory.L1, Memory.L0A),
        (Memory.L1, Memory.L0B),
        (Memory.L1, Memory.BT),
        (Memory.L0C, Memory.GM),
        (Memory.L0C, Memory.L1),
    }
)
# docs/hardware/units.md#conversions. Anything else must be composed from these.
_ALL = ("RINT", "FLOOR", "CEIL", "ROUND", "TRUNC")
CONVERSIONS = {
    ("int4", "float16"): ("NONE",),
    ("int8", "float16"): ("NONE",),
    ("uint8", "float16"): ("NONE",),
    ("int16", "float16"): (*_ALL, "NONE"),
    ("int16", "float32"): ("NONE",),
    ("float16", "int4"): (*_ALL, "NONE"),
    ("float16", "int8"): (*_ALL, "NONE"),
    ("float16", "uint8"): (*_ALL, "NONE"),
    ("float16", "int16"): _ALL,
    ("float16", "int32"): _ALL,
    ("float16", "float32"): ("NONE",),
    ("bfloat16", "int32"): _ALL,
    ("bfloat16", "float32"): ("NONE",),
    ("int32", "int16"): ("NONE",),
    ("int32", "float32"): (*_ALL, "NONE"),
    ("int32", "int64"): ("NONE",),
    ("float32", "int16"): _ALL,
    ("float32", "int32"): _ALL,
    ("float32", "int64"): _ALL,
    ("float32", "bfloat16"): _ALL,
    ("float32", "float32"): _ALL,
    ("float32", "float16"): (*_ALL, "ODD", "NONE"),
    ("int64", "int32"): ("NONE",),
    ("int64", "float32"): _ALL,
}
# docs/hardware/units.md#fixpipe, without those that take a scale.
FIXPIPE = frozenset({(FLOAT32, FLOAT32), (FLOAT32, FLOAT16), (FLOAT32, BFLOAT16), (INT32, INT32)})
# docs/hardware/units.md#products.
ACCUMULATORS = {
    FLOAT16: FLOAT32,
    BFLOAT16: FLOAT32,
    FLOAT32: FLOAT32,
    INT4: INT32,
    INT8: INT32,
}


def chip(
    name: str, architecture: str, cube_cores: int, clock: int, hbm: int | None, l2: int
) -> Target:
    """A chip of these cores."""
    return Target(
        name=name,
        architecture=architecture,
        ai_core="dav-c220",
        npu_arch="2201",
        cube_cores=cube_cores,
        vector_cores=2 * cube_cores,
        published_mhz=clock,
        hbm_gigabytes=hbm,
        published_l2=l2,
        capacity=CAPACITY,
        alignment=ALIGNMENT,
        pipes=PIPES,
        flag_pairs=FLAG_PAIRS,
        paths=PATHS,
        conversions=CONVERSIONS,
        fixpipe=FIXPIPE,
        accumulators=ACCUMULATORS,
        dumpable=frozenset({Memory.GM, Memory.UB, Memory.L1, Memory.L0C}),
        unavailable={},
        events_per_pair=8,
        encoded_events_per_pair=16,
        cross_flags=16,
        compiler_cross_flags=8,
        cross_counter_limit=15,
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
