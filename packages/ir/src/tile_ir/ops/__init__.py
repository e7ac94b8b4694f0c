"""The op table: every operation the compiler knows, one record each, by family."""

from __future__ import annotations

from tile_ir.opdef import OpDef
from tile_ir.ops import (
    cache,
    cast,
    counted,
    cube,
    debug,
    elementwise,
    expand,
    index,
    interpolate,
    movement,
    rearrange,
    reduce,
    repeat_reduce,
    shmem,
    sync,
    transcendental,
)

OPS: dict[str, OpDef] = {
    opdef.name: opdef
    for family in (
        movement,
        cube,
        elementwise,
        cast,
        reduce,
        sync,
        debug,
        counted,
        expand,
        index,
        interpolate,
        rearrange,
        repeat_reduce,
        transcendental,
        shmem,
        cache,
    )
    for opdef in family.OPS
}

__all__ = ["OPS"]
