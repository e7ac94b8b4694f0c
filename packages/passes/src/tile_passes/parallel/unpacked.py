"""Stores of packed numbers: one conversion takes them apart, and the rest computes with halves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tile_ir import FLOAT16, Expr, For, Load, Loc, Memory, Op, Stmt, Store, cast, check_op
from tile_ir.analysis import Ranges
from tile_ir.quick_dataclasses import replace
from tile_ir.target import Target
from tile_passes.parallel.nest import Leaf, Unsuitable
from tile_passes.parallel.packed_fields import packed_fields, widened, with_fields
from tile_passes.parallel.parts_of_rows import Steps
from tile_passes.parallel.temporaries import Temporaries

# A tile for the value of every element until the end of a nest, and how it is read.
KeepInTile = Callable[[Ranges, Expr, tuple[For, ...], Loc], tuple[Store, Expr]]


def unpacked(
    store: Store,
    leaf: Leaf,
    known: Ranges,
    keep: KeepInTile,
    steps_of: Steps,
    temporaries: Temporaries,
) -> list[Stmt]:
    """A store of numbers that several share an element; nothing for others, and where one
    conversion does not take all of them apart."""
    found = packed_fields(store, leaf)
    made = len(temporaries.allocs)
    target = temporaries.builder.target
    steps: list[Stmt] = []
    tiles: dict[Expr, tuple[Load, bool]] = {}
    try:
        for e, fields in found.items():
            value, read = keep(known, cast(e, FLOAT16), leaf.loops, store.loc)
            assert isinstance(read, Load), "halves are kept as they are"
            op = widened(value.buffer, fields, store.loc)
            problem = check_op(op, target)
            if problem is not None:
                raise Unsuitable(problem.message)
            steps.append(op)
            tiles[e] = read, fields.unsigned
        if not tiles:
            return []
        done = replace(store, value=with_fields(store.value, tiles))
        then = steps_of(done, replace(leaf, stmt=done), known)
    except Unsuitable:
        temporaries.forget_since(made)
        return []
    direct = _straight([*steps, *then], target)
    if direct is None:
        return [*steps, *then]
    temporaries.forget_since(made)
    return [direct]


def _straight(steps: Sequence[Stmt], target: Target) -> Op | None:
    """The one operation with its result where it is only copied to; None where more is done."""
    match steps:
        case [Op() as op, Op() as copy] if copy.opdef.paths is not None:
            dst, made = copy.region("dst"), op.region("dst")
            if copy.region("src") != made or dst.dtype is not made.dtype:
                return None
            new = replace(op, operands=(dst, *op.operands[1:]))
            here = dst.memory is Memory.UB and check_op(new, target) is None
            return new if here else None
    return None
