"""How messages about the arguments of a kernel call what they found."""

from __future__ import annotations

from typing import Any


def as_tensor(name: str, value: Any) -> str | None:
    """What makes a tensor of it."""
    if hasattr(value, "__array_interface__"):
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
