"""Find the kernels of a checkout: functions that open `with T.Kernel`, in files that need no port.

A kernel is the innermost function around one or more `with T.Kernel`; its name is the path of the
file below `examples`, and the functions around it: `gemm/example_gemm.py:matmul.main`. A file counts
if its porting list has no error, that is, if it uses no construct of one GPU.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.scripts import gpu_tasks


@dataclass(frozen=True, slots=True)
class FoundKernel:
    """`lines` are those of its `with T.Kernel`: a function with several launches has several."""

    file: str
    function: str
    lines: tuple[int, ...]

    @property
    def title(self) -> str:
        return f"{self.file}:{self.function}"

    @property
    def factory(self) -> str:
        """The function of the module that makes it, which may be itself."""
        return self.function.partition(".")[0]

    def launched_in(self, places: Collection[tuple[str, int]]) -> bool:
        """Whether all of its launches are among these places: paths below `examples`, and lines."""
        return all((self.file, line) in places for line in self.lines)


def kernels(examples: Path, only: str = "*") -> Iterator[FoundKernel]:
    """Every kernel of every file without constructs of one GPU, in order of files and lines."""
    for task in gpu_tasks(examples, only):
        if not task.port:
            yield from kernels_of(task.name, ast.parse(task.path.read_text(errors="replace")))


def kernels_of(file: str, tree: ast.Module) -> list[FoundKernel]:
    """The kernels of one module."""
    lines: dict[str, list[int]] = {}
    for function, line in _launches(tree, ()):
        lines.setdefault(function, []).append(line)
    return [FoundKernel(file, function, tuple(found)) for function, found in lines.items()]


def _launches(node: ast.AST, around: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Each `with T.Kernel`: the functions around it, joined by dots, and its line."""
    for child in ast.iter_child_nodes(node):
        inside = (*around, child.name) if isinstance(child, ast.FunctionDef) else around
        if (
            around
            and isinstance(child, ast.With)
            and any(_is_launch(i.context_expr) for i in child.items)
        ):
            yield ".".join(inside), child.lineno
        yield from _launches(child, inside)


def _is_launch(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="T"), attr="Kernel")):
            return True
        case _:
            return False
