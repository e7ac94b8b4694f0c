"""Provide functions of TVM's module of expressions that make values of kernels.

All its other names are those of the language.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tile_frontend._language.conversions import cast
from tile_frontend._language.scalar_functions import And, Or
from tile_frontend._tracing.scalars import python_number


def const(value: Any, dtype: Any = None, span: Any = None) -> Any:
    """A number, of a type if one is given."""
    return value if dtype is None else cast(value, dtype)


def all(*conditions: Any, span: Any = None) -> Any:
    """Whether all conditions hold."""
    return conditions[0] if len(conditions) == 1 else And(*conditions)


def any(*conditions: Any, span: Any = None) -> Any:
    """Whether any condition holds."""
    return conditions[0] if len(conditions) == 1 else Or(*conditions)


def as_const_int(value: Any) -> int | None:
    """The integer that a value is known to be; None for one of the run."""
    number = python_number(value)
    return number if isinstance(number, int) else None


def __getattr__(name: str) -> Any:
    return getattr(import_module("tile_frontend"), name)
