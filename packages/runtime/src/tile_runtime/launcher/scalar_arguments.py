"""Convert the numbers of a call to the types of scalar parameters.

Python's numbers and truth values are taken, and those of NumPy. A float is no integer, and a tensor
is no number: reading it would wait for the device.
"""

from __future__ import annotations

import numbers
from typing import Any, TypeAlias

import torch

from tile_ir import DType

Value: TypeAlias = "int | float"


class NoScalar(Exception):
    """Why a value is no number of a type: the slug, what it is, and what to do."""

    def __init__(self, slug: str, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.slug, self.hint = slug, hint


def scalar_value(value: Any, dtype: DType, name: str) -> Value:
    """A number for the scalar parameter `name`, as the launcher takes it.

    Raises NoScalar.
    """
    kind = type(value)
    if kind is float and dtype.is_float:
        return float(value)
    integer = value if kind is int else _integer(value)
    if dtype.is_float and (integer is not None or isinstance(value, numbers.Real)):
        return float(value if integer is None else integer)
    if integer is None:
        raise _wrong_type(value, dtype, name)
    low, high = dtype.limits() if dtype.is_integer else (0, 1)
    if not low <= integer <= high:
        hint = f"`{name}` takes {low} to {high}: declare it with a wider type"
        raise NoScalar("call-range", f"is {value}, which {dtype} can not hold", hint)
    return integer


def _integer(value: Any) -> int | None:
    """A whole number of Python or NumPy, or a truth value; None for anything else."""
    if isinstance(value, torch.Tensor):
        return None
    if type(value).__name__ in ("bool", "bool_"):  # NumPy's is no number of Python's
        return int(bool(value))
    return int(value) if hasattr(value, "__index__") else None


def _wrong_type(value: Any, dtype: DType, name: str) -> NoScalar:
    expected = "a float" if dtype.is_float else "an int" if dtype.is_integer else "a bool"
    if isinstance(value, torch.Tensor):
        hint = f"pass `{name}.item()`" if value.numel() == 1 else None
    else:
        number = isinstance(value, numbers.Real)
        hint = f"pass `int({name})`" if number else f"pass a number for `{name}`"
    return NoScalar("call-type", f"is {article(value)}, expected {expected}", hint)


def is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy or one like it, and no number of theirs."""
    return hasattr(value, "__array_interface__") and value.__hash__ is None


def as_tensor(name: str, value: Any) -> str | None:
    """Return the hint that makes a tensor of an array or a list."""
    if is_array(value):
        return f"pass `torch.from_numpy({name})`"
    return f"pass `torch.tensor({name})`" if isinstance(value, (list, tuple)) else None


def article(value: Any) -> str:
    """A value by its type."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' or name == 'ndarray' else 'a'} {name}"


def count(number: int, noun: str) -> str:
    """So many of something."""
    return f"{number} {noun}{'s' * (number != 1)}"
