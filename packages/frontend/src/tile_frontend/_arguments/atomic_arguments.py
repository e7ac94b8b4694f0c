"""Build `T.atomic_add`, `T.atomic_max` and `T.atomic_min`: of tiles, and of a value to an element,
which in `T.Parallel` are a tile and its place where indices say so. Nothing but its block updates a
tile on chip: there they are plain assignments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tile_frontend._arguments.build_op import build_op, element_region, side_of, whole_region
from tile_frontend._arguments.copy_arguments import copy_regions
from tile_frontend._arguments.element_nests import as_one, element, for_each, new_tile, stored
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._dialects.gpu_names import PLACES
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, python_number, stored_value, unexpected
from tile_frontend._tracing.symmetric import on_other_rank, rank_number
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending, Tile
from tile_ir import (
    OPS,
    ArgumentDef,
    Buffer,
    Const,
    Expr,
    Load,
    Memory,
    Region,
    Store,
    call_arguments,
    cast,
    is_constant,
    maximum,
    minimum,
    simplify,
    squeezed,
)
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AtomicKind:
    """An operation that updates gm, with its effect on two values."""

    name: str
    combine: Callable[[Expr, Expr], Expr]


KINDS = (
    AtomicKind("atomic_add", lambda a, b: a + b),
    AtomicKind("atomic_max", maximum),
    AtomicKind("atomic_min", minimum),
)
_ADD = KINDS[0]


def _update(
    kind: AtomicKind, dst: Any, src: Any, memory_order: Any = None, return_prev: Any = False,
    use_tma: Any = False, annotations: Any = None, dst_pe: Any = None,
) -> Pending:  # fmt: skip
    _returns_nothing(kind.name, return_prev)
    is_value = python_number(src) is not None or isinstance(src, Scalar)
    if dst_pe is not None:
        dst = _at_rank(kind.name, dst, is_value, dst_pe)
    place = dst.expr if isinstance(dst, Scalar) else None
    if is_value and whole_region(src) is None and isinstance(place, Load) and place.indices:
        return _elements(kind, place, [src])
    dst = _only_element(dst) if is_value else dst
    if isinstance(dst, Load):
        return _elements(kind, dst, [src])
    a, b = copy_regions(src, dst, False, kind.name)
    if b.memory is not Memory.GM and current(kind.name).python_names:
        return _on_chip(kind, a, b)
    _one_kind(kind, b.buffer)
    a = _in_its_type(kind.name, a, b)
    return build_op(OPS[kind.name], {"dst": b, "src": a}, f"tile.{kind.name}")


def _at_rank(name: str, dst: Any, is_value: bool, pe: Any) -> Any:
    if is_value:
        message = f"{name}: a value is not added to an element of another rank"
        hint = 'add to a word by T.signal(word, v, pe, op="add"), or add a tile'
        raise Fault("operand-kind", message, hint, "src")
    return on_other_rank(f"{name}: dst", dst, rank_number(name, pe, "dst_pe"))


def _returns_nothing(name: str, return_prev: Any) -> None:
    if return_prev is not False:
        message = f"{name}: the chip updates memory and returns nothing"
        raise Fault("attribute-value", message, PLACES, "return_prev")


def _only_element(dst: Any) -> Any:
    """The element of a tensor or a slice that has one, where a value is added to that."""
    region = whole_region(dst)
    if region is None or not all(is_constant(simplify(e), 1) for e in region.extents):
        return dst
    return Load(region.buffer, tuple(s.offset for s in region.dims))


def _one_kind(kind: AtomicKind, tensor: Buffer) -> None:
    """Raise a Fault for a tensor with two kinds of updates: their order matters, and updates have
    none."""
    trace = current(kind.name)
    before = trace.updates.setdefault(tensor, kind.name)
    if before != kind.name:
        message = f"{kind.name}: `{tensor.name}` is updated by {before} as well, and the chip does "
        message += "atomic updates in any order"
        raise Fault("mixed-updates", message, "update another tensor, or write two kernels", "dst")


def _in_its_type(name: str, src: Region, dst: Region) -> Region:
    """The source converted to the type of the tensor, as text for GPUs expects."""
    trace = current(name)
    same = src.dtype is dst.dtype or src.static_extents() is None or src.memory is Memory.GM
    if same or not trace.python_names:
        return src
    tile = Tile(src.memory, dst.dtype, src.extents, trace.here)
    trace.allocate(tile)
    trace.name_tile(tile, f"{src.buffer.name}_{dst.dtype.name}", trace.ANONYMOUS)
    sides = {"src": src, "dst": Region.whole(tile.buffer)}
    trace.emit_pending(build_op(OPS["copy"], sides, "copy"))
    return Region.whole(tile.buffer)


def _elements(kind: AtomicKind, place: Load, values: list[Any]) -> Pending:
    """Update values behind each other through a tile of so many elements."""
    trace = current(kind.name)
    dtype = place.buffer.dtype
    made = [stored_value(value, dtype) for value in values]
    if place.buffer.memory is not Memory.GM and trace.python_names:
        return as_one([_updated(kind, at, v) for at, v in _from(place, made)], kind.name)
    _one_kind(kind, place.buffer)
    tile = new_tile(dtype, (Const(len(made)),), "added")
    trace.added.add(tile.buffer)
    for position, value in enumerate(made):
        trace.emit(Store(tile.buffer, (Const(position),), value, trace.here))
    target = element_region(place)
    if len(made) > 1:
        *front, last = target.dims
        target = Region(target.buffer, (*front, type(last)(last.offset, Const(len(made)))))
    return build_op(OPS[kind.name], {"dst": target, "src": tile}, f"tile.{kind.name}")


def _from(place: Load, values: list[Expr]) -> Iterator[tuple[Load, Expr]]:
    *front, last = place.indices
    for position, value in enumerate(values):
        yield Load(place.buffer, (*front, simplify(last + position))), value


def _updated(kind: AtomicKind, place: Load, value: Expr) -> Store:
    new = cast(kind.combine(place, value), place.dtype)
    return Store(place.buffer, place.indices, new, current(kind.name).here)


def _on_chip(kind: AtomicKind, src: Region, dst: Region) -> Pending:
    """The elements of a tile one by one: only its block has it."""
    sizes, others = squeezed(src), squeezed(dst)
    if tuple(map(simplify, sizes)) != tuple(map(simplify, others)):
        message = f"{kind.name}: src `{src.buffer.name}` and dst `{dst.buffer.name}` have not the "
        raise Fault("shape-mismatch", f"{message}same shape", "slice one of them", "dst")

    def one(places: tuple[Expr, ...]) -> Store:
        index = dict(zip(_several(dst), places, strict=True))
        other = dict(zip(_several(src), places, strict=True))
        here = [index.get(d, Const(0)) for d in range(len(dst.dims))]
        there = [other.get(d, Const(0)) for d in range(len(src.dims))]
        value = cast(element(src, there), dst.dtype)
        return stored(dst, here, cast(kind.combine(element(dst, here), value), dst.dtype))

    return as_one([for_each(sizes, one)], kind.name)


def _several(region: Region) -> list[int]:
    return [d for d, s in enumerate(region.dims) if not is_constant(simplify(s.extent), 1)]


def _neighbours(count: int, dst: Any, value: Any, return_prev: Any = False) -> Pending:
    name = f"atomic_addx{count}"
    _returns_nothing(name, return_prev)
    place, start = (_start(name, a, v, count) for a, v in (("dst", dst), ("value", value)))
    return _elements(_ADD, place, [Scalar(load) for load, _ in _from(start, [Const(0)] * count)])


def _start(name: str, argument: str, value: Any, count: int) -> Load:
    """The first of some elements behind each other: an element, or a row of so many."""
    side = side_of(value, argument, name)
    if isinstance(side, Load):
        return side
    if [e for e in side.static_extents() or () if e != 1] != [count]:
        expected = f"an element, or {count} behind each other"
        raise unexpected(f"{name}: {argument}", value, expected, slug="copy-extent")
    return Load(side.buffer, tuple(s.offset for s in side.dims))


def _function(kind: AtomicKind, doc: str) -> OpFunction:
    adapter = partial(_update, kind)
    adapter.__doc__ = doc
    return OpFunction(
        OPS[kind.name],
        adapter,
        (
            *call_arguments(OPS[kind.name]),
            *(ArgumentDef(n, (), None) for n in ("memory_order", "use_tma", "annotations")),
            ArgumentDef("return_prev", (), False),
            ArgumentDef("dst_pe", (), None),
        ),
    )  # fmt: skip


_WITHOUT = (
    "`dst_pe` is the rank whose instance of a symmetric tensor `dst` is. `memory_order`, `use_tma` "
    "and `annotations` have no effect."
)
FUNCTIONS = {
    kind.name: _function(kind, f"{words} {_WITHOUT}")
    for kind, words in zip(
        KINDS,
        (
            "Add a tile to a tensor, or a value to an element of it, in its place among what other "
            "cores add.",
            "Keep the greater of a tile and a tensor, element by element, or of a value and an "
            "element, whatever other cores do to it.",
            "Keep the less of a tile and a tensor, element by element, or of a value and an "
            "element, whatever other cores do to it.",
        ),
        strict=True,
    )
}


def atomic_addx2(dst: Any, value: Any, return_prev: Any = False) -> Pending:
    """Add two elements behind each other."""
    return _neighbours(2, dst, value, return_prev)


def atomic_addx4(dst: Any, value: Any, return_prev: Any = False) -> Pending:
    """Add four elements behind each other."""
    return _neighbours(4, dst, value, return_prev)
