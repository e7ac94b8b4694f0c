"""Find the value of every symbol from the sizes of the tensors that a call passes.

A size that is the symbol alone decides. Otherwise a size with one unknown symbol does, if it is a
linear expression of it: `B + 1`, `2 * b + 1`, `B * S` where S is known. A division as in `K // 2`
is taken to come out even (docs/language/index.md#arguments).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.launcher.signature import Dim, TensorParam, dim_text, names_in
from tile_runtime.launcher.tensor_memory import same_size

# Coefficient and constant of a size that is linear in one symbol.
Linear: TypeAlias = "tuple[int, int]"


@dataclass(frozen=True, slots=True)
class Size:
    """A dimension of a tensor of a call: the parameter's position, how it is declared, and what it
    is. It may be a symbolic size of torch."""

    position: int
    param: TensorParam
    dimension: int
    found: int

    @property
    def declared(self) -> Dim:
        return self.param.dims[self.dimension]

    def __str__(self) -> str:
        return f"dimension {self.dimension} of `{self.param.name}`"


@dataclass(frozen=True, slots=True)
class Symbol:
    """The value of a symbol and the dimension that decided it."""

    value: int
    origin: Size

    def __str__(self) -> str:
        return f"{self.value} by {self.origin}"


class SymbolError(Exception):
    """Sizes that no values of the symbols give: which parameter is to blame, and what to do."""

    def __init__(self, size: Size, message: str, hint: str) -> None:
        super().__init__(message)
        self.position, self.hint = size.position, hint


def bind_symbols(
    sizes: Sequence[Size], symbols: Iterable[str], scalars: Mapping[str, int], lax: bool = False
) -> dict[str, Symbol]:
    """The symbols whose value follows from the sizes. Those that differ from each other are an
    error; with `lax` the first one counts.

    Raises SymbolError.
    """
    wanted = set(symbols)
    found: dict[str, Symbol] = {}
    for size in sizes:
        name = size.declared
        if not isinstance(name, str) or name not in wanted:
            continue
        known = found.setdefault(name, Symbol(size.found, size))
        if not lax and not same_size(known.value, size.found):
            raise SymbolError(
                size,
                f"symbol `{name}` is {known}, but {size.found} by {size}",
                f"both dimensions must be equal: `{size.param.name}` is declared with shape "
                f"{size.param.shape_text}",
            )
    composed = [size for size in sizes if isinstance(size.declared, list)]
    while solved := next(_solvable(composed, wanted - found.keys(), scalars, found), None):
        name, symbol = solved
        found[name] = symbol
    return found


def _solvable(
    sizes: Sequence[Size],
    unknown: set[str],
    scalars: Mapping[str, int],
    found: Mapping[str, Symbol],
) -> Iterator[tuple[str, Symbol]]:
    """The unknown symbols that one size decides alone; sizes without a division come first."""
    if not unknown:
        return
    values = {**scalars, **{name: symbol.value for name, symbol in found.items()}}
    for division in (False, True):
        for size in sizes:
            names = names_in(size.declared) - values.keys()
            if len(names) == 1 and names <= unknown and _divides(size.declared) is division:
                (name,) = names
                value = _preimage(size.declared, size.found, name, values)
                if value is not None:
                    yield name, Symbol(_size(size, name, value), size)


def _size(size: Size, name: str, value: int | NoInteger) -> int:
    """A value that a symbol can have."""
    if isinstance(value, NoInteger) or (type(value) is int and value < 0):
        raise SymbolError(
            size,
            f"{size} is {size.found}, which is {dim_text(size.declared)} for no size `{name}`",
            f"`{size.param.name}` is declared with shape {size.param.shape_text}",
        )
    return value


class NoInteger:
    """In place of a value: a division leaves a remainder."""


def _divides(dim: Dim) -> bool:
    return isinstance(dim, list) and (dim[0] == "//" or _divides(dim[1]) or _divides(dim[2]))


def _preimage(dim: Dim, size: int, name: str, values: Mapping[str, int]) -> int | NoInteger | None:
    """The value of the symbol for which `dim` is `size`; None where that is not decided."""
    linear = _linear(dim, name, values)
    if linear is not None:
        factor, constant = linear
        return None if same_size(factor, 0) else _exact(size - constant, factor)
    assert isinstance(dim, list), "a number and a name are linear"
    op, left, right = dim
    if op != "//":
        return _peeled(op, left, right, size, name, values)
    inner, divisor = _linear(left, name, values), _linear(right, name, values)
    if inner is None or divisor is None or divisor[0] or divisor[1] < 1 or inner[0] < 1:
        return None
    return _even(inner, divisor[1], size)


def _peeled(
    op: str, left: Dim, right: Dim, size: int, name: str, values: Mapping[str, int]
) -> int | NoInteger | None:
    """`left op right` with the symbol on one side and a known value on the other."""
    here, there = (left, right) if name in names_in(left) else (right, left)
    known = _linear(there, name, values)
    if known is None or known[0]:
        return None
    other = known[1]
    match op:
        case "+":
            return _preimage(here, size - other, name, values)
        case "-":
            return _preimage(here, size + other if here is left else other - size, name, values)
        case "*" if not same_size(other, 0):
            quotient = _exact(size, other)
            if isinstance(quotient, NoInteger):
                return quotient
            return _preimage(here, quotient, name, values)
    return None


def _linear(dim: Dim, name: str, values: Mapping[str, int]) -> Linear | None:
    """A size as `factor * name + constant`; None if it is nothing of the kind."""
    if isinstance(dim, int):
        return 0, dim
    if isinstance(dim, str):
        return (1, 0) if dim == name else (0, values[dim])
    op, left, right = dim
    a, b = _linear(left, name, values), _linear(right, name, values)
    if a is None or b is None:
        return None
    match op:
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[0], a[1] - b[1]
        case "*" if type(b[0]) is int and b[0] == 0:
            return a[0] * b[1], a[1] * b[1]
        case "*" if type(a[0]) is int and a[0] == 0:
            return a[1] * b[0], a[1] * b[1]
    return None


def _exact(size: int, factor: int) -> int | NoInteger:
    if type(factor) is int and factor in (1, -1):  # asks nothing of a symbolic size
        return size * factor
    quotient = size // factor
    return quotient if same_size(quotient * factor, size) else NoInteger()


def _even(inner: Linear, divisor: int, size: int) -> int | NoInteger:
    """The x for which `(a * x + b) // divisor` is `size`: of several the one that the divisor
    divides most evenly."""
    a, b = inner
    step = divisor // math.gcd(a, divisor)
    last = (divisor * size + divisor - 1 - b) // a  # the largest one
    x = last // step * step
    return x if same_size((a * x + b) // divisor, size) else NoInteger()
