"""Kernels as an inference engineer writes them on the first day: in developer style from the tutorial
alone, without an option, and never tuned. Each file has `kernel`, `inputs` and `expected` in torch,
`SMALL` sizes with edges and a `LARGE` one, whose tensors are more than L2 holds."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

NAMES = sorted(module.name for module in iter_modules(__path__))


def newcomer(name: str) -> Any:
    """The module of a kernel."""
    return import_module(f"{__name__}.{name}")
