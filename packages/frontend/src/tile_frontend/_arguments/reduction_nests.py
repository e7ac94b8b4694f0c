"""Build reductions that no operation does as it stands, for text for GPUs: of three dimensions and
more, of absolute values, of bits (docs/language/rules.md#reductions)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tile_frontend._arguments.build_op import build_op
from tile_frontend._arguments.element_nests import (
    as_one,
    element,
    for_each,
    new_tile,
    one_after_another,
    stored,
    taken,
)
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending, Tile, View
from tile_ir import (
    BFLOAT16,
    BLOCK_BYTES,
    BOOL,
    FLOAT16,
    FLOAT32,
    OPS,
    Const,
    DType,
    Expr,
    For,
    Kind,
    LoopKind,
    Memory,
    Region,
    Slice,
    Stmt,
    binary,
    cast,
    maximum,
    minimum,
    not_equal,
    unary,
)
from tile_ir.quick_dataclasses import dataclass

Combine = Callable[[Expr, Expr], Expr]


def _and(a: Expr, b: Expr) -> Expr:
    return binary("&", a, b)


def _or(a: Expr, b: Expr) -> Expr:
    return binary("|", a, b)


def _xor(a: Expr, b: Expr) -> Expr:
    return not_equal(a, b) if a.dtype is BOOL else binary("^", a, b)


@dataclass(frozen=True, slots=True)
class ReductionKind:
    """How two values become one, and the operation that does so to tiles, if there is one.
    `absolute`: values lose their sign first."""

    combine: Combine
    operation: str = ""
    absolute: bool = False
    of_bits: bool = False


KINDS: dict[str, ReductionKind] = {
    "sum": ReductionKind(lambda a, b: a + b, "reduce_sum"),
    "max": ReductionKind(maximum, "reduce_max"),
    "min": ReductionKind(minimum, "reduce_min"),
    "abssum": ReductionKind(lambda a, b: a + b, "reduce_sum", absolute=True),
    "absmax": ReductionKind(maximum, "reduce_max", absolute=True),
    "bitand": ReductionKind(_and, of_bits=True),
    "bitor": ReductionKind(_or, of_bits=True),
    "bitxor": ReductionKind(_xor, of_bits=True),
}


@dataclass(frozen=True, slots=True)
class ReducedPart:
    """The operands of a reduction. `axis` is a dimension of `src`; `outer`, `count` and `inner` are
    the numbers of elements before it, along it and behind it."""

    kind: ReductionKind
    name: str
    src: Region
    dst: Region
    axis: int
    clear: bool

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.src.static_extents() or ()

    @property
    def outer(self) -> int:
        return math.prod(self.sizes[: self.axis])

    @property
    def count(self) -> int:
        return self.sizes[self.axis]

    @property
    def inner(self) -> int:
        return math.prod(self.sizes[self.axis + 1 :])

    @property
    def kept(self) -> tuple[int, ...]:
        """The dimensions of several elements that the result has too."""
        return tuple(d for d, n in enumerate(self.sizes) if d != self.axis and n != 1)

    def value(self, places: tuple[Expr, ...], dtype: DType) -> Expr:
        """An element of the source as it takes part."""
        found = cast(element(self.src, places), dtype)
        return _absolute(found) if self.kind.absolute else found


def _absolute(e: Expr) -> Expr:
    if e.dtype.kind is Kind.UINT or e.dtype is BOOL:
        return e
    return unary("abs", e) if e.dtype.is_float else maximum(e, -e)


def without_signs(src: Region, dtype: DType) -> Region:
    """A tile with the absolute values of a region, in a type."""
    found = Region.whole(new_tile(dtype, src.extents, f"{src.buffer.name}_{dtype.name}").buffer)

    def one(places: tuple[Expr, ...]) -> Stmt:
        return stored(found, places, _absolute(cast(element(src, places), dtype)))

    current("T.reduce").emit(for_each(src.extents, one))
    return found


def dimension(name: str, buffer: Any, src: Region, dim: int) -> int:
    """The dimension of the region that `dim` counts: an index instead of a slice is none."""
    points = buffer.points if isinstance(buffer, View) else ()
    dims = [d for d in range(len(src.dims)) if d not in points]
    if not -len(dims) <= dim < len(dims):
        message = f"{name}: dim is {dim} for {len(dims)} dimension{'s' * (len(dims) > 1)}"
        raise Fault("reduce-axis", message, f"expected {-len(dims)} to {len(dims) - 1}", "dim")
    return dims[dim]


def is_matrix(src: Region, axis: int) -> bool:
    """Whether a region is at most one matrix, of which a dimension is reduced."""
    sizes = src.static_extents()
    front = len(src.dims) - 2
    if sizes is None:
        return axis >= front
    return axis >= front and all(n == 1 for n in sizes[: max(front, 0)])


def reduce_by_parts(
    kind: str, name: str, src: Region, dst: Region, axis: int, clear: bool
) -> Pending:
    """The reduction of a dimension of a region of any rank."""
    part = ReducedPart(KINDS[kind], name, src, dst, axis, clear)
    _check(part)
    if part.kind.operation and _in_whole_blocks(part):
        return _by_operations(part)
    wide = part.kind.operation == "reduce_sum" and dst.dtype in (FLOAT16, BFLOAT16)
    return as_one(_in_float(part) if wide else _by_elements(part), name)


def _check(part: ReducedPart) -> None:
    name, src, dst = part.name, part.src, part.dst
    if src.static_extents() is None or dst.static_extents() is None:
        message = f"{name}: `{src.buffer.name}` has a run-time shape"
        raise Fault("reduce-shape", message, "reduce the whole tile", "buffer")
    if Memory.GM in (src.memory, dst.memory):
        tensor, argument = (src, "buffer") if src.memory is Memory.GM else (dst, "out")
        message = f"{name}: {argument} `{tensor.buffer.name}` is in gm, expected a tile"
        raise Fault("operand-memory", message, "copy it to a tile with T.copy first", argument)
    dtype = next((d for d in (src.dtype, dst.dtype) if d.is_float), None)
    if part.kind.of_bits and dtype is not None:
        message = f"{name}: `{src.buffer.name}` is {src.dtype} and `{dst.buffer.name}` is "
        message += f"{dst.dtype}, expected integers"
        raise Fault("dtype-mismatch", message, "bits are those of integers", "buffer")
    wanted = [part.sizes[d] for d in part.kept]
    if [n for n in dst.static_extents() or () if n != 1] != wanted:
        found = list(dst.static_extents() or ())
        message = f"{name}: out `{dst.buffer.name}` has {found}, but reducing dimension "
        message += f"{part.axis} of `{src.buffer.name}` {list(part.sizes)} gives {wanted or [1]}"
        raise Fault("shape-mismatch", message, None, "out")


def _in_whole_blocks(part: ReducedPart) -> bool:
    """Whether the matrices behind each other start at whole blocks of ub."""
    opdef = OPS[f"{part.kind.operation}_composed"]
    if part.dst.dtype not in opdef.operands[0].dtypes:
        return False
    return part.inner == 1 or part.outer == 1 or _is_block(part.inner, part.dst.dtype)


def _is_block(elements: int, dtype: DType) -> bool:
    return elements * dtype.size % BLOCK_BYTES == 0


def _by_operations(part: ReducedPart) -> Pending:
    """A copy of the source as one matrix or one behind the other, and the operation on each."""
    trace, dtype = current(f"T.{part.name}"), part.dst.dtype
    work = new_tile(dtype, part.src.extents, f"{part.src.buffer.name}_{dtype.name}")
    whole = Region.whole(work.buffer)
    if part.kind.absolute or part.src.dtype not in OPS["reduce_sum_composed"].operands[0].dtypes:
        trace.emit(
            for_each(
                part.src.extents, lambda places: stored(whole, places, part.value(places, dtype))
            )
        )
    else:
        _copied(part.src, whole)
    result = new_tile(dtype, part.dst.extents, f"{part.src.buffer.name}_reduced")
    made = Region.whole(result.buffer)
    if not part.clear:
        _copied(part.dst, made)
    for stmt in _operations(part, work, result):
        trace.emit(stmt)
    return build_op(OPS["copy"], {"src": made, "dst": part.dst}, "copy")


def _operations(part: ReducedPart, work: Tile, result: Tile) -> list[Stmt]:
    outer, count, inner = (Const(n) for n in (part.outer, part.count, part.inner))
    rows, columns = (outer, count) if part.inner == 1 else (outer * count, inner)
    matrix = Region.whole(new_tile(work.element, (rows, columns), "rows", work).buffer)
    run = Region.whole(new_tile(work.element, (outer * inner,), "results", result).buffer)
    if part.inner == 1:
        return [_operation(part, matrix, run, 1)]
    if part.outer == 1:
        return [_operation(part, matrix, run, 0)]
    trace = current(f"T.{part.name}")
    var = trace.loop_variable("i")
    rows_of = Region(matrix.buffer, (Slice(var * count, count), matrix.dims[1]))
    to = Region(run.buffer, (Slice(var * inner, inner),))
    body = (_operation(part, rows_of, to, 0),)
    return [For(var, Const(0), outer, LoopKind.SERIAL, body, trace.here)]


def _operation(part: ReducedPart, src: Region, dst: Region, dim: int) -> Stmt:
    given = {"src": src, "dst": dst, "dim": dim, "clear": part.clear}
    return taken(build_op(OPS[part.kind.operation], given, part.name))


def _in_float(part: ReducedPart) -> list[Stmt]:
    """Sums of halves in a tile of floats, rounded once."""
    sums = new_tile(FLOAT32, part.dst.extents, f"{part.src.buffer.name}_sums")
    whole = Region.whole(sums.buffer)
    inside = ReducedPart(part.kind, part.name, part.src, whole, part.axis, part.clear)
    before = [] if part.clear else [_copy(part.dst, whole)]
    return [*before, *_by_elements(inside), _copy(whole, part.dst)]


def _by_elements(part: ReducedPart) -> list[Stmt]:
    """The elements along the dimension one after the other, for all results at once."""
    sizes = part.src.extents
    dtype = part.dst.dtype
    places_in_dst = [d for d, e in enumerate(part.dst.static_extents() or ()) if e != 1]
    kept = [sizes[d] for d in part.kept]

    def step(along: Expr, first: bool) -> Stmt:
        def one(indices: tuple[Expr, ...]) -> Stmt:
            there: list[Expr] = [Const(0)] * len(sizes)
            here: list[Expr] = [Const(0)] * len(part.dst.dims)
            there[part.axis] = along
            for index, d, r in zip(indices, part.kept, places_in_dst, strict=True):
                there[d], here[r] = index, index
            value = part.value(tuple(there), dtype)
            old = element(part.dst, here)
            return stored(part.dst, here, value if first else part.kind.combine(old, value))

        return for_each(kept, one)

    statements = [step(Const(0), True)] if part.clear else []
    start = len(statements)
    if part.count > start:
        statements.append(
            one_after_another(start, sizes[part.axis], lambda along: step(along, False))
        )
    return statements


def _copied(src: Region, dst: Region) -> None:
    current("T.copy").emit(_copy(src, dst))


def _copy(src: Region, dst: Region) -> Stmt:
    return taken(build_op(OPS["copy"], {"src": src, "dst": dst}, "copy"))
