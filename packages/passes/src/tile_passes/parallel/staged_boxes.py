"""Stage boxes of elements that are read in an order of their own: those of tensors in gm come to ub
as they lie, and bytes, which no instruction gathers, are widened."""

from __future__ import annotations

import math

from tile_ir import (
    FLOAT16,
    INT32,
    ZERO,
    Binary,
    Const,
    DType,
    Expr,
    Load,
    Memory,
    Region,
    Slice,
    constant_value,
    element_count,
    is_contiguous,
    linear_form,
    maximum,
    minimum,
    reads_memory,
    simplify,
)
from tile_ir.analysis import Interval, Ranges, interval
from tile_passes.lowering.alignment import starts_at_blocks
from tile_passes.parallel.accesses import variables_in
from tile_passes.parallel.nest import Domain, Unsuitable
from tile_passes.parallel.vector_steps import VectorSteps

# How many elements may be loaded for each one that is read.
MOST_FOR_ONE = 16


def in_a_box(s: VectorSteps, e: Load, domain: Domain) -> Load:
    """The same elements of a tile in ub that can be gathered from; the access itself where it
    reads one. Raises Unsuitable."""
    narrow = e.dtype.size == 1
    if e.buffer.memory is Memory.UB and not narrow:
        return e
    box, indices = _box_around(s, e, domain)
    if box.memory is Memory.UB and not starts_at_blocks(box, s.trial.target):
        box = Region.whole(e.buffer)
        indices = e.indices
    tile = box
    if box.memory is Memory.GM:
        tile = _tile_for(s, box, e)
        s.copy(box, tile)
    if narrow:
        wide = _tile_for(s, box, e, FLOAT16)
        s.emit("cast", wide, tile, None, attrs=("cast_none",))
        s.release(tile)
        tile = wide
    return Load(tile.buffer, indices)


def varying_part(e: Expr, domain: Domain) -> tuple[Expr, Expr]:
    """The part of a sum that differs from element to element, and the part that is the same for
    all."""
    terms, constant = linear_form(e)
    varying: Expr = ZERO
    rest: Expr = Const(constant)
    for atom, factor in terms.items():
        if variables_in(atom, domain):
            varying = varying + atom * factor
        else:
            rest = rest + atom * factor
    return simplify(varying), simplify(rest)


def bounds_in_text(e: Expr, size: Expr, known: Ranges) -> Interval | None:
    """The values that an index may have by the text of a kernel; None where memory says them, and
    its type holds more than there are elements."""
    found, (low, high) = interval(e, known), INT32.limits()
    most = constant_value(size)
    if most is not None and found.high - found.low >= most and reads_memory(e):
        return None
    return found if low < found.low and found.high < high else None


def _box_around(s: VectorSteps, e: Load, domain: Domain) -> tuple[Region, tuple[Expr, ...]]:
    """The least box with all elements that are read, and the indices from its corner on."""
    dims, indices = [], []
    for index, size in zip(e.indices, e.buffer.shape, strict=True):
        varying, rest = varying_part(index, domain)
        found = bounds_in_text(varying, size, s.known)
        room = constant_value(size)
        if (slice_ := _around_held(s, index, size, domain)) is not None:
            dims.append(slice_)
            indices.append(simplify(index - slice_.offset))
        elif found is not None:
            first, last = int(found.low), int(found.high)
            corner, most = constant_value(rest), constant_value(size)
            if corner is not None and not s.zero_outside:
                first = max(first, -corner)
            if corner is not None and most is not None and not s.zero_outside:
                last = min(last, most - 1 - corner)
            dims.append(Slice(simplify(rest + first), Const(last - first + 1)))
            indices.append(simplify(varying - first))
        elif room is not None:
            dims.append(Slice(ZERO, Const(room)))
            indices.append(index)
        else:
            raise Unsuitable(f"an index of `{e.buffer.name}` has no bound known at compile time")
    box = Region(e.buffer, tuple(dims))
    read = math.prod(s.sizes[v] for v in domain.vars)
    if (constant_value(element_count(box)) or 0) > MOST_FOR_ONE * max(read, 256):
        raise Unsuitable(f"elements of `{e.buffer.name}` are read far apart")
    return box, tuple(indices)


def _around_held(s: VectorSteps, index: Expr, size: Expr, domain: Domain) -> Slice | None:
    """The least part of a dimension for an index that is held inside of it. It has as many elements
    as the index without bounds would read, and lies inside. None for another index."""
    count = constant_value(size)
    match index:
        case Binary("min", Binary("max", inner, Const(0)), Const(last)) if count == last + 1:
            varying, rest = varying_part(inner, domain)
            found = bounds_in_text(varying, size, s.known)
            if found is not None and found.high - found.low < count:
                read = int(found.high - found.low) + 1
                first = simplify(rest + int(found.low))
                corner = simplify(minimum(maximum(first, 0), count - read))
                return Slice(corner, Const(read))
    return None


def _tile_for(s: VectorSteps, box: Region, e: Load, dtype: DType | None = None) -> Region:
    sizes = tuple(constant_value(x) or 1 for x in box.extents)
    packed = box.memory is Memory.UB and is_contiguous(box)
    return s.temporaries.take(dtype or e.dtype, box.extents, sizes, packed, s.loc)
