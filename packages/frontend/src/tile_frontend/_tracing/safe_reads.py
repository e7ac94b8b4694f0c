"""Read elements of a tensor where they exist; outside, take the value that the author gave."""

from __future__ import annotations

from collections.abc import Callable

from tile_ir import Const, Expr, Load, conjunction, select


def safe_element(load: Load, outside: Const, surely: Callable[[Expr], bool | None]) -> Expr:
    """The value of an element, or `outside` if its index leaves the tensor; `surely` decides the
    tests that are already known."""
    places = zip(load.indices, load.buffer.shape, strict=True)
    tests = [t for index, size in places for t in (index >= 0, index < size)]
    left = [test for test in tests if surely(test) is not True]
    return select(conjunction(left), load, outside) if left else load
