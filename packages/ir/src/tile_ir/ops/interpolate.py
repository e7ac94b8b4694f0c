"""Interpolation between gathered blocks (docs/language/rules.md#rearranging)."""

from __future__ import annotations

from typing import Any

from tile_ir.dtypes import FLOAT16, FLOAT32, UINT32
from tile_ir.layout.geometry import BLOCK_BYTES, MAX_REPEATS, REPEAT_BYTES
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Op
from tile_ir.opdef import AttrDef, OpDef, Problem, Scratch
from tile_ir.ops.axes import whole
from tile_ir.ops.repeat_reduce import in_range, long_enough
from tile_ir.ops.rules import (
    UB,
    VECTOR,
    elements_bound,
    scratch_operand,
    shape_text,
    source,
    updated,
)
from tile_ir.target import Target


def _interpolation_types(op: Op, target: Target) -> Problem | None:
    """src0 and src1 are float16, src0_offset is uint32."""
    for name, dtype in (("src0", FLOAT16), ("src0_offset", UINT32), ("src1", FLOAT16)):
        region = op.region(name)
        if region.dtype is not dtype:
            hint = f"allocate it as {dtype}, or cast it first"
            return op.problem(name, "operand-dtype", f"is {region.dtype}, expected {dtype}", hint)
    return None


def _interpolation_shape(op: Op, target: Target) -> Problem | None:
    """The attributes are in the ranges of the instruction, and every operand is as long as they
    say."""
    problem = in_range(
        op,
        {
            "mask": (1, 128),
            "h_repeat": (1, MAX_REPEATS),
            "dst_blk_stride": (1, 65535),
            "v_r_offset": (16, 65535),
            "v_repeat": (1, MAX_REPEATS),
        },
    )
    if problem is not None:
        return problem
    across, down, row = op.attr("h_repeat"), op.attr("v_repeat"), op.attr("v_r_offset")
    if row % 16 or across * down > MAX_REPEATS:
        name, what = (
            ("v_r_offset", f"{row}, expected a multiple of 16")
            if row % 16
            else (
                "h_repeat",
                f"{across} with v_repeat {down}, together more than {MAX_REPEATS} repeats",
            )
        )
        hint = "split the call into several"
        return Problem("attribute-value", f"{op.opdef.called}: {name} is {what}", name, hint)
    src1 = op.region("src1")
    if not src1.is_whole() or elements_bound(src1) % 8:
        found = f"has {shape_text(src1)}, expected a whole buffer of a multiple of 8"
        hint = "allocate it with a multiple of 8 elements, and pass it whole"
        return op.problem("src1", "shape-mismatch", found, hint)
    last = ((op.attr("mask") - 1) // 16) * op.attr("dst_blk_stride") * 16
    weights = across * down * (8 if op.attr("repeat_mode") else 1)
    return long_enough(
        op,
        {
            "dst": (down - 1) * row + last + (op.attr("mask") - 1) % 16 + 1,
            "src0_offset": across * down * 8,
            "src1": weights,
            "src0": 1,
        },
    )


def _interpolate(op: Op, dst: Any, src0: Any, offsets: Any, src1: Any, _scratch: Any) -> Any:
    flat, values = dst.reshape(-1).copy(), src0.reshape(-1)
    across, per_block = op.attr("h_repeat"), op.attr("repeat_mode")
    starts, weights = offsets.reshape(-1) // 2, src1.reshape(-1)
    lane = np.arange(op.attr("mask"))
    with np.errstate(all="ignore"):
        for row in range(op.attr("v_repeat")):
            total = None
            for i in range(across):
                repeat = row * across + i
                blocks = [values[s : s + 16] for s in starts[repeat * 8 : repeat * 8 + 8]]
                first = repeat * 8 if per_block else repeat
                weight = weights[first : first + (8 if per_block else 1)].reshape(-1, 1)
                product = (np.stack(blocks) * weight).reshape(-1)
                total = product if total is None else product + total
            assert total is not None, "h_repeat is at least 1"
            places = lane // 16 * op.attr("dst_blk_stride") * 16 + lane % 16
            flat[row * op.attr("v_r_offset") + places] = total[lane]
    return flat.reshape(dst.shape)


def _interpolation_scratch(op: Op) -> tuple[Scratch, ...]:
    """The gathered blocks of all repeats, and a block for each weight."""
    repeats = op.attr("h_repeat") * op.attr("v_repeat")
    size = repeats * REPEAT_BYTES + elements_bound(op.region("src1")) * BLOCK_BYTES
    return (Scratch(Memory.UB, FLOAT32, size // FLOAT32.size),)


OPS = (
    OpDef(
        name="bilinear_interpolation",
        family="interpolate",
        doc="sums of h_repeat gathered repeats of src0 times weights of src1, v_repeat times; a "
        "weight counts for a block (repeat_mode) or a repeat",
        ascend_c="BilinearInterpolation",
        operands=(
            updated("dst", UB, FLOAT16),
            source("src0"),
            source("src0_offset"),
            source("src1"),
            scratch_operand(),
        ),
        attrs=(
            AttrDef("mask", int),
            AttrDef("h_repeat", int),
            AttrDef("repeat_mode", bool),
            AttrDef("dst_blk_stride", int),
            AttrDef("v_r_offset", int),
            AttrDef("v_repeat", int),
        ),
        placement=VECTOR,
        axes=whole,
        meaning=_interpolate,
        dtype_rule=_interpolation_types,
        shape_rule=_interpolation_shape,
        scratch=_interpolation_scratch,
        rate=(16, 8),
    ),
)
