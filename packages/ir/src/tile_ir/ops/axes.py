"""Which dimensions of its operands an operation runs along together: rules for `OpDef.axes`.

The labels are those of an einsum: on a part of a label, taken from every operand that has it, the
operation computes that part of the result. A dimension without a label takes part as a whole.
Rules that only one family has stand with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tile_ir.layout.geometry import active_dims, squeezed
from tile_ir.nodes import Op, Region
from tile_ir.opdef import Axes, AxesRule, element_limit
from tile_ir.ops.rules import regions


def whole(op: Op) -> Axes:
    """No part of the result comes of parts of the operands alone."""
    return labelled(op, {})


def elements(op: Op) -> Axes:
    """Element by element: operands of one shape run along together in all dimensions."""
    named = regions(op)
    if len({squeezed(r) for _, r in named}) != 1 or element_limit(op) is not None:
        return whole(op)
    return labelled(op, {name: all_dims(r) for name, r in named})


def elements_of(*names: str) -> AxesRule:
    """The operands named run along element by element; of the others any element may be taken."""

    def rule(op: Op) -> Axes:
        along = [(n, r) for n, r in regions(op) if n in names]
        if len({squeezed(r) for _, r in along}) != 1:
            return whole(op)
        return labelled(op, {name: all_dims(r) for name, r in along})

    return rule


def all_dims(region: Region) -> dict[int, int]:
    """A label for every dimension that is not one long, by its place among these."""
    return {dim: number for number, dim in enumerate(active_dims(region))}


def labelled(op: Op, labels: Mapping[str, Mapping[int, int]]) -> Axes:
    """Labels by operand and dimension in the form of the field."""
    result: list[tuple[int | None, ...] | None] = []
    for i, operand in enumerate(op.operands):
        if not isinstance(operand, Region):
            result.append(None)
            continue
        own = labels.get(op.opdef.operand_def(i).name, {})
        result.append(tuple(own.get(dim) for dim in range(len(operand.dims))))
    return tuple(result)
