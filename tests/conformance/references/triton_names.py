"""The names of Triton that scripts need before they launch anything of it, where it is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Nothing:
    """Stands for anything of Triton; launching it says that Triton is missing."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, grid: object) -> Callable[..., object]:
        return _missing


def _missing(*arguments: Any, **named: Any) -> object:
    raise ModuleNotFoundError("No module named 'triton', whose kernels this script launches")


def cdiv(x: int, y: int) -> int:
    return -(-x // y)


def next_power_of_2(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def _decorated(*arguments: Any, **named: Any) -> Any:
    """As a decorator, with arguments or without."""
    if not named and len(arguments) == 1 and hasattr(arguments[0], "__code__"):
        return Nothing()
    return lambda function: Nothing()


OF_PACKAGE = {
    "__version__": "3.0.0",
    "cdiv": cdiv,
    "next_power_of_2": next_power_of_2,
    "Config": Nothing,
    "jit": _decorated,
    "autotune": _decorated,
    "heuristics": _decorated,
}
OF_LANGUAGE = {"__getattr__": lambda name: Nothing().__getattr__(name)}
