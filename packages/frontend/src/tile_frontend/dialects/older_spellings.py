"""Other versions' names of operations and of their arguments, where they mean the same.

`OPERATIONS` is by namespace of the language; `ARGUMENTS` leads to the names an operation of today
may have for it, the first that it has counts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

OPERATIONS: dict[str, dict[str, str]] = {
    "": {
        "Max": "max",
        "Min": "min",
        "dynamic": "symbolic",
        "gemm_v1": "gemm_v0",
        "npu_gemm": "mma",
    },
    "tile": {
        "and_tl": "bitwise_and",
        "brcb": "brcb_experiment",
        "cast_tl": "cast",
        "clampMax": "clamp_max",
        "clampMin": "clamp_min",
        "log": "ln",
        "not_tl": "bitwise_not",
        "or_tl": "bitwise_or",
        "row_expand_mul_nd": "row_expand_mul",
        "shiftleft": "bitwise_lshift",
        "shiftright": "bitwise_rshift",
    },
}
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "base_addr": ("base",),
    "buffer": ("src", "dst"),
    "diff_value": ("diff",),
    "dst_blk_stride": ("dstBlkStride",),
    "dst_rep_stride": ("dstRepStride",),
    "dst_repeat_stride": ("dst_rep_stride", "dstRepStride"),
    "firstValue": ("first",),
    "first_value": ("first",),
    "indices": ("offset",),
    "max_scalar": ("max",),
    "min_scalar": ("min",),
    "out": ("dst",),
    "repeatTime": ("repeat",),
    "repeat_time": ("repeat",),
    "repeat_times": ("repeat",),
    "scalarValue": ("scalar",),
    "scalar_value": ("scalar",),
    "src": ("src0",),
    "src0": ("src",),
    "src1Pattern": ("pattern",),
    "srcRepStride": ("src_rep_stride",),
    "src_base_addr": ("base",),
    "src_offset": ("offset",),
}
# What torch and NumPy call an argument, whatever else is given.
TORCH_ARGUMENTS = {"axis": "dim", "keepdims": "keepdim"}


def argument_today(name: str, parameters: Sequence[str], given: Collection[str]) -> str:
    """What an operation with these parameters calls an argument; the name itself if it calls
    nothing so."""
    if name in parameters:
        return name
    if TORCH_ARGUMENTS.get(name) in parameters:
        return TORCH_ARGUMENTS[name]
    return next((n for n in ARGUMENTS.get(name, ()) if n in parameters and n not in given), name)
