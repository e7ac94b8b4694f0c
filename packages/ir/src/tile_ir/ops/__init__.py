"""List every operation, one record each, by family: the op table."""

from __future__ import annotations

from tile_ir.opdef import OpDef
from tile_ir.ops import (
    atomic,
    bitwise,
    broadcast,
    cache,
    cast,
    convolution,
    counted,
    cube,
    debug,
    elementwise,
    expand,
    gather,
    index,
    interpolate,
    lanes,
    movement,
    ranks,
    rearrange,
    reduce,
    repeat_reduce,
    scan,
    select,
    sort,
    sync,
    transcendental,
    unit_flags,
)

OPS: dict[str, OpDef] = {
    opdef.name: opdef
    for family in (
        movement,
        cube,
        elementwise,
        bitwise,
        select,
        gather,
        sort,
        cast,
        reduce,
        broadcast,
        sync,
        debug,
        atomic,
        cache,
        convolution,
        counted,
        expand,
        index,
        interpolate,
        lanes,
        ranks,
        rearrange,
        repeat_reduce,
        scan,
        transcendental,
        unit_flags,
    )
    for opdef in family.OPS
}

__all__ = ["OPS"]
