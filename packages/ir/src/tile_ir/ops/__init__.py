"""The op table: every operation the compiler knows, one record each, by family."""

from __future__ import annotations

from tile_ir.opdef import OpDef
from tile_ir.ops import (
    atomic,
    bitwise,
    cast,
    cube,
    debug,
    elementwise,
    gather,
    movement,
    reduce,
    select,
    sort,
    sync,
)

OPS: dict[str, OpDef] = {
    opdef.name: opdef
    for family in (
        movement,
        atomic,
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
    )
    for opdef in family.OPS
}

__all__ = ["OPS"]
