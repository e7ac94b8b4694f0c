"""Make tensors symmetric that the text copies between ranks, though their annotation is plain.

Their annotation is a `T.Tensor`. Earlier statements then refer to the own instance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tile_ir import (
    Body,
    Buffer,
    Const,
    Expr,
    Launch,
    Load,
    Op,
    Region,
    Slice,
    Stmt,
    Store,
    buffers_of,
    map_own_expressions,
    rebuild,
    rewrite,
)
from tile_ir.ranks import RANK, RANKS


def symmetric(buffer: Buffer) -> Buffer:
    """The buffer with an instance for every rank."""
    return replace(buffer, shape=(RANKS, *buffer.shape))


def with_own_instances(launch: Launch, new: Mapping[Buffer, Buffer]) -> Launch:
    """A launch whose text is about buffers that have an instance for every rank in fact."""
    if not new:
        return launch

    def element(e: Expr) -> Expr:
        inside = rebuild(e, element)
        if isinstance(inside, Load) and inside.buffer in new:
            return Load(new[inside.buffer], (RANK, *inside.indices))
        return inside

    def stmt(s: Stmt) -> Stmt:
        if new.keys().isdisjoint(buffers_of(s)):
            return s
        s = map_own_expressions(s, element)
        match s:
            case Op(operands=operands):
                mine = (Slice(RANK, Const(1)),)
                changed = tuple(
                    Region(new[o.buffer], (*mine, *o.dims))
                    if isinstance(o, Region) and o.buffer in new
                    else o
                    for o in operands
                )
                return replace(s, operands=changed)
            case Store(buffer=buffer, indices=indices) if buffer in new:
                return replace(s, buffer=new[buffer], indices=(RANK, *indices))
        return s

    body: Body = rewrite(launch.body, stmt)
    return replace(launch, body=body)
