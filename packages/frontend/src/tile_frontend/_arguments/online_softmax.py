"""Build `T.tile.softmax_flash_v2`, a step of an online softmax, as several operations
(docs/language/rules.md#rows-and-columns)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from tile_frontend._arguments.build_op import build_op, cut, region_argument
from tile_frontend._arguments.working_memory import lend_working_memory
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import describe, python_number, scalar_expr
from tile_frontend._tracing.trace import Trace, current
from tile_frontend._tracing.values import Pending, Tile
from tile_ir import OPS, Const, Expr, Overlap, Region, constant_value
from tile_ir.layout.overlap import overlap
from tile_ir.ops.rules import largest_matrix

NAME = "tile.softmax_flash_v2"


def softmax_flash_v2(
    dst: Any, out_sum: Any, out_max: Any, expmax: Any, src: Any, in_sum: Any, in_max: Any,
    tmp: Any = None, compact: Any = None, col_count: Any = None, actual_col: Any = None,
) -> Pending:  # fmt: skip
    """One step of an online softmax over the rows of a tile.

    out_max = max(in_max, src), expmax = exp(in_max - out_max), dst = exp(src - out_max), and
    out_sum = in_sum * expmax + the sum of dst, a value for each row. `dst` may be `src`, and each
    `out_` its `in_`. Of src only the first `col_count` columns exist, and of these only the first
    `actual_col` take part in maximum and sum; dst is left as it is behind `col_count`. All numbers
    are rounded to the type of the tile; `tmp` and `compact` are not needed.
    """
    trace = current(f"T.{NAME}")
    for memory in (tmp, compact):
        lend_working_memory(NAME, memory)
    given = {
        "dst": dst, "out_sum": out_sum, "out_max": out_max, "expmax": expmax, "src": src,
        "in_sum": in_sum, "in_max": in_max,
    }  # fmt: skip
    tiles = {
        name: region_argument(f"softmax_flash_v2: {name}", value, elements=True)
        for name, value in given.items()
    }
    _check_apart(tiles)
    rows = tiles["src"]
    columns = _columns("col_count", col_count, rows.extents[-1])
    live = _columns("actual_col", actual_col, columns)
    tiles.update({name: cut(tiles[name], -1, columns) for name in ("dst", "src")})
    peak = _row_values(trace, rows)

    def step(op: str, **operands: Any) -> None:
        trace.emit_pending(build_op(OPS[op], operands, NAME), step=True)

    # What is read of the old sums and maxima is read before their place is written.
    step("reduce_max", src=cut(tiles["src"], -1, live), dst=peak)
    step("max", dst=peak, src0=peak, src1=tiles["in_max"])
    step("sub", dst=tiles["expmax"], src0=tiles["in_max"], src1=peak)
    step("exp", dst=tiles["expmax"], src=tiles["expmax"])
    step("row_expand_sub", dst=tiles["dst"], src0=tiles["src"], src1=peak)
    step("exp", dst=tiles["dst"], src=tiles["dst"])
    step("mul", dst=tiles["out_sum"], src0=tiles["in_sum"], src1=tiles["expmax"])
    step("reduce_sum", src=cut(tiles["dst"], -1, live), dst=tiles["out_sum"], clear=False)
    return build_op(OPS["copy"], {"src": peak, "dst": tiles["out_max"]}, NAME)


def _check_apart(tiles: dict[str, Region]) -> None:
    """Results are different elements, and the first of them is not what is read after it."""
    pairs = [*combinations(("dst", "out_sum", "out_max", "expmax"), 2), ("expmax", "in_sum")]
    for one, other in pairs:
        if overlap(tiles[one], tiles[other]) in (Overlap.SAME, Overlap.PARTIAL):
            message = f"softmax_flash_v2: {other} overlaps {one} (both in "
            message += f"`{tiles[one].buffer.name}`)"
            raise Fault("operand-overlap", message, "write to another buffer", one)


def _columns(name: str, asked: Any, have: Expr) -> Expr:
    """So many columns, which may be known only when the kernel runs."""
    if asked is None:
        return have
    number, most = python_number(asked), constant_value(have)
    expr = scalar_expr(asked)
    if not expr.dtype.is_integer:
        hint = "pass the number of columns"
        raise Fault(
            "operand-kind", f"softmax_flash_v2: {name} is {describe(asked)}", hint, argument=name
        )
    if number is not None and not 0 < number <= (number if most is None else most):
        message = f"softmax_flash_v2: {name} is {number}, expected 1 to {most}"
        hint = "leave it out to take all columns"
        raise Fault("attribute-value", message, hint, argument=name)
    return expr


def _row_values(trace: Trace, like: Region) -> Region:
    """A buffer of the compiler's own with a value for each row."""
    tile = Tile(like.memory, like.dtype, (Const(largest_matrix(like)[0]),), trace.here)
    trace.allocate(tile)
    trace.name_tile(tile, f"{like.buffer.name}_peak", trace.ANONYMOUS)
    return Region.whole(tile.buffer)
