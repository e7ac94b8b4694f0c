"""Hashes of values that never change, computed once: tables are looked up by them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any


class Hashed:
    """Base of values that have the slot `_hash`."""

    __slots__ = ("_hash",)
    _hash: int


def kept_hash(*fields: str) -> Callable[[Any], int]:
    """The hash of all the fields, computed once: in the slot `_hash`."""
    values = operator.attrgetter(*fields)

    def kept(self: Any) -> int:
        try:
            found: int = self._hash
        except AttributeError:
            found = hash(values(self))
            object.__setattr__(self, "_hash", found)
        return found

    return kept
