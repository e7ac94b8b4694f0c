"""Define products, and copies of their results out of l0c, that use the unit flags of l0c.

They wait for each other block by block and need no flag of the core between them
(docs/hardware/units.md#unit-flag).

A result is whole regions of one size: products, the last of which says so, and one copy.
"""

from __future__ import annotations

from typing import Any

from tile_ir.expr import Expr
from tile_ir.nodes import Op, Region
from tile_ir.opdef import Access, OpDef, OperandDef
from tile_ir.ops.cube import MMA
from tile_ir.ops.movement import COPY_L0C_GM
from tile_ir.quick_dataclasses import replace


def _product(op: Op, *operands: Any) -> Any:
    *own, _ = operands
    return MMA.meaning(op, *own)


MMA_UNIT = replace(
    MMA,
    name="mma_unit",
    family="unit_flags",
    doc="mma that waits for the result before it to leave l0c; `last` lets its own be taken",
    namespace=None,
    operands=(*MMA.operands, OperandDef("last", Access.READ)),
    meaning=_product,
    unit_flags=True,
)

COPY_L0C_GM_UNIT = replace(
    COPY_L0C_GM,
    name="copy_l0c_gm_unit",
    family="unit_flags",
    doc="copy_l0c_gm that follows the last mma_unit of its result",
    unit_flags=True,
)


def product_of(op: Op) -> Region | None:
    """Where the operation leaves its product, if it has a form with unit flags."""
    return op.region("C") if op.opdef is MMA else None


def taken_by(op: Op) -> Region | None:
    """The region of l0c that the operation takes out, if it has a form with unit flags."""
    return op.region("src") if op.opdef is COPY_L0C_GM else None


def product_by_units(op: Op, last: Expr) -> Op:
    """A product in the form with unit flags; where `last` holds, its result is complete."""
    return replace(op, opdef=MMA_UNIT, operands=(*op.operands, last))


def copy_by_units(op: Op) -> Op:
    """A copy of a result, in the form with unit flags."""
    return replace(op, opdef=COPY_L0C_GM_UNIT)


OPS: tuple[OpDef, ...] = (MMA_UNIT, COPY_L0C_GM_UNIT)
