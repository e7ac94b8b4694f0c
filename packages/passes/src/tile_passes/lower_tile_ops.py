"""Takes tile operations apart into operations the hardware runs on one pipe."""

from __future__ import annotations

from dataclasses import replace

from tile_ir import Composite, For, Func, KernelError, Op, Phase, Target
from tile_ir.expr import is_constant
from tile_ir.machine import Memory
from tile_ir.nodes import Body, LoopKind, Stmt
from tile_ir.opdef import accesses
from tile_ir.phases import PLAIN_LOOPS
from tile_ir.walk import (
    Ranges,
    bodies,
    launch_ranges,
    ranges_inside,
    rewrite,
    with_bodies,
    with_ranges,
)
from tile_passes.lowering import LOWERINGS
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.staging import lower_flat_op
from tile_passes.lowering.vector import in_rows, lower_vector_op
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED, gives=Phase.LOWERED)
def lower_tile_ops(func: Func, target: Target) -> Func:
    """Replace every composite operation, strided vector operand and tail copy.

    Needs: TYPED. Gives: LOWERED. Idea: one rule per composite (`lowering/`), driven by the op
    table; order inside a composite is kept by its own flags and barriers. Limits: pipelined loops
    become serial ones.
    """
    builder = Builder.for_func(func, target)
    body = _body(func.launch.body, launch_ranges(func), builder)
    if body is func.launch.body:
        return func
    launch = replace(func.launch, body=body, allocs=(*func.launch.allocs, *builder.allocs))
    return replace(func, launch=launch)


def _body(body: Body, ranges: Ranges, builder: Builder) -> Body:
    result: list[Stmt] = []
    changed = False
    for stmt, known in with_ranges(body, ranges):
        pieces = _stmt(stmt, known, builder)
        changed = changed or len(pieces) != 1 or pieces[0] is not stmt
        result.extend(pieces)
    return tuple(result) if changed else body


def _stmt(stmt: Stmt, known: Ranges, builder: Builder) -> Body:
    if isinstance(stmt, Op):
        return _op(stmt, known, builder)
    inside = ranges_inside(stmt, known)
    new = with_bodies(stmt, tuple(_body(b, inside, builder) for b in bodies(stmt)))
    if isinstance(new, For) and (new.stages or new.kind not in PLAIN_LOOPS):
        new = replace(new, kind=LoopKind.SERIAL, stages=0)
    return (new,)


def _check_registers(op: Op) -> None:
    """Matrices in l0a and l0b, and accumulators that are written, are used whole: the order of
    their fractals depends on their size (hardware.md, section 2.4)."""
    for region, access in accesses(op):
        register = region.memory in (Memory.L0A, Memory.L0B)
        if not register and not (region.memory is Memory.L0C and access.writes):
            continue
        for s, size in zip(region.dims[-2:], region.buffer.shape[-2:], strict=True):
            if not is_constant(s.offset, 0) or s.extent != size:
                raise KernelError(
                    "sliced-register",
                    f"{op.opdef.name}: `{region.buffer.name}` is sliced, but matrices in "
                    f"{region.memory.value} are used whole",
                    op.loc,
                    "allocate a buffer of the size of the slice; slots are leading dimensions",
                )


def _op(op: Op, known: Ranges, builder: Builder) -> Body:
    if op.opdef.unavailable:
        raise KernelError(
            "unavailable",
            f"{op.opdef.name} {op.opdef.unavailable}",
            op.loc,
            "run the kernel on a machine that has them, with the vendor's compiler",
        )
    _check_registers(op)
    if op.opdef.composite is Composite.YES:
        lowering = LOWERINGS[op.opdef.name]
        if not op.opdef.elementwise:
            return lowering(op, known, builder)
        # A row at a time, so that scratch is contiguous wherever the operands are not.
        rows = in_rows(op, builder)
        return rewrite(rows, lambda s: lowering(s, known, builder) if isinstance(s, Op) else s)
    on_vector = any(r.memory is Memory.UB for r in builder.regions(op))
    if on_vector and op.opdef.flat:
        return lower_flat_op(op, known, builder)
    if on_vector:
        return lower_vector_op(op, known, builder)
    return (op,)
