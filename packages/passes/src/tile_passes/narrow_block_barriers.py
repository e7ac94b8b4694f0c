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
    """Make `sync_block` one of the vector cores where no work of the cube core has to be complete.

    Needs, gives: TYPED. Idea: before a signal all that the block has done for others is complete.
    The cube core does something for others where it writes a tensor or reads what another rank may
    write again; results that it hands to the vector cores are theirs to complete. So it multiplies
    on while they put what it made before. Limits: the whole kernel is one case.
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
