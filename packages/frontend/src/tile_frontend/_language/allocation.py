"""Allocate buffers, and annotate their addresses and layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from itertools import takewhile
from typing import Any, ParamSpec, TypeVar

from tile_frontend._language.gpu_hints import ThreadLayout
from tile_frontend._tracing.dtype_names import element_type, packed_rows
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import (
    Scalar,
    describe,
    integer_hint,
    known_integer,
    python_number,
    scalar_expr,
    unexpected,
)
from tile_frontend._tracing.trace import current, traced_number
from tile_frontend._tracing.values import Cell, Tile
from tile_ir import (
    FLOAT64,
    PACKED_MEMORIES,
    Const,
    Diagnostic,
    DType,
    Expr,
    Layout,
    Memory,
    Var,
    constant_value,
    print_expr,
    simplify,
)
from tile_ir.quick_dataclasses import dataclass

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class TensorType:
    """The annotation of a tensor parameter. With `strides` a caller may pass any; inside a kernel
    rows lie behind each other all the same. Of a `symmetric` one every rank has an instance;
    elements `apart` have a cache line each."""

    shape: tuple[Expr, ...]
    dtype: DType
    strides: tuple[Expr, ...] = ()
    symmetric: bool = False
    apart: bool = False

    def strides_inside(self) -> Iterator[tuple[Var, Expr]]:
        """The symbols among the strides, and their values for contiguous rows."""
        step: Expr = Const(1)
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=False):
            if isinstance(stride, Var):
                yield stride, simplify(step)
            step = step * size


def stored(element: DType) -> DType:
    """The type of elements in memory; a Fault for one that no instruction moves or computes."""
    if element is FLOAT64:
        message = "float64 is no type of tensors and tiles: no instruction of the chip takes it"
        hint = "use float32, and pass tensors as `.float()`; scalar parameters may be T.float64"
        raise Fault("element-type", message, hint, "dtype")
    return element


def _as_number(size: Any) -> str | None:
    """The hint for a number in quotes."""
    return f"write {size}" if isinstance(size, str) and size.strip().isdigit() else None


_ROUNDS_DOWN = "`//` rounds down, T.ceildiv(size, parts) rounds up"


def sizes_of(shape: Any, what: str, least: int = 1) -> tuple[Expr, ...]:
    """Sizes, which may be run-time values; a Fault for other values. Tensors may be empty."""
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not sizes:
        hint = "write a size for each dimension, such as (16, 64)"
        raise Fault(
            "shape", f"{what} has no dimensions, expected at least one", hint, argument="shape"
        )
    return tuple(_dim(size, i, what, least) for i, size in enumerate(sizes))


def _dim(size: Any, position: int, what: str, least: int) -> Expr:
    number = traced_number(size)
    if number is None and not isinstance(size, (Scalar, Expr)):
        call = "a kernel is made of sizes and then called with tensors: `kernel(64)(x)`"
        hint = call if hasattr(size, "shape") else _as_number(size)
        where = f"dimension {position} of {what}"
        raise unexpected(where, size, "an integer", hint, "shape", "shape")
    expr = scalar_expr(size if number is None else number)
    if not expr.dtype.is_integer or (number is not None and number < least):
        found = str(number) if number is not None else f"a runtime {expr.dtype}"
        expected = "a positive integer" if least else "an integer of at least 0"
        message = f"dimension {position} of {what} is {found}, expected {expected}"
        hint = integer_hint(size) or (_ROUNDS_DOWN if number == 0 else None)
        raise Fault("shape", message, hint, argument="shape")
    return expr


def buffer_dims(shape: Any) -> tuple[Expr, ...]:
    """The fixed sizes of a buffer; a Fault for anything else."""
    dims = sizes_of(shape, "a buffer")
    for position, size in enumerate(dims):
        if constant_value(size) is None:
            message = f"dimension {position} of a buffer is a runtime value, expected a Python int"
            hint = "buffers on chip have fixed sizes: compute it outside the kernel, "
            raise Fault("dynamic-shape", message, hint + "or allocate the largest", "shape")
    return dims


def _allocate(memory: Memory, shape: Any, dtype: Any) -> Tile:
    trace = current(f"an allocation in {memory.value}")
    dims = buffer_dims(shape)
    element = stored(element_type(dtype, packed=memory in PACKED_MEMORIES))
    packed_rows(element, dims, "shape")
    tile = Tile(memory, element, dims, trace.here)
    trace.allocate(tile)
    return tile


def _one_shape(allocate: Callable[P, R]) -> Callable[P, R]:
    """Wrap an allocation: sizes outside of a shape raise a Fault with the right spelling."""

    @wraps(allocate)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        check_one_shape(f"T.{allocate.__name__}", args)
        return allocate(*args, **kwargs)

    return checked


def check_one_shape(name: str, arguments: tuple[Any, ...]) -> None:
    """A Fault for sizes that are no tuple."""
    sizes = tuple(takewhile(lambda a: python_number(a) is not None or type(a) is Scalar, arguments))
    if len(sizes) < 2:
        return
    texts = (print_expr(s.expr) if isinstance(s, Scalar) else str(s) for s in sizes)
    message = f"{name} takes its sizes as one tuple, found {len(sizes)} numbers one after the other"
    raise Fault("shape", message, f"write {name}(({', '.join(texts)}), dtype)".replace("%", ""), 1)


def _allocator(memory: Memory, name: str, doc: str) -> Callable[..., Tile]:
    def allocate(shape: Any, dtype: Any) -> Tile:
        return _allocate(memory, shape, dtype)

    allocate.__name__ = allocate.__qualname__ = name
    allocate.__doc__ = doc
    return _one_shape(allocate)


# One function for each memory that a script names.
ALLOCATORS = {
    name: _allocator(memory, name, doc)
    for memory, name, doc in (
        (Memory.UB, "alloc_ub", "A tile in the unified buffer of a vector core."),
        (Memory.L1, "alloc_L1", "Matrices in L1, in fractal order: the last two dimensions; those "
         "before number them."),
        (Memory.L0A, "alloc_L0A", "Left operands of `T.mma`."),
        (Memory.L0B, "alloc_L0B", "Right operands of `T.mma`."),
        (Memory.L0C, "alloc_L0C", "Accumulators: float32, or int32 for int8 operands."),
        (Memory.BT, "alloc_BT", "A bias table: one value for each column of a product, for `bias=` "
         "of `T.mma`."),
    )
}  # fmt: skip


# What the keyword `scope` names (docs/language/index.md#scopes-of-memory).
_SHARED_SCOPES = {
    "shared.dyn": Memory.SHARED, "shared.l1": Memory.L1, "shared": Memory.UB,
    "shared.bt": Memory.BT,
}  # fmt: skip
_FRAGMENT_SCOPES = {
    "local.fragment": Memory.FRAGMENT, "wmma.matrix_a": Memory.L0A, "wmma.matrix_b": Memory.L0B,
    "wmma.accumulator": Memory.L0C,
}  # fmt: skip
# What it names in text for GPUs, whichever function has it: shared memory is one, and for the block
# a fragment is a tile like another.
_SCOPES_OF_GPUS = {
    "shared.dyn": Memory.SHARED, "shared": Memory.SHARED, "local.fragment": Memory.FRAGMENT,
}  # fmt: skip


@_one_shape
def alloc_shared(shape: Any, dtype: Any, scope: str = "shared.dyn") -> Tile:
    """A tile in UB or L1: the compiler sees which from its uses. Masks lie in UB."""
    return _allocate(_scope(scope, _SHARED_SCOPES, dtype), shape, dtype)


@_one_shape
def alloc_fragment(shape: Any, dtype: Any, scope: str = "local.fragment") -> Any:
    """A tile in L0A, L0B or L0C, or in UB if only the vector cores use it: the compiler sees which
    from its uses."""
    if scope == "local" and current("T.alloc_fragment").python_names:
        return alloc_local(shape, dtype)
    return _allocate(_scope(scope, _FRAGMENT_SCOPES, dtype), shape, dtype)


def alloc_local(shape: Any, dtype: Any) -> Any:
    """A small array with the same values for the whole block. If a `T.Parallel` loop assigns it,
    each element of the loop has a private array."""
    check_one_shape("T.alloc_local", (shape, dtype))
    trace = current("T.alloc_local")
    dims, element = buffer_dims(shape), stored(element_type(dtype))
    if len(dims) == 1 and constant_value(dims[0]) == 1:
        cell = Cell(Tile(Memory.VAR, element, (), trace.here), 0)
        trace.allocate(cell.tile)
        trace.private.arrays.append(cell.tile)
        return cell
    tile = _allocate(Memory.UB, shape, dtype)
    trace.private.arrays.append(tile)
    return tile


def _scope(scope: Any, known: Mapping[str, Memory], dtype: Any) -> Memory:
    """The memory that a scope names. Masks are in ub, whatever scope the script names."""
    if current("a scope").python_names:
        known = {**known, **_SCOPES_OF_GPUS}
    if not isinstance(scope, str) or scope not in known:
        expected = f"one of {', '.join(map(repr, known))}"
        raise unexpected("scope", scope, expected, slug="unknown-scope")
    masks = element_type(dtype, packed=True).name == "bool"
    return Memory.UB if masks else known[scope]


def alloc_var(dtype: Any, *args: Any, scope: str = "local.var", init: Any = None) -> Cell:
    """A mutable scalar: `T.alloc_var(dtype, [init], [scope], init=...)`."""
    trace = current("alloc_var")
    element = element_type(dtype)
    # A string is the scope; here a scalar variable has one place only.
    values = [v for v in (*args, init) if v is not None and not isinstance(v, str)]
    if len(values) > 1:
        raise Fault("arity", "alloc_var has two first values", "give init once")
    tile = Tile(Memory.VAR, element, (), trace.here)
    trace.allocate(tile)
    return Cell(tile, values[0] if values else 0)


class Ref:
    """The annotation of a macro's parameter that is passed by reference: a `T.alloc_var` or an
    element."""


def annotate_address(addresses: Mapping[Any, Any]) -> None:
    """Fix byte addresses of buffers inside their memories; they may overlap on purpose."""
    for tile, value in _pairs("annotate_address", addresses):
        number = known_integer(value)
        if number is None or number < 0:
            what = f"the address of `{tile.name}`"
            raise unexpected(what, value, "a number of bytes", None, "addresses", "address")
        tile.address = number


@dataclass(frozen=True, slots=True)
class TileLayout:
    """The result of `make_zn_layout(buf)`."""

    tile: Tile
    layout: Layout


def make_zn_layout(buffer: Tile) -> TileLayout:
    """Fractals of 16 rows, row-major inside, ordered by columns: the default of L1."""
    return _layout(buffer, Layout.ZN, "make_zn_layout")


def make_nz_layout(buffer: Tile) -> TileLayout:
    """The dual of zN: column-major inside a fractal."""
    return _layout(buffer, Layout.NZ, "make_nz_layout")


def _layout(buffer: Any, layout: Layout, name: str) -> TileLayout:
    if not isinstance(buffer, Tile):
        hint = "pass a tile of T.alloc_L1 or T.alloc_shared"
        raise Fault(
            "layout", f"{name} takes a buffer, found {describe(buffer)}", hint, argument="buffer"
        )
    return TileLayout(buffer, layout)


def annotate_layout(layouts: Mapping[Any, Any]) -> None:
    """Choose the order of elements of L1 buffers; layouts of a GPU have no effect."""
    if isinstance(layouts, Mapping) and layouts and all(map(_of_a_gpu, layouts.values())):
        for tile in layouts:
            if isinstance(tile, Tile) and tile.memory is Memory.GM:
                _tell_of_order(tile)
        return
    for tile, value in _pairs("annotate_layout", layouts):
        if tile.memory not in (Memory.L1, Memory.SHARED):
            message = f"`{tile.name}` is in {tile.memory.value}, but only l1 has layouts"
            hint = "leave it out: tiles elsewhere lie in rows"
            raise Fault("layout", message, hint, argument="layouts")
        if not isinstance(value, TileLayout) or value.tile is not tile:
            what, hint = f"the layout of `{tile.name}`", "write {buf: make_zn_layout(buf)}"
            raise unexpected(what, value, "", hint, "layouts", "layout")
        tile.layout = value.layout


def _tell_of_order(tensor: Tile) -> None:
    """A layout of a tensor permutes its elements on a GPU; kernels of one script agree in that, and
    agree without it."""
    trace = current("annotate_layout")
    message = (
        f"the layout of `{tensor.name}` is ignored: its elements stay in the order of its shape"
    )
    hint = "a host that expects the order of the layout must not permute it back"
    trace.remark(Diagnostic("tensor-layout", message, trace.here, hint, "warning"))


def _of_a_gpu(value: Any) -> bool:
    """Whether a layout is one of threads or banks: an object of theirs, or a function."""
    return isinstance(value, ThreadLayout) or (callable(value) and not isinstance(value, Tile))


def _pairs(name: str, mapping: Any) -> list[tuple[Tile, Any]]:
    trace = current(name)
    if not isinstance(mapping, Mapping):
        message = f"{name} takes a dict of buffers, found {describe(mapping)}"
        hint = f"write T.{name}({{tile: value}})"
        raise Fault("annotation", message, hint, argument=0)
    for tile in mapping:
        if tile not in trace.allocations:
            message = f"{name}: {describe(tile)} is not a buffer allocated in this kernel"
            hint = "pass the name of a tile that this kernel allocates"
            raise Fault("annotation", message, hint, argument=0)
    return list(mapping.items())
