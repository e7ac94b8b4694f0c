"""The op table: every operation the compiler knows, one record each, by family."""

from __future__ import annotations

from tile_ir.opdef import OpDef
from tile_ir.ops import (
    bitwise,
    cast,
    counted,
    cube,
    debug,
    elementwise,
    expand,
    gather,
    index,
    movement,
    rearrange,
    reduce,
    repeat_reduce,
    select,
    sort,
    sync,
    transcendental,
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
        sync,
        debug,
        counted,
        expand,
        index,
        rearrange,
        repeat_reduce,
        transcendental,
    )
    for opdef in family.OPS
}

__all__ = ["OPS"]
