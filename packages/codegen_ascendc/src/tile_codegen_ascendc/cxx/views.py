"""Present an operation to its template: operands by name, already spelt in C++."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from tile_codegen_ascendc.cxx.expressions import Known, cxx_constant, cxx_expr, gm_offset, scalar_as
from tile_codegen_ascendc.cxx.names import cxx_name
from tile_codegen_ascendc.cxx.tensors import tensor_on
from tile_ir import FLOAT32 as FLOAT
from tile_ir import (
    Buffer,
    Const,
    DType,
    Expr,
    Memory,
    Op,
    Region,
    constant_value,
    element_count,
    element_offset,
    is_contiguous,
    linear_form,
    matrix_view,
    simplify,
    trailing_matrix,
)
from tile_ir.layout.row_form import row_form
from tile_ir.opdef import defined_operands
from tile_ir.quick_dataclasses import dataclass
from tile_ir.ranks import inside_instance, is_far, is_symmetric, rank_of


class RegionView:
    """A region. Sizes are C++ expressions in elements; `ref` is the tensor at its first element."""

    is_scalar = False

    def __init__(self, region: Region, op: Op, known: Known) -> None:
        self._op = op
        self._known = known
        self._placed = region
        self.name = cxx_name(region.buffer.name)
        if is_symmetric(region.buffer):
            self.name = tensor_on(region.buffer, rank_of(region), self.cxx)
            region = inside_instance(region)
        self.region = region
        self.buffer: Buffer = region.buffer
        self.type = region.dtype.c_name

    def __str__(self) -> str:
        return self.ref

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.region.dtype.size

    def cxx(self, expr: Expr) -> str:
        return cxx_expr(expr, self._known, self._op.loc)

    @property
    def rank(self) -> str:
        """The rank whose instance of a symmetric tensor it is a part of."""
        return self.cxx(rank_of(self._placed))

    @property
    def far(self) -> bool:
        """Whether it is named as a part of another rank's instance."""
        return is_far(self._placed)

    @property
    def of_this_device(self) -> bool:
        """Whether it is a part of a tensor that ranks do not share."""
        return not is_symmetric(self._placed.buffer)

    @cached_property
    def ref(self) -> str:
        offset = self.offset()
        if self.buffer.memory is not Memory.GM:
            return self.at(offset)
        if self.region.dtype.whole_bytes:
            return self.at(gm_offset(offset, self.buffer, self._known))
        per_byte = self.region.dtype.elements_in(1)  # gm is bytes then
        terms, constant = linear_form(offset)
        if all(n % per_byte == 0 for n in (constant, *terms.values())):
            offset = simplify(offset // per_byte)
            return self.at(gm_offset(offset, self.buffer, self._known))
        elements = self.cxx(gm_offset(offset, self.buffer, self._known))
        return f"{self.name}[tile::whole_bytes({elements}, {per_byte})]"

    def at(self, offset: Expr) -> str:
        """The tensor from an element on."""
        return self.name if constant_value(offset) == 0 else f"{self.name}[{self.cxx(offset)}]"

    def offset(self) -> Expr:
        """Elements before the first one of the region."""
        return element_offset(self.region)

    @cached_property
    def count(self) -> str:
        return self.cxx(element_count(self.region))

    def pad_argument(self, value: float) -> str:
        """The pad value as a further argument, where it is not the default zero."""
        if value == 0:
            return ""
        dtype = self.region.dtype
        return ", " + cxx_constant(Const(int(value) if dtype.is_integer else value, dtype))

    @property
    def last_pitch(self) -> str:
        """Distance of rows of the last two dimensions, whatever their extents."""
        return self.cxx(trailing_matrix(self.region).pitch)

    @property
    def lines(self) -> str:
        """Arguments `rows, columns` of the last two dimensions, or of all elements in one run."""
        if is_contiguous(self.region):
            return f"1, {self.count}"
        view = trailing_matrix(self.region)
        return f"{self.cxx(view.rows)}, {self.cxx(view.columns)}"

    @property
    def rows(self) -> str:
        """Arguments `rows, columns, pitch` of all elements in order."""
        view = matrix_view(self.region)
        assert view is not None, "the verifier has checked the rows"
        return ", ".join(map(self.cxx, (view.rows, view.columns, view.pitch)))


class ScalarView:
    """A scalar operand; `as_type` spells it in another operand's type."""

    is_scalar = True

    def __init__(self, expr: Expr, op: Op, known: Known) -> None:
        self.expr = expr
        self._op = op
        self._known = known

    def __str__(self) -> str:
        return cxx_expr(self.expr, self._known, self._op.loc)

    def as_type(self, like: RegionView) -> str:
        return scalar_as(self.expr, like.region.dtype, self._known, self._op.loc)

    def negated(self, like: RegionView) -> str:
        return scalar_as(-self.expr, like.region.dtype, self._known, self._op.loc)

    def reciprocal(self, like: RegionView) -> str:
        """1/x in float, rounded to the type."""
        dtype: DType = like.region.dtype
        value = scalar_as(self.expr, FLOAT, self._known, self._op.loc)
        text = f"1.0f / {value}" if value.replace(".", "").isalnum() else f"1.0f / ({value})"
        return text if dtype is FLOAT else f"static_cast<{dtype.c_name}>({text})"


@dataclass(frozen=True)
class OpView:
    """An operation: operands and attributes are attributes of this object."""

    node: Op
    operands: dict[str, Any]
    attrs: dict[str, Any]

    @cached_property
    def in_rows(self) -> str | None:
        """Arguments `rows, columns` and the pitch of each region, for an operation on separate
        rows; None for all others. The op table decides which templates use them."""
        form = row_form(self.node)
        if form is None:
            return None
        sizes = [self.operands["dst"].cxx(e) for e in (form.rows, form.columns)]
        return ", ".join((*sizes, *map(str, form.pitches)))

    def __getattr__(self, name: str) -> Any:
        if name in self.operands:
            return self.operands[name]
        if name in self.attrs:
            return self.attrs[name]
        raise AttributeError(name)


def view_op(
    op: Op, known: Known, tensor: Callable[[Region, Op, Known], RegionView] = RegionView
) -> OpView:
    """The view of an operation for its template; `tensor` makes the view of a region."""
    operands: dict[str, Any] = {}
    many: list[Any] = []
    for definition, operand in defined_operands(op):
        view: Any = None
        if isinstance(operand, Region):
            view = tensor(operand, op, known)
        elif operand is not None:
            view = ScalarView(operand, op, known)
        if definition.variadic:
            many.append(view)
        operands[definition.name] = many if definition.variadic else view
    for definition in op.opdef.operands:
        operands.setdefault(definition.name, [])
    attrs = {a.name: v for a, v in zip(op.opdef.attrs, op.attrs, strict=True)}
    return OpView(op, operands, attrs)
