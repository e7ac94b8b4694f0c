"""Results that loops gather element by element: `T.alloc_reducer` and what is done with it. One
tile has them here, so that nothing is left to do at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tile_frontend._arguments.build_op import build_op, whole_region
from tile_frontend._arguments.reduction_nests import KINDS
from tile_frontend._language.allocation import buffer_dims, check_one_shape, stored
from tile_frontend._tracing.dtype_names import element_type
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, describe, stored_value, unexpected
from tile_frontend._tracing.trace import Trace, current
from tile_frontend._tracing.values import Pending, Tile
from tile_ir import BOOL, OPS, Buffer, DType, Expr, Load, Loc, Memory, Store, cast

_OF = ("sum", "max", "min", "bitand", "bitor", "bitxor")


class Reducer(Tile):
    """A tile of results, and how a value joins one of them."""

    __slots__ = ("kind",)

    def __init__(
        self, kind: str, memory: Memory, element: DType, dims: Sequence[Expr], loc: Loc
    ) -> None:
        super().__init__(memory, element, tuple(dims), loc)
        self.kind = kind


def alloc_reducer(shape: Any, dtype: Any, op: str = "sum", replication: Any = None) -> Reducer:
    """A tile whose elements gather values: `op` is sum, max, min, bitand, bitor or bitxor.
    `replication` has no effect."""
    check_one_shape("T.alloc_reducer", (shape, dtype))
    trace = current("T.alloc_reducer")
    if op not in _OF:
        expected = f"one of {', '.join(_OF)}"
        raise unexpected("alloc_reducer: op", op, expected, slug="attribute-value")
    element = stored(element_type(dtype))
    if KINDS[op].of_bits and element.is_float:
        message = f"alloc_reducer: op is {op}, but the elements are {element}"
        raise Fault("dtype-mismatch", message, "bits are those of integers", "dtype")
    tile = Reducer(op, Memory.FRAGMENT, element, buffer_dims(shape), trace.here)
    trace.allocate(tile)
    return tile


def reducer_init(reducer: Any, init: Any = None) -> Pending:
    """Set the results to the identity of the reduction, or to `init`, which joins each of them
    once."""
    tile = _reducer("reducer_init", reducer)
    value = _identity(tile) if init is None else init
    return build_op(OPS["fill"], {"dst": tile, "value": value}, "reducer_init")


def _identity(tile: Reducer) -> int | float:
    if tile.kind == "bitand":
        return 1 if tile.element is BOOL else tile.element.limits()[1] if _unsigned(tile) else -1
    if tile.kind not in ("max", "min"):
        return 0
    if tile.element.is_float:
        return -math.inf if tile.kind == "max" else math.inf
    low, high = tile.element.limits()
    return int(low if tile.kind == "max" else high)


def _unsigned(tile: Reducer) -> bool:
    return tile.element.limits()[0] == 0


def reducer_update(target: Any, value: Any) -> Pending:
    """Join a value to the element `target` of a reducer."""
    trace = current("T.reducer_update")
    place = target.expr if isinstance(target, Scalar) else None
    if not isinstance(place, Load):
        message = f"reducer_update: target is {describe(target)}, expected an element of a reducer"
        raise Fault("operand-kind", message, "write T.reducer_update(r[i], value)", "target")
    tile = _of_buffer(trace, place.buffer)
    joined = KINDS[tile.kind].combine(place, stored_value(value, place.dtype))
    store = Store(place.buffer, place.indices, cast(joined, place.dtype), trace.here)
    pending = Pending(store, "reducer_update", trace.here)
    trace.pending.append(pending)
    return pending


def finalize_reducer(
    reducer: Any, dst: Any = None, batch: int = 1, annotations: Any = None
) -> Pending | None:
    """The results, copied to `dst` if that is given. `batch` and `annotations` have no effect."""
    tile = _reducer("finalize_reducer", reducer)
    if dst is None:
        return None
    if whole_region(dst) is None:
        raise unexpected("finalize_reducer: dst", dst, "a buffer or a slice")
    return build_op(OPS["copy"], {"src": tile, "dst": dst}, "finalize_reducer")


def _reducer(name: str, value: Any) -> Reducer:
    if isinstance(value, Reducer):
        return value
    hint = "allocate it with T.alloc_reducer(shape, dtype, op)"
    raise unexpected(f"{name}: reducer", value, "a reducer", hint)


def _of_buffer(trace: Trace, buffer: Buffer) -> Reducer:
    found = (t for t in trace.allocations if t.is_named and t.buffer is buffer)
    return _reducer("reducer_update", next(found, None))


FUNCTIONS = {f.__name__: f for f in (alloc_reducer, reducer_init, reducer_update, finalize_reducer)}
