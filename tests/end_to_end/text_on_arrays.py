"""What the words of a kernel for a GPU mean on NumPy arrays, so that Python itself runs its text, block
by block and element by element. What lies outside of a tensor reads as 0 and is not written; tiles
are 0 at first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def array_type(dtype: str) -> np.dtype[Any]:
    """The type of an array that holds small integers of a type of tiles."""
    return np.dtype("float32" if dtype == "bfloat16" else dtype)


@dataclass(frozen=True)
class ArrayRegion:
    """A tile or a tensor, or a part of one: an index or a slice for each of its dimensions."""

    array: Array
    key: tuple[Any, ...] = ()

    def __getitem__(self, key: Any) -> Any:
        key = key if isinstance(key, tuple) else (key,)
        if any(isinstance(k, slice) for k in key):
            return ArrayRegion(self.array, key)
        return self.array[self._place(key)].item() if self._holds(key) else 0

    def __setitem__(self, key: Any, value: Any) -> None:
        key = key if isinstance(key, tuple) else (key,)
        if self._holds(key):
            self.array[self._place(key)] = value

    def _place(self, key: tuple[Any, ...]) -> tuple[int, ...]:
        return tuple(map(int, key))

    def _holds(self, key: tuple[Any, ...]) -> bool:
        return all(0 <= k < n for k, n in zip(key, self.array.shape, strict=True))

    def _places(self) -> tuple[list[Array], list[int]]:
        """The places of all elements, by dimension, and the shape that the slices make."""
        each, shape = [], []
        keys = self.key or (slice(None),) * self.array.ndim
        for k, size in zip(keys, self.array.shape, strict=True):
            if isinstance(k, slice):
                each.append(np.arange(k.start or 0, size if k.stop is None else k.stop))
                shape.append(len(each[-1]))
            else:
                each.append(np.array([k]))
        return list(np.meshgrid(*each, indexing="ij")), shape

    def _inside(self, places: list[Array]) -> Any:
        pairs = zip(places, self.array.shape, strict=True)
        return np.all([(p >= 0) & (p < n) for p, n in pairs], axis=0)

    def read(self) -> Array:
        places, shape = self._places()
        pairs = zip(places, self.array.shape, strict=True)
        found = self.array[tuple(p.clip(0, n - 1) for p, n in pairs)]
        return np.asarray(np.where(self._inside(places), found, 0)).reshape(shape)

    def write(self, value: Any) -> None:
        places, shape = self._places()
        inside = self._inside(places)
        values = np.broadcast_to(value, shape).reshape(inside.shape)
        self.array[tuple(p[inside] for p in places)] = values[inside].astype(self.array.dtype)


class ArrayWords:
    """`T` inside of a block."""

    def alloc_shared(self, shape: tuple[int, ...], dtype: str) -> ArrayRegion:
        return ArrayRegion(np.zeros(shape, array_type(dtype)))

    alloc_fragment = alloc_shared

    def reshape(self, tile: ArrayRegion, shape: tuple[int, ...]) -> ArrayRegion:
        return ArrayRegion(tile.array.reshape(shape))

    def alloc_var(self, dtype: str, init: int) -> int:
        return init

    def copy(self, source: ArrayRegion, target: ArrayRegion) -> None:
        target.write(source.read())

    def fill(self, tile: ArrayRegion, value: float) -> None:
        tile.write(value)

    def clear(self, tile: ArrayRegion) -> None:
        tile.write(0)

    def gemm(self, a: ArrayRegion, b: ArrayRegion, c: ArrayRegion, transpose_B: bool = False,
             clear_accum: bool = False) -> None:  # fmt: skip
        right = b.read().astype(float)
        product = a.read().astype(float) @ (right.T if transpose_B else right)
        c.write(product if clear_accum else c.read() + product)

    def reduce_max(self, tile: ArrayRegion, line: ArrayRegion, dim: int, clear: bool) -> None:
        found = tile.read().max(axis=dim)
        line.write(found if clear else np.maximum(line.read(), found))

    def reduce_min(self, tile: ArrayRegion, line: ArrayRegion, dim: int, clear: bool) -> None:
        found = tile.read().min(axis=dim)
        line.write(found if clear else np.minimum(line.read(), found))

    def atomic_add(self, target: ArrayRegion, tile: ArrayRegion) -> None:
        target.write(target.read() + tile.read())

    def cast(self, value: float, dtype: str) -> float:
        return int(value) if "int" in dtype else float(value)

    def ceildiv(self, a: int, b: int) -> int:
        return -(-a // b)

    def reduce_sum(self, tile: ArrayRegion, line: ArrayRegion, dim: int, clear: bool) -> None:
        found = tile.read().sum(axis=dim, dtype=float)
        line.write(found if clear else line.read() + found)

    def Parallel(self, *sizes: int) -> Iterator[Any]:
        places = itertools.product(*map(range, sizes))
        return places if len(sizes) > 1 else (i for (i,) in places)

    def Pipelined(self, *rounds: int, num_stages: int) -> range:
        return range(*rounds)

    def serial(self, *rounds: int) -> range:
        return range(*rounds)

    def min(self, a: float, b: float) -> float:
        return min(a, b)

    def max(self, a: float, b: float) -> float:
        return max(a, b)

    def if_then_else(self, condition: bool, a: float, b: float) -> float:
        return a if condition else b

    def infinity(self, dtype: str) -> float:
        return math.inf


__all__ = ["Array", "ArrayRegion", "ArrayWords", "array_type"]
