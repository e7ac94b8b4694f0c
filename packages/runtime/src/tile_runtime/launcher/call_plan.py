"""Plan a call from the text of a kernel and the shapes of the arguments, before it is made."""

from __future__ import annotations

from typing import Any

import torch

from tile_ir import Func, Var, buffers_of, variables_of, walk, walk_expr
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallPlan:
    """The plan that follows from the shapes of a call. `sizes` are bytes per argument of `call`, 0
    for scalars and symbols."""

    shapes: tuple[Any, ...]
    device: torch.device
    sizes: tuple[int, ...]
    symbols: tuple[int, ...]
    allocations: tuple[tuple[int, tuple[int, ...], torch.dtype], ...]


def used_parameters(func: Func) -> frozenset[int]:
    """Positions of the tensors that a kernel touches, by whatever name. For the others a call may
    have None. A text without statements says nothing of its kernel, which is written by hand."""
    if not func.launch.body:
        return frozenset(range(len(func.params)))
    tensors = {a.buffer: a.alias_of for a in func.launch.allocs if a.alias_of is not None}
    found = {tensors.get(b, b) for stmt in walk(func.launch.body) for b in buffers_of(stmt)}
    return frozenset(i for i, p in enumerate(func.params) if p in found)


def used_symbols(func: Func) -> frozenset[str]:
    """The symbols whose values a kernel reads; all of a hand-written kernel."""
    body, blocks = func.launch.body, func.launch.blocks
    if not body:
        return frozenset(s.name for s in func.symbols)
    used = {v for stmt in walk(body) for v in variables_of(stmt)}
    used |= {v for v in walk_expr(blocks) if isinstance(v, Var)}
    return frozenset(v.name for v in used)
