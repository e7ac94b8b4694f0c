"""Select the files whose kernels a change concerns: scripts that import the language, and Ascend C
sources, that are touched or import or include what is touched."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

# What a script imports whose kernels are judged.
_LANGUAGES = frozenset({"tile_frontend", "tilelang"})
_KERNEL = re.compile(r"__global__")
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
SUFFIXES = (".py", ".cpp", ".cc", ".h", ".hpp", ".asc")
# Tests are run by their own program.
_TESTS = re.compile(r"(test_.*|.*_test|conftest)\.py")


def kernel_files(root: Path, files: Collection[str], touched: Collection[str]) -> list[str]:
    """The kernel files among `files` that a change of the `touched` ones concerns, in order."""
    sources = {file: _text(root / file) for file in files if file.endswith(SUFFIXES)}
    known = {*sources, *touched}
    users: dict[str, set[str]] = defaultdict(set)
    for file, text in sources.items():
        for used in _used(file, text, known):
            users[used].add(file)
    reached: set[str] = set()
    worklist = list(touched)
    while worklist:
        file = worklist.pop()
        if file not in reached:
            reached.add(file)
            worklist += users[file]
    return sorted(file for file in reached & sources.keys() if holds_kernels(file, sources[file]))


def holds_kernels(file: str, text: str) -> bool:
    """Whether a file is judged: a script about kernels that is no test, or an Ascend C kernel."""
    if not file.endswith(".py"):
        return bool(_KERNEL.search(text))
    if _TESTS.fullmatch(PurePosixPath(file).name):
        return False
    tree = _tree(text)
    return tree is None or any(name.split(".")[0] in _LANGUAGES for name, _ in _imports(tree))


def _used(file: str, text: str, known: Collection[str]) -> Iterator[str]:
    """The files that one imports or includes, as far as the names show."""
    folder = PurePosixPath(file).parent
    if not file.endswith(".py"):
        for name in _INCLUDE.findall(text):
            yield from _ending(_joined(folder, name), known)
        return
    tree = _tree(text)
    for name, level in () if tree is None else _imports(tree):
        parts = name.split(".") if name else []
        starts = [folder.parents[level - 2] if level > 1 else folder] if level else [
            folder, *folder.parents
        ]  # fmt: skip
        for start in starts:
            for length in range(len(parts), -1 if level else 0, -1):
                place = start.joinpath(*parts[:length])
                for found in (f"{place}.py", str(place / "__init__.py")):
                    if found in known and found != file:
                        yield found


def _imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every module that a script imports, with the number of leading dots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.level
            # What is imported may be a module too.
            yield from (
                (".".join(filter(None, (node.module, alias.name))), node.level)
                for alias in node.names
            )


def _joined(folder: PurePosixPath, name: str) -> str:
    """A path without the dots in it."""
    parts: list[str] = []
    for part in (folder / name).parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _ending(path: str, known: Collection[str]) -> Iterator[str]:
    """The file at a path, or those that a folder of includes may mean by the last part of it."""
    if path in known:
        yield path
        return
    name = PurePosixPath(path).name
    yield from (file for file in known if PurePosixPath(file).name == name)


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
