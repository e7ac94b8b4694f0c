"""Converts on the vector core what copies between the cores are to convert."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tile_ir import (
    BLOCK_BYTES,
    OPS,
    Alloc,
    Body,
    Buffer,
    Const,
    DType,
    Func,
    Memory,
    Op,
    Phase,
    Region,
    Slice,
    Stmt,
    Target,
    generated,
    is_contiguous,
    rewrite,
    round_up,
    simplify,
)
from tile_ir.ops.movement import cast_mode_of_copy, goes_through_workspace, type_between_cores
from tile_passes.free_names import FreeNames
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED)
def stage_conversions(func: Func, target: Target) -> Func:
    """Split copies between the cores that change the type: a cast in ub, and a copy.

    Needs, gives: TYPED. Idea: a tile in ub has the type in which the value goes from one core to
    the other. What leaves ub is cast to it first; what comes from l0c is cast behind the copy,
    unless the fixpipe converts. The compiler orders the two steps, also where the rest is the
    author's to order. Limits: casts of one step.
    """
    stages = _Stages(target, FreeNames.of(func))
    body = rewrite(func.launch.body, stages.steps)
    if body is func.launch.body:
        return func
    allocs = (*func.launch.allocs, *stages.allocs)
    return func.with_body(body, allocs=allocs)


@dataclass(eq=False)
class _Stages:
    """Rewrites one function; `allocs` are the tiles it has added."""

    target: Target
    names: FreeNames
    allocs: list[Alloc] = field(default_factory=list)

    def steps(self, stmt: Stmt) -> Stmt | Body:
        if not isinstance(stmt, Op) or not goes_through_workspace(stmt):
            return stmt
        src, dst = stmt.region("src"), stmt.region("dst")
        between = type_between_cores((src.memory, dst.memory), src.dtype, dst.dtype, self.target)
        assert between is not None, "the record of a copy allows no other types"
        local = src if src.memory is Memory.UB else dst
        if between is local.dtype:
            return stmt
        tile = self.tile(local, between, stmt)
        if local is src:
            return generated(self.cast(tile, src, stmt)), replace(stmt, operands=(tile, dst))
        moved = generated(replace(stmt, operands=(src, tile)))
        return moved, self.cast(dst, tile, stmt)

    def cast(self, dst: Region, src: Region, copy: Op) -> Op:
        mode = cast_mode_of_copy(src.dtype, dst.dtype, self.target)
        return Op(OPS["cast"], (dst, src, None), (mode,), copy.loc)

    def tile(self, local: Region, dtype: DType, copy: Op) -> Region:
        """A tile of another type like a region in ub; its rows start at whole blocks unless they
        are one run there."""
        extents = [simplify(s.extent) for s in local.dims]
        sizes = local.static_extents() or local.buffer.static_shape()
        assert sizes is not None, "buffers in ub have fixed sizes"
        shape = list(sizes)
        if not is_contiguous(local):
            shape[-1] = round_up(shape[-1], BLOCK_BYTES // dtype.size)
        dims = tuple(Const(n) for n in shape)
        name = self.names.fresh(f"{local.buffer.name}_{dtype.name}")
        buffer = Buffer(name, Memory.UB, dtype, dims, copy.loc)
        self.allocs.append(Alloc(buffer, copy.loc))
        return Region(buffer, tuple(Slice(Const(0), extent) for extent in extents))
