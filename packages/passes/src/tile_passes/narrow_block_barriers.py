"""Leaves the cube core out of barriers of a block for which it has nothing to complete."""

from __future__ import annotations

from dataclasses import replace

from tile_ir import (
    Core,
    Func,
    Memory,
    Op,
    Phase,
    Stmt,
    Target,
    core_of,
    rewrite,
    walk_ops,
)
from tile_ir.analysis.accesses import regions_of
from tile_ir.opdef import Among
from tile_ir.ops.movement import goes_through_workspace
from tile_ir.ranks import is_symmetric
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED)
def narrow_block_barriers(func: Func, target: Target) -> Func:
    """Restrict `sync_block` to the vector cores if no work of the cube core must be complete.

    Needs, gives: TYPED. Idea: before a signal all work of the block for other ranks is complete.
    The cube core does such work if it writes a tensor or reads one that another rank may overwrite;
    results that it hands to the vector cores are completed by these. In all other cases the cube
    core goes on multiplying meanwhile. Limits: the kernel is decided as a whole.
    """
    if any(_serves_others(op) for op in walk_ops(func.launch.body)):
        return func
    return func.with_body(rewrite(func.launch.body, _narrowed))


def _narrowed(stmt: Stmt) -> Stmt:
    if not isinstance(stmt, Op) or stmt.opdef.among is not Among.BLOCK or not stmt.attr("cubes"):
        return stmt
    return replace(stmt, attrs=(False,))


def _serves_others(op: Op) -> bool:
    """Whether it is work of the cube core that others see or wait for."""
    if core_of(op) is not Core.CUBE or goes_through_workspace(op):
        return False
    tensors = [(r, access) for r, access, _, _ in regions_of(op) if r.memory is Memory.GM]
    return any(access.writes or is_symmetric(region.buffer) for region, access in tensors)
