"""Numbers of four bits in larger integers. `q[i, j // 2] >> j % 2 * 4 & 15` is the j-th number of a
row, whatever the text does to find it: one conversion takes all of them apart."""

from __future__ import annotations

from functools import partial

from tile_ir import (
    FLOAT16,
    INT32,
    OPS,
    Binary,
    Buffer,
    Cast,
    Const,
    DType,
    Expr,
    Load,
    Loc,
    Memory,
    Op,
    Region,
    Select,
    Slice,
    Store,
    Var,
    binary,
    cast,
    constant_value,
    is_constant,
    linear_form,
    rebuild,
    select,
    simplify,
    substitute,
    walk_expr,
)
from tile_ir.analysis import Interval, constant_trips
from tile_ir.analysis.intervals import combined
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.parallel.exact_halves import MOST_EXACT, rounded_once
from tile_passes.parallel.nest import Leaf
from tile_passes.parallel.residue_classes import at_residue

FIELD = 4
MASK = (1 << FIELD) - 1
SIGN = 1 << FIELD - 1


@dataclass(frozen=True, slots=True)
class Fields:
    """All numbers that a region packs, as a nest reads them: numbers without sign have their
    highest bit turned, so that they are less by 8 as signed ones."""

    packed: Region
    unsigned: bool


@dataclass(frozen=True, slots=True)
class _Field:
    """One number of an element: its place from the lowest bits on."""

    element: Load
    place: int
    unsigned: bool


def packed_fields(store: Store, leaf: Leaf) -> dict[Expr, Fields]:
    """The parts of a store's value that are the packed numbers of rows, for each element of a nest
    its own."""
    found: dict[Expr, Fields] = {}
    if not leaf.loops or not any(map(_may_pack, walk_expr(store.value))):
        return found

    def look(e: Expr) -> Expr:
        fields = _fields(e, leaf) if e.dtype.is_integer and not isinstance(e, (Load, Var)) else None
        if fields is None:
            return rebuild(e, look)
        found[e] = fields
        return e

    look(store.value)
    return found


def widened(tile: Buffer, fields: Fields, loc: Loc) -> Op:
    """The operation that takes the numbers of a region apart into a tile of halves."""
    operands = (Region.whole(tile), fields.packed, None)
    return Op(OPS["widen_numbers"], operands, (fields.unsigned,), loc)


def with_fields(value: Expr, tiles: dict[Expr, tuple[Load, bool]]) -> Expr:
    """A value with the parts in `tiles` read from tiles of halves, and computed in halves as far as
    these hold every integer on the way."""

    def read(e: Expr) -> Expr:
        if e not in tiles:
            return rebuild(e, read)
        load, unsigned = tiles[e]
        number: Expr = Cast(load, INT32)
        return cast(simplify(number + SIGN) if unsigned else number, e.dtype)

    loads = {load for load, _ in tiles.values()}
    less = {load for load, unsigned in tiles.values() if unsigned}

    def whole(e: Expr) -> Expr:
        """Integers as the text has them: what finds an element is not less than 0 on the way."""
        match e:
            case Cast(operand=Load() as load) if load in less and e.dtype is INT32:
                return Cast(binary("+", load, Const(float(SIGN), FLOAT16)), INT32) - SIGN
        found = rebuild(e, whole)
        return simplify(found) if e.dtype.is_integer else found

    numbers = dict.fromkeys(loads, Interval(-SIGN, SIGN - 1))
    return whole(rounded_once(_in_halves(read(value), loads), numbers))


def _in_halves(e: Expr, numbers: set[Load]) -> Expr:
    match e:
        case Cast(operand=operand, dtype=dtype, bits=False) if (
            dtype.is_float and operand.dtype.is_integer
        ):
            found = _half(simplify(operand), numbers)
            if found is not None and any(p in numbers for p in walk_expr(operand)):
                return cast(found[0], dtype)
    return rebuild(e, partial(_in_halves, numbers=numbers))


def _half(e: Expr, numbers: set[Load]) -> tuple[Expr, Interval] | None:
    """An integer as a half, where no value on the way is rounded, and the values it may have."""
    found: tuple[Expr, Interval] | None = None
    match e:
        case Cast(operand=Load() as load) if load in numbers:
            return load, Interval(-SIGN, SIGN - 1)
        case Cast(operand=operand, bits=False) if e.dtype.is_integer and operand.dtype.is_integer:
            found = _half(operand, numbers)
            low, high = e.dtype.limits()
            return found if found and low <= found[1].low and found[1].high <= high else None
        case Const(value=value):
            found = Const(float(value), FLOAT16), Interval.exactly(value)
        case Load() if e.dtype.is_integer and e.dtype.bits <= 8:
            found = cast(e, FLOAT16), Interval(*e.dtype.limits())
        case Binary(op="+" | "-" | "*" as op, left=left, right=right):
            a, b = _half(left, numbers), _half(right, numbers)
            if a is None or b is None:
                return None
            found = Binary(op, a[0], b[0], FLOAT16), combined(op, a[1], b[1])
    if found is None or max(-found[1].low, found[1].high) > MOST_EXACT:
        return None
    return found


def _may_pack(e: Expr) -> bool:
    """Whether an expression is an element of a tile whose last index is a quotient."""
    return (
        isinstance(e, Load)
        and e.dtype.is_integer
        and e.dtype.bits > FIELD
        and e.buffer.memory is Memory.UB
        and any(isinstance(p, Binary) and p.op in ("//", ">>") for p in walk_expr(e.indices[-1]))
    )


def _fields(e: Expr, leaf: Leaf) -> Fields | None:
    """The region whose numbers an integer is, one after another along the innermost loop."""
    loop = leaf.loops[-1]
    packing = {p for p in walk_expr(e) if isinstance(p, Load)}
    if len(packing) != 1 or not _may_pack(*packing):
        return None
    (load,) = packing
    count = load.dtype.bits // FIELD
    start, trips = constant_value(loop.start), constant_trips(loop)
    if start is None or trips is None or start % count or trips % count:
        return None
    place = Var(loop.var.name, loop.var.dtype)
    signs = set()
    for number in range(count):
        field = _field(_folded(at_residue(e, loop.var, place * count + number)))
        if field is None or field.place != number:
            return None
        element = field.element
        signs.add(field.unsigned)
    if len(signs) != 1:
        return None
    region = _region(element, place, leaf, start // count, trips // count)
    return None if region is None else Fields(region, signs.pop())


def _folded(e: Expr) -> Expr:
    """An expression whose choices by a number are made."""

    def fold(part: Expr) -> Expr:
        inner = rebuild(part, fold)
        if isinstance(inner, Select):
            return select(simplify(inner.condition), inner.then, inner.orelse)
        return inner

    return simplify(fold(e))


def _field(e: Expr) -> _Field | None:
    """The number that an expression without loop variables takes from an element."""
    match e:
        case Cast(operand=operand, bits=False) if e.dtype.is_integer and e.dtype.bits > FIELD:
            found = _field(operand)
            fits = found is not None and (found.unsigned or _is_signed(e.dtype))
            return found if fits else None
        case Binary(op="&", left=left, right=right) if is_constant(right, MASK):
            return _shifted(left, True)
        case Binary(op=">>", left=Binary(op="<<", left=left, right=up), right=down):
            bits, raised, lowered = e.dtype.bits, constant_value(up), constant_value(down)
            element = _element(left)
            if element is None or raised is None or lowered != bits - FIELD:
                return None
            place, rest = divmod(bits - FIELD - raised, FIELD)
            inside = 0 <= place < element.dtype.bits // FIELD and rest == 0
            return _Field(element, place, not _is_signed(e.dtype)) if inside else None
        case Binary(op=">>", left=left):
            found = _shifted(e, False)
            if found is None or found.place != found.element.dtype.bits // FIELD - 1:
                return None
            signed = _is_signed(found.element.dtype)
            # A negative number as one without sign has no highest bits of 0.
            if signed and not _is_signed(left.dtype):
                return None
            return replace(found, unsigned=not signed)
    return None


def _shifted(e: Expr, unsigned: bool) -> _Field | None:
    """An element, shifted down by some numbers."""
    down = 0
    if isinstance(e, Binary) and e.op == ">>":
        count = constant_value(e.right)
        if count is None or count % FIELD:
            return None
        e, down = e.left, count // FIELD
    element = _element(e)
    if element is None or not 0 <= down < element.dtype.bits // FIELD:
        return None
    return _Field(element, down, unsigned)


def _element(e: Expr) -> Load | None:
    match e:
        case Load():
            return e
        case Cast(operand=Load() as load, bits=False) if (
            e.dtype.is_integer and e.dtype.bits >= load.dtype.bits
        ):
            return load
    return None


def _region(element: Load, place: Var, leaf: Leaf, start: int, count: int) -> Region | None:
    """All elements that a nest reads at `place`, in whole rows of their buffer; None for others."""
    outer = leaf.loops[:-1]
    *rows, last = element.indices
    if last != place or len(outer) > 1 or len(rows) < len(outer):
        return None
    if start or constant_value(element.buffer.shape[-1]) != count:
        return None
    dims = []
    for index in rows:
        used = [loop for loop in outer if loop.var in walk_expr(index)]
        if not used:
            dims.append(Slice(index, Const(1)))
            continue
        (loop,) = used
        terms, _ = linear_form(index)
        trips = constant_trips(loop)
        if terms.get(loop.var) != 1 or trips is None:
            return None
        dims.append(Slice(simplify(substitute(index, {loop.var: loop.start})), Const(trips)))
    if sum(not is_constant(s.extent, 1) for s in dims) > len(outer):
        return None
    whole = (*dims, Slice(Const(0), Const(count)))
    return Region(element.buffer, whole)


def _is_signed(dtype: DType) -> bool:
    return dtype.limits()[0] < 0
