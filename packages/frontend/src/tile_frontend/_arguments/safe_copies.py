"""Build copies of tensors with a value for elements outside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tile_frontend._arguments.build_op import build_op
from tile_frontend._arguments.element_nests import element, for_each, new_tile, stored
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.trace import current
from tile_ir import OPS, Expr, Memory, Region, Stmt


def from_safe_tensor(src: Region, dst: Region, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The operands of a copy from a tensor with a safe value: through a tile in ub, where elements
    outside the tensor have that value."""
    trace = current("T.copy")
    value = trace.safe_values[src.buffer]
    if options.get("pad_value") is not None:
        return {"src": src, "dst": dst, **options}
    if dst.memory is Memory.GM:
        message = f"copy: `{src.buffer.name}` has a safe value, and dst is in gm"
        raise Fault("copy-option", message, "copy to a tile first, and from there to gm", "dst")
    front = all(trace.surely(s.offset >= 0) is True for s in src.dims)
    sizes = src.static_extents()
    if sizes is None:
        return {"src": src, "dst": dst, **options, "pad_value": value.value}
    if value.value == 0 and front:
        return {"src": src, "dst": dst, **options}
    tile = new_tile(src.dtype, src.extents, f"{src.buffer.name}_safe")
    whole = Region.whole(tile.buffer)
    if front:
        padded = {"src": src, "dst": whole, "pad_value": float(value.value)}
        trace.emit_pending(build_op(OPS["copy"], padded, "copy"))
    else:

        def one(places: tuple[Expr, ...]) -> Stmt:
            return stored(whole, places, trace.element(element(src, places)))

        trace.emit(for_each(src.extents, one))
    return {"src": whole, "dst": dst, **options}
