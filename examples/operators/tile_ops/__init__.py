"""Operators of torch from tile kernels, under the namespace `tile_ops`.

    import tile_ops
    y = torch.ops.tile_ops.rms_norm(x, weight, 1e-6)

`OPERATORS` are their manifests by name. A kernel is compiled when sizes first need it, and cached.
"""

from __future__ import annotations

from . import (
    attention,
    elementwise,
    inference,
    moves,
    norms,
    products,
    quantised,
    rotation,
    routing,
    softmax,
    sums,
)
from .manifest import Operator
from .register import register

FAMILIES = (
    norms, elementwise, softmax, rotation, attention, inference, products, quantised, routing,
    moves, sums,
)  # fmt: skip
OPERATORS: dict[str, Operator] = {o.name: o for family in FAMILIES for o in family.OPERATORS}

for _operator in OPERATORS.values():
    register(_operator)
