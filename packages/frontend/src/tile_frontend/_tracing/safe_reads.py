"""Read elements of tensors only where there are any: outside they are what the author says. In text
for GPUs rows whose number is read from memory are 0 there, as scripts that mark holes with -1
expect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tile_ir import (
    Buffer,
    Cast,
    Const,
    Expr,
    Load,
    Memory,
    Region,
    Var,
    binary,
    is_constant,
    select,
)

Surely = Callable[[Expr], bool | None]


@dataclass(eq=False, slots=True)
class SafeReads:
    """What is known of reads in one launch: the values outside some tensors, and the names of
    numbers that were read from memory."""

    values: dict[Buffer, Const] = field(default_factory=dict)
    _numbers: set[Var] = field(default_factory=set)
    _guarded: int = 0

    def named(self, var: Var, value: Expr) -> None:
        """Note that a name stands for a value."""
        if self._is_read(value):
            self._numbers.add(var)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Around what the author reads under a condition of his own."""
        self._guarded += 1
        try:
            yield
        finally:
            self._guarded -= 1

    def element(self, load: Load, for_gpus: bool, surely: Surely) -> Expr:
        """The value of an element, or what is outside its tensor."""
        outside = self.values.get(load.buffer)
        places = list(zip(load.indices, load.buffer.shape, strict=True))
        if outside is None:
            if not for_gpus or self._guarded or load.buffer.memory is not Memory.GM:
                return load
            places = [(index, size) for index, size in places if self._is_read(index)]
            outside = Const(0.0 if load.dtype.is_float else 0, load.dtype)
        tests = [
            test
            for index, size in places
            for test in (index >= 0, index < size)
            if surely(test) is not True
        ]
        if not tests:
            return load
        inside = tests[0]
        for test in tests[1:]:
            inside = binary("and", inside, test)
        return select(inside, load, outside)

    def placed(self, region: Region) -> Region:
        """A region in gm for text for GPUs: a row before the first one, whose number is one of
        memory, is as one behind the last, of which copies move nothing."""
        if region.memory is not Memory.GM:
            return region
        dims = tuple(
            replace(s, offset=select(s.offset >= 0, s.offset, size))
            if is_constant(s.extent, 1) and self._is_read(s.offset)
            else s
            for s, size in zip(region.dims, region.buffer.shape, strict=True)
        )
        return region if dims == region.dims else Region(region.buffer, dims)

    def _is_read(self, value: Expr) -> bool:
        """Whether a number is one of memory as it stands there."""
        while isinstance(value, Cast):
            value = value.operand
        if isinstance(value, Load):
            return value.dtype.is_integer and value.buffer.memory is not Memory.VAR
        return value in self._numbers
