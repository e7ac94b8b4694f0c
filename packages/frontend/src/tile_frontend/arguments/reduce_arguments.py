"""`T.reduce_*`: which part of a buffer is reduced, and into what
(docs/rules/operations.md#reductions)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tile_frontend.arguments.call_signature import described
from tile_frontend.arguments.op_functions import build_op
from tile_frontend.arguments.torch_arguments import accepting_torch_arguments
from tile_frontend.arguments.working_memory import accepting_working_memory
from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import Scalar, describe, python_number, scalar_expr
from tile_frontend.tracing.subscripts import View
from tile_frontend.tracing.trace import current
from tile_frontend.tracing.values import Pending, Tile
from tile_ir import (
    BLOCK_BYTES,
    OPS,
    Const,
    Expr,
    Region,
    Slice,
    constant_value,
    did_you_mean,
    is_constant,
    simplify,
)
from tile_ir.ops.reduce import composed_reduction

ARGUMENT_OF_OPERAND = {"src": "buffer", "dst": "out"}
NAMES = tuple(n for n, d in OPS.items() if d.family == "reduce" and d.namespace == "")


@dataclass(frozen=True, slots=True)
class _Options:
    clear: Any
    real_shape: Any


def reduction(name: str) -> Callable[..., Pending]:
    """`T.reduce_sum` and its like."""

    def reduce_along(
        buffer: Any, out: Any = None, dim: Any = -1, *compat: Any, clear: Any = True,
        real_shape: Any = None,
    ) -> Any:  # fmt: skip
        options = _compatible(name, compat, _Options(clear, real_shape))
        if out is None:
            return _result(name, buffer, dim, options)
        return _build(name, buffer, out, dim, options)

    reduce_along.__name__ = reduce_along.__qualname__ = name
    operands = {argument: operand for operand, argument in ARGUMENT_OF_OPERAND.items()}
    explained = described(OPS[name], operands)(reduce_along)
    return accepting_torch_arguments(accepting_working_memory(OPS[name], buffers=2)(explained))


@accepting_torch_arguments
@accepting_working_memory(OPS[NAMES[0]], buffers=2)
def reduce(
    buffer: Any, out: Any, reduce_type: str, dim: Any, real_shape: Any = None, clear: Any = True
) -> Pending:
    """The reduction named by `reduce_type`."""
    if reduce_type not in NAMES:
        raise Fault(
            "attribute-value",
            f"reduce: reduce_type is {describe(reduce_type)}, expected one of {', '.join(NAMES)}",
            did_you_mean(str(reduce_type), NAMES),
            "reduce_type",
        )
    return _build(reduce_type, buffer, out, dim, _Options(clear, real_shape))


def _result(name: str, buffer: Any, dim: Any, options: _Options) -> Tile:
    """The reduction into a new buffer, which is the value of the call."""
    trace = current(f"T.{name}")
    src = _region(name, buffer, "buffer")
    kept = list(src.static_extents() or ())
    if not kept or options.clear is not True or options.real_shape is not None:
        raise Fault(
            "arity",
            f"{name}: without `out` the whole of a buffer of fixed size is reduced",
            "give it the buffer for the result",
        )
    axis = _axis(name, dim)
    if len(kept) > 1 and -len(kept) <= axis < len(kept):
        del kept[axis]
    shape = tuple(kept) if len(src.dims) > 1 else (1,)
    tile = Tile(src.memory, src.dtype, tuple(Const(n) for n in shape), trace.here)
    trace.allocate(tile)
    trace.name_tile(tile, f"{src.buffer.name}_{name.removeprefix('reduce_')}", trace.ANONYMOUS)
    trace.emit_pending(_build(name, buffer, tile, dim, options))
    return tile


def _compatible(name: str, compat: tuple[Any, ...], options: _Options) -> _Options:
    """Older scripts pass `clear` and `real_shape` by position, in any order."""
    seen: set[str] = set()
    for value in compat:
        if isinstance(value, bool):
            key, options = "clear", replace(options, clear=value)
        elif isinstance(value, (list, tuple)) and len(value) == 2:
            key, options = "real_shape", replace(options, real_shape=value)
        else:
            raise Fault(
                "arity",
                f"{name}: {describe(value)} follows dim, expected clear or real_shape",
                "write clear=... or real_shape=[rows, columns]",
            )
        if key in seen:
            raise Fault("arity", f"{name} got `{key}` twice")
        seen.add(key)
    return options


def _build(name: str, buffer: Any, out: Any, dim: Any, options: _Options) -> Pending:
    src, dst = _region(name, buffer, "buffer"), _region(name, out, "out")
    axis = _axis(name, dim)
    if _is_result(src, dst, axis):  # the first versions of the language have the result first
        src, dst = dst, src
    narrowed = src
    if options.real_shape is not None:
        narrowed = _real(name, src, options.real_shape)
    dst = _fitting(src, narrowed, dst, axis)
    if len(src.dims) == 3:  # only the first slot of a three-dimensional buffer is reduced
        first = Slice(narrowed.dims[0].offset, Const(1))
        narrowed = Region(src.buffer, (first, *narrowed.dims[1:]))
    given = {"src": narrowed, "dst": dst, "dim": axis, "clear": options.clear}
    try:
        return build_op(OPS[composed_reduction(name, narrowed)], given, name)
    except Fault as fault:
        if isinstance(fault.argument, str):
            fault.argument = ARGUMENT_OF_OPERAND.get(fault.argument, fault.argument)
        raise


def _axis(name: str, dim: Any) -> int:
    axis = python_number(dim)
    if isinstance(dim, Scalar) or not isinstance(axis, int) or isinstance(axis, bool):
        raise Fault(
            "attribute-type", f"{name}: dim is {describe(dim)}, expected a Python int",
            argument="dim",
        )  # fmt: skip
    return axis


def _is_result(a: Region, b: Region, axis: int) -> bool:
    """Whether a is what reducing b gives, and surely not the other way round."""
    small, large = a.static_extents(), b.static_extents()
    if small is None or large is None or len(large) < 2 or axis not in (0, 1, -1, -2):
        return False
    kept, given = large[-2 if axis in (1, -1) else -1], math.prod(small)
    return given in (kept, _whole_blocks(kept, a)) and given < math.prod(large)


def _whole_blocks(count: int, region: Region) -> int:
    """So many elements and those behind them in their last block of UB."""
    block = BLOCK_BYTES * 8 // region.dtype.bits
    return -(-count // block) * block


def _region(name: str, value: Any, argument: str) -> Region:
    match value:
        case Tile():
            return Region.whole(value.buffer)
        case View(region=region):
            return region
    raise Fault(
        "operand-kind",
        f"{name}: {argument} is {describe(value)}, expected a buffer or a slice",
        argument=argument,
    )


def _real(name: str, src: Region, real_shape: Any) -> Region:
    """The region cut to the real rows and columns, at the pitch of its buffer; 0 keeps a size."""
    if not isinstance(real_shape, (list, tuple)) or len(real_shape) != 2:
        raise Fault(
            "reduce-shape",
            f"{name}: real_shape is {describe(real_shape)}, expected [rows, columns]",
            argument="real_shape",
        )
    sizes = real_shape[-len(src.dims) :] if len(src.dims) < 2 else real_shape
    dims = list(src.dims)
    for position, size in zip(range(-len(sizes), 0), sizes, strict=True):
        number, have = python_number(size), constant_value(dims[position].extent)
        if isinstance(number, int) and not 0 <= number <= (number if have is None else have):
            raise Fault(
                "reduce-shape",
                f"{name}: real_shape holds {number}, but `{src.buffer.name}` has {have} there",
                "0 stands for the size of the buffer",
                "real_shape",
            )
        if number != 0:
            dims[position] = Slice(dims[position].offset, _size(name, size))
    return Region(src.buffer, tuple(dims))


def _size(name: str, size: Any) -> Expr:
    expr = scalar_expr(size)
    if not expr.dtype.is_integer:
        raise Fault(
            "reduce-shape", f"{name}: real_shape holds a {expr.dtype}", argument="real_shape"
        )
    return expr


def _fitting(src: Region, real: Region, dst: Region, dim: int) -> Region:
    """`out` may be as long as the kept dimension with the rest of its last block and, where only a
    part is reduced, as the buffer's rows or columns; then only its first elements are written. One
    that would be right for the other dimension more likely means that."""
    if len(src.dims) == 1:
        return dst
    wanted = simplify(real.dims[-1 if dim in (0, -2) else -2].extent)
    longer: set[Expr] = set()
    if real is not src:
        longer |= {simplify(src.dims[-2].extent), simplify(src.dims[-1].extent)}
    count = constant_value(wanted)
    if isinstance(count, int):
        other = simplify(real.dims[-2 if dim in (0, -2) else -1].extent)
        longer |= {Const(_whole_blocks(count, dst))} - {other}
    long = [i for i, s in enumerate(dst.dims) if not is_constant(s.extent, 1)]
    if len(long) != 1 or simplify(dst.dims[long[0]].extent) not in longer - {wanted}:
        return dst
    dims = list(dst.dims)
    dims[long[0]] = Slice(dims[long[0]].offset, wanted)
    return Region(dst.buffer, tuple(dims))
