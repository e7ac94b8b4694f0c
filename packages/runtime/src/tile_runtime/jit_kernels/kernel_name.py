"""Name kernels by their factories and arguments: `bmm_gelu[M=1024, N=512]`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

# The text of an argument is cut beyond this.
_LONGEST = 32


def call_name(factory: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    """Return the name of the kernel that a call of a factory makes.

    An argument that equals its default is left out, so that every way to write a call gives the
    same name. Arguments that the factory does not declare come last.
    """
    name = getattr(factory, "__name__", "kernel")
    parameters = inspect.signature(factory).parameters if inspect.isroutine(factory) else {}
    positions = zip(parameters, args, strict=False)
    given = {**dict(positions), **{p: named[p] for p in parameters if p in named}}
    shown = {p: v for p, v in given.items() if not _same(v, parameters[p].default)}
    return _joined(name, {**shown, **{n: v for n, v in named.items() if n not in parameters}})


def _joined(function: str, arguments: Mapping[str, Any]) -> str:
    """Return the name of the kernel of a function for these arguments."""
    shown = ", ".join(f"{name}={_text(value)}" for name, value in arguments.items())
    return f"{function}[{shown}]" if shown else function


def function_of(name: str) -> str:
    """Return the function of a kernel's name: the part before its arguments."""
    return name.partition("[")[0]


def _same(value: Any, default: Any) -> bool:
    """Whether a value is the default; 1, 1.0 and True are not the same."""
    return value is default or (type(value) is type(default) and _text(value) == _text(default))


def _text(value: Any) -> str:
    if isinstance(value, str):
        text = value
    elif callable(value) and hasattr(value, "__name__"):
        text = str(value.__name__)
    else:
        text = repr(value).removeprefix("torch.")
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
