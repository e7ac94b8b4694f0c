"""A script of the user, imported or run the way Python would do it."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import runpy
import sys
from collections.abc import Iterable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

# What scripts import that were written for tilelang where there is an NPU.
_FOREIGN = frozenset({"tilelang", "tvm", "torch_npu", "shmem"})


def provide_imports() -> None:
    """Make what scripts written for tilelang import importable in this process for good; where
    there is no NPU, torch has one that is the host."""
    from tile_frontend._dialects.imported_modules import install
    from tile_runtime.devices.choose_device import npu_available

    install()
    if not npu_available():
        from tile_runtime import host_npu
        from tile_runtime.jit_kernels.compile_options import CompileOptions, resolve_target

        host_npu.install(resolve_target(CompileOptions()))
        if not any(isinstance(finder, _ShmemFinder) for finder in sys.meta_path):
            sys.meta_path.append(_ShmemFinder())


class _ShmemFinder(MetaPathFinder):
    """Finds `shmem`, the module of the vendor's library, where no other finder does."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, _ShmemLoader()) if name == "shmem" else None


class _ShmemLoader(Loader):
    """Gives the stand-in: ranks are simulated."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        from tile_runtime.ranks import shmem_module

        return shmem_module

    def exec_module(self, module: ModuleType) -> None:
        """It is executed already."""


def load_script(path: Path, stands_for: Path | None = None, package: bool = False) -> ModuleType:
    """Execute a script under its own name; its folder is importable, as when Python runs it. A copy
    may stand for a script at another place, whose folder and name it sees. With `package` a script
    of a package is imported as its module.

    Raises FileNotFoundError, and whatever the script raises.
    """
    _prepare(path)
    module_name = module_in_package(path) if package else ""
    if module_name:
        sys.path.insert(0, str(_folder_of_imports(path, module_name)))
        return importlib.import_module(module_name)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    shown = path if stands_for is None else stands_for
    module.__file__ = str(shown.absolute())
    folder = str(shown.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def run_script(path: Path) -> int:
    """Run a script as `python path` would, without arguments; its exit status.

    Raises FileNotFoundError, and whatever the script raises but SystemExit.
    """
    try:
        run_as_main(path)
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
            return 1
        return stop.code or 0
    return 0


def run_as_main(path: Path, module: str = "") -> None:
    """Execute a script as `python path` would, or as `python -m module` where it is that module of
    a package. Raises FileNotFoundError, and whatever the script raises."""
    _prepare(path)
    arguments, folders = sys.argv, sys.path[:]
    sys.argv = [str(path)]
    sys.path.insert(0, str(_folder_of_imports(path, module)))
    try:
        if module:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = arguments, folders


def _folder_of_imports(path: Path, module: str) -> Path:
    """The folder that a script is imported from as a module; its own where that is none."""
    own = path.resolve()
    depth = len(module.split(".")) - (own.stem != "__init__")
    return own.parents[depth]


def module_in_package(path: Path) -> str:
    """The name under which a script is a module of a package: of the folders that have an
    `__init__.py`, and of those that its relative imports count up; "" where it is of none."""
    levels = [node.level for node in _nodes(path) if isinstance(node, ast.ImportFrom)]
    parts, folder = [path.stem], path.resolve().parent
    while (folder / "__init__.py").is_file() or len(parts) <= max(levels, default=0):
        parts.insert(0, folder.name)
        folder = folder.parent
    if len(parts) == 1:
        return ""
    return ".".join(parts if path.stem != "__init__" else parts[:-1])


def _prepare(path: Path) -> None:
    """FileNotFoundError if there is no such script; what it imports is provided."""
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    provide_imports_of([path])


def provide_imports_of(files: Iterable[Path]) -> bool:
    """`provide_imports`, if one of the files imports what was written for tilelang; whether one
    does."""
    wanted = any(_imports_of(file) & _FOREIGN for file in files)
    if wanted:
        provide_imports()
    return wanted


def _imports_of(path: Path) -> set[str]:
    """The packages a script imports by name, anywhere in it; none for text that does not parse,
    whose run reports the error."""
    found: set[str] = set()
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def _nodes(path: Path) -> list[ast.AST]:
    """The nodes of a script; none where it does not parse."""
    try:
        return list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError):
        return []
