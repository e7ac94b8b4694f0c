"""A5: chips with AI cores of dav-c310, `__NPU_ARCH__` 3510 (docs/hardware/index.md#a5, with the
sources).

Kernels for them are read, checked, lowered and reported on; no code generator emits for them.
"""

from __future__ import annotations

from itertools import permutations

from tile_ir.dtypes import BFLOAT16, FLOAT16, FLOAT32, INT8, INT32
from tile_ir.machine import Core, Memory, Pipe
from tile_ir.target import Target

# What a kernel has of UB unless it is compiled without stack for vector functions (6 KB more) and
# without room for the vendor's own calls (2 KB more).
CAPACITY = {
    Memory.UB: 253952,
    Memory.L1: 524288,
    Memory.L0A: 65536,
    Memory.L0B: 65536,
    Memory.L0C: 262144,
    Memory.BT: 4096,
}
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
    Core.CUBE: (Pipe.S, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.FIX),
    Core.VECTOR: (Pipe.S, Pipe.V, Pipe.MTE2, Pipe.MTE3),
}
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
            (Pipe.MTE1, Pipe.FIX),
            (Pipe.FIX, Pipe.MTE1),
            (Pipe.S, Pipe.MTE2),
            (Pipe.MTE2, Pipe.S),
            (Pipe.FIX, Pipe.S),
            (Pipe.M, Pipe.S),
            (Pipe.MTE2, Pipe.FIX),
            (Pipe.FIX, Pipe.MTE2),
        }
    ),
    Core.VECTOR: frozenset(permutations(PIPES[Core.VECTOR], 2)),
}
PATHS = frozenset(
    {
        (Memory.GM, Memory.UB),
        (Memory.UB, Memory.GM),
        (Memory.UB, Memory.UB),
        (Memory.GM, Memory.L1),
        (Memory.L1, Memory.L0A),
        (Memory.L1, Memory.L0B),
        (Memory.L1, Memory.BT),
        (Memory.L0C, Memory.GM),
        (Memory.L0C, Memory.L1),
        # Between the cores of a group without gm: by MTE3, MTE1 and FIX.
        (Memory.UB, Memory.L1),
        (Memory.L1, Memory.UB),
        (Memory.L0C, Memory.UB),
    }
)
_ALL = ("RINT", "FLOOR", "CEIL", "ROUND", "TRUNC")
_EXACT = ("NONE",)
# Of types that the language has; those with float64 are sequences of instructions.
CONVERSIONS = {
    ("int4", "int16"): _EXACT,
    ("int4", "float16"): _EXACT,
    ("int4", "bfloat16"): _EXACT,
    ("int8", "int16"): _EXACT,
    ("int8", "float16"): _EXACT,
    ("int8", "int32"): _EXACT,
    ("uint8", "uint16"): _EXACT,
    ("uint8", "float16"): _EXACT,
    ("uint8", "uint32"): _EXACT,
    ("int16", "int4"): _EXACT,
    ("int16", "uint8"): _EXACT,
    ("int16", "float16"): _ALL,
    ("int16", "int32"): _EXACT,
    ("int16", "uint32"): _EXACT,
    ("int16", "float32"): _EXACT,
    ("uint16", "uint8"): _EXACT,
    ("uint16", "uint32"): _EXACT,
    ("float16", "int4"): _ALL,
    ("float16", "int8"): _ALL,
    ("float16", "uint8"): _ALL,
    ("float16", "int16"): _ALL,
    ("float16", "bfloat16"): _ALL,
    ("float16", "int32"): _ALL,
    ("float16", "float32"): _EXACT,
    ("bfloat16", "float16"): _ALL,
    ("bfloat16", "int32"): _ALL,
    ("bfloat16", "float32"): _EXACT,
    ("int32", "uint8"): _EXACT,
    ("int32", "int16"): _EXACT,
    ("int32", "uint16"): _EXACT,
    ("int32", "float32"): _ALL,
    ("int32", "int64"): _EXACT,
    ("uint32", "uint8"): _EXACT,
    ("uint32", "int16"): _EXACT,
    ("uint32", "uint16"): _EXACT,
    ("float32", "int16"): _ALL,
    ("float32", "float16"): (*_ALL, "ODD", "NONE"),
    ("float32", "bfloat16"): _ALL,
    ("float32", "int32"): _ALL,
    ("float32", "float32"): _ALL,
    ("float32", "int64"): _ALL,
    ("int64", "int32"): _EXACT,
    ("int64", "float32"): _ALL,
}
_NO_FILL = "no instruction fills l0a or l0b: load zeros from l1, or begin products with init=True"


def chip(name: str, cube_cores: int, hbm: int | None) -> Target:
    """A chip of these cores. Neither a clock nor a size of L2 is published."""
    return Target(
        name=name,
        architecture="A5",
        ai_core="dav-c310",
        npu_arch="3510",
        cube_cores=cube_cores,
        vector_cores=2 * cube_cores,
        published_mhz=None,
        hbm_gigabytes=hbm,
        published_l2=None,
        capacity=CAPACITY,
        alignment=ALIGNMENT,
        pipes=PIPES,
        flag_pairs=FLAG_PAIRS,
        paths=PATHS,
        conversions=CONVERSIONS,
        fixpipe=frozenset(
            {(FLOAT32, FLOAT32), (FLOAT32, FLOAT16), (FLOAT32, BFLOAT16), (INT32, INT32)}
        ),
        accumulators={FLOAT16: FLOAT32, BFLOAT16: FLOAT32, FLOAT32: FLOAT32, INT8: INT32},
        dumpable=frozenset({Memory.GM, Memory.UB, Memory.L0C}),
        unavailable={"zero_l0": _NO_FILL, "clear_l0c": _NO_FILL},
        events_per_pair=8,
        encoded_events_per_pair=8,
        cross_flags=16,
        compiler_cross_flags=8,
        cross_counter_limit=15,
    )


CHIPS = (
    chip("Ascend950PR_9579", 28, 128),
    chip("Ascend950PR_9599", 32, None),
)
