"""The kernels of the developer examples, which these operators use as they stand."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

DEVELOPER = Path(__file__).parents[2] / "developer"


@cache
def example(stem: str) -> ModuleType:
    """An example as a module of its own name in this package; its `main` is not run."""
    name = f"{__package__}.developer_{stem}"
    spec = importlib.util.spec_from_file_location(name, DEVELOPER / f"{stem}.py")
    assert spec is not None and spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
