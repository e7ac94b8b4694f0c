"""The cases of the elementwise operations, drawn from the op table: a new operation joins by itself
and fails until `references` says what it means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tile_ir import OPS, DType, OpDef

from .forms import MIXED, Form, forms, long_form

# By operation and element size: what one instruction cannot do (language.md, section 3.9).
REFUSED_TYPES = {(name, size): ("fill-width",) for name in ("fill", "clear") for size in (1, 8)}


@dataclass(frozen=True)
class Case:
    """One call. `forms` has a form per region operand, None where a scalar stands; `scalars` the
    values of those; `kind` how scalars are written: literal, parameter or element."""

    op: OpDef
    dtype: DType
    forms: tuple[Form | None, ...]
    scalars: dict[str, Any] = field(default_factory=dict)
    kind: str = "literal"
    in_place: bool = False

    @property
    def name(self) -> str:
        written = "/".join(f.name if f else self.kind for f in self.forms)
        return f"{self.op.name} {self.dtype} {written}{' in place' if self.in_place else ''}"

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
            yield from _of_type(op, dtype)


def _of_type(op: OpDef, dtype: DType) -> Iterator[Case]:
    operands = visible(op)
    known = {f.name: f for f in forms(dtype)}
    either = [i for i, o in enumerate(operands) if o.memories and o.scalar]
    pure = [i for i, o in enumerate(operands) if not o.memories]
    value: Any = 3 if dtype.is_integer else -1.25
    variants: list[tuple[set[int], str]] = []
    if pure:
        variants += [(set(pure), kind) for kind in ("literal", "parameter", "element")]
    else:
        variants.append((set(), "literal"))
    variants += [({i}, kind) for i in either for kind in ("literal", "parameter", "element")]
    for scalar_places, kind in variants:
        scalars = {operands[i].name: value for i in scalar_places}

        def written(dst: Form, src: Form, places: set[int] = scalar_places) -> tuple[Any, ...]:
            return tuple(
                None if i in places else dst if i == 0 else src for i in range(len(operands))
            )

        for f in known.values():
            yield Case(op, dtype, written(f, f), scalars, kind)
        for a, b in MIXED:
            yield Case(op, dtype, written(known[a], known[b]), scalars, kind)
        regions = len(operands) - len(scalar_places)
        if regions <= 2 and not op.hidden:
            yield Case(op, dtype, written(long_form(dtype), long_form(dtype)), scalars, kind)
        if op.may_alias and regions > 1 and kind == "literal":
            for name in ("whole", "columns", "run-time rows"):
                yield Case(op, dtype, written(known[name], known[name]), scalars, kind, True)
