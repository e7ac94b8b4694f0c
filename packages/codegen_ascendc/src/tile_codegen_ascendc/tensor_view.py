"""Present a tensor of Ascend C to a template: its address, and the matrix in l1 or l0 around it.

`cxx/views.py` has the properties that every back end uses.
"""

from __future__ import annotations

from functools import cached_property

from tile_codegen_ascendc.cxx.names import cxx_name
from tile_codegen_ascendc.cxx.views import RegionView
from tile_ir import (
    FRACTAL_MEMORIES,
    Const,
    Expr,
    Memory,
    constant_value,
    k0_elements,
    simplify,
    stored_matrix,
)


class TensorView(RegionView):
    """A LocalTensor or a GlobalTensor."""

    @property
    def address(self) -> str:
        """The address of the first element."""
        return f"{self.ref}.GetPhyAddr()"

    @property
    def own_address(self) -> str:
        """The address of the same element in the instance of the rank that runs."""
        return f"{cxx_name(self.buffer.name)}[{self.cxx(self.offset())}].GetPhyAddr()"

    @cached_property
    def matrix(self) -> str:
        """The tensor at the first element of the l1 or l0 matrix that the region is part of."""
        return self.at(self._slot_offset())

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
    def fractal_rows(self) -> str:
        """Rows of a matrix whose fractals a tensor of gm has."""
        return self.cxx(simplify(self.buffer.shape[-3] * self.buffer.shape[-2]))

    @cached_property
    def block_pitch(self) -> str:
        """Elements from one column of blocks of a matrix in NZ order to the next."""
        return self.cxx(simplify(self.buffer.shape[-2] * self.buffer.shape[-1]))

    @cached_property
    def stored(self) -> tuple[int, int]:
        """Rows and columns of the whole matrix as it lies in memory."""
        return stored_matrix(self.buffer)[1]

    @property
    def is_matrix(self) -> bool:
        """Whether the region is provably the whole matrix."""
        return all(
            constant_value(s.offset) == 0 and simplify(s.extent) == simplify(size)
            for s, size in zip(self.region.dims[-2:], self.buffer.shape[-2:], strict=True)
        )

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

    def offset(self) -> Expr:
        """In l1 and l0 in NZ order: columns of fractals, rows inside them, elements inside rows."""
        if self.buffer.memory not in FRACTAL_MEMORIES:
            return super().offset()
        rows, _ = self.stored
        width = 16 if self.buffer.memory is Memory.L0C else k0_elements(self.buffer.dtype)
        row = self.region.dims[-2].offset if len(self.region.dims) > 1 else Const(0)
        column = self.region.dims[-1].offset
        inside = column // width * (rows * width) + row * width
        return simplify(self._slot_offset() + inside)
