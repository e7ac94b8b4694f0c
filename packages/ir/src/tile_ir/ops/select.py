"""Packed masks: comparisons that make them and selections by them
(docs/language/rules.md#masks-and-gathering).

Bit k of a mask is bit k % 8 of byte k // 8; elements are counted row by row, whatever the shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tile_ir.dtypes import FLOAT16, FLOAT32, INT8, INT32, UINT8, UINT32
from tile_ir.expr import Const, Expr, ceildiv, constant_value
from tile_ir.layout.geometry import REPEAT_BYTES, active_dims, element_count, squeezed
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Op, Region
from tile_ir.opdef import Access, AttrDef, Axes, AxesRule, OpDef, OperandDef, Problem, Scratch
from tile_ir.ops.axes import labelled, whole
from tile_ir.ops.rules import (
    FILLABLE,
    UB,
    VECTOR,
    all_rules,
    destination,
    exact_sizes,
    integer_scalar,
    leading,
    regions,
    same_size_of,
    scratch_operand,
    shape_text,
    source,
)
from tile_ir.target import Target

COMPARE_MODES = ("eq", "ne", "gt", "ge", "lt", "le")
REGISTER, SCALAR, TENSOR = (
    "vsel_cmpmask_spr",
    "vsel_tensor_scalar_mode",
    "vsel_tensor_tensor_mode",
)
# Elements whose bits fill a block of 32 bytes, and bytes of one vector repeat.
GROUP = 256


def row_axes(bits: str) -> AxesRule:
    """Row by row, where the bits of a row of elements are whole bytes, a row of `bits`."""

    def rule(op: Op) -> Axes:
        packed = squeezed(op.region(bits))
        shapes = {squeezed(r) for name, r in regions(op) if name != bits}
        shape = next(iter(shapes))
        columns = constant_value(shape[-1]) if len(shape) == 2 else None
        if len(shapes) != 1 or columns is None or packed != (shape[0], Const(columns // 8)):
            return whole(op)
        if columns % 8:
            return whole(op)
        return labelled(op, {name: {active_dims(r)[0]: 0} for name, r in regions(op)})

    return rule


def lanes(region: Region) -> int:
    """Elements of one vector repeat."""
    return REPEAT_BYTES // region.dtype.size


def _mask(name: str, access: Access, advice: str) -> OperandDef:
    hint = f"a mask has a bit for each element: {advice}"
    return OperandDef(name, access, UB, (INT8, UINT8), as_bytes=True, hint=hint)


def _either(name: str) -> OperandDef:
    return OperandDef(name, Access.READ, UB, scalar=True)


def _like_src0(op: Op, target: Target) -> Problem | None:
    """src1 is a vector of the type of src0, or a number that fits it."""
    src0, src1 = op.region("src0"), op.operand("src1")
    if isinstance(src1, Region) and src1.dtype != src0.dtype:
        found = f"is {src1.dtype}, but src0 `{src0.buffer.name}` is {src0.dtype}"
        return op.problem("src1", "dtype-mismatch", found, "cast one of them with T.tile.cast")
    return integer_scalar(op, "src1", src0)


def _compare_type(op: Op, target: Target) -> Problem | None:
    """int32 is compared for equality only; src1 has the type of src0, or is a scalar that fits
    it."""
    src0, mode = op.region("src0"), op.attr("mode")
    if src0.dtype is INT32 and mode != "eq":
        # The vendor's header takes every mode for int32, and emits the instruction for equality.
        return Problem(
            "compare-mode",
            f"compare: int32 `{src0.buffer.name}` is compared with {mode.upper()}, "
            "expected EQ, the only comparison of integers"
            + (", which is what the device would do for NE too" if mode == "ne" else ""),
            "mode",
            "compare with EQ, and exchange src0 and src1 of T.tile.select"
            if mode == "ne"
            else "cast both sides to float32 first",
        )
    return _like_src0(op, target)


def _compare_uses(op: Op) -> Mapping[str, Expr]:
    return {"dst": ceildiv(element_count(op.region("src0")), 8)}


_RELATIONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: (a < b) | (a > b),  # false for NaN, as on the device
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}


def _compare(op: Op, dst: Any, a: Any, b: Any, _scratch: Any) -> Any:
    with np.errstate(all="ignore"):
        right = np.asarray(b).astype(a.dtype).reshape(-1)
        holds = _RELATIONS[op.attr("mode")](a.reshape(-1), right)
    return leading(dst, np.packbits(holds, bitorder="little").view(dst.dtype))


def _compare_scratch(op: Op) -> tuple[Scratch, ...]:
    """The elements of a last, incomplete repeat, padded; their bits behind them."""
    src0 = op.region("src0")
    count = constant_value(element_count(src0))
    if count is not None and count % lanes(src0) == 0:
        return ()
    left = GROUP - 1 if count is None else count % GROUP
    padded = -(-left // lanes(src0)) * lanes(src0)
    sides = 2 if isinstance(op.operand("src1"), Region) else 1
    return (Scratch(Memory.UB, src0.dtype, sides * padded + 32 // src0.dtype.size),)


def _select_operands(op: Op, target: Target) -> Problem | None:
    """src1 is a scalar in the mode for scalars, else a buffer; dst, src0 and src1 have one type."""
    mode, src1 = op.attr("selMode"), op.operand("src1")
    if isinstance(src1, Region) == (mode == SCALAR):
        found = f"the buffer `{src1.buffer.name}`" if isinstance(src1, Region) else "a scalar"
        return Problem(
            "select-mode",
            f"select: src1 is {found}, but {mode.upper()} takes "
            + ("a scalar" if mode == SCALAR else "a buffer"),
            "src1",
            f"write {TENSOR.upper() if mode == SCALAR else SCALAR.upper()}",
        )
    dst, src0 = op.region("dst"), op.region("src0")
    if dst.dtype != src0.dtype:
        found = f"is {src0.dtype}, but dst `{dst.buffer.name}` is {dst.dtype}"
        return op.problem("src0", "dtype-mismatch", found, "cast one of them with T.tile.cast")
    return _like_src0(op, target)


def mask_elements(op: Op) -> Expr:
    """Elements that have a bit of their own: the register holds those of one repeat."""
    dst = op.region("dst")
    count = element_count(dst)
    if op.attr("selMode") != REGISTER:
        return count
    known = constant_value(count)
    return Const(lanes(dst) if known is None else min(known, lanes(dst)))


def _select_uses(op: Op) -> Mapping[str, Expr]:
    return {"selMask": ceildiv(mask_elements(op), 8)}


def _select_shapes(op: Op, target: Target) -> Problem | None:
    """A register of bits that serves several repeats needs a size known now."""
    dst = op.region("dst")
    if op.attr("selMode") == REGISTER and constant_value(element_count(dst)) is None:
        found = f"has {shape_text(dst)}, but VSEL_CMPMASK_SPR takes tiles of static shape"
        return op.problem("dst", "shape-mismatch", found, "write VSEL_TENSOR_TENSOR_MODE")
    return None


def _select(op: Op, dst: Any, mask: Any, src0: Any, src1: Any, _scratch: Any) -> Any:
    bits = np.unpackbits(mask.reshape(-1).view(np.uint8), bitorder="little")
    if op.attr("selMode") == REGISTER:
        bits = bits[: lanes(op.region("dst"))]
    chosen = np.resize(bits, dst.size).astype(bool)
    with np.errstate(all="ignore"):
        other = np.asarray(src1).astype(src0.dtype).reshape(-1)
    return np.where(chosen, src0.reshape(-1), other).reshape(dst.shape)


def _select_axes(op: Op) -> Axes:
    """Bits of the register serve several repeats."""
    return whole(op) if op.attr("selMode") == REGISTER else row_axes("selMask")(op)


def uses_register(op: Op) -> bool:
    """Whether the same bits serve several repeats; one repeat is the same in all modes."""
    count = constant_value(element_count(op.region("dst")))
    return op.attr("selMode") == REGISTER and count is not None and count > lanes(op.region("dst"))


OPS = (
    OpDef(
        name="compare",
        family="select",
        doc="packed bits of src0 MODE src1; unused bits of the last byte are 0, and so is any "
        "comparison with NaN",
        ascend_c="Compare / CompareScalar; a tail through padded scratch",
        operands=(
            _mask("dst", Access.WRITE, "allocate it as uint8, with an eighth of the elements"),
            source("src0", UB, FLOAT16, FLOAT32, INT32),
            _either("src1"),
            scratch_operand(),
        ),
        attrs=(AttrDef("mode", str, choices=COMPARE_MODES),),
        placement=VECTOR,
        axes=row_axes("dst"),
        meaning=_compare,
        flat=True,
        uses=_compare_uses,
        dtype_rule=_compare_type,
        shape_rule=all_rules(same_size_of("src0", "src1"), exact_sizes),
        scratch=_compare_scratch,
        instructions=lambda op: 5 if _compare_scratch(op) else 1,
    ),
    OpDef(
        name="select",
        family="select",
        doc="dst = src0 where the bit of selMask is set, else src1; VSEL_CMPMASK_SPR takes the "
        "bits of the first 256 bytes of elements for every 256 bytes",
        ascend_c="Select",
        operands=(
            destination("dst", UB, *FILLABLE),
            _mask("selMask", Access.READ, "T.tile.compare makes them; compare numbers with 0"),
            source("src0"),
            _either("src1"),
            scratch_operand(),
        ),
        attrs=(AttrDef("selMode", str, choices=(REGISTER, SCALAR, TENSOR)),),
        placement=VECTOR,
        axes=_select_axes,
        meaning=_select,
        flat=True,
        may_alias=True,
        uses=_select_uses,
        dtype_rule=_select_operands,
        shape_rule=all_rules(same_size_of("dst", "src0", "src1"), exact_sizes, _select_shapes),
        # What the mask register is loaded from: the scalar, or the address of the mask.
        scratch=lambda op: () if uses_register(op) else (Scratch(Memory.UB, UINT32, 8),),
        rate=(64, 32),
        instructions=lambda op: 2,
    ),
)
