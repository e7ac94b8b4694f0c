"""Tensors that every rank has an instance of, as scripts handle them: their elements are those of
the own instance, or of the instance of another rank (docs/language/rules.md#symmetric-tensors)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tile_frontend._tracing.faults import CURRENT, Fault
from tile_frontend._tracing.scalars import Scalar, python_number, unexpected
from tile_frontend._tracing.shared_tensors import symmetric
from tile_frontend._tracing.values import Cell, Tile, View, subscript
from tile_ir import INT32, Buffer, Const, DType, Expr, Load, Loc, Memory, Region, Slice
from tile_ir.ranks import RANK, RANKS, instance, is_symmetric, on_rank

# Elements between two words of `T.Signals`, each of which has a cache line of its own.
WORDS_APART = 16


class SymmetricTile(Tile):
    """The instance of a rank. `apart` is for words that lie in lines of their own."""

    __slots__ = ("apart", "rank")

    def __init__(self, buffer: Buffer, rank: Expr = RANK, apart: bool = False) -> None:
        own = instance(buffer).shape
        dims = own[:-1] if apart else own
        super().__init__(Memory.GM, buffer.dtype, dims, buffer.loc, buffer)
        self.rank, self.apart = rank, apart

    @staticmethod
    def parameter(
        name: str, dtype: DType, shape: tuple[Expr, ...], loc: Loc, apart: bool
    ) -> SymmetricTile:
        """A parameter of the kernel."""
        inner = (*shape, Const(WORDS_APART)) if apart else shape
        return SymmetricTile(Buffer(name, Memory.GM, dtype, (RANKS, *inner), loc), RANK, apart)

    @property
    def whole(self) -> Region:
        region = on_rank(Region.whole(self.buffer), self.rank)
        if not self.apart:
            return region
        return replace(region, dims=(*region.dims[:-1], Slice(Const(0), Const(1))))

    def on(self, rank: Expr) -> SymmetricTile:
        """The instance of another rank."""
        return SymmetricTile(self.buffer, rank, self.apart)

    def __getitem__(self, index: Any) -> Any:
        found = subscript(replace(instance(self.buffer), shape=self.dims), index)
        last = (Const(0),) if self.apart else ()
        if isinstance(found, View):
            inner = (*found.region.dims, *(Slice(zero, Const(1)) for zero in last))
            region = Region(self.buffer, (Slice(self.rank, Const(1)), *inner))
            return View(region, (0, *(point + 1 for point in found.points)))
        assert isinstance(found.expr, Load), "a subscript without slices is an element"
        return Scalar(Load(self.buffer, (self.rank, *found.expr.indices, *last)))

    def in_words(self) -> str:
        return f"the symmetric tensor `{self.name}`"


def on_other_rank(what: str, value: Any, rank: Expr) -> Any:
    """A part of a symmetric tensor in the instance of another rank. A plain tensor that is a
    parameter becomes symmetric. Raises Fault `not-symmetric` for memory that no other rank reaches,
    and `both-remote` for a part that is already on another rank."""
    match value:
        case SymmetricTile():
            _check_own(what, value.rank)
            return value.on(rank)
        case Tile() if (shared := _shared(value.buffer)) is not None:
            return SymmetricTile(shared, rank)
        case View(region=region) if is_symmetric(region.buffer):
            _check_own(what, region.dims[0].offset)
            return replace(value, region=on_rank(region, rank))
        case View(region=region) if (shared := _shared(region.buffer)) is not None:
            there = Region(shared, (Slice(rank, Const(1)), *region.dims))
            return View(there, (0, *(point + 1 for point in value.points)))
        case Scalar(expr=Load() as load) if not isinstance(value, Cell):
            if is_symmetric(load.buffer):
                _check_own(what, load.indices[0])
                return Scalar(replace(load, indices=(rank, *load.indices[1:])))
            if (shared := _shared(load.buffer)) is not None:
                return Scalar(Load(shared, (rank, *load.indices)))
    name = getattr(value, "in_words", lambda: repr(value))()
    hint = "annotate the parameter with T.SymmTensor(shape, dtype): every rank has one of these"
    raise Fault("not-symmetric", f"{what} is {name}, which no other rank reaches", hint)


def _shared(buffer: Buffer) -> Buffer | None:
    """The symmetric buffer of a parameter that other ranks reach; None if the buffer is no
    parameter."""
    trace = CURRENT.get()
    if trace is None or buffer not in trace.params:
        return None
    found: Buffer = trace.shared.setdefault(buffer, symmetric(buffer))
    return found


def _check_own(what: str, rank: Expr) -> None:
    if rank != RANK:
        message = f"{what} is a part of another rank's instance already"
        raise Fault("both-remote", message, "name one rank")


def own_instance(value: Any) -> bool:
    """Whether a side of a copy is memory of the rank that runs."""
    match value:
        case SymmetricTile(rank=rank):
            return rank == RANK
        case View(region=region) if is_symmetric(region.buffer):
            return region.dims[0].offset == RANK
        case Scalar(expr=Load() as load) if is_symmetric(load.buffer):
            return load.indices[0] == RANK
    return True


def rank_number(what: str, value: Any, argument: str) -> Expr:
    """The rank that an argument names. Raises Fault `peer-range` for a number below 0."""
    number = python_number(value)
    if number is not None and (not isinstance(number, int) or number < 0):
        hint = "ranks count from 0 to T.num_ranks() - 1"
        raise Fault("peer-range", f"{what}: {argument} is {number}", hint, argument)
    if number is not None:
        return Const(number)
    if not isinstance(value, Scalar) or not value.expr.dtype.is_integer:
        raise unexpected(f"{what}: {argument}", value, "the number of a rank", argument=argument)
    expr = value.expr
    return expr if expr.dtype is INT32 else value.astype("int32").expr
