"""The text a kernel was written in: found once per file, indexed by function, with exact places.

The whole file is parsed, not the function alone, so that lines and columns need no correction.
"""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from tile_ir import KernelError, Loc
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """One file as it was when the kernel was traced. `file` is the name diagnostics show."""

    file: str
    text: str
    lines: tuple[str, ...]

    def loc(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> Loc:
        return self.at(node.lineno, node.col_offset)

    def at(self, line: int, byte_offset: int) -> Loc:
        """A place from the parser's numbers: it counts columns in UTF-8 bytes from 0."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if text.isascii():
            return Loc(self.file, line, byte_offset + 1)
        return Loc(self.file, line, len(text.encode()[:byte_offset].decode(errors="replace")) + 1)

    def attribute_loc(self, node: ast.Attribute) -> Loc:
        """Where the name after the dot stands."""
        end = (node.end_col_offset or node.col_offset) - len(node.attr.encode())
        return self.at(node.end_lineno or node.lineno, end)


@dataclass(frozen=True, slots=True)
class _File:
    source: Source
    functions: dict[tuple[int, str], ast.FunctionDef]


_FILES: dict[str, _File] = {}


def display_name(filename: str) -> str:
    """The file as a user would type it: relative when it lies below the working directory."""
    if filename.startswith("<"):
        return filename
    path, here = os.path.abspath(filename), os.getcwd()
    return os.path.relpath(path, here) if path.startswith(here.rstrip(os.sep) + os.sep) else path


def find_function(fn: Callable[..., Any]) -> tuple[Source, ast.FunctionDef]:
    """The file and the syntax tree a function was compiled from."""
    code: CodeType = fn.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, fn.__globals__)
    if not lines:
        message = f"the source of `{fn.__name__}` cannot be read: {code.co_filename} is not a file"
        hint = "put the kernel in a .py file and import it"
        raise KernelError("source-unavailable", message, None, hint)
    file = _file(code.co_filename, "".join(lines))
    source, found = file.source, file.functions.get((code.co_firstlineno, fn.__name__))
    names = code.co_varnames[: code.co_argcount]
    if found is None or tuple(a.arg for a in found.args.args) != names:
        raise KernelError(
            "source-changed",
            f"`{fn.__name__}` does not stand at line {code.co_firstlineno} any more",
            Loc(source.file, code.co_firstlineno, 1),
            "the file changed after it was imported: start again",
            sources={source.file: source.text},
        )
    return source, found


def _file(filename: str, text: str) -> _File:
    shown = display_name(filename)
    known = _FILES.get(filename)
    if known is not None and known.source.text == text and known.source.file == shown:
        return known
    tree = ast.parse(text, filename)
    source = Source(shown, text, tuple(text.split("\n")))
    functions = {(_first_line(f), f.name): f for f in _functions(tree.body)}
    _FILES[filename] = _File(source, functions)
    return _FILES[filename]


def _first_line(function: ast.FunctionDef) -> int:
    """The line of the first decorator, which is where Python says a function starts."""
    return min([function.lineno, *(d.lineno for d in function.decorator_list)])


def _functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    for stmt in body:
        if isinstance(stmt, ast.FunctionDef):
            yield stmt
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(stmt, field, None)
            if isinstance(inner, list):
                yield from _functions(inner)
