"""Make products whose result does not fit l0c beside the others in pieces of columns.

Each piece is in one of two slots, so that Fixpipe empties one while the next is made. Loads for
the product alone are loads of such pieces too; the operand of all pieces is loaded to l0a once.

Where the order inside the cube core is the author's, and where the result is used for more than to
be copied to gm, products stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
from tile_passes.lowering.region_parts import part_along

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
    load: Op | None

    @property
    def whole(self) -> Buffer:
        return self.made.region("C").buffer

    @property
    def by_rows(self) -> bool:
        """Whether columns of the result come from rows of the right operand."""
        return bool(self.made.attr("transpose_B"))


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
    return _Product(made, tuple(copies), _load(body, row[:first], made))


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


def _load(body: Body, before: Sequence[Stmt], made: Op) -> Op | None:
    """The load of a product's right operand from a tensor that the kernel does not write, if only
    the product uses it."""
    right = made.region("B")
    users = [s for s in walk(body) if right.buffer in buffers_of(s)]
    if right.buffer is made.region("A").buffer:
        return None
    load = users[0]
    if len(users) != 2 or not isinstance(load, Op) or load not in before or right.buffer.rank != 2:
        return None
    if right != Region.whole(right.buffer):
        return None
    found = accesses(load)
    sources = [r for r, a in found if not a.writes]
    if [r for r, a in found if a.writes] != [right] or len(sources) != 1:
        return None
    (source,) = sources
    sizes = tuple(simplify(s.extent) for s in source.dims[-2:])
    plain = source.memory is Memory.GM and all(s.stride == 1 for s in source.dims)
    read_only = source.buffer not in written_buffers(body)
    return load if plain and read_only and sizes == right.buffer.shape else None


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
    if product.load is not None:
        narrow[product.made.region("B").buffer] = dim
    new: dict[Buffer, Alloc] = {}
    for alloc in func.launch.allocs:
        if alloc.buffer in narrow:
            one = _narrow(alloc, narrow[alloc.buffer], width)
            name = builder.fresh(f"{alloc.buffer.name}_piece")
            new[alloc.buffer] = replace(one, buffer=replace(one.buffer, name=name))
    var = builder.scalar("piece")
    loaded = () if product.load is None else (product.load,)
    sources = [r for op in loaded for r, a in accesses(op) if not a.writes]
    made, before = _left_once(product.made, width, builder)
    right = made.region("B")

    def of_piece(operand: Operand, is_left: bool) -> Operand:
        if not isinstance(operand, Region) or is_left:
            return operand
        if operand.buffer in new:
            return Region.whole(new[operand.buffer].buffer)
        moved = dim if operand == right or operand in sources else -1
        return part_along(operand, moved, var * width, Const(width))

    parts = (*loaded, made, *product.copies)
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
    loop = For(var, Const(0), count, LoopKind.PIPELINED, body, loc, stages=AHEAD)

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
