"""A script of the user, imported or run the way Python would do it."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path
from types import ModuleType


def load_script(path: Path) -> ModuleType:
    """Execute a script under its own name; its folder is importable, as when Python runs it.

    Raises FileNotFoundError, and whatever the script raises.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def run_script(path: Path) -> int:
    """Run a script as `python path` would, without arguments; its exit status.

    Raises FileNotFoundError, and whatever the script raises but SystemExit.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    arguments, folders = sys.argv, sys.path[:]
    sys.argv = [str(path)]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
            return 1
        return stop.code or 0
    finally:
        sys.argv, sys.path[:] = arguments, folders
    return 0
