"""Transfers to and from the memory of other NPUs (docs/rules/copies.md#other-npus)."""

from __future__ import annotations

from tile_ir.expr import Expr
from tile_ir.machine import Core, Pipe
from tile_ir.nodes import Op
from tile_ir.opdef import OpDef, OperandDef, Problem
from tile_ir.ops.axes import whole
from tile_ir.ops.rules import GM, UB, all_rules, destination, on, same_dtype, scalar, source
from tile_ir.target import Target

NEEDS = "needs several NPUs (SHMEM)"


def _integers(op: Op, target: Target) -> Problem | None:
    """Counts and ranks are integers."""
    for i, operand in enumerate(op.operands):
        name = op.opdef.operand_def(i).name
        if isinstance(operand, Expr) and not operand.dtype.is_integer:
            return Problem("operand-kind", f"{op.opdef.called}: {name} is {operand.dtype}", name)
    return None


def _transfer(
    name: str, regions: tuple[OperandDef, OperandDef], pipe: Pipe, doc: str, *more: OperandDef
) -> OpDef:
    return OpDef(
        name=name,
        family="shmem",
        doc=f"{doc}; {NEEDS}",
        ascend_c="SHMEM library",
        namespace="",
        operands=(*regions, scalar("nelems"), scalar("newPe"), *more),
        placement=on(Core.VECTOR, pipe),
        axes=whole,
        dtype_rule=all_rules(same_dtype, _integers),
        unavailable=NEEDS,
    )


OPS = (
    _transfer(
        "shmem_put_nbi",
        (destination("dst", GM), source("src", GM)),
        Pipe.MTE3,
        "start copying nelems elements to the memory of rank newPe",
    ),
    _transfer(
        "shmem_get_nbi",
        (destination("dst", GM), source("src", GM)),
        Pipe.MTE2,
        "start copying nelems elements from the memory of rank newPe",
    ),
    _transfer(
        "shmem_ub_put_nbi",
        (source("ub", UB), destination("dst", GM)),
        Pipe.MTE3,
        "start copying nelems elements from ub to the memory of rank newPe, strelem elements on",
        scalar("strelem", optional=True),
    ),
    _transfer(
        "shmem_ub_get_nbi",
        (destination("dst", UB), source("src", GM)),
        Pipe.MTE2,
        "start copying nelems elements from the memory of rank newPe to ub",
    ),
)
