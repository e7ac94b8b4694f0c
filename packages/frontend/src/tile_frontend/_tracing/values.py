"""Define the values of names other than numbers: buffers, slices, mutable scalars, operations. Turn
`buf[...]` into an element or a slice (docs/language/index.md#subscripts)."""

from __future__ import annotations

from typing import Any, ClassVar

from tile_frontend._dialects.triton_names import TRITON_NAMES
from tile_frontend._tracing.dtype_names import DataType
from tile_frontend._tracing.faults import CURRENT, Fault
from tile_frontend._tracing.scalars import (
    Scalar,
    Value,
    as_python,
    describe,
    integer_hint,
    python_number,
    scalar_expr,
    unexpected,
)
from tile_ir import (
    Alloc,
    Buffer,
    Const,
    DType,
    Expr,
    Layout,
    Load,
    Loc,
    Memory,
    Region,
    Slice,
    Stmt,
    constant_value,
    distance,
    simplify,
)
from tile_ir.quick_dataclasses import dataclass, replace

# Copies cut a tile at the end of a tensor, not at its start.
BEFORE_A_TENSOR = (
    "a tile that begins before its tensor is filled first, and what exists is copied behind that: "
    "T.tile.fill(tile, 0), T.copy(x[0:n], tile[1:n + 1])"
)
READ_ONE = "read one element with buf[i], or compute on tiles with T.tile operations"


@dataclass(frozen=True, slots=True, eq=False)
class View(Value):
    """A slice of a buffer. `points` are the dimensions that have an index instead of a slice."""

    __array_ufunc__: ClassVar[None] = None
    a_scalar_of_it = READ_ONE
    region: Region
    points: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(as_python(e) for e in self.region.extents)

    @property
    def dtype(self) -> DataType:
        return DataType(self.region.dtype.name)

    def in_words(self) -> str:
        return f"a slice of `{self.region.buffer.name}`"


def subscript(buffer: Buffer, index: Any) -> Scalar | View:
    """An element where every index is a number, else a region of the buffer."""
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) != len(buffer.shape):
        have = "1 dimension" if buffer.rank == 1 else f"{buffer.rank} dimensions"
        found = "1 index" if len(parts) == 1 else f"{len(parts)} indices"
        hint = "give one index or slice per dimension; `:` takes a whole one"
        if any(part is None for part in parts):  # `in` would compare runtime values
            hint = TRITON_NAMES["expand_dims"]
        raise Fault("rank-mismatch", f"`{buffer.name}` has {have}, found {found}", hint)
    if not any(isinstance(p, slice) for p in parts):
        return Scalar(Load(buffer, tuple(_index(buffer, p, i) for i, p in enumerate(parts))))
    dims = tuple(
        _slice(buffer, p, i) if isinstance(p, slice) else Slice(_index(buffer, p, i), Const(1))
        for i, p in enumerate(parts)
    )
    points = tuple(i for i, p in enumerate(parts) if not isinstance(p, slice))
    return View(Region(buffer, dims), points)


def _index(buffer: Buffer, value: Any, position: int) -> Expr:
    expr = _integer(value, f"index {position} of `{buffer.name}`", position)
    limit = None if buffer.memory is Memory.GM else constant_value(buffer.shape[position])
    constant = constant_value(expr)
    if constant is not None and constant < 0 and _counts_from_the_end():
        expr = simplify(buffer.shape[position] + constant)
        constant = constant_value(expr)
    if constant is not None:
        _check_not_negative(buffer, constant, position)
        if limit is not None and constant >= limit:
            message = f"index {position} of `{buffer.name}` is {constant}, but the dimension has "
            message += f"{limit} elements"
            hint = f"indices begin at 0: the last one is {limit - 1}"
            raise Fault("index-range", message, hint, position)
    return expr


def _counts_from_the_end() -> bool:
    """Whether the kernel is written as for a GPU, where a negative index does."""
    trace = CURRENT.get()
    return trace is not None and trace.python_names


def _integer(value: Any, what: str, position: int) -> Expr:
    number = python_number(value)
    if number is None and not isinstance(value, Scalar):
        raise unexpected(what, value, "an integer", None, position, "index-type")
    expr = scalar_expr(value if number is None else number)
    if not expr.dtype.is_integer:
        found = f"{what} is {expr.dtype}, expected an integer"
        raise Fault("index-type", found, integer_hint(value), position)
    return expr


def _check_not_negative(buffer: Buffer, number: int, position: int) -> None:
    if number < 0:
        size = constant_value(buffer.shape[position])
        instead = f": write {size + number}" if size is not None and size + number >= 0 else ""
        raise Fault(
            "index-range",
            f"index {position} of `{buffer.name}` is {number}",
            f"indices do not count from the end here{instead}"
            + (f"; {BEFORE_A_TENSOR}" if buffer.memory is Memory.GM else ""),
            position,
        )


def _slice(buffer: Buffer, value: slice, position: int) -> Slice:
    if value.step is not None and python_number(value.step) != 1:
        hint = _picked_elements(buffer, value, position)
        raise Fault("slice-step", f"a slice of `{buffer.name}` has a step", hint, position)
    size = buffer.shape[position]
    start = Const(0) if value.start is None else _bound(buffer, value.start, position)
    stop = size if value.stop is None else _bound(buffer, value.stop, position)
    trace = CURRENT.get()
    extent = distance(start, stop, {} if trace is None else trace.definitions)
    length, limit, end = (constant_value(e) for e in (extent, size, stop))
    if length is not None and length <= 0:
        message = f"slice {position} of `{buffer.name}` has {length} elements"
        raise Fault("empty-slice", message, "the stop of a slice is after its start", position)
    # On chip nothing lies behind a buffer; a tile of a tensor may hang over its edge.
    if buffer.memory is not Memory.GM and limit is not None and end is not None and end > limit:
        message = f"slice {position} of `{buffer.name}` ends at {end}, but the dimension has "
        message += f"{limit} elements"
        raise Fault("index-range", message, f"a slice stops at {limit} at most", position)
    return Slice(start, extent)


def _picked_elements(buffer: Buffer, value: slice, position: int) -> str:
    """The hint that takes every element of a slice with a step."""
    start, step = (python_number(n) for n in (value.start, value.step))
    index = f"{'step' if step is None else step} * i"
    if value.start is not None:
        index = f"{'start' if start is None else start} + {index}"
    before, behind = "r, " * position, ", c" * (len(buffer.shape) - position - 1)
    return (
        "a slice takes every element; to pick some, assign them to a tile in T.Parallel: "
        f"y[{before}i{behind}] = {buffer.name}[{before}{index}{behind}]"
    )


def _bound(buffer: Buffer, value: Any, position: int) -> Expr:
    expr = _integer(value, f"a bound of slice {position} of `{buffer.name}`", position)
    constant = constant_value(expr)
    if constant is not None:
        _check_not_negative(buffer, constant, position)
    return expr


class Tile(Value):
    """A buffer as scripts handle it. An allocation gets its name from the assignment, so the IR
    buffer is made when it is named or first needed. `alias_of` is the buffer whose bytes it names
    again."""

    __slots__ = ("_buffer", "address", "alias_of", "dims", "element", "layout", "loc", "memory")
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
        self.address: int | None = None
        self.layout: Layout | None = None
        self.alias_of: Tile | None = None

    @property
    def root(self) -> Tile:
        """The buffer whose bytes it names."""
        return self.alias_of or self

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
                message = "a buffer is used outside the kernel it belongs to"
                hint = "allocate it in this kernel, or pass a tensor as a parameter"
                raise Fault("outside-kernel", message, hint)
            trace.name_tile(self, self.memory.value, trace.ANONYMOUS)
        assert self._buffer is not None, "naming settles the buffer"
        return self._buffer

    def retype(self, element: DType) -> None:
        """Another element type, for a buffer that nothing has used yet."""
        self._buffer = replace(self.buffer, dtype=element)
        self.element = element

    def renew(self, buffer: Buffer) -> None:
        """Another buffer for the name."""
        self._buffer, self.dims = buffer, buffer.shape

    def alloc(self) -> Alloc:
        """The allocation of the traced kernel."""
        alias = None if self.alias_of is None else self.alias_of.buffer
        return Alloc(self.buffer, self.loc, self.address, self.layout, alias_of=alias)

    @property
    def whole(self) -> Region:
        """All of its elements."""
        return Region.whole(self.buffer)

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

    @property
    def data(self) -> Tile:
        """Its bytes, of which `T.Tensor(shape, dtype, X.data)` is another view."""
        return self

    def __getitem__(self, index: Any) -> Any:
        return subscript(self.buffer, index)

    def in_words(self) -> str:
        return f"the buffer `{self.name}`"

    def __repr__(self) -> str:
        return f"<{self.memory.value} buffer {self._buffer.name if self._buffer else ''}>"


class Cell(Scalar):
    """A mutable scalar (`T.alloc_var`): reading loads, assigning stores. `v[0]` is `v`."""

    __slots__ = ("indices", "initial", "tile")

    def __init__(self, tile: Tile, initial: Any, indices: tuple[Expr, ...] = ()) -> None:
        self.tile, self.initial, self.indices = tile, initial, indices

    @classmethod
    def of_element(cls, load: Load) -> Cell:
        """An element of a buffer, for a macro that assigns it by a name of its own."""
        b = load.buffer
        return cls(Tile(b.memory, b.dtype, b.shape, b.loc, b), None, load.indices)

    @property
    def number(self) -> None:
        """None: it changes."""

    @property
    def expr(self) -> Expr:
        if not self.tile.is_named:
            trace = CURRENT.get()
            assert trace is not None, "allocating has checked that a kernel is being traced"
            trace.name_cell(self, "var", trace.ANONYMOUS)
        return Load(self.tile.buffer, self.indices)

    def __getitem__(self, index: Any) -> Scalar:
        """The value as the only element of a buffer, as tilelang has it."""
        value = Scalar(self.expr)
        position = index[0] if isinstance(index, tuple) and len(index) == 1 else index
        number = python_number(position)
        if isinstance(number, int) and number == 0:
            return value
        message = f"`{self.tile.name}` is a T.alloc_var, which has one element, but the index is "
        message += f"{describe(position) if number is None else number}"
        raise Fault("index-range", message, f"write `{self.tile.name}` or `{self.tile.name}[0]`", 0)


def shape_words(tile: Tile, between: str = ", ") -> str:
    """The sizes of a buffer in an error message, variables by their names."""
    sizes = (str(d.value) if isinstance(d, Const) else getattr(d, "name", "?") for d in tile.dims)
    return between.join(sizes)


@dataclass(slots=True, eq=False)
class Pending(Value):
    """A statement a `T.` call describes; the expression statement around the call emits it."""

    stmt: Stmt
    name: str
    loc: Loc
    # What is told where a value of it is wanted.
    without_value: Fault | None = None

    def refusal(self) -> Fault | None:
        return self.without_value

    def in_words(self) -> str:
        return f"the operation `{self.name}`, which has no value"
