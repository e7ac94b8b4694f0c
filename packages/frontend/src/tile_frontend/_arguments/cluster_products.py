"""Share a product among the blocks of a cluster: each computes its rows or columns of C.

Operands come through L2, as no two blocks share memory on chip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tile_frontend._arguments.build_op import build_op, cut, whole_region
from tile_frontend._arguments.element_nests import as_one
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import python_number
from tile_frontend._tracing.trace import Trace, current
from tile_frontend._tracing.values import Pending, Tile
from tile_ir import (
    FLOAT32,
    INT32,
    OPS,
    Const,
    DType,
    Expr,
    For,
    LoopKind,
    Memory,
    Op,
    Region,
    Stmt,
    binary,
    ceildiv,
    constant_value,
    simplify,
)
from tile_ir.ops.cube import matrix_sizes, transposes
from tile_ir.quick_dataclasses import dataclass, replace

FRACTAL = 16
# How much of K, and how many rows and columns at most, are multiplied at a time.
DEPTH, ROWS, COLUMNS = 64, 128, 256


def part_of_member(op: Op) -> Op:
    """The part of a product that the block computes: all of it outside of clusters."""
    trace = current("T.gemm")
    if trace.member is None:
        return op
    sizes = matrix_sizes(op)
    m, n = sizes[:2] if sizes is not None else (None, None)
    # An accumulator is written in whole rows.
    in_l0c = op.region("C").memory in (Memory.L0C, Memory.FRAGMENT)
    dim, size, start = _share(trace.member, None if in_l0c and n else m, n)
    turned_a, turned_b = transposes(op)
    parts = {"C": -2, "A": -1 if turned_a else -2}
    if dim == -1:
        parts = {"C": -1, "B": -2 if turned_b else -1, "bias": -1}
    operands = tuple(
        cut(operand, parts[o.name], size, start)
        if o.name in parts and isinstance(operand, Region)
        else operand
        for o, operand in zip(op.opdef.operands, op.operands, strict=True)
    )
    return replace(op, operands=operands)


def _share(member: tuple[Expr, int], m: int | None, n: int | None) -> tuple[int, Const, Expr]:
    """Which dimension of C is split, and how much of it a block has from where on."""
    number, members = member
    for dim, size in ((-2, m), (-1, n)):
        if size is not None and size % (FRACTAL * members) == 0:
            return dim, Const(size // members), simplify(number * (size // members))
    sizes = "of sizes that the call decides" if m is None or n is None else f"of {m} x {n}"
    message = f'T.Scale("cta_cluster"): a product {sizes} is not split among {members} blocks'
    hint = f"make rows or columns of C a multiple of {FRACTAL * members}"
    raise Fault("scale-size", message, hint, "C")


@dataclass(frozen=True, slots=True)
class _Matrix:
    """A matrix of gm. Rows and columns are those of the product, whichever lies first."""

    region: Region
    turned: bool = False

    def size(self, dim: int) -> Expr:
        return self.region.dims[self._stored(dim)].extent

    def part(self, dim: int, extent: Expr, start: Expr) -> _Matrix:
        return _Matrix(cut(self.region, self._stored(dim), extent, start), self.turned)

    def reaches_end(self, dim: int) -> bool:
        """Whether nothing of the tensor lies behind the matrix: what is copied beyond is padded."""
        place = self._stored(dim)
        own = self.region.dims[place]
        return simplify(own.offset + own.extent) == simplify(self.region.buffer.shape[place])

    def _stored(self, dim: int) -> int:
        return -3 - dim if self.turned else dim


def product_of_tensors(given: Mapping[str, Any], clear: Any) -> Pending | None:
    """A product of gm that a cluster adds to C, or with `clear` sets C to; None for other products.
    Of whole tensors, a cluster does its share of the grid."""
    trace = current("T.gemm")
    values = [given.get(name) for name in ("A", "B", "C")]
    regions = [whole_region(value) for value in values]
    if trace.member is None or any(r is None or r.memory is not Memory.GM for r in regions):
        return None
    turned = [bool(given.get(f"transpose_{name}")) for name in ("A", "B")]
    a, b, c = (_Matrix(r, t) for r, t in zip(regions, (*turned, False), strict=True) if r)
    if all(isinstance(value, Tile) for value in values):
        a, b, c = _of_grid(trace, a, b, c)
    m, n = (constant_value(c.size(dim)) for dim in (-2, -1))
    dim, size, start = _share(trace.member, m, n)
    c = c.part(dim, size, start)
    a, b = (a.part(-2, size, start), b) if dim == -2 else (a, b.part(-1, size, start))
    return as_one((_product(trace, a, b, c, python_number(clear) == 1),), "gemm")


def _of_grid(trace: Trace, a: _Matrix, b: _Matrix, c: _Matrix) -> tuple[_Matrix, _Matrix, _Matrix]:
    """The parts of whole matrices for the tile of C that a cluster has in the grid."""
    for dim, (index, count) in zip((-2, -1), trace.grid, strict=False):
        number, size = python_number(count), constant_value(c.size(dim))
        if number is None or size is None or size % int(number):
            what = "rows" if dim == -2 else "columns"
            message = f"gemm: the {what} of `{c.region.buffer.name}` are not dealt out to {count}"
            hint = "block= is the number of tiles, each of which a cluster has"
            raise Fault("scale-size", message, hint, "C")
        extent = Const(size // int(number))
        start = simplify(index.expr * extent)
        c = c.part(dim, extent, start)
        a, b = (a.part(-2, extent, start), b) if dim == -2 else (a, b.part(-1, extent, start))
    return a, b, c


def _product(trace: Trace, a: _Matrix, b: _Matrix, c: _Matrix, clear: bool) -> Stmt:
    """All of C tile by tile, each summed up over K on chip."""
    k, m, n = a.size(-1), constant_value(c.size(-2)), constant_value(c.size(-1))
    number = constant_value(k)
    if m is None or n is None or m % FRACTAL or n % FRACTAL:
        message = f"gemm: {c.size(-2)} x {c.size(-1)} elements of C are no whole fractals"
        raise Fault("scale-size", message, f"name a part of multiples of {FRACTAL}", "C")
    if not (a.reaches_end(-1) and b.reaches_end(-2)) and (number is None or number % DEPTH):
        message = f"gemm: {k} columns of A are no multiple of {DEPTH} nor all that there are"
        raise Fault("scale-size", message, "copy tiles and multiply these", "A")
    rows, columns = _divisor(m, ROWS), _divisor(n, COLUMNS)
    total = INT32 if a.region.dtype.is_integer else FLOAT32
    sides = [
        _tile(
            trace, Memory.SHARED, side.region.dtype, tuple(reversed(size)) if side.turned else size
        )
        for side, size in ((a, (rows, DEPTH)), (b, (DEPTH, columns)))
    ]
    sums = _tile(trace, Memory.FRAGMENT, total, (rows, columns))
    transposed = {"transpose_A": a.turned, "transpose_B": b.turned}

    def step(i: Expr, j: Expr, s: Expr) -> None:
        at = s * DEPTH
        parts = (
            a.part(-2, Const(rows), i * rows).part(-1, Const(DEPTH), at),
            b.part(-1, Const(columns), j * columns).part(-2, Const(DEPTH), at),
        )
        for part, side in zip(parts, sides, strict=True):
            _emit(trace, "copy", {"src": part.region, "dst": side})
        first = binary("==", s, Const(0))
        _emit(
            trace, "gemm_v0", {"A": sides[0], "B": sides[1], "C": sums, "init": first, **transposed}
        )

    def tile(i: Expr, j: Expr) -> None:
        trace.emit(_loop(trace, ceildiv(k, Const(DEPTH)), lambda s: step(i, j, s)))
        there = c.part(-2, Const(rows), i * rows).part(-1, Const(columns), j * columns).region
        _emit(trace, "copy" if clear else "atomic_add", {"src": sums, "dst": there})

    across = Const(n // columns)
    return _loop(
        trace,
        Const(m // rows),
        lambda i: trace.emit(_loop(trace, across, lambda j: tile(i, j))),
    )


def _divisor(size: int, most: int) -> int:
    """The largest number of whole fractals up to `most` that divides a size."""
    return next(d for d in range(min(size, most), 0, -1) if size % d == 0 and d % FRACTAL == 0)


def _tile(trace: Trace, memory: Memory, dtype: DType, size: tuple[int, ...]) -> Tile:
    tile = Tile(memory, dtype, tuple(map(Const, size)), trace.here)
    trace.allocate(tile)
    trace.name_tile(tile, "part", trace.ANONYMOUS)
    return tile


def _emit(trace: Trace, name: str, given: Mapping[str, Any]) -> None:
    trace.emit_pending(build_op(OPS[name], given, "gemm"), step=True)


def _loop(trace: Trace, count: Expr, body: Callable[[Expr], None]) -> For:
    turn = trace.loop_variable("i")
    with trace.block() as inside:
        body(turn)
    return For(turn, Const(0), count, LoopKind.SERIAL, tuple(inside), trace.here)
