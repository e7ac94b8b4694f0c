"""Tensors that a script declares in two steps: a parameter `T.ptr`, and `T.make_tensor` of it."""

from __future__ import annotations

from typing import Any

from tile_frontend._language.allocation import sizes_of, stored
from tile_frontend._tracing.dtype_names import element_type, packed_rows
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, Value, python_number, unexpected
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Tile
from tile_ir import FLOAT32, Buffer, Const, Expr, Loc, Memory, Var, simplify, walk_expr


class Pointer(Value):
    """A parameter that has no shape and type yet."""

    __slots__ = ("buffer",)
    a_scalar_of_it = "make a tensor of it: T.make_tensor(p, shape, dtype)"

    def __init__(self, name: str, loc: Loc) -> None:
        self.buffer = Buffer(name, Memory.GM, FLOAT32, (Const(1),), loc)

    def in_words(self) -> str:
        return f"the pointer `{self.buffer.name}`"


class PointerType:
    """`T.ptr`, the annotation of such a parameter."""

    __name__ = "ptr"

    def __repr__(self) -> str:
        return "T.ptr"


ptr = PointerType()


def make_tensor(ptr: Any, shape: Any, dtype: Any = "float32", strides: Any = None) -> Tile:
    """The tensor of a parameter `T.ptr`, contiguous; declare it above the launch."""
    trace = current("T.make_tensor")
    if not isinstance(ptr, Pointer):
        hint = "pass one tensor and offsets in another: an address in gm has no extent to check"
        raise unexpected("make_tensor: ptr", ptr, "a parameter annotated with T.ptr", hint)
    if ptr.buffer not in trace.params or trace.in_launch:
        message = f"make_tensor: `{ptr.buffer.name}` has its shape already, or the launch has begun"
        raise Fault("pointer-shape", message, "say it once, above `with T.Kernel(...)`", "ptr")
    dims, element = sizes_of(shape, "a tensor", least=0), stored(element_type(dtype, packed=True))
    packed_rows(element, dims, "shape")
    for part in (p for size in dims for p in walk_expr(size)):
        if isinstance(part, Var) and part not in trace.symbols:
            message = f"make_tensor: `{part.name}` is known to no parameter"
            raise Fault("unbound-symbol", message, "use numbers and scalar parameters", "shape")
    if strides is not None:
        _check_strides(dims, strides)
    buffer = Buffer(ptr.buffer.name, Memory.GM, element, dims, ptr.buffer.loc)
    trace.params = tuple(buffer if p is ptr.buffer else p for p in trace.params)
    return Tile(Memory.GM, element, dims, buffer.loc, buffer)


def _check_strides(dims: tuple[Expr, ...], strides: Any) -> None:
    """A Fault for strides that are not those of rows behind each other."""
    given = strides if isinstance(strides, (list, tuple)) else (strides,)
    step: Expr = Const(1)
    for size, stride in zip(reversed(dims), reversed(given), strict=True):
        found = (
            stride.expr if isinstance(stride, Scalar) else Const(int(python_number(stride) or 0))
        )
        if simplify(found) != simplify(step):
            message = "make_tensor: the strides are not those of a contiguous tensor"
            raise Fault("tensor-stride", message, "pass a contiguous tensor", "strides")
        step = step * size
