"""Where a statement touches a buffer, dimension by dimension: whole, at the number of a loop's
iteration, or elsewhere. Names that only stand for other scalars are looked through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tile_ir import (
    Access,
    Buffer,
    Const,
    Expr,
    For,
    Let,
    Op,
    Region,
    Slice,
    Stmt,
    Store,
    Var,
    accesses,
    constant_value,
    is_constant,
    loads,
    reads_memory,
    simplify,
    substitute,
)
from tile_ir.analysis import constant_trips
from tile_ir.quick_dataclasses import dataclass

Names = Mapping[Var, Expr]


@dataclass(frozen=True, slots=True)
class Whole:
    """All places of the dimension."""


@dataclass(frozen=True, slots=True)
class OwnIteration:
    """The place with the number of the iteration of a loop that goes over all of them."""

    loop: For


@dataclass(frozen=True, slots=True)
class Single:
    """The only place there is."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Some places that have nothing to do with iterations, as written."""


Place = Whole | OwnIteration | Single | Elsewhere


@dataclass(frozen=True, slots=True)
class Touch:
    """An access of a statement, as places and as written. `operand` is the number of the operand;
    None for an element."""

    buffer: Buffer
    places: tuple[Place, ...]
    slices: tuple[Slice, ...]
    access: Access
    operand: int | None = None


def trips(loop: For) -> int | None:
    """The trip count of a loop that counts from 0, if it is constant."""
    return constant_trips(loop) if is_constant(loop.start, 0) else None


def with_name(names: Names, let: Let) -> Names:
    """The names behind a `let`. One that keeps an element stays a name: elements change."""
    value = resolved(let.value, names)
    if reads_memory(value):
        return names
    return {**names, let.var: value}


def resolved(expr: Expr, names: Names) -> Expr:
    return simplify(substitute(expr, dict(names)))


def touches(stmt: Stmt, loops: Sequence[For], names: Names) -> Iterator[Touch]:
    """Every access of the statement itself, reads of elements in its expressions included."""
    for load in loads(stmt):
        yield _element(load.buffer, load.indices, Access.READ, loops, names)
    match stmt:
        case Store(buffer=buffer, indices=indices):
            yield _element(buffer, indices, Access.WRITE, loops, names)
        case Op(operands=operands):
            found = iter(accesses(stmt))
            for number, operand in enumerate(operands):
                if isinstance(operand, Region):
                    region, access = next(found)
                    places = tuple(
                        _place(s, size, loops, names)
                        for s, size in zip(region.dims, region.buffer.shape, strict=True)
                    )
                    yield Touch(region.buffer, places, region.dims, access, number)


def _element(
    buffer: Buffer,
    indices: tuple[Expr, ...],
    access: Access,
    loops: Sequence[For],
    names: Names,
) -> Touch:
    places = tuple(
        _index(index, size, loops, names) for index, size in zip(indices, buffer.shape, strict=True)
    )
    return Touch(buffer, places, tuple(Slice(i, Const(1)) for i in indices), access)


def _place(s: Slice, size: Expr, loops: Sequence[For], names: Names) -> Place:
    if is_constant(s.extent, 1):
        return _index(s.offset, size, loops, names)
    whole = is_constant(s.offset, 0) and s.stride == 1 and simplify(s.extent) == simplify(size)
    return Whole() if whole else Elsewhere()


def _index(index: Expr, size: Expr, loops: Sequence[For], names: Names) -> Place:
    count = constant_value(size)
    if count == 1:
        return Single()
    place = resolved(index, names)
    for loop in loops:
        if place == loop.var and count is not None and trips(loop) == count:
            return OwnIteration(loop)
    return Elsewhere()
