"""Run the cases of a driver, from one row on: `child.py EXAMPLES FAMILY DRIVER ROW`.

For each row it prints a line of JSON behind a mark: the row, what is wrong (empty if nothing is),
and the error's slug. It is run by `tile-ascend run`.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from conformance.drivers.case import Draw, Driver
from conformance.launches import VARIABLE, note_launches
from conformance.reduced import limits_of, reduced
from conformance.scripts import sizes_of
from tile_ir import TileError

MARK = "## case "
# Packages for GPUs that examples import for their own references; no driver uses them.
_ABSENT = ("FLA_KDA", "fla", "triton", "flash_attn", "vllm", "reference")


class _Anything:
    """What stands for a name of an absent package: a decorator, a type, a namespace."""

    def __init__(self, *values: Any, **named: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()

    def __call__(self, *values: Any, **named: Any) -> Any:
        decorates = len(values) == 1 and callable(values[0]) and not named
        return values[0] if decorates else _Anything()

    def __getitem__(self, key: Any) -> Any:
        return _Anything()

    def __iter__(self) -> Any:
        return iter(())


class _AbsentModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()


class _AbsentPackages(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.partition(".")[0] not in _ABSENT:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = _AbsentModule(spec.name)
        vars(module).update(__path__=[], __version__="0.4.3", __file__="")
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


def load(path: Path, sizes: tuple[str, ...] = ()) -> ModuleType:
    """Import a file by its path; what stands beside it can be imported by it. Numbers of its own are
    made smaller, as some modules run their kernels when they are imported."""
    sys.path.insert(0, str(path.parent))
    pairs = (size.split("=") for size in sizes)
    limits = limits_of({name: int(number) for name, number in pairs})
    module = ModuleType("example_" + path.stem)
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    tree = reduced(ast.parse(path.read_text(), str(path)), limits)
    exec(compile(tree, str(path), "exec", dont_inherit=True), vars(module))
    return module


def drivers_of(family: str) -> list[Driver]:
    """Those of a module: the name of one of this package, or the path of a file."""
    if family.endswith(".py"):
        found = load(Path(family))
    else:
        found = importlib.import_module(f"conformance.drivers.{family}")
    return [d for d in vars(found).values() if isinstance(d, Driver)]


def run_row(driver: Driver, row: int, factory: Any) -> str:
    """What is wrong with the results of one case."""
    compared = driver.check(factory, Draw(1000 + row), **driver.rows[row])
    return "; ".join(filter(None, (c.complaint() for c in compared)))


def _tell(row: int, **found: Any) -> None:
    print(MARK + json.dumps({"row": row, **found}), flush=True)


def _told(error: Exception) -> dict[str, str]:
    """An error of the compiler by its slug, its place and its message; others by their names."""
    if isinstance(error, TileError):
        place = str(error.diagnostic.loc or "").rpartition("/")[2]
        return dict(error=error.message, slug=error.slug, place=place)
    return dict(error=str(error).partition("\n")[0], slug=type(error).__name__)


def main(arguments: list[str]) -> None:
    examples, family, number, first = arguments
    driver = drivers_of(family)[int(number)]
    # These look for packages that are absent, before something stands in for them.
    importlib.import_module("torch._dynamo")
    importlib.import_module("torch.utils.flop_counter")
    sys.meta_path.insert(0, _AbsentPackages())
    torch.compile = lambda function=None, **options: function or (lambda f: f)
    rows = range(int(first), len(driver.rows))
    launches = os.environ.get(VARIABLE)
    example: ModuleType | None = None
    for row in rows:
        if launches:  # each row has its own file
            os.environ[VARIABLE] = f"{launches}.{row}"
        started = time.perf_counter()
        _tell(row, begun=True)
        try:
            example = example or load(Path(examples) / driver.file, sizes_of(driver.file))
            with note_launches():
                wrong = run_row(driver, row, getattr(example, driver.factory))
            _tell(row, wrong=wrong, seconds=time.perf_counter() - started)
        except Exception as error:
            traceback.print_exc()
            _tell(row, seconds=time.perf_counter() - started, **_told(error))


if __name__ == "__main__":
    main(sys.argv[1:])
