"""Takes tile operations apart into operations the hardware runs on one pipe."""

from __future__ import annotations

from functools import partial
from itertools import chain

from tile_ir import (
    Body,
    For,
    Func,
    LoopKind,
    Op,
    Phase,
    Stmt,
    Target,
    While,
    bodies,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import Ranges, launch_ranges, ranges_inside, with_ranges
from tile_ir.quick_dataclasses import replace
from tile_ir.verification.phases import PLAIN_LOOPS
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.gemm import tiles_of, widest_slots
from tile_passes.lowering.generated import behind_all, mark_generated, reads_element
from tile_passes.lowering.one_operation import lower_op
from tile_passes.lowering.turns import has_turns, turns_in
from tile_passes.lowering.wide_products import in_pieces
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED, gives=Phase.LOWERED)
def lower_tile_ops(func: Func, target: Target) -> Func:
    """Replace every composite operation, strided vector operand and tail copy.

    Needs: TYPED. Gives: LOWERED. Idea: one rule per composite operation (`lowering/`), driven by
    the op table. Rows that are not adjacent stay one operation if its instruction steps from row to
    row; else they become a loop. `insert_sync` orders the result, also in manually ordered kernels.
    A product too wide for l0c is computed and handed on in pieces. Limits: persistent loops become
    serial ones.
    """
    func = in_pieces(func, target)
    builder = Builder.for_func(func, target)
    builder = replace(builder, widest_slots=widest_slots(func, builder))
    body = _body(func.launch.body, launch_ranges(func), builder, func)
    if body is func.launch.body:
        return func
    launch = replace(func.launch, body=body, allocs=(*func.launch.allocs, *builder.allocs))
    remarks = (*func.remarks, *builder.remarks)
    return replace(func, launch=launch, remarks=remarks)


def _body(body: Body, ranges: Ranges, builder: Builder, func: Func) -> Body:
    pieces = (_stmt(stmt, known, builder, func) for stmt, known in with_ranges(body, ranges))
    return with_statements(body, chain.from_iterable(pieces))


def _stmt(stmt: Stmt, known: Ranges, builder: Builder, func: Func) -> Body:
    if isinstance(stmt, Op):
        pieces = lower_op(stmt, known, builder)
        if stmt.loc.generated:
            return pieces
        pieces = mark_generated(func, pieces)
        return behind_all(func, pieces, stmt.loc) if reads_element(stmt) else pieces
    inside = ranges_inside(stmt, known)
    builder = _inside(stmt, builder, func)
    new = with_bodies(stmt, tuple(_body(b, inside, builder, func) for b in bodies(stmt)))
    if isinstance(new, For) and new.kind not in (*PLAIN_LOOPS, LoopKind.PIPELINED):
        new = replace(new, kind=LoopKind.SERIAL)
    return (new,)


def _inside(stmt: Stmt, builder: Builder, func: Func) -> Builder:
    """The builder for the statements inside a statement: in a loop it has the turns of slots."""
    match stmt:
        case For() if builder.turns and not has_turns(stmt):
            return builder
        case For():
            return replace(builder, turns=turns_in(stmt, func, partial(tiles_of, builder=builder)))
        case While():
            return replace(builder, turns={})
    return builder
