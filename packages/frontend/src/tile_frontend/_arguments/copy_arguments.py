"""Build `T.copy` from buffers, slices, start indices, rows of their own
stride and fractals (docs/language/rules.md#extents, docs/language/rules.md#fractals)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tile_frontend._arguments.build_op import build_op, cut, side_of
from tile_frontend._arguments.copied_elements import moved, one_element
from tile_frontend._arguments.halves import halves_of_tiles
from tile_frontend._arguments.rank_sides import sides_with_ranks
from tile_frontend._arguments.safe_copies import from_safe_tensor
from tile_frontend._arguments.turned_matrices import turned
from tile_frontend._tracing.faults import Fault, placed
from tile_frontend._tracing.scalars import (
    integer_expr,
    known_integer,
    unexpected,
)
from tile_frontend._tracing.trace import current, traced_number
from tile_frontend._tracing.values import Pending, Tile, View, shape_words
from tile_ir import (
    FRACTAL_ROWS,
    OPS,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    KernelError,
    Load,
    LoopKind,
    Memory,
    Op,
    Region,
    Slice,
    active_dims,
    constant_value,
    is_constant,
    k0_elements,
    print_expr,
    simplify,
    strides,
    walk_ops,
)
from tile_ir.ops.movement import is_fractals
from tile_ir.quick_dataclasses import dataclass, replace


def copy(
    src: Any, dst: Any, enable_relu: Any, transpose: Any, pad_value: Any, unit_flag: Any,
    real_k: Any, real_n: Any, stride: Any, srcN: Any, nz: Any, src_pe: Any, dst_pe: Any,
    **elsewhere: Any,
) -> Pending:  # fmt: skip
    """Move a tile; the memories of both sides decide how.

    `unit_flag` is about time and changes nothing here. `srcN`, which the first versions have third,
    is the distance of the tensor's rows: -1 and its last dimension are what the shape says; another
    one is a `stride`. `real_k` and `real_n` shorten the matrices in l0a and l0b for a shorter
    product, whose `k_actual` and `n_actual` must be equal to them. With `stride` rows of the tile
    are so many elements apart in gm, from the start index on, whatever the shape of the tensor
    says. With `nz` gm has the matrix in the order of l1: [columns of fractals, rows of fractals,
    16, 32 bytes].

    `src_pe` and `dst_pe` are the rank whose instance of a symmetric tensor that side is.

    `l2_cache_ctrl` is about time.
    """
    _check_later_chip(elsewhere)
    src, dst = sides_with_ranks("copy", src, dst, src_pe, dst_pe)
    if isinstance(enable_relu, int) and not isinstance(enable_relu, bool):
        srcN, enable_relu, transpose = enable_relu, transpose, False
    if srcN is not None and not _is_own_distance(srcN, src, dst):
        stride = srcN
    options = {"enable_relu": enable_relu, "transpose": transpose, "pad_value": pad_value}
    one = one_element(src, dst)
    if one is not None:
        return one
    extents = {"real_k": real_k, "real_n": real_n}
    if stride is not None or nz:
        sides = side_of(src, "src", "copy"), side_of(dst, "dst", "copy")
        if stride is not None:
            return copy_with_stride(*sides, stride, options)
        return copy_of_fractals(*sides, options | extents)
    halves = None if transpose is True else halves_of_tiles(src, dst)
    a, b = halves or copy_regions(src, dst, transpose is True)
    if transpose is True and (a.memory, b.memory) == (Memory.GM, Memory.L1) and len(b.dims) > 1:
        return moved(a, turned(b), options | {"transpose": False})
    registers = RegisterExtents.of(extents, bool(transpose))
    a, b = registers.cut(a, b, b.memory)
    if a.buffer in current("T.copy").safe_values:
        given = dict(from_safe_tensor(a, b, options))
        a, b = given.pop("src"), given.pop("dst")
        options = given
    made = checking_slices((src, dst), (a, b), lambda: moved(a, b, options))
    if registers.sizes and b.memory is Memory.FRAGMENT and isinstance(made.stmt, Op):
        current("T.copy").decided_late[made.stmt] = registers.cut_open
    return made


def _check_later_chip(given: Mapping[str, Any]) -> None:
    """Raise a Fault for arguments that only another chip performs during a copy."""
    for name, says, write in _LATER:
        value = given.get(name)
        if value is not None and value is not False:
            raise Fault("next-chip", f"copy: {name}: {says}", write, name)


_LATER = (
    ("scale", "block-scaled products need A5", "scale the result of the product"),
    ("data_select", "what pads has no state here", "write pad_value= in each copy that pads"),
    (
        "sub_blockid",
        "only A5 moves tiles to one vector core alone",
        "write T.dual_copy, or `if sid == 0:` around the copies of that vector core",
    ),
)


def _is_own_distance(distance: Any, src: Any, dst: Any) -> bool:
    """Whether rows of the tensor in a copy are so far apart by its shape."""
    number = traced_number(distance)
    sides = [side_of(value, name, "copy") for value, name in ((src, "src"), (dst, "dst"))]
    tensors = [side.buffer for side in sides if side.buffer.memory is Memory.GM]
    return number == -1 or any(number == constant_value(t.shape[-1]) for t in tensors)


def copy_regions(src: Any, dst: Any, transpose: bool, name: str = "copy") -> tuple[Region, Region]:
    """Full regions of both sides. A start index takes its extents from the other side."""
    a, b = side_of(src, "src", name), side_of(dst, "dst", name)
    match a, b:
        case Load(), Load():
            message = f"{name}: both sides are single elements (`{a.buffer.name}` and "
            message += f"`{b.buffer.name}`)"
            hint = "slice one of them to say how much is copied"
            raise Fault("copy-extent", message, hint, "dst")
        case Load(), Region():
            return _from_start(a, b.extents, transpose), b
        case Region(), Load():
            return a, _from_start(b, a.extents, transpose)
        case Region(), Region():
            if isinstance(src, Tile) and isinstance(dst, Tile) and not transpose:
                _same_shape(src, dst, name)
            return a, b
    raise AssertionError("a side is a load or a region")


def _from_start(start: Load, extents: tuple[Expr, ...], transpose: bool) -> Region:
    """The trailing extents of the other side, with ones in front where the rank is higher."""
    if transpose and len(extents) >= 2:
        extents = (*extents[:-2], extents[-1], extents[-2])
    rank = len(start.indices)
    taken = extents[max(len(extents) - rank, 0) :]
    padded = (*(Const(1) for _ in range(rank - len(taken))), *taken)
    return Region(start.buffer, tuple(map(Slice, start.indices, padded)))


def _same_shape(src: Tile, dst: Tile, name: str) -> None:
    a, b = (tuple(simplify(d) for d in side.dims) for side in (src, dst))
    if a != b:
        message = f"{name}: src `{src.name}` is [{shape_words(src)}], but dst `{dst.name}` is "
        message += f"[{shape_words(dst)}]"
        hint = "slice one side, or give a start index, to say which part is copied"
        raise Fault("shape-mismatch", message, hint, "dst")


def checking_slices(
    given: tuple[Any, Any], regions: tuple[Region, Region], build: Callable[[], Pending]
) -> Pending:
    """The copy, if no slice instead of one index would make both sides the same shape.

    Raises Fault `index-for-slice` if one would; what `build` raises gets its hint.
    """
    src, dst = regions
    of_src, of_dst = _meant(given[0], src, dst), _meant(given[1], dst, src)
    found = of_src or of_dst
    try:
        pending = build()
    except Fault as fault:
        if found is None or fault.slug != "shape-mismatch":
            raise
        raise Fault(fault.slug, fault.message, f"write {found}", fault.argument) from None
    if found is None:
        return pending
    padded = dst.memory in (Memory.UB, Memory.SHARED, Memory.L1)
    left = (
        f"the rest of `{dst.buffer.name}` is padded"
        if padded
        else f"nothing else of `{src.buffer.name}` is stored"
    )
    sizes = [", ".join(map(str, r.static_extents() or ())) for r in regions]
    message = f"copy: an index beside a slice is one long: `{src.buffer.name}` is [{sizes[0]}] "
    message += f"here, but `{dst.buffer.name}` is [{sizes[1]}]"
    hint = f"write {found}; if one is meant and {left}, write it as a slice, `i:i + 1`"
    raise Fault("index-for-slice", message, hint, "src" if of_src else "dst")


def _meant(value: Any, region: Region, other: Region) -> str | None:
    """How to write one side, if a slice would do for one of its indices."""
    wanted, found = _active(other.static_extents()), region.static_extents()
    if not isinstance(value, View) or wanted is None or found is None or _active(found) == wanted:
        return None
    for dim in reversed(value.points):
        for extent in wanted:
            if _active((*found[:dim], extent, *found[dim + 1 :])) == wanted:
                return f"`{region.buffer.name}[{_parts(region, dim, extent)}]`"
    return None


def _active(extents: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if extents is None else tuple(e for e in extents if e != 1)


def _parts(region: Region, dim: int, extent: int) -> str:
    """The subscript with a slice in one dimension, as a script would write it."""
    parts = []
    for i, (s, size) in enumerate(zip(region.dims, region.buffer.shape, strict=True)):
        stop = simplify(s.offset + (extent if i == dim else s.extent))
        if i != dim and is_constant(s.extent, 1):
            parts.append(_text(s.offset))
        elif is_constant(s.offset, 0) and constant_value(stop) == constant_value(size):
            parts.append(":")
        else:
            parts.append(f"{_text(s.offset)}:{_text(stop)}")
    return ", ".join(parts)


def _text(e: Expr) -> str:
    return print_expr(e).replace("%", "").replace("$", "")


def copy_with_stride(
    src: Region | Load, dst: Region | Load, stride: Any, options: Mapping[str, Any]
) -> Pending:
    """A row at a time: the last dimension of the tile on chip is a row, those before it count them.
    Where gm ends, a row is cut as in every copy; an l1 matrix is not zeroed before.

    Raises Fault where not exactly one side is in gm, and where the tensor has more dimensions than
    one and the stride is no multiple of the size of its rows.
    """
    trace = current("copy")
    if (known_integer(stride) or 0) < 0:
        raise unexpected("copy: stride", stride, "a number of elements")
    pitch = integer_expr("copy: stride", stride, "a number of elements")
    sides = {"src": src, "dst": dst}
    outside = [name for name, side in sides.items() if side.buffer.memory is Memory.GM]
    inside = "dst" if outside == ["src"] else "src"
    tile = sides[inside]
    if len(outside) != 1 or not isinstance(tile, Region):
        message = "copy: stride is only for copies between gm and a tile"
        raise Fault("copy-option", message, None, "stride")
    rows = [d for d in active_dims(tile) if d != len(tile.dims) - 1]
    counters = [trace.loop_variable("row") for _ in rows]
    number: Expr = Const(0)
    dims = list(tile.dims)
    for dim, counter in zip(rows, counters, strict=True):
        old = dims[dim]
        number = number * old.extent + counter
        dims[dim] = Slice(simplify(old.offset + counter * old.stride), Const(1))
    regions = {
        outside[0]: _row_in_gm(sides[outside[0]], simplify(number), pitch, tile.dims[-1].extent),
        inside: Region(tile.buffer, tuple(dims)),
    }
    pending = moved(regions["src"], regions["dst"], options)
    for dim, counter in zip(reversed(rows), reversed(counters), strict=True):
        body, count = (pending.stmt,), tile.dims[dim].extent
        pending.stmt = For(counter, Const(0), count, LoopKind.SERIAL, body, trace.here)
    return pending


def _row_in_gm(side: Region | Load, number: Expr, pitch: Expr, columns: Expr) -> Region:
    """The row of that number: in a flat tensor any elements, in others one of its own rows."""
    buffer = side.buffer
    starts = side.indices if isinstance(side, Load) else tuple(s.offset for s in side.dims)
    dims = [Slice(simplify(start), Const(1)) for start in starts]
    dims[-1] = replace(dims[-1], extent=columns)
    if len(dims) == 1:
        dims[0] = Slice(simplify(starts[0] + number * pitch), columns)
        return Region(buffer, tuple(dims))
    step, size = constant_value(pitch), constant_value(strides(buffer)[-2])
    if step is None or size is None or step % size:
        message = f"copy: `{buffer.name}` has {len(dims)} dimensions, but the stride is no "
        message += "multiple of the elements of its rows"
        hint = "declare the tensor with one dimension: it may have any stride"
        raise Fault("copy-option", message, hint, "stride")
    dims[-2] = Slice(simplify(starts[-2] + number * (step // size)), Const(1))
    return Region(buffer, tuple(dims))


def copy_of_fractals(src: Region | Load, dst: Region | Load, options: Mapping[str, Any]) -> Pending:
    """src is a tensor [columns of fractals, rows of fractals, 16, elements of 32 bytes], or the
    index of a first fractal; dst the l1 matrix of so many rows and columns. Nothing is cut at the
    edge of the tensor.

    Raises Fault for any other src, and for an option that this path has not.
    """
    for name, value in options.items():
        if value not in (None, False):
            hint = "leave it out: tiles in NZ order are copied as they are"
            raise Fault(
                "copy-option", f"copy: {name} is not for tiles in NZ order", hint, argument=name
            )
    if not isinstance(dst, Region):
        message = f"copy: dst is an element of `{dst.buffer.name}`, expected a tile of l1"
        hint = "write a slice such as dst[0:m, 0:k]"
        raise Fault("copy-extent", message, hint, argument="dst")
    fractals = _from_first(src, dst) if isinstance(src, Load) else src
    if not is_fractals(fractals):
        height, width = FRACTAL_ROWS, k0_elements(src.buffer.dtype)
        message = f"copy: `{src.buffer.name}` has no fractals of {height} rows of {width} elements "
        message += "in gm, as nz=True says"
        hint = f"its shape ends in [columns // {width}, rows // {height}, {height}, {width}], and "
        hint += "whole fractals are copied"
        raise Fault("shape-mismatch", message, hint, "src")
    return build_op(OPS["copy_gm_l1_nz"], {"src": fractals, "dst": dst}, "copy")


def _from_first(first: Load, dst: Region) -> Region:
    """So many fractals as the tile has."""
    height, width = FRACTAL_ROWS, k0_elements(first.buffer.dtype)
    rows, columns = ((Const(1),) * 2 + dst.extents)[-2:]
    sizes = (simplify(columns // width), simplify(rows // height), Const(height), Const(width))
    rank = len(first.indices)
    extents = (*(Const(1) for _ in range(rank - 4)), *sizes[-rank:])
    return Region(first.buffer, tuple(map(Slice, first.indices, extents)))


# The dimension of k and that of n.
_DIMENSIONS: Mapping[Memory, Mapping[str, int]] = {
    Memory.L0A: {"real_k": -1},
    Memory.L0B: {"real_k": -2, "real_n": -1},
}


@dataclass(frozen=True, slots=True)
class RegisterExtents:
    """The extents of registers that a copy names."""

    sizes: Mapping[str, Expr]
    turned: bool

    @staticmethod
    def of(given: Mapping[str, Any], turned: bool) -> RegisterExtents:
        """Raises Fault for values that are no numbers."""
        known = {n: integer_expr(f"copy: {n}", v) for n, v in given.items() if v is not None}
        return RegisterExtents(known, turned)

    def cut(self, src: Region, dst: Region, memory: Memory) -> tuple[Region, Region]:
        """Both sides cut to the part that a product reads of a `dst` in this memory."""
        for name, dim in _DIMENSIONS.get(memory, {}).items():
            if name not in self.sizes or min(len(src.dims), len(dst.dims)) < 2:
                continue
            size, have = self.sizes[name], constant_value(dst.extents[dim])
            number = constant_value(size)
            if number is not None and have is not None and not 0 < number <= have:
                message = f"copy: {name} is {number}, but `{dst.buffer.name}` has {have}"
                hint = f"write 1 to {have}"
                raise Fault("attribute-value", message, hint, argument=name)
            src = cut(src, -3 - dim if self.turned else dim, size)
            dst = cut(dst, dim, size)
        return src, dst

    def cut_open(self, op: Op, body: Body) -> Op:
        """A copy to a buffer whose memory is open, cut as the products of the body read it. Raises
        KernelError where no product says which operand the buffer is."""
        src, dst = op.region("src"), op.region("dst")
        found = set(_memories(body, dst.buffer))
        if len(found) != 1:
            message = f"copy: {next(iter(self.sizes))} is about what a product reads, but no "
            message += f"product says whether `{dst.buffer.name}` is its left or its right operand"
            hint = "allocate it with T.alloc_L0A or T.alloc_L0B"
            raise KernelError("open-register", message, op.loc, hint)
        try:
            sides = self.cut(src, dst, found.pop())
        except Fault as fault:
            raise placed(fault, op.loc) from None
        return replace(op, operands=(*sides, *op.operands[2:]))


def _memories(body: Body, buffer: Buffer) -> Iterator[Memory]:
    """The memories of registers that the uses of a buffer require."""
    for op in walk_ops(body):
        for i, operand in enumerate(op.operands):
            memories = op.opdef.operand_def(i).memories
            if isinstance(operand, Region) and operand.buffer is buffer and len(memories) == 1:
                yield from memories & _DIMENSIONS.keys()
