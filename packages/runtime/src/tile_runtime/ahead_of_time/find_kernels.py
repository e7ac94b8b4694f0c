"""The kernels in a folder of Python files, loaded as engines load theirs.

A file is a module of the package `....targets.ascend.kernels`, so that it finds the declarations at
`....common.spec` and its neighbours at `.name`, wherever the folder lies. A file that cannot be
loaded breaks no other.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tile_ir import BuildError, Loc, TileError, did_you_mean
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.ahead_of_time import kernel_spec
from tile_runtime.ahead_of_time.kernel_spec import (
    DispatchField,
    KernelCompileSpec,
    TilelangKernel,
    is_registered,
    schema_of,
    specs_of,
)
from tile_runtime.scripts.module import provide_imports_of

# What the four dots of `from ....common.spec import ...` lead to.
_ROOT = "tile_ahead_of_time"
_FOLDERS = ("targets", "ascend", "kernels")
# So many folders above an engine's tree may be packages that it is imported by.
_MOST_ABOVE = 2


@dataclass(frozen=True, slots=True)
class Family:
    """A kernel with its variants, and the class that makes their sources."""

    name: str
    file: Path
    kernel: Any
    schema: list[DispatchField]
    specs: list[KernelCompileSpec]


@dataclass(frozen=True, slots=True)
class Kernels:
    """The kernels of a folder: families by name, and the errors of files that should have one."""

    families: dict[str, Family]
    broken: dict[Path, BuildError]


def find_kernels(folder: Path, names: Sequence[str] | None = None) -> Kernels:
    """The kernels of a folder; with `names`, only these, and only the files are loaded that they
    may stand in: those of their names, or else all.

    Raises BuildError (`no-such-kernel`) for a name that no file has.
    """
    if not folder.is_dir():
        raise BuildError("aot-folder", f"there is no folder {folder}", hint="--from FOLDER")
    files = sorted(f for f in folder.glob("*.py") if not f.name.startswith("_"))
    provide_imports_of(files)
    _provide_packages(folder)
    first = [f for f in files if names is None or f.stem in names]
    found = _load_all(first)
    if names is not None and not set(names) <= _told(found):
        found = _load_all(files)
    if names is None:
        return found
    missing = [n for n in names if n not in _told(found)]
    if missing:
        known = sorted(found.families)
        hint = did_you_mean(missing[0], known) or f"kernels: {', '.join(known) or 'none'}"
        raise BuildError("no-such-kernel", f"unknown kernels: {', '.join(missing)}", hint=hint)
    families = {n: f for n, f in found.families.items() if n in names}
    return Kernels(families, {f: e for f, e in found.broken.items() if f.stem in names})


def _told(found: Kernels) -> set[str]:
    return {*found.families, *(file.stem for file in found.broken)}


def load_family(file: Path) -> Family | None:
    """The kernel of one file; None if it registers none. Raises BuildError for what is wrong."""
    module = _loaded(file)
    # Another name for a class is the same kernel.
    classes = [
        c
        for c in dict.fromkeys(c for c in vars(module).values() if isinstance(c, type))
        if c.__module__ == module.__name__ and is_registered(c)
    ]
    if not classes:
        return None
    try:
        return _family(file, classes)
    except (TypeError, ValueError, KeyError, NotImplementedError) as error:
        text = error.args[0] if error.args else str(error)
        raise BuildError("aot-kernel", f"{file.name}: {text}", Loc(str(file), 1, 1)) from None


def _family(file: Path, classes: list[type]) -> Family:
    if len(classes) > 1:
        names = ", ".join(c.__name__ for c in classes)
        raise TypeError(f"several kernels are registered in one file: {names}")
    (kernel,) = classes
    if not issubclass(kernel, TilelangKernel):
        raise TypeError(f"{kernel.__name__} is no subclass of TilelangKernel")
    if not isinstance(kernel.__dict__.get("generate_source"), (staticmethod, classmethod)):
        raise TypeError(f"{kernel.__name__}: generate_source is a static or class method of it")
    schema = schema_of(kernel)
    own = kernel.specs if "specs" in kernel.__dict__ else lambda: specs_of(kernel)
    specs = [s.to_compile_spec(file.stem, schema) for s in own()]
    keys = [s.variant_key for s in specs]
    twice = sorted({k for k in keys if keys.count(k) > 1})
    if twice:
        raise ValueError(f"variant_key is there twice: {', '.join(twice)}")
    if len({s.kernel_name for s in specs}) > 1:
        raise ValueError("the variants have different kernel names")
    return Family(specs[0].kernel_name, file, kernel, schema, specs)


def _load_all(files: Sequence[Path]) -> Kernels:
    families: dict[str, Family] = {}
    broken: dict[Path, BuildError] = {}
    for file in files:
        try:
            family = load_family(file)
        except BuildError as error:
            broken[file] = error
            continue
        if family is None:
            continue
        if family.name in families:
            other = families[family.name].file.name
            broken[file] = BuildError(
                "aot-kernel", f"{file.name}: kernel `{family.name}` is in {other} too"
            )
            continue
        families[family.name] = family
    return Kernels(families, broken)


def _loaded(file: Path) -> types.ModuleType:
    name = ".".join((_ROOT, *_FOLDERS, file.stem))
    try:
        return importlib.import_module(name)
    except TileError as error:
        raise BuildError("aot-import", f"{file.name}: {error.message}", error.loc) from error
    except Exception as error:  # whatever the file raises is its own
        place = _place_in(error, file)
        hint = None
        if isinstance(error, ModuleNotFoundError):
            hint = "run it from the project's root, or name that with --path"
        text = f"{file.name} cannot be loaded: {type(error).__name__}: {error}"
        raise BuildError("aot-import", text, place, hint) from error


def _place_in(error: BaseException, file: Path) -> Loc:
    """The last line of the file on the way to an error."""
    line = 1
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename == str(file):
        line = error.lineno or line
    return Loc(str(file), line, 1)


def _provide_packages(folder: Path) -> None:
    """Packages down to that of the folder's files; those of another folder are forgotten."""
    for name in [n for n in sys.modules if n == _ROOT or n.startswith(_ROOT + ".")]:
        del sys.modules[name]
    importlib.invalidate_caches()
    above = folder.resolve()
    paths = [above]
    for _ in _FOLDERS:
        above = above.parent
        paths.append(above)
    name = ""
    for part, path in zip((_ROOT, *_FOLDERS), reversed(paths), strict=True):
        name = f"{name}.{part}" if name else part
        package = types.ModuleType(name)
        package.__path__ = [os.fspath(path)]
        sys.modules[name] = package
    common = types.ModuleType(f"{_ROOT}.common")
    common.__path__ = [os.fspath(paths[-1] / "common")]
    sys.modules[common.__name__] = common
    sys.modules[f"{_ROOT}.common.spec"] = kernel_spec
    if (paths[-1] / "common" / "spec.py").is_file():
        _stand_in_for_the_engine(paths[-1])


def _stand_in_for_the_engine(root: Path) -> None:
    """Of an engine's own tree some files import its declarations by the names of its folders."""
    name, above = root.name, root.parent
    for _ in range(_MOST_ABOVE):
        name, above = f"{above.name}.{name}", above.parent
        if os.fspath(above) not in sys.path:
            sys.path.append(os.fspath(above))
        sys.modules[f"{name}.common.spec"] = kernel_spec
