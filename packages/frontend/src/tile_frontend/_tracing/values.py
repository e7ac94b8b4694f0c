"""Define the values of names other than numbers: buffers, mutable scalars, operations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tile_frontend._tracing.current_kernel import CURRENT
from tile_frontend._tracing.dtype_names import DataType
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, Value, as_python, describe, python_number
from tile_frontend._tracing.subscripts import READ_ONE, subscript
from tile_ir import Break, Buffer, Const, DType, Expr, For, If, Let, Load, Loc, Memory, Op, Store


class Tile(Value):
    """A buffer as scripts handle it. An allocation gets its name from the assignment, so the IR
    buffer is made when it is named or first needed."""

    __slots__ = ("_buffer", "dims", "element", "loc", "memory")
    a_scalar_of_it = READ_ONE
    # NumPy and iteration would take its elements one by one.
    __array_ufunc__ = None
    __iter__ = None

    def __init__(
        self, memory: Memory, element: DType, dims: tuple[Expr, ...], loc: Loc,
        buffer: Buffer | None = None,
    ) -> None:  # fmt: skip
        self.memory, self.element, self.dims, self.loc = memory, element, dims, loc
        self._buffer = buffer

    @property
    def is_named(self) -> bool:
        return self._buffer is not None

    def settle(self, name: str) -> None:
        """Give the buffer its name, once."""
        self._buffer = Buffer(name, self.memory, self.element, self.dims, self.loc)

    @property
    def buffer(self) -> Buffer:
        if self._buffer is None:
            trace = CURRENT.get()
            if trace is None:
                raise Fault("outside-kernel", "a buffer is used outside the kernel it belongs to")
            trace.name_tile(self, self.memory.value, trace.ANONYMOUS)
        assert self._buffer is not None, "naming settles the buffer"
        return self._buffer

    def retype(self, element: DType) -> None:
        """Another element type, for a buffer that nothing has used yet."""
        self._buffer = replace(self.buffer, dtype=element)
        self.element = element

    @property
    def name(self) -> str:
        return self.buffer.name

    @property
    def dtype(self) -> DataType:
        return DataType(self.element.name)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("a buffer is no array of the host")

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(as_python(d) for d in self.dims)

    @property
    def ndim(self) -> int:
        return len(self.dims)

    def __getitem__(self, index: Any) -> Any:
        return subscript(self.buffer, index)

    def in_words(self) -> str:
        return f"the buffer `{self.name}`"

    def __repr__(self) -> str:
        return f"<{self.memory.value} buffer {self._buffer.name if self._buffer else ''}>"


class Cell(Scalar):
    """A mutable scalar (`T.alloc_var`): reading loads, assigning stores. `v[0]` is `v`."""

    __slots__ = ("initial", "tile")

    def __init__(self, tile: Tile, initial: Any) -> None:
        self.tile, self.initial = tile, initial

    @property
    def number(self) -> None:
        """None: it changes."""

    @property
    def expr(self) -> Expr:
        if not self.tile.is_named:
            trace = CURRENT.get()
            assert trace is not None, "allocating has checked that a kernel is being traced"
            trace.name_cell(self, "var", trace.ANONYMOUS)
        return Load(self.tile.buffer, ())

    def __getitem__(self, index: Any) -> Scalar:
        """The value as the only element of a buffer, as tilelang has it."""
        value = Scalar(self.expr)
        position = index[0] if isinstance(index, tuple) and len(index) == 1 else index
        number = python_number(position)
        if isinstance(number, int) and number == 0:
            return value
        raise Fault(
            "index-range",
            f"`{self.tile.name}` is a T.alloc_var, which has one element, but the index is "
            f"{describe(position) if number is None else number}",
            f"write `{self.tile.name}` or `{self.tile.name}[0]`",
            0,
        )


def shape_words(tile: Tile, between: str = ", ") -> str:
    """The sizes of a buffer in an error message, variables by their names."""
    sizes = (str(d.value) if isinstance(d, Const) else getattr(d, "name", "?") for d in tile.dims)
    return between.join(sizes)


@dataclass(slots=True, eq=False)
class Pending(Value):
    """A statement a `T.` call describes; the expression statement around the call emits it."""

    stmt: Op | Break | For | If | Let | Store
    name: str
    loc: Loc

    def in_words(self) -> str:
        return f"the operation `{self.name}`, which has no value"
