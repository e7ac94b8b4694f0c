"""Operations of the executor: what the pages of rules say that copies, tile operations, reductions
and products do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .element_types import FLOATS, KEPT, converted, scalar, wrapped
from .executor_buffers import Buffer, Place, ProgramFault

ON_VECTOR, ON_CUBE = ("ub",), ("l1", "l0c")
DIRECTIONS = {
    ("gm", "ub"), ("ub", "gm"), ("ub", "ub"), ("gm", "l1"), ("l0c", "gm"), ("ub", "l1"),
    ("l0c", "ub"),
}  # fmt: skip


def _longer(extents: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(e for e in extents if e != 1)


def _ranked(extents: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Extents with ones in front, or without those in front."""
    return ((1,) * rank + extents)[-rank:]


def copy(src: Any, dst: Any, pad_value: Any = None, enable_relu: bool = False) -> None:
    """T.copy (docs/language/rules.md)."""
    source, target = Place.of(src), Place.of(dst)
    if source.kind == "whole" == target.kind and source.extents != target.extents:
        raise ProgramFault("shape", f"{source.extents} to {target.extents}")
    source, target = source.stretched(target), target.stretched(source)
    for place in (source, target):
        place.demand_whole_bytes()
    memories = (source.buffer.memory, target.buffer.memory)
    if memories not in DIRECTIONS:
        raise ProgramFault("direction", " to ".join(memories))
    if memories[0] == "gm":
        _load(source, target, pad_value)
    else:
        values = _conversion(memories, source, target)
        moved = values if not enable_relu else lambda v: np.maximum(values(v), 0)
        _store(source, target, lambda _old, new: moved(new))


def atomic_add(dst: Any, src: Any) -> None:
    target, source = Place.of(dst), Place.of(src)
    source, target = source.stretched(target), target.stretched(source)
    dtype = target.buffer.dtype
    _store(source, target, lambda old, new: wrapped(old + new, dtype), added=True)


def _conversion(memories: tuple[str, str], source: Place, target: Place) -> Callable[[Any], Any]:
    dtype = target.buffer.dtype
    if source.buffer.dtype == dtype:
        return lambda values: values
    if memories not in {("ub", "ub"), ("l0c", "gm"), ("l0c", "ub"), ("ub", "l1")}:
        raise ProgramFault("conversion", f"{source.buffer.dtype} to {dtype} on {memories}")
    return lambda values: converted(values, dtype)


def _load(source: Place, target: Place, pad_value: Any) -> None:
    """From gm: what exists of the source lands in the target's region; the rest of this region, and
    nothing else, becomes the pad value or 0."""
    if source.buffer.dtype != target.buffer.dtype:
        raise ProgramFault("conversion", f"{source.buffer.dtype} to {target.buffer.dtype}")
    exists = source.cut()
    block = source.read(exists)
    pad = wrapped(0 if pad_value is None else pad_value, target.buffer.dtype)
    whole = np.full(target.extents, pad, KEPT[target.buffer.dtype])
    if _longer(source.extents) == _longer(target.extents):
        same = np.full(source.extents, pad, whole.dtype)
        same[tuple(slice(0, c) for c in exists)] = block
        whole = same.reshape(target.extents)
    else:
        part = _ranked(exists, len(target.extents))
        if any(p > t for p, t in zip(part, target.extents, strict=True)):
            raise ProgramFault("shape", f"{source.extents} to {target.extents}")
        whole[tuple(slice(0, c) for c in part)] = block.reshape(part)
    target.write(whole)


def _store(
    source: Place, target: Place, combine: Callable[[Any, Any], Any], added: bool = False
) -> None:
    """To gm, what exists of the target; within a core all of it."""
    exists = target.cut() if target.buffer.memory == "gm" else target.extents
    if _longer(source.extents) == _longer(target.extents):
        # Which elements of the source go anywhere.
        place = np.arange(source.size).reshape(target.extents)
        moving = place[tuple(slice(0, c) for c in exists)]
    else:
        part = _ranked(exists, len(source.extents))
        if any(p > s for p, s in zip(part, source.extents, strict=True)):
            raise ProgramFault("shape", f"{source.extents} to {target.extents}")
        place = np.arange(source.size).reshape(source.extents)
        moving = place[tuple(slice(0, c) for c in part)].reshape(exists)
    index = source.index(source.extents)
    if not source.buffer.known[index].reshape(-1)[moving].all():
        raise ProgramFault("poisoned-read", f"of {source.extents} in {source.buffer.memory}")
    values = source.buffer.data[index].reshape(-1)[moving]
    old = target.buffer.data[target.index(exists)]
    target.write(combine(old, values), exists, added)


def _operand(operand: Any, dtype: str) -> Any:
    """Values of an operand, flattened; an element or a number is a scalar of the type."""
    if isinstance(operand, (Buffer, Place)):
        place = Place.of(operand)
        if place.kind != "start":
            return place.read().reshape(-1)
        operand = place.buffer[place.starts]
    return KEPT[dtype](wrapped(operand, dtype))


def elementwise(compute: Callable[..., Any]) -> Callable[..., None]:
    def run(dst: Any, *operands: Any) -> None:
        target = Place.of(dst)
        dtype = target.buffer.dtype
        values = [_operand(o, dtype) for o in operands]
        if any(v.shape not in ((), (target.size,)) for v in values):
            raise ProgramFault("shape", f"operands of {target.extents}")
        with np.errstate(all="ignore"):
            result = np.broadcast_to(wrapped(compute(*values), dtype), (target.size,))
        target.write(result)

    return run


def cast(dst: Any, src: Any, mode: str = "CAST_NONE", count: int | None = None) -> None:
    target, source = Place.of(dst), Place.of(src)
    values = source.read().reshape(-1)
    if count is not None and count != target.size:
        raise ProgramFault("count", "a part of a cast")
    rounding = {"CAST_FLOOR": np.floor, "CAST_CEIL": np.ceil, "CAST_TRUNC": np.trunc}
    if target.buffer.dtype not in FLOATS and mode in rounding:
        values = rounding[mode](values)
    target.write(converted(values, target.buffer.dtype))


def broadcast(dst: Any, src: Any, axis: int | None = None) -> None:
    target, source = Place.of(dst), Place.of(src)
    shape, values = target.extents, source.read()
    if values.ndim == 1 and len(shape) == 2:
        row = axis == 0 if axis is not None else values.shape[0] == shape[1]
        values = values[None, :] if row else values[:, None]
    target.write(np.broadcast_to(values, shape))


class Reductions:
    """Sums whose value depends on the order of additions make a run inexact."""

    def __init__(self) -> None:
        self.inexact = False

    def reduce(self, how: str, buffer: Any, out: Any, dim: int = -1, clear: bool = True) -> None:
        source, target = Place.of(buffer), Place.of(out)
        values, dtype = source.read(), source.buffer.dtype
        if how == "sum" and dtype in FLOATS:
            self._note(values, dtype)
        with np.errstate(all="ignore"):
            if how == "sum":
                found = wrapped(
                    values.astype(np.float64 if dtype in FLOATS else np.int64).sum(dim), dtype
                )
            else:
                found = (np.max if how == "max" else np.min)(values, dim)
            if not clear:
                old = target.read().reshape(found.shape)
                join = {"sum": np.add, "max": np.maximum, "min": np.minimum}[how]
                found = wrapped(join(old, found), dtype)
        if found.size != target.size:
            raise ProgramFault("shape", f"{found.shape} to {target.extents}")
        target.write(found)

    def _note(self, values: Any, dtype: str) -> None:
        digits = 11 if dtype == "float16" else 24
        wide = np.abs(values.astype(np.float64))
        steps = wide * 2.0**8
        if (steps != np.rint(steps)).any() or steps.sum() >= 2.0**digits:
            self.inexact = True

    def gemm(
        self,
        a: Any,
        b: Any,
        c: Any,
        transpose_A: bool = False,
        transpose_B: bool = False,
        init: Any = False,
    ) -> None:
        left, right, sums = Place.of(a).read(), Place.of(b).read(), Place.of(c)
        left, right = (v.reshape(v.shape[-2:]).astype(np.float64) for v in (left, right))
        left, right = left.T if transpose_A else left, right.T if transpose_B else right
        found = left @ right
        if (np.abs(left) @ np.abs(right)).max(initial=0) * 2**8 >= 2**24:
            self.inexact = True
        found = found[: sums.extents[-2], : sums.extents[-1]]
        if not init:
            found = found + sums.read().reshape(found.shape)
        sums.write(wrapped(found, sums.buffer.dtype))


def parallel_cast(value: Any, dtype: str) -> Any:
    return scalar(wrapped(value, dtype), dtype)
