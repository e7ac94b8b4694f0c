"""The cases of the elementwise operations, drawn from the op table: a new operation joins by itself
and fails until `references` says what it means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tile_ir import OPS, DType, OpDef

from .forms import MIXED, RUN_TIME, Form, forms, long_form

# By operation and element size: what one instruction cannot do (docs/hardware/units.md#types).
REFUSED_TYPES = {(name, 8): ("fill-width",) for name in ("fill", "clear")}


@dataclass(frozen=True)
class Case:
    """One call. `forms` has a form per region operand, None where a scalar stands; `scalars` the
    values of those; `kind` how scalars are written: literal, parameter or element. A count is
    always a literal, or else the parameter `n`."""

    op: OpDef
    dtype: DType
    forms: tuple[Form | None, ...]
    scalars: dict[str, Any] = field(default_factory=dict)
    kind: str = "literal"
    in_place: bool = False
    short: bool = False

    @property
    def count(self) -> int:
        """Elements the operation writes."""
        destination = self.forms[0]
        assert destination is not None, "a destination is a region"
        return RUN_TIME["n"] if self.short else destination.count

    @property
    def name(self) -> str:
        written = "/".join(f.name if f else self.kind for f in self.forms)
        how = " in place" if self.in_place else " the first n" if self.short else ""
        return f"{self.op.name} {self.dtype} {written}{how}"

    @property
    def refused(self) -> frozenset[str]:
        """The slugs the compiler may refuse the case with."""
        slugs = {s for f in self.forms if f for s in f.refused}
        return frozenset(slugs | set(REFUSED_TYPES.get((self.op.name, self.dtype.size), ())))


def visible(op: OpDef) -> list[Any]:
    return [o for o in op.operands if o.name not in op.hidden]


def elementwise_ops() -> list[OpDef]:
    return [o for o in OPS.values() if o.elementwise and o.namespace is not None and not o.attrs]


def elementwise_cases() -> Iterator[Case]:
    for op in elementwise_ops():
        for dtype in op.operands[0].dtypes:
            if dtype.whole_bytes:  # two in a byte: test_int4.py
                yield from _of_type(op, dtype)


def scalar_value(name: str, dtype: DType) -> Any:
    """A value for the scalar operand of that name."""
    low, high = (-3, 5) if dtype.is_integer else (-1.5, 2.0)
    return {"min": low, "max": high}.get(name, 3 if dtype.is_integer else -1.25)


def _of_type(op: OpDef, dtype: DType) -> Iterator[Case]:
    operands = visible(op)
    counted = any(o.name == "count" for o in operands)
    pure = {i for i, o in enumerate(operands) if not o.memories}
    either = [i for i, o in enumerate(operands) if o.memories and o.scalar]
    only_count = all(operands[i].name == "count" for i in pure)
    kinds = ("literal",) if only_count else ("literal", "parameter", "element")
    variants = [(pure, kind) for kind in kinds]
    variants += [(pure | {i}, kind) for i in either for kind in ("literal", "parameter", "element")]
    for places, kind in variants:
        names = [operands[i].name for i in sorted(places)]
        scalars = {n: scalar_value(n, dtype) for n in names if n != "count"}
        pairs = list(_pairs(op, dtype, len(operands) - len(places)))
        # How a scalar is written has nothing to do with the shape: a third of the forms will do.
        for destination, source in pairs if kind == "literal" else pairs[::3]:
            if counted and not destination.count:
                continue
            written = tuple(
                None if i in places else destination if i == 0 else source
                for i in range(len(operands))
            )
            yield Case(op, dtype, written, scalars, kind)
            plain = destination is source and kind == "literal"
            if plain and destination.name in ("whole", "matrix", "columns", "run-time rows"):
                if op.may_alias and len(operands) - len(places) > 1:
                    yield Case(op, dtype, written, scalars, kind, in_place=True)
                if counted and destination.name in ("whole", "matrix"):
                    yield Case(op, dtype, written, scalars, kind, short=True)


def _pairs(op: OpDef, dtype: DType, regions: int) -> Iterator[tuple[Form, Form]]:
    """Forms of the destination and of the sources."""
    known = {f.name: f for f in forms(dtype)}
    yield from ((f, f) for f in known.values())
    yield from ((known[a], known[b]) for a, b in MIXED)
    if regions <= 2 and not op.hidden:
        yield long_form(dtype), long_form(dtype)
