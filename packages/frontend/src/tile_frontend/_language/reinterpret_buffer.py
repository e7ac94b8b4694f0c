"""Give the memory of a buffer another name: `T.reinterpretcast`, `T.view`, `T.reshape`."""

from __future__ import annotations

import math
from typing import Any

from tile_frontend._language.allocation import buffer_dims, sizes_of
from tile_frontend._tracing.dtype_names import C_NAMES, element_type, packed_rows
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import unexpected
from tile_frontend._tracing.trace import Trace, current
from tile_frontend._tracing.values import Tile, shape_words
from tile_ir import Buffer, Memory
from tile_ir.layout.footprint import same_places, same_size

IN_UB = (Memory.UB, Memory.SHARED)
_OPEN = (Memory.SHARED, Memory.FRAGMENT)


def reinterpretcast(dst: Any, src: Any, dtype: Any) -> None:
    """From here on `dst` names the bytes of `src`, as elements of `dtype` and in its own shape; the
    memory that `dst` was allocated with is given up. A value written through one name is
    read through the other.

    The alias holds for the whole kernel, so nothing may have used `dst` before.
    """
    trace = current("reinterpretcast")
    target, root = _allocated(trace, dst, "dst"), _allocated(trace, src, "src").root
    element = element_type(C_NAMES.get(str(dtype), dtype), packed=True)
    packed_rows(element, target.dims, "dst")
    if target.root is root and target.element == element:
        return  # said again, by a macro or in a later scope
    if root is target:
        message = f"reinterpretcast: dst `{dst.name}` and src `{src.name}` are the same memory"
        hint = "allocate another buffer for the second view"
        raise Fault("reinterpret-itself", message, hint, "dst")
    used = trace.first_use(target.buffer)
    seen = any(t.alias_of is target for t in trace.allocations)
    if used is not None or seen or target.alias_of is not None:
        what = (
            f"is used in line {used.line} already"
            if used is not None
            else "already stands for other memory"
        )
        hint = "give the view a buffer of its own that nothing uses before"
        raise Fault("reinterpret-used", f"reinterpretcast: dst `{dst.name}` {what}", hint, "dst")
    if target.address is not None:
        message = f"reinterpretcast: dst `{dst.name}` has an address of its own"
        hint = "leave it out of T.annotate_address: it is where src is"
        raise Fault("reinterpret-address", message, hint, "dst")
    needed = element.bytes_of(math.prod(target.buffer.static_shape() or ()))
    room = root.element.bytes_of(math.prod(root.buffer.static_shape() or ()))
    if needed > room:
        message = f"reinterpretcast: dst `{dst.name}` has {needed} bytes, but src `{src.name}` "
        hint = "give dst a shape that fits"
        raise Fault("reinterpret-size", f"{message}only {room}", hint, "dst")
    if target.element != element:
        target.retype(element)
    target.alias_of = root


def view(src: Any, shape: Any = None, dtype: Any = None) -> Tile:
    """All bytes of `src` as a buffer of another shape or type, or both; nothing is moved or
    converted. A value written through one name is read through the other.

    A fragment with two names lies in ub. Raises Fault for a part of a buffer, where the bytes are
    not as many, for registers, and for a matrix in l1 whose pieces would have to lie elsewhere.
    """
    trace = current("view")
    tile: Tile = src
    if not isinstance(src, Tile) or src.memory is not Memory.GM:
        tile = _allocated(trace, src, "src", "view", (*IN_UB, Memory.FRAGMENT, Memory.L1))
    element = tile.element if dtype is None else element_type(dtype, packed=True)
    in_gm = tile.memory is Memory.GM
    sizes = (tile.dims if in_gm else tile.shape) if shape is None else shape
    dims = sizes_of(sizes, "a view") if in_gm else buffer_dims(sizes)
    packed_rows(element, dims, "shape")
    seen = Tile(tile.memory, element, dims, trace.here)
    unnamed = Buffer(tile.memory.value, tile.memory, element, dims, trace.here)
    if not same_size(unnamed, tile.buffer):
        message = f"view: {shape_words(seen, 'x')} elements of {element} are not as many bytes as "
        message += f"{shape_words(tile, 'x')} of {tile.element} in `{tile.name}`"
        hint = "a view names all bytes of a buffer: give it a shape that has as many"
        raise Fault("reinterpret-size", message, hint, "dtype" if shape is None else "shape")
    if not same_places(unnamed, tile.root.buffer):
        message = f"view: `{tile.name}` is a matrix in l1, whose rows lie in fractals: "
        message += f"{shape_words(seen, 'x')} elements of {element} would lie in another order"
        hint = "keep rows of as many bytes, or copy to a buffer of that shape"
        raise Fault("operand-memory", message, hint, "dtype" if shape is None else "shape")
    trace.allocate(seen, tile.root)
    return seen


def reshape(src: Any, shape: Any) -> Tile:
    """`view` with the element type of `src`."""
    return view(src, shape)


def _allocated(
    trace: Trace, tile: Any, argument: str, name: str = "reinterpretcast",
    memories: tuple[Memory, ...] = IN_UB,
) -> Tile:  # fmt: skip
    if not isinstance(tile, Tile) or tile not in trace.allocations:
        raise unexpected(f"{name}: {argument}", tile, "a buffer allocated in this kernel")
    if tile.memory not in memories:
        message = f"{name}: {argument} `{tile.name}` is in {tile.memory.value}, expected "
        message += f"{' or '.join(m.value for m in memories if m not in _OPEN)}"
        hint = "matrices outside ub have an order of elements that depends on the type"
        raise Fault("operand-memory", message, hint, argument)
    return tile
