"""Gives buffers that both kinds of core use a place in the memory of each."""

from __future__ import annotations

from tile_ir import (
    OPS,
    Func,
    Op,
    Phase,
    Stmt,
    Target,
    rewrite,
    walk_ops,
)
from tile_ir.quick_dataclasses import replace
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.BUILT)
def place_buffers(func: Func, target: Target) -> Func:
    """Split each tile that products and vector code both use into one in each memory.

    Needs, gives: BUILT. Idea: the value of a tile stays in the memory of its last writer, and is
    handed over before another memory uses it. Products accumulate in l0c; their sum is added to the
    tile in ub before vector code reads it. Operands are in l1. Handovers are copies, and leave
    loops that do not change the value. `gemm` becomes `gemm_v0`. Products use a copy of a tile with
    two names; sums are copied back (docs/language/rules.md#tiles-of-both-cores). Limits: a tile
    whose memory the script names, also through another name, stays there.
    """
    if not any(op.opdef is OPS["gemm"] for op in walk_ops(func.launch.body)):
        return func
    from tile_passes.residency.place import placed  # most kernels need none of it

    func = placed(func, target)
    return func.with_body(rewrite(func.launch.body, _as_product))


def _as_product(stmt: Stmt) -> Stmt:
    if not isinstance(stmt, Op) or stmt.opdef is not OPS["gemm"]:
        return stmt
    return replace(stmt, opdef=OPS["gemm_v0"])
