"""Structural equality of functions: same text, therefore same meaning, whatever the objects."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from tile_ir.nodes import Buffer, Func
from tile_ir.opdef import OpDef


def structurally_equal(a: Func, b: Func) -> bool:
    """Whether two functions are the same but for object identity; buffers correspond by place."""
    return _equal(a, b, {})


def _equal(a: object, b: object, buffers: dict[int, Buffer]) -> bool:
    if isinstance(a, Buffer) and isinstance(b, Buffer):
        if id(a) in buffers:
            return buffers[id(a)] is b
        buffers[id(a)] = b
    if isinstance(a, OpDef):
        return a is b
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_equal(x, y, buffers) for x, y in zip(a, b, strict=True))
    if type(a) is not type(b):
        return False
    if is_dataclass(a) and not isinstance(a, type):
        return all(
            _equal(getattr(a, f.name), getattr(b, f.name), buffers) for f in fields(a) if f.compare
        )
    return repr(a) == repr(b) if isinstance(a, float) else a == b
