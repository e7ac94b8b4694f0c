"""Find numbers for the elements of integer tensors that a kernel takes for places or lengths.

With any small numbers in a tensor of row numbers, page numbers, lengths or offsets, accesses would
leave their tensors. An element is taken to be between 0 and a bound. The largest bound is found
with which no access gets further out of its buffer than with 0, by the intervals of all indices.
These do not know conditions on more than one name, so that a kernel may allow a larger bound. Where
it reads neighbouring elements, parts of a tensor begin and end there, and the kernel is taken to
walk through a part from where it begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import combinations
from typing import Any

from tile_ir import (
    Access,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    If,
    Let,
    Load,
    Memory,
    Op,
    Region,
    Store,
    Var,
    accesses,
    loads,
    map_expressions,
    simplify,
    substitute,
    variables_of,
    walk,
    walk_expr,
)
from tile_ir.analysis import Interval, Ranges, interval, launch_ranges, regions_of, walk_with_ranges
from tile_ir.quick_dataclasses import dataclass
from tile_ir.traversal import map_region, replace_in

# No dimension has that many elements.
_UNBOUNDED = 1 << 31
# The bound of what no access bounds: of lengths, and of numbers that the scalar unit works on.
_FEW = 3


class IndexUse(Enum):
    """How a kernel uses the elements of a tensor."""

    PLACES = "places"
    LENGTHS = "lengths"  # how often a loop runs
    BEGINS = "begins"  # where parts begin: each ends where the next one begins


@dataclass(frozen=True, slots=True)
class IndexValues:
    """Elements are between 0 and `most`."""

    most: int
    use: IndexUse

    def to_json(self) -> dict[str, Any]:
        return {"most": self.most, "use": self.use.value}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> IndexValues:
        """The inverse of `to_json`."""
        return IndexValues(data["most"], IndexUse(data["use"]))


def index_values(func: Func, sizes: Mapping[str, int | float]) -> dict[str, IndexValues]:
    """Find the integer tensors, by name, that a kernel takes places or lengths from, and their
    values. `sizes`: the scalar arguments and symbolic sizes of a call. Source of the rule: an
    index is at least 0 and less than its dimension (docs/use/checks.md)."""
    value_of = {
        p: Var(f"an element of {p.name}", p.dtype)
        for p in func.params
        if isinstance(p, Buffer) and p.dtype.is_integer
    }
    if not value_of:
        return {}
    body = _Accesses.of(func.launch.body, value_of)
    numbers = [*func.symbols, *(p for p in func.params if isinstance(p, Var))]
    known = launch_ranges(func) | dict.fromkeys(value_of.values(), Interval.exactly(0))
    known |= {v: Interval.exactly(sizes[v.name]) for v in numbers if v.name in sizes}
    found: dict[str, IndexValues] = {}
    for tensor, value in value_of.items():
        use = body.use(value)
        if use is not None:
            most = body.most(known, value)
            most = min(_FEW if most == _UNBOUNDED - 1 else most, int(tensor.dtype.limits()[1]))
            known[value] = Interval(0, most)
            found[tensor.name] = IndexValues(most, use)
    return found


@dataclass(frozen=True, slots=True)
class _Accesses:
    """The statements of a kernel, in which a variable stands for any element of a tensor, and for
    each of them, in the order of `walk`, what it accesses. `begins`: where parts begin and end has
    one variable: with a part of length 0, an access is as far out as the last one of a part."""

    body: Body
    regions: tuple[tuple[Region, ...], ...]
    begins: frozenset[Var]

    @staticmethod
    def of(body: Body, value_of: Mapping[Buffer, Var]) -> _Accesses:
        source = _sources(body, value_of)
        found = tuple(load for stmt in walk(body) for load in loads(stmt))
        begins = {v for b, v in value_of.items() if _neighbours(found, b)}
        named: dict[Var, Expr] = {}

        def value(part: Expr) -> Expr | None:
            return source.get(part.buffer) if isinstance(part, Load) else None

        def with_values(expr: Expr) -> Expr:
            whole = substitute(replace_in(expr, value), named)
            return simplify(whole) if begins.intersection(walk_expr(whole)) else whole

        for stmt in walk(body):
            if isinstance(stmt, Let) and begins.intersection(walk_expr(with_values(stmt.value))):
                named[stmt.var] = with_values(stmt.value)
        return _Accesses(
            map_expressions(body, with_values),
            tuple(tuple(map_region(r, with_values) for r, *_ in regions_of(s)) for s in walk(body)),
            frozenset(begins),
        )

    def most(self, known: Ranges, value: Var) -> int:
        """The largest bound of a value with which no access is further out than where it is 0."""
        least, most = 0, _UNBOUNDED
        zero = self.outside({**known, value: Interval.exactly(0)})
        while most - least > 1:
            middle = (least + most) // 2
            now = self.outside({**known, value: Interval(0, middle)})
            if any(a > b for a, b in zip(now, zero, strict=True)):
                most = middle
            else:
                least = middle
        return least

    def use(self, value: Var) -> IndexUse | None:
        """Find how the scalar unit uses a value, or what it computes of it; None if it does not."""
        offsets = {part for regions in self.regions for r in regions for s in r.dims
                   for part in walk_expr(s.offset)}  # fmt: skip
        use, computed = IndexUse.PLACES if value in offsets else None, {value}
        for stmt in walk(self.body):
            if computed & variables_of(stmt):
                match stmt:
                    case Let(var=var):
                        use = use or IndexUse.PLACES
                        computed.add(var)
                    case For():
                        use = IndexUse.LENGTHS
                    case If() | Store(buffer=Buffer(memory=Memory.VAR)):
                        use = use or IndexUse.PLACES
        return IndexUse.BEGINS if use is not None and value in self.begins else use

    def outside(self, known: Ranges) -> list[float]:
        """By how much each access may get out of its buffer, along each dimension."""
        found: list[float] = []
        sights = walk_with_ranges(self.body, known)
        for (_, here), regions in zip(sights, self.regions, strict=True):
            for region in regions:
                for s, size in zip(region.dims, region.buffer.shape, strict=True):
                    offset, extent = interval(s.offset, here), interval(s.extent, here)
                    end = offset.high + (extent.high - 1) * s.stride + 1
                    found.append(max(-offset.low, end - interval(size, here).low, 0))
        return found


def _sources(body: Body, value_of: Mapping[Buffer, Var]) -> dict[Buffer, Var]:
    """Of which tensor buffers hold elements: of themselves, or as copies and variables."""
    found = dict(value_of)
    for stmt in walk(body):
        match stmt:
            case Op(opdef=opdef) if opdef.name == "copy":
                (read,) = (r for r, access in accesses(stmt) if access is Access.READ)
                (written,) = (r for r, access in accesses(stmt) if access is not Access.READ)
                copied, origin = written.buffer, read.buffer
            case Store(buffer=Buffer(memory=Memory.VAR) as copied, value=Load(buffer=origin)):
                pass
            case _:
                continue
        if origin in found:
            found.setdefault(copied, found[origin])
    return found


def _neighbours(found: Sequence[Load], tensor: Buffer) -> bool:
    """Whether two loads take elements next to each other in the last dimension of a tensor."""
    places = [load.indices for load in found if load.buffer is tensor]
    return any(
        a[:-1] == b[:-1] and simplify(a[-1] - b[-1]) in (Const(1), Const(-1))
        for a, b in combinations(places, 2)
    )
