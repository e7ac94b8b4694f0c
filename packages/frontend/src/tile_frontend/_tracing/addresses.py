"""Represent addresses of elements, which scripts for GPUs pass to copies between devices."""

from __future__ import annotations

from typing import Any

from tile_frontend._tracing.scalars import Scalar, Value, unexpected
from tile_frontend._tracing.values import Tile, View
from tile_ir import Load


class Address(Value):
    """Where an element lies, or the first one of a tensor or tile."""

    __slots__ = ("place",)

    def __init__(self, place: Any) -> None:
        self.place = place

    def in_words(self) -> str:
        return "the address of an element"


def address_of(value: Any) -> Address:
    """The address of an element, from which on `T.putmem` and its like move memory, and which
    `T.signal_op` and `T.signal_wait_until` take for a word."""
    element = isinstance(value, Scalar) and isinstance(value.expr, Load) and value.expr.indices
    if not element and not isinstance(value, (Tile, View)):
        raise unexpected("address_of: value", value, "an element of a tensor or tile")
    return Address(value)


def at_address(value: Any) -> Any:
    """The place at an address; any other value is itself."""
    return value.place if isinstance(value, Address) else value
