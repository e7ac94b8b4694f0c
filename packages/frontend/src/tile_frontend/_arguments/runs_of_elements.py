"""Turn counts of elements or bytes, as other libraries use them, into boxes of buffers.

The elements lie in the order of memory, from an element on or from the start of a region.
"""

from __future__ import annotations

import math

from tile_frontend._arguments.build_op import build_op, cut, first_elements
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar
from tile_frontend._tracing.trace import current
from tile_ir import (
    OPS,
    Buffer,
    Const,
    Expr,
    Load,
    Region,
    Slice,
    binary,
    constant_value,
    is_constant,
    print_expr,
    simplify,
)
from tile_ir.ranks import is_symmetric

# A run, and what has to be no more than what there is: indices of one dimension.
_Run = tuple[Region, Expr, Expr]


def run_of(name: str, side: Region | Load, count: Expr) -> Region:
    """The first `count` elements of a region, or those from an element on. Raises Fault where there
    are fewer, and where they are no box. Where the number is known only at run time, the kernel
    asserts it (`copy-extent`)."""
    match side:
        case Load():
            run, end, size = _from_element(name, side, count)
        case Region():
            run, end, size = _of_region(name, side, count)
    if constant_value(simplify(size - end)) is None:
        message = f"{name}: more elements of {side.buffer.name} than there are"
        enough = Scalar(binary("<=", end, size))
        given = {"condition": enough, "msg": message, "slug": "copy-extent"}
        current(f"T.{name}").emit_pending(build_op(OPS["device_assert"], given, name), step=True)
    return run


def _from_element(name: str, start: Load, count: Expr) -> _Run:
    shape, indices = start.buffer.shape, start.indices
    first = 1 if is_symmetric(start.buffer) else 0
    alone = len(shape) - first == 1
    for dim in range(first, len(shape)):
        taken = _parts(count, shape[dim + 1 :])
        if taken is None or not all(is_constant(i, 0) for i in indices[dim + 1 :]):
            continue
        # Within a row only if it is known to be no longer than that.
        in_row = dim == len(shape) - 1 and not alone
        unknown = in_row and constant_value(simplify(shape[dim] - taken)) is None
        end = simplify(indices[dim] + taken)
        if unknown or _exceeds(taken, shape[dim]) or _exceeds(end, shape[dim]):
            break
        ones = tuple(Slice(i, Const(1)) for i in indices[:dim])
        rest = tuple(Slice(Const(0), size) for size in shape[dim + 1 :])
        run = Region(start.buffer, (*ones, Slice(indices[dim], taken), *rest))
        return run, end, shape[dim]
    raise _no_box(name, start.buffer, count)


def _of_region(name: str, region: Region, count: Expr) -> _Run:
    """The first elements of a region: of one line, or of whole rows behind each other."""
    dims, number = region.dims, constant_value(count)
    lines = [d for d, s in enumerate(dims) if not is_constant(s.extent, 1)] or [len(dims) - 1]
    known = region.static_extents()
    if len(lines) > 1 and number is not None and known is not None:
        first = first_elements(region, number)
        if first is None:
            raise _no_box(name, region.buffer, count)
        return first, Const(0), Const(0)
    rest = dims[lines[0] + 1 :]
    whole = zip(rest, region.buffer.shape[lines[0] + 1 :], strict=True)
    taken = _parts(count, tuple(s.extent for s in rest))
    fits = all(is_constant(s.extent, 1) or s.extent == size for s, size in whole)
    if taken is None or not fits or _exceeds(taken, dims[lines[0]].extent):
        raise _no_box(name, region.buffer, count)
    return cut(region, lines[0], taken), taken, dims[lines[0]].extent


def _no_box(name: str, buffer: Buffer, count: Expr) -> Fault:
    message = f"{name}: {print_expr(count)} elements of `{buffer.name}` are neither within what is "
    message += "named nor whole rows of it"
    hint = "slice both sides: T.put(x[i : i + m, :], y[j : j + m, :], pe)"
    return Fault("copy-extent", message, hint, "n")


def _parts(count: Expr, sizes: tuple[Expr, ...]) -> Expr | None:
    """How many parts of these sizes so many elements are; None for no whole number of them."""
    known = [constant_value(size) for size in sizes]
    if None in known:
        return None
    each = math.prod(n for n in known if n is not None)
    return simplify(count // each) if is_constant(simplify(count % each), 0) else None


def _exceeds(end: Expr, size: Expr) -> bool:
    """Whether more elements are taken than there are, as far as the numbers are known."""
    left = constant_value(simplify(size - end))
    return left is not None and left < 0
