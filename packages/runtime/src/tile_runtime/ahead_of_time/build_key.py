"""Hash everything that a variant depends on: another hash means that it is built again.

The inputs are its specialization, the toolchain and the chip, this compiler by content, and every
file of the project that its module imports, directly or not. Folders do not count: trees move.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import asdict
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from tile_ir.switches import SWITCHES, switch
from tile_runtime.ahead_of_time.kernel_spec import KernelCompileSpec
from tile_runtime.cache.fingerprint import package_files, sources_digest
from tile_runtime.options.code_generators import GENERATORS

# Raise it when the meaning of a file of the tree changes.
SCHEMA = 1
# Switches that say where things lie or what is told, and not what is built.
_TOLD = {
    "cache_dir", "cache_limit", "cache", "check", "prove", "time", "threads", "seed", "starve",
    "first", "timeout", "target", "dump_ir", "debug", "timings", "keep_cpp", "lax_calls", "cxx",
    "soc", "verify_each",
}  # fmt: skip


def build_key(
    spec: KernelCompileSpec, fingerprint: dict[str, str], dependencies: dict[str, str]
) -> str:
    """The hash of a variant with its `dependencies`, hashes of files by the names of modules."""
    parts = {
        "schema": SCHEMA,
        "spec": asdict(spec),
        "fingerprint": fingerprint,
        "compiler": compiler_digest(),
        "switches": {s: repr(switch(s)) for s in sorted(SWITCHES) if s not in _TOLD},
        "dependencies": dependencies,
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=1)
def compiler_digest() -> str:
    """Our packages by content, that which traces kernels included."""
    digest = hashlib.sha256(sources_digest().encode())
    for path in package_files("tile_frontend"):
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()


def dependencies_of(module: str) -> dict[str, str]:
    """Hashes of the files of the project that a loaded module is made of, by the names of their
    modules: its own, and what it imports, inside of functions too."""
    found: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        file = _project_file(name)
        if file is None:
            continue
        text = file.read_bytes()
        found[name] = hashlib.sha256(text).hexdigest()
        waiting += _imports(name, text, is_package=file.name == "__init__.py")
    return found


def _imports(module: str, text: bytes, is_package: bool) -> Iterator[str]:
    """The modules that a text names; a name that is imported from one may be a module too."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join((*above, base)) if base else ".".join(above)
            yield from _with_parents(base)
            for alias in node.names:
                yield f"{base}.{alias.name}"


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[: i + 1]) for i in range(len(parts)))


def _project_file(name: str) -> Path | None:
    """The file of a module that is neither Python's, nor installed, nor ours."""
    module = sys.modules.get(name)
    where = getattr(module, "__file__", None) if module is not None else _origin(name)
    if not where or not where.endswith(".py"):
        return None
    path = Path(where).resolve()
    if any(path.is_relative_to(folder) for folder in _installed()):
        return None
    return path if path.is_file() else None


def _origin(name: str) -> str | None:
    """Where a module would be loaded from that has not been."""
    spec = None if name.partition(".")[0] in sys.stdlib_module_names else _spec(name)
    return spec.origin if spec is not None else None


def _spec(name: str) -> ModuleSpec | None:
    """Find the module that Python would load, without loading the packages above it."""
    above, _, own = name.rpartition(".")
    if not above:
        return PathFinder.find_spec(name)
    package: Any = sys.modules.get(above) or _spec(above)
    folders = getattr(package, "__path__", None) or getattr(
        package, "submodule_search_locations", None
    )
    # By its own name: of a folder without `__init__.py` Python would ask the loaded package above.
    return PathFinder.find_spec(own, list(folders)) if folders else None


@lru_cache(maxsize=1)
def _installed() -> tuple[Path, ...]:
    """Return the folders outside every project: the library, installed packages, and this compiler,
    which is in the key already."""
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    ours = ("tile_ir", "tile_passes", "tile_frontend", "tile_runtime", *GENERATORS.values())
    for spec in map(importlib.util.find_spec, ours):
        if spec is not None:
            folders.update(spec.submodule_search_locations or ())
    return tuple(Path(f).resolve() for f in folders if f)
