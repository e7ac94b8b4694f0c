"""Make products whose result does not fit l0c beside the others in pieces of columns.

Each piece is in one of two slots, so that Fixpipe empties one while the next is made. Loads for
the product alone, of which each may fill some of k, are loads of such pieces too; the operand of
all pieces is loaded to l0a once.

Where the order inside the cube core is the author's, and where the result is used for more than to
be copied to gm, products stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tile_ir import (
    Alloc,
    Automatic,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    LoopKind,
    Memory,
    Op,
    Operand,
    Region,
    Section,
    Stmt,
    Target,
    accesses,
    bodies,
    buffer_bytes,
    buffers_of,
    constant_value,
    is_constant,
    rewrite,
    simplify,
    walk,
    written_buffers,
)
from tile_ir.ops.cube import matrix_sizes, takes_bias
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.gemm import fits_one_tile
from tile_passes.lowering.region_parts import part_along, with_dim

SLOTS = 2
# Pieces that are loaded ahead where l1 has room, so that other loads come between them.
AHEAD = 4
# Columns of l0c come in fractals of so many.
FRACTAL = 16


@dataclass(frozen=True, slots=True)
class _Product:
    """An operation that makes all of an accumulator, what copies that to gm, and what loads its
    right operand, if that is for it alone."""

    made: Op
    copies: tuple[Op, ...]
    loads: tuple[Op, ...]

    @property
    def whole(self) -> Buffer:
        return self.made.region("C").buffer

    @property
    def by_rows(self) -> bool:
        """Whether columns of the result come from rows of the right operand."""
        return _comes_by_rows(self.made)


def _comes_by_rows(made: Op) -> bool:
    return bool(made.attr("transpose_B"))


def in_pieces(func: Func, target: Target) -> Func:
    """The function with products in pieces where l0c is too small for all of them."""
    accumulators = [a for a in func.launch.allocs if _is_accumulator(a)]
    taken = sum(map(buffer_bytes, accumulators))
    if Automatic.SYNC not in func.automatic:
        return func
    for alloc in sorted(accumulators, key=buffer_bytes, reverse=True):
        if taken <= target.capacity[Memory.L0C]:
            break
        room = target.capacity[Memory.L0C] - taken + buffer_bytes(alloc)
        width = _width(alloc, room)
        product = _product(func.launch.body, alloc.buffer)
        if width and product:
            func = _rewritten(func, product, width, Builder.for_func(func, target))
            taken += SLOTS * buffer_bytes(_narrow(alloc, -1, width)) - buffer_bytes(alloc)
    return func


def _is_accumulator(alloc: Alloc) -> bool:
    free = alloc.address is None and alloc.alias_of is None
    static = alloc.buffer.static_shape()
    return free and alloc.buffer.memory is Memory.L0C and static is not None and len(static) == 2


def _width(alloc: Alloc, room: int) -> int:
    """Columns of the widest piece of which two fit, and a whole number of which are all columns."""
    _, columns = alloc.buffer.static_shape() or (0, 0)
    widths = range(columns // 2 // FRACTAL * FRACTAL, 0, -FRACTAL)
    fitting = (w for w in widths if SLOTS * buffer_bytes(_narrow(alloc, -1, w)) <= room)
    return next((w for w in fitting if columns % w == 0), 0)


def _narrow(alloc: Alloc, dim: int, width: int) -> Alloc:
    shape = list(alloc.buffer.shape)
    shape[dim] = Const(width)
    return replace(alloc, buffer=replace(alloc.buffer, shape=tuple(shape)))


def _product(body: Body, whole: Buffer) -> _Product | None:
    """The one product that makes an accumulator and is copied to gm whenever it is made; None where
    something else is done with that, or something between them touches what is handed on."""
    users = [s for s in walk(body) if whole in buffers_of(s)]
    made, *copies = (s for s in users if isinstance(s, Op)) if users else (None,)
    if made is None or len(copies) < max(1, len(users) - 1) or not _makes(made, whole):
        return None
    row = [*_without_sections(_innermost(body, made))]
    if not all(copy in row and _hands_on(copy, whole) for copy in copies):
        return None
    first, last = row.index(made), max(map(row.index, copies))
    between = tuple(s for s in row[first + 1 : last] if s not in copies)
    handed = {r.buffer for copy in copies for r, _ in accesses(copy)}
    if min(map(row.index, copies)) < first or any(handed & buffers_of(s) for s in walk(between)):
        return None
    return _Product(made, tuple(copies), _loads(body, row[:first], made))


def _makes(op: Op, whole: Buffer) -> bool:
    if not {"A", "B", "C", "init"} <= {d.name for d in op.opdef.operands}:
        return False
    init = op.operand("init")
    always = isinstance(init, Expr) and is_constant(init, True)
    on_l1 = op.region("B").memory is Memory.L1
    return always and on_l1 and op.region("C") == Region.whole(whole)


def _hands_on(op: Op, whole: Buffer) -> bool:
    """Whether the operation copies all of the accumulator to gm."""
    found = accesses(op)
    reads = [r for r, a in found if not a.writes]
    writes = [r for r, a in found if a.writes]
    if reads != [Region.whole(whole)] or len(writes) != 1 or writes[0].memory is not Memory.GM:
        return False
    columns = writes[0].dims[-1]
    return columns.stride == 1 and simplify(columns.extent) == whole.shape[-1]


def _loads(body: Body, before: Sequence[Stmt], made: Op) -> tuple[Op, ...]:
    """The loads of a product's right operand, if only the product uses it and they fill it
    together: each a part of k, for all columns of the result."""
    right = made.region("B")
    *loads, last = (s for s in walk(body) if right.buffer in buffers_of(s))
    if right.buffer is made.region("A").buffer or right.buffer.rank != 2 or last is not made:
        return ()
    if right != Region.whole(right.buffer):
        return ()
    ops = tuple(s for s in loads if isinstance(s, Op) and s in before)
    k_dim = -1 if _comes_by_rows(made) else -2
    parts = [_loaded(body, op, right, k_dim) for op in ops]
    known = [part for part in parts if part is not None]
    filled = len(known) == len(loads) and _end(known) == constant_value(right.dims[k_dim].extent)
    return ops if filled else ()


def _loaded(body: Body, op: Op, right: Region, k_dim: int) -> tuple[int, int] | None:
    """Where the part of k begins that an operation loads from a tensor that the kernel does not
    write, and its size."""
    found = accesses(op)
    sources = [r for r, a in found if not a.writes]
    filled = [r for r, a in found if a.writes]
    if len(sources) != 1 or len(filled) != 1:
        return None
    (source,), (part,) = sources, filled
    sizes = [[simplify(s.extent) for s in r.dims[-2:]] for r in (source, part)]
    plain = source.memory is Memory.GM and all(s.stride == 1 for s in source.dims)
    if source.buffer in written_buffers(body) or not plain or sizes[0] != sizes[1]:
        return None
    if with_dim(part, k_dim, right.dims[k_dim]) != right:
        return None
    start, size = (constant_value(e) for e in (part.dims[k_dim].offset, part.dims[k_dim].extent))
    return None if start is None or size is None else (start, size)


def _end(parts: Iterable[tuple[int, int]]) -> int | None:
    """Where parts end of which the first begins at 0 and others at the ends of each other; None
    where they do not."""
    end = 0
    for start, size in sorted(parts):
        if start != end:
            return None
        end += size
    return end


def _innermost(body: Body, op: Op) -> Body:
    """The statements of the innermost loop or branch around an operation."""
    for stmt in body:
        for inner in bodies(stmt):
            if any(s is op for s in walk(inner)):
                found = _innermost(inner, op)
                return body if isinstance(stmt, Section) and found is inner else found
    return body


def _without_sections(body: Body) -> Iterator[Stmt]:
    for stmt in body:
        if isinstance(stmt, Section):
            yield from _without_sections(stmt.body)
        else:
            yield stmt


def _rewritten(func: Func, product: _Product, width: int, builder: Builder) -> Func:
    """The function with a loop over pieces where the product was."""
    dim = -2 if product.by_rows else -1
    narrow = {product.whole: -1}
    if product.loads:
        narrow[product.made.region("B").buffer] = dim
    new: dict[Buffer, Alloc] = {}
    for alloc in func.launch.allocs:
        if alloc.buffer in narrow:
            one = _narrow(alloc, narrow[alloc.buffer], width)
            name = builder.fresh(f"{alloc.buffer.name}_piece")
            new[alloc.buffer] = replace(one, buffer=replace(one.buffer, name=name))
    var = builder.scalar("piece")
    sources = [r for op in product.loads for r, a in accesses(op) if not a.writes]
    made, before = _left_once(product.made, width, builder)
    right = made.region("B")

    def of_piece(operand: Operand, is_left: bool) -> Operand:
        if not isinstance(operand, Region) or is_left:
            return operand
        if operand.buffer in new:
            one = new[operand.buffer].buffer
            at_once = Region.whole(one).dims[narrow[operand.buffer]]
            return replace(with_dim(operand, narrow[operand.buffer], at_once), buffer=one)
        moved = dim if operand == right or operand in sources else -1
        return part_along(operand, moved, var * width, Const(width))

    parts = (*product.loads, made, *product.copies)
    at = _place_of_left(made)
    body = tuple(
        replace(
            op,
            operands=tuple(of_piece(o, op is made and n == at) for n, o in enumerate(op.operands)),
        )
        for op in parts
    )
    count = simplify(product.whole.shape[-1] // width)
    loc = product.made.loc
    loop = For(
        var, Const(0), count, LoopKind.PIPELINED, body, replace(loc, generated=True), stages=AHEAD
    )

    def placed(stmt: Stmt) -> Stmt | Body:
        if stmt is product.made:
            return (*before, loop)
        gone = stmt in parts or (isinstance(stmt, Section) and not stmt.body)
        return () if gone else stmt

    allocs = (*(new.get(a.buffer, a) for a in func.launch.allocs), *builder.allocs)
    return func.with_body(rewrite(func.launch.body, placed), allocs=allocs)


def _place_of_left(made: Op) -> int:
    """Among the operands; the right one may be the same region."""
    return [d.name for d in made.opdef.operands].index("A")


def _left_once(made: Op, width: int, builder: Builder) -> tuple[Op, Body]:
    """The product with its left operand in l0a, and the load of that, if half of l0a holds all of
    it and one tile all of k. The other products of the kernel have the other half for theirs."""
    sizes = matrix_sizes(made)
    if sizes is None or takes_bias(made) or not fits_one_tile(made, width, builder):
        return made, ()
    m, _, k = sizes
    left = made.region("A")
    loaded = Region.whole(builder.scratch("left", Memory.L0A, left.dtype, (m, k), made.loc))
    load = builder.op("copy_l1_l0a", (left, loaded), made.loc, made.attr("transpose_A"))
    at = _place_of_left(made)
    operands = tuple(loaded if n == at else o for n, o in enumerate(made.operands))
    attrs = tuple(
        False if a.name == "transpose_A" else value
        for a, value in zip(made.opdef.attrs, made.attrs, strict=True)
    )
    return replace(made, operands=operands, attrs=attrs), (load,)
