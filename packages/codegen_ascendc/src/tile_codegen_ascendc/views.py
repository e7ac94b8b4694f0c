"""What templates see of an operation: operands by name, already spelt in C++."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tile_codegen_ascendc.cxx_expressions import cxx_constant, cxx_expr, scalar_as
from tile_codegen_ascendc.cxx_names import cxx_name
from tile_ir import Buffer, DType, Memory, Op, Region
from tile_ir.bounds import simplify
from tile_ir.dtypes import FLOAT32 as FLOAT
from tile_ir.expr import Const, Expr, constant_value
from tile_ir.footprint import k0_elements, stored_matrix
from tile_ir.geometry import element_count, element_offset, matrix_view, trailing_matrix
from tile_ir.walk import Ranges

FRACTAL_MEMORIES = (Memory.L1, Memory.L0A, Memory.L0B, Memory.L0C)


class RegionView:
    """A region. Sizes are C++ expressions in elements; `ref` is the tensor at its first element."""

    is_scalar = False

    def __init__(self, region: Region, op: Op, ranges: Ranges) -> None:
        self.region = region
        self.buffer: Buffer = region.buffer
        self.name = cxx_name(region.buffer.name)
        self.type = region.dtype.c_name
        self._op = op
        self._ranges = ranges

    def __str__(self) -> str:
        return self.ref

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.region.dtype.size

    def cxx(self, expr: Expr) -> str:
        return cxx_expr(expr, self._ranges, self._op.loc)

    @cached_property
    def ref(self) -> str:
        offset = (
            self._fractal_offset()
            if self.buffer.memory in FRACTAL_MEMORIES
            else (element_offset(self.region))
        )
        if self.buffer.memory is Memory.GM and not self.region.dtype.whole_bytes:
            offset = simplify(offset // self.region.dtype.elements_in(1))  # gm is bytes then
        return self.name if constant_value(offset) == 0 else f"{self.name}[{self.cxx(offset)}]"

    @property
    def address(self) -> str:
        """The address of the first element."""
        return f"{self.ref}.GetPhyAddr()"

    @cached_property
    def matrix(self) -> str:
        """The tensor at the first element of the l1 or l0 matrix that the region is part of."""
        offset = self._slot_offset()
        return self.name if constant_value(offset) == 0 else f"{self.name}[{self.cxx(offset)}]"

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
    def rows(self) -> str:
        """Arguments `rows, columns, pitch` of all elements in order."""
        view = matrix_view(self.region)
        assert view is not None, "the verifier has checked the rows"
        return ", ".join(map(self.cxx, (view.rows, view.columns, view.pitch)))

    # Matrices in l1 and l0 --------------------------------------------------------------------

    @cached_property
    def extents(self) -> tuple[int, int]:
        """Static rows and columns of the last two dimensions."""
        found = self.region.static_extents()
        if found is None:
            rows, columns = (
                constant_value(e) for e in ((Const(1),) * 2 + self.region.extents)[-2:]
            )
            return rows or 0, columns or 0
        return (1, found[-1]) if len(found) == 1 else (found[-2], found[-1])

    @cached_property
    def matrix_rows(self) -> str:
        return self.cxx(self.region.dims[-2].extent if len(self.region.dims) > 1 else Const(1))

    @cached_property
    def matrix_columns(self) -> str:
        return self.cxx(self.region.dims[-1].extent)

    @cached_property
    def stored(self) -> tuple[int, int]:
        """Rows and columns of the whole matrix as it lies in memory."""
        return stored_matrix(self.buffer)[1]

    @property
    def stored_bytes(self) -> int:
        return self.region.dtype.bytes_of(self.stored[0] * self.stored[1])

    @property
    def tile(self) -> str:
        """The L1Tile initialiser: stored size of the matrix, row and column of the region."""
        row = self.region.dims[-2].offset if len(self.region.dims) > 1 else Const(0)
        column = self.region.dims[-1].offset
        rows, columns = self.stored
        return "{" + f"{rows}, {columns}, {self._unsigned(row)}, {self._unsigned(column)}" + "}"

    def _unsigned(self, expr: Expr) -> str:
        value = constant_value(expr)
        return str(value) if value is not None else f"static_cast<uint32_t>({self.cxx(expr)})"

    def _slot_offset(self) -> Expr:
        """Elements before the matrix: leading dimensions count whole stored matrices."""
        rows, columns = self.stored
        offset: Expr = Const(0)
        step: Expr = Const(rows * columns)
        for s, size in reversed(
            list(zip(self.region.dims[:-2], self.buffer.shape[:-2], strict=True))
        ):
            offset = offset + s.offset * step
            step = step * size
        return simplify(offset)

    def _fractal_offset(self) -> Expr:
        """Offset in NZ order: columns of fractals, rows inside them, elements inside rows."""
        rows, _ = self.stored
        width = 16 if self.buffer.memory is Memory.L0C else k0_elements(self.buffer.dtype)
        row = self.region.dims[-2].offset if len(self.region.dims) > 1 else Const(0)
        column = self.region.dims[-1].offset
        inside = column // width * (rows * width) + row * width
        return simplify(self._slot_offset() + inside)


class ScalarView:
    """A scalar operand; `as_type` spells it in another operand's type."""

    is_scalar = True

    def __init__(self, expr: Expr, op: Op, ranges: Ranges) -> None:
        self.expr = expr
        self._op = op
        self._ranges = ranges

    def __str__(self) -> str:
        return cxx_expr(self.expr, self._ranges, self._op.loc)

    def as_type(self, like: RegionView) -> str:
        return scalar_as(self.expr, like.region.dtype, self._ranges, self._op.loc)

    def negated(self, like: RegionView) -> str:
        return scalar_as(-self.expr, like.region.dtype, self._ranges, self._op.loc)

    def reciprocal(self, like: RegionView) -> str:
        """1/x in float, rounded to the type."""
        dtype: DType = like.region.dtype
        value = scalar_as(self.expr, FLOAT, self._ranges, self._op.loc)
        text = f"1.0f / {value}" if value.replace(".", "").isalnum() else f"1.0f / ({value})"
        return text if dtype is FLOAT else f"static_cast<{dtype.c_name}>({text})"


@dataclass(frozen=True)
class OpView:
    """An operation: operands and attributes are attributes of this object."""

    node: Op
    operands: dict[str, Any]
    attrs: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name in self.operands:
            return self.operands[name]
        if name in self.attrs:
            return self.attrs[name]
        raise AttributeError(name)


def view_op(op: Op, ranges: Ranges) -> OpView:
    """The operation as templates see it."""
    operands: dict[str, Any] = {}
    many: list[Any] = []
    for i, operand in enumerate(op.operands):
        definition = op.opdef.operand_def(i)
        view: Any = None
        if isinstance(operand, Region):
            view = RegionView(operand, op, ranges)
        elif operand is not None:
            view = ScalarView(operand, op, ranges)
        if definition.variadic:
            many.append(view)
        operands[definition.name] = many if definition.variadic else view
    for definition in op.opdef.operands:
        operands.setdefault(definition.name, [])
    attrs = {a.name: v for a, v in zip(op.opdef.attrs, op.attrs, strict=True)}
    return OpView(op, operands, attrs)
