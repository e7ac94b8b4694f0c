"""Buffers of the executor: elements with a note which of them hold a value, and places in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .element_types import KEPT, bits, scalar, wrapped

# Transfers and vector operations start at multiples of it in ub.
BLOCK_BYTES = 32


class ProgramFault(Exception):
    """The program has no meaning: `kind` says why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Buffer:
    """Elements of one type; `known` says which of them were written."""

    def __init__(self, shape: Sequence[int], dtype: str, memory: str, data: Any = None) -> None:
        self.shape, self.dtype, self.memory = tuple(int(s) for s in shape), dtype, memory
        self.data = np.zeros(self.shape, KEPT[dtype]) if data is None else data
        self.known = np.full(self.shape, data is not None)
        self.starts_inside_blocks = False

    def note_read(self, index: Any) -> None:
        """Raises ProgramFault for elements that nobody wrote."""
        if not self.known[index].all():
            raise ProgramFault("poisoned-read", f"of {self.shape} in {self.memory}")

    def note_write(self, index: Any, added: bool = False) -> None:
        self.known[index] = True

    def _checked(self, key: Any) -> tuple[int, ...]:
        index = tuple(int(k) for k in (key if isinstance(key, tuple) else (key,)))
        if len(index) != len(self.shape):
            raise ProgramFault("rank", f"{len(index)} indices for {self.shape}")
        if any(not 0 <= i < n for i, n in zip(index, self.shape, strict=True)):
            raise ProgramFault("out-of-bounds", f"{list(index)} of {self.shape} in {self.memory}")
        return index

    def __getitem__(self, key: Any) -> Any:
        index = self._checked(key)
        self.note_read(index)
        return scalar(self.data[index], self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        index = self._checked(key)
        self.note_write(index)
        self.data[index] = wrapped(value, self.dtype)


# Who touched an element of a shared tensor: nobody, several, or several that added to it.
_NOBODY, _SEVERAL, _ADDED = -1, -2, -3


class SharedTensor(Buffer):
    """A tensor of gm, with the cores that read and wrote each element: nothing orders cores that
    touch the same one, unless all read or all add."""

    def __init__(self, shape: Sequence[int], dtype: str, data: Any) -> None:
        super().__init__(shape, dtype, "gm", data)
        self.core = 0
        self._readers, self._writers = (np.full(self.shape, _NOBODY) for _ in range(2))

    def note_read(self, index: Any) -> None:
        self._alone(self._writers[index])
        readers = self._readers[index]
        self._readers[index] = np.where(
            readers == _NOBODY, self.core, np.where(readers == self.core, readers, _SEVERAL)
        )

    def note_write(self, index: Any, added: bool = False) -> None:
        self._alone(self._readers[index])
        writers = self._writers[index]
        self._alone(writers[writers != _ADDED] if added else writers)
        self._writers[index] = _ADDED if added else self.core

    def _alone(self, cores: Any) -> None:
        if not np.isin(cores, (_NOBODY, self.core)).all():
            raise ProgramFault("race", f"two cores touch an element of {self.shape}")


@dataclass(frozen=True)
class Place:
    """A part of a buffer, by dimension: starts, extents and steps. `kind`: how it was written, as a
    whole buffer, as a region, or as the index of a start, whose extents the other side gives."""

    buffer: Buffer
    starts: tuple[int, ...]
    extents: tuple[int, ...]
    steps: tuple[int, ...]
    kind: str
    # Dimensions that are one long by numbers of a run, where the text leaves it open.
    unsure: frozenset[int] = frozenset()

    @staticmethod
    def of(operand: Any) -> Place:
        if isinstance(operand, Place):
            return operand
        shape = operand.shape
        return Place(operand, (0,) * len(shape), shape, (1,) * len(shape), "whole")

    @staticmethod
    def subscripted(buffer: Buffer, key: Any) -> Place:
        """What `buffer[key]` names."""
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) != len(buffer.shape):
            raise ProgramFault("rank", f"{len(parts)} indices for {buffer.shape}")
        starts, extents, steps, unsure = [], [], [], set()
        for d, (part, size) in enumerate(zip(parts, buffer.shape, strict=True)):
            if not isinstance(part, slice):
                part = slice(int(part), int(part) + 1)
            start = 0 if part.start is None else int(part.start)
            stop = size if part.stop is None else int(part.stop)
            step = 1 if part.step is None else int(part.step)
            starts.append(start)
            extents.append(max(0, -(-(stop - start) // step)))
            steps.append(step)
            bounds = (part.start, part.stop)
            if extents[-1] == 1 and not all(b is None or type(b) is int for b in bounds):
                unsure.add(d)
        kind = "region" if any(isinstance(p, slice) for p in parts) else "start"
        sizes = tuple(starts), tuple(extents), tuple(steps)
        named = Place(buffer, *sizes, kind, frozenset(unsure))
        if named.start * bits(buffer.dtype) // 8 % BLOCK_BYTES:
            buffer.starts_inside_blocks = True
        return named

    @property
    def start(self) -> int:
        """Elements of the buffer before the first one."""
        pitches = np.cumprod((1, *self.buffer.shape[:0:-1]))[::-1]
        return int(np.dot(self.starts, pitches))

    def demand_whole_bytes(self) -> None:
        """Raises ProgramFault where a row of elements of four bits starts or ends inside a byte."""
        if self.buffer.dtype == "int4" and (self.start % 2 or self.extents[-1] % 2):
            raise ProgramFault("odd-elements", f"{self.extents} at {self.starts}")

    def stretched(self, other: Place) -> Place:
        """A start index with the extents of the other side: its last ones."""
        if self.kind != "start":
            return self
        rank = len(self.starts)
        extents = ((1,) * rank + other.extents)[-rank:]
        more = rank - len(other.extents)
        unsure = frozenset(d + more for d in other.unsure if d + more >= 0)
        return Place(self.buffer, self.starts, extents, self.steps, "start", unsure)

    def cut(self) -> tuple[int, ...]:
        """How many elements of each dimension the buffer has: the last dimension is cut at its end,
        and the nearest before it that is not one long.

        Raises ProgramFault if the text leaves open which one that is, and another one hangs over.
        """
        found = self._cut(frozenset())
        if found != self._cut(self.unsure):
            raise ProgramFault("cut", f"{self.extents} at {self.starts} of {self.buffer.shape}")
        return found

    def _cut(self, counted: frozenset[int]) -> tuple[int, ...]:
        """The same, where some dimensions count as longer than one."""
        last = len(self.extents) - 1
        longer = [d for d in range(last) if self.extents[d] != 1 or d in counted]
        cut = {last, *longer[-1:]}
        found = list(self.extents)
        for d in cut:
            left = self.buffer.shape[d] - self.starts[d]
            found[d] = min(found[d], max(0, -(-left // self.steps[d])))
        return tuple(found)

    def index(self, counts: tuple[int, ...]) -> tuple[Any, ...]:
        """The first elements of each dimension, as an index of NumPy."""
        if 0 in counts:
            return np.ix_(*(np.zeros(c, int) for c in counts))
        vectors = []
        for start, count, step, size in zip(
            self.starts, counts, self.steps, self.buffer.shape, strict=True
        ):
            if start < 0 or start + (count - 1) * step >= size:
                where = f"{start} and {count} more by {step} of {size} in {self.buffer.memory}"
                raise ProgramFault("out-of-bounds", where)
            vectors.append(start + step * np.arange(count))
        return np.ix_(*vectors)

    def read(self, counts: tuple[int, ...] | None = None) -> Any:
        index = self.index(self.extents if counts is None else counts)
        self.buffer.note_read(index)
        return self.buffer.data[index]

    def write(
        self, values: Any, counts: tuple[int, ...] | None = None, added: bool = False
    ) -> None:
        counts = self.extents if counts is None else counts
        index = self.index(counts)
        self.buffer.note_write(index, added)
        self.buffer.data[index] = np.asarray(values).reshape(counts)

    @property
    def size(self) -> int:
        return int(np.prod(self.extents))
