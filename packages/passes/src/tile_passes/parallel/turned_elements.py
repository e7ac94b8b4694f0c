"""Elements in another order for which the vector unit has more than a gather: every second or
fourth of a run, the columns of a matrix as rows, and matrices whose elements take turns."""

from __future__ import annotations

import math

from tile_ir import (
    BLOCK_BYTES,
    ZERO,
    Const,
    Expr,
    Load,
    Region,
    Slice,
    constant_value,
    is_constant,
    is_contiguous,
    linear_form,
    simplify,
    walk_expr,
)
from tile_ir.dtypes import UINT16, UINT32
from tile_ir.ops.gather import PATTERNS
from tile_ir.ops.rearrange import SIDE
from tile_passes.lowering.alignment import starts_at_blocks
from tile_passes.parallel.accesses import step_of
from tile_passes.parallel.nest import Domain
from tile_passes.parallel.vector_steps import VectorSteps

# Bits of a mask for elements of so many bytes come in such words.
WORDS = {2: UINT16, 4: UINT32}


def turned(s: VectorSteps, e: Load, domain: Domain, into: Region | None) -> Region | None:
    """A tile with the elements of a tile in ub, `into` if that may be; None where only a gather
    reaches them."""
    return (
        _of_every_kth(s, e, domain, into)
        or _shifted(s, e, domain, into)
        or _transposed(s, e, domain, into)
        or _in_turns(s, e, domain, into)
    )


def _of_every_kth(s: VectorSteps, e: Load, domain: Domain, into: Region | None) -> Region | None:
    """Every second or fourth element of a run."""
    last = domain.vars[-1]
    step = step_of(e.indices[-1], last)
    if step not in (2, 4):
        return None
    dims: list[Slice] = []
    for number, index in enumerate(e.indices):
        here = [v for v in domain.vars if _follows(index, v)]
        if number == len(e.indices) - 1:
            if here != [last]:
                return None
            start = simplify(index - last * step + domain.starts[-1] * step)
            first = _residue(start, step)
            if first is None:
                return None
            extent = simplify(domain.extents[-1] * step)
            dims.append(Slice(simplify(start - first), extent))
        elif not here:
            dims.append(Slice(simplify(index), Const(1)))
        elif here == [domain.vars[0]] and step_of(index, here[0]) == 1:
            start = simplify(index - here[0] + domain.starts[0])
            dims.append(Slice(start, domain.extents[0]))
        else:
            return None
    rows = math.prod(constant_value(d.extent) or 0 for d in dims[:-1])
    run = Region(e.buffer, tuple(dims))
    if constant_value(domain.extents[0]) is None and len(domain.vars) == 2:
        return None
    if len(domain.vars) == 2 and rows != constant_value(domain.extents[0]):
        return None
    columns = constant_value(domain.extents[-1])
    tile = into if into is not None else s.tile(e.dtype, domain)
    inside = _inside(run) and is_contiguous(run) and starts_at_blocks(run, s.trial.target)
    if columns is None or not inside or not is_contiguous(tile):
        s.release(tile)
        return None
    pattern = next(n for n, (_, at, every) in PATTERNS.items() if (at, every) == (first, step))
    s.emit("gather_mask", tile, run, attrs=(pattern,))
    return tile


def _shifted(s: VectorSteps, e: Load, domain: Domain, into: Region | None) -> Region | None:
    """Runs that begin inside a block, moved together from the block that they begin in on: bits say
    which elements count, the same for each row."""
    last, size = domain.vars[-1], e.dtype.size
    columns, block = constant_value(domain.extents[-1]), BLOCK_BYTES // size
    if size not in WORDS or columns is None or step_of(e.indices[-1], last) != 1:
        return None
    start = simplify(e.indices[-1] - last + domain.starts[-1])
    shift = _residue(start, block)
    if not shift or _follows(start, last):
        return None
    row, rows = _row(e, domain)
    shape = e.buffer.static_shape()
    if row is None or rows is None or shape is None or (rows > 1 and shape[-1] % block):
        return None
    extent = shift + columns if rows == 1 else shape[-1]
    source = Region(e.buffer, (*row, Slice(simplify(start - shift), Const(extent))))
    tile = into if into is not None else s.tile(e.dtype, domain)
    inside = _inside(source) and shift + columns <= shape[-1] and is_contiguous(source)
    if not inside or not starts_at_blocks(source, s.trial.target) or not is_contiguous(tile):
        s.release(tile)
        return None
    word = WORDS[size]
    bits = s.temporaries.apart_in_banks(word, (-(-(shift + columns) // word.bits),), s.loc)
    ones = (1 << word.bits) - 1
    s.emit("fill", bits, Const(ones, word))
    from_shift = Region(bits.buffer, (Slice(ZERO, Const(1)),))
    s.emit("fill", from_shift, Const(ones & ~((1 << shift) - 1), word))
    counts = (shift + columns, 1, rows, shape[-1] // block, 0)
    s.emit("gathermask_experiment", tile, source, bits, *map(Const, counts), attrs=(True,))
    s.release(bits)
    return tile


def _row(e: Load, domain: Domain) -> tuple[tuple[Slice, ...] | None, int | None]:
    """Where the lines of an element lie, one behind the other in the dimension before the last, and
    how many there are."""
    if len(domain.vars) == 1:
        if any(_follows(i, domain.vars[0]) for i in e.indices[:-1]):
            return None, None
        return tuple(Slice(simplify(i), Const(1)) for i in e.indices[:-1]), 1
    var = domain.vars[0]
    if len(domain.vars) > 2 or len(e.indices) < 2 or step_of(e.indices[-2], var) != 1:
        return None, None
    if (
        any(_follows(i, v) for i in e.indices[:-2] for v in domain.vars)
        or any(_follows(i, domain.vars[1]) for i in e.indices[:-1])
        or _follows(e.indices[-1], var)
    ):
        return None, None
    outer = (Slice(simplify(i), Const(1)) for i in e.indices[:-2])
    down = Slice(simplify(e.indices[-2] - var + domain.starts[0]), domain.extents[0])
    return (*outer, down), constant_value(domain.extents[0])


def _residue(e: Expr, step: int) -> int | None:
    """The remainder of a sum divided by a number, if it is the same for all values of variables."""
    terms, constant = linear_form(e)
    return constant % step if all(f % step == 0 for f in terms.values()) else None


def _inside(region: Region) -> bool:
    """Whether no element of it is known to lie behind its buffer."""
    rooms = (
        constant_value(simplify(size - d.offset - d.extent))
        for d, size in zip(region.dims, region.buffer.shape, strict=True)
    )
    return all(room is None or room >= 0 for room in rooms)


def _transposed(s: VectorSteps, e: Load, domain: Domain, into: Region | None) -> Region | None:
    """A matrix of whole squares, rows for columns."""
    if len(domain.vars) != 2 or len(e.indices) < 2:
        return None
    row, column = domain.vars
    *outer, down, along = e.indices
    if any(_follows(i, v) for i in outer for v in domain.vars):
        return None
    if not (step_of(down, column) == 1 and step_of(along, row) == 1):
        return None
    if _follows(down, row) or _follows(along, column):
        return None
    dims = [Slice(simplify(i), Const(1)) for i in outer]
    dims.append(Slice(simplify(down - column + domain.starts[1]), domain.extents[1]))
    dims.append(Slice(simplify(along - row + domain.starts[0]), domain.extents[0]))
    matrix = Region(e.buffer, tuple(dims))
    if not _in_squares(domain) or not starts_at_blocks(matrix, s.trial.target):
        return None
    tile = into if into is not None else s.tile(e.dtype, domain)
    s.emit("transpose", tile, matrix)
    return tile


def _follows(e: Expr, var: Expr) -> bool:
    return var in walk_expr(e)


def _in_squares(domain: Domain) -> bool:
    sizes = [constant_value(extent) for extent in domain.extents]
    return all(n is not None and n % SIDE == 0 for n in sizes)


def _in_turns(s: VectorSteps, e: Load, domain: Domain, into: Region | None) -> Region | None:
    """Columns of several matrices of whole squares by turns: their rows are columns of one matrix,
    turned."""
    shape = e.buffer.static_shape()
    if len(domain.vars) != 2 or shape is None or len(shape) != 3:
        return None
    row, column = domain.vars
    number, _, columns = shape
    turn, down, along = e.indices
    first = simplify(down - row + domain.starts[0])
    if not is_constant(domain.starts[1], 0) or _follows(first, row) or _follows(first, column):
        return None
    if turn != column % number or along != column // number:
        return None
    rows, long = (constant_value(extent) for extent in domain.extents)
    if rows is None or rows % SIDE or not long or long > number * columns:
        return None
    columns = long // number
    if columns % SIDE:
        return None
    middle = s.temporaries.apart_in_banks(e.dtype, (number * columns, rows), s.loc)
    lines = Slice(first, Const(rows))
    for k in range(number):
        turns = Slice(Const(k), Const(columns), number)
        part = Region(middle.buffer, (turns, Slice(ZERO, Const(rows))))
        own = (Slice(Const(k), Const(1)), lines, Slice(ZERO, Const(columns)))
        s.emit("transpose", part, Region(e.buffer, own))
    tile = into if into is not None else s.tile(e.dtype, domain)
    s.emit("transpose", tile, middle)
    s.release(middle)
    return tile
