"""Declare the tensors that a call makes and the sizes of an eager kernel: `T.const`, `T.empty`,
`T.alloc_global`."""

from __future__ import annotations

import re
from typing import Any

from tile_frontend._language.allocation import (
    alloc_fragment,
    alloc_shared,
    check_one_shape,
    sizes_of,
    stored,
)
from tile_frontend._tracing.dtype_names import element_type, packed_rows
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, describe, python_number, unexpected
from tile_frontend._tracing.trace import EagerHost, Trace, current
from tile_frontend._tracing.values import Tile
from tile_ir import Load, Memory, Var, walk_expr


def const(names: str, dtype: Any = "int32") -> Any:
    """Sizes that are read from the tensors of a call: a number for one name, a tuple for several,
    which commas or blanks part. Each stands alone as a size of some tensor."""
    host = _host("const")[1]
    if not isinstance(names, str) or not names.replace(",", " ").split():
        message = f"T.const takes names, found {describe(names)}"
        raise Fault("symbol-name", message, 'write T.const("M, N")', "names")
    found = tuple(_constant(host, name, dtype) for name in re.split(r"[,\s]+", names.strip()))
    return found[0] if len(found) == 1 else found


def _constant(host: EagerHost, name: str, dtype: Any) -> Any:
    host.names[name] = None
    if host.constants is None:
        return Scalar(Var(name, element_type(dtype)))
    if name not in host.constants:
        message = f"the constant `{name}` has no value"
        hint = f"it is read from a tensor of the call, or given by name: {name}=..."
        raise Fault("unbound-symbol", message, hint)
    return host.constants[name]


def empty(*shape: Any, dtype: Any = "float32") -> Tile:
    """An output of an eager kernel, without values: `T.empty((M, N), dtype)` or
    `T.empty(M, N, dtype=dtype)`. It is returned at the end."""
    trace, host = _host("empty")
    sizes: Any = shape
    if shape and isinstance(shape[0], (tuple, list)):
        sizes = shape[0]
        dtype = shape[1] if len(shape) > 1 else dtype
    elif len(shape) > 1 and python_number(shape[-1]) is None and not isinstance(shape[-1], Scalar):
        sizes, dtype = shape[:-1], shape[-1]
    tile = _tensor(trace, sizes, dtype)
    host.outputs.append(tile)
    return tile


def alloc_global(shape: Any, dtype: Any = "float32") -> Tile:
    """A tensor in global memory that lives for one call. All launches of the kernel see it: each
    reads the writes of those before. Its first contents are undefined."""
    check_one_shape("T.alloc_global", (shape, dtype))
    trace = current("T.alloc_global")
    tile = _tensor(trace, shape, dtype)
    known = trace.symbols
    for size in tile.dims:
        if trace.eager is None and any(
            isinstance(e, (Var, Load)) and e not in known for e in walk_expr(size)
        ):
            message = "a size of T.alloc_global is computed in the kernel"
            hint = "the host makes it before the launch: use numbers and sizes of parameters"
            raise Fault("dynamic-shape", message, hint, "shape")
    trace.globals.append(tile)
    return tile


def alloc_buffer(
    shape: Any, dtype: Any = "float32", data: Any = None, strides: Any = None,
    elem_offset: Any = None, scope: str = "global", align: int = -1, offset_factor: int = 0,
    buffer_type: str = "default", axis_separators: Any = None,
) -> Any:  # fmt: skip
    """A buffer in the memory that `scope` names: `T.alloc_global` unless it says another."""
    for name, value in (("data", data), ("strides", strides), ("elem_offset", elem_offset)):
        if value not in (None, (), []):
            message = f"alloc_buffer: {name} is given, but buffers are compact and have their own "
            message += "memory here"
            raise Fault("attribute-value", message, "write T.view for other names of one", name)
    match str(scope).partition(".")[0]:
        case "shared":
            return alloc_shared(shape, dtype, scope)
        case "local":
            return alloc_fragment(shape, dtype, scope)
        case "global" | "":
            return alloc_global(shape, dtype)
    known = "global, shared, shared.dyn, local or local.fragment"
    raise unexpected("scope", scope, f"one of {known}", slug="unknown-scope")


def _tensor(trace: Trace, shape: Any, dtype: Any) -> Tile:
    element = stored(element_type(dtype, packed=True))
    dims = sizes_of(shape, "a tensor", least=0)
    packed_rows(element, dims, "shape")
    return Tile(Memory.GM, element, dims, trace.here)


def _host(name: str) -> tuple[Trace, EagerHost]:
    trace = current(f"T.{name}")
    if trace.eager is None:
        hint = "it belongs to a function under jit that is itself the kernel"
        raise Fault("outside-kernel", f"T.{name} stands in no eager kernel", hint)
    return trace, trace.eager
