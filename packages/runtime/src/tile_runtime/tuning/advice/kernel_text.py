"""The text of a kernel as a tree: the function a program names, the functions in it that launch
blocks, and where their pieces stand. Reads text only; runs nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.tuning.advice.program import LineEdit, Program

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"

# What iterations of a loop in order are written with.
SERIAL = ("serial", "range")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class KernelText:
    """A program's text and the tree of it."""

    program: Program

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.program.text)

    @cached_property
    def lines(self) -> list[str]:
        return self.program.text.splitlines()

    @cached_property
    def factory(self) -> Function | None:
        """The function the program names; None where the name stands for something else."""
        found = [
            node
            for node in self.tree.body
            if isinstance(node, ast.FunctionDef) and node.name == self.program.kernel
        ]
        return found[-1] if found else None

    @cached_property
    def calls_itself(self) -> bool:
        """Whether the script calls a function of its own when it is loaded: it may run kernels."""
        own = {node.name for node in self.tree.body if isinstance(node, ast.FunctionDef)}
        loaded = (node for node in self.tree.body if not isinstance(node, (*_DEFINITIONS, ast.If)))
        return any(called(call) in own for node in loaded for call in calls_in(node))

    @cached_property
    def launches(self) -> list[ast.Call]:
        """The calls of `T.Kernel` in the factory that open a launch."""
        if self.factory is None:
            return []
        return [
            item.context_expr
            for node in ast.walk(self.factory)
            if isinstance(node, ast.With)
            for item in node.items
            if isinstance(item.context_expr, ast.Call) and called(item.context_expr) == "Kernel"
        ]

    @cached_property
    def bodies(self) -> list[ast.With]:
        """The blocks of text that are launched."""
        if self.factory is None:
            return []
        ours = set(map(id, self.launches))
        return [
            node
            for node in ast.walk(self.factory)
            if isinstance(node, ast.With) and any(id(i.context_expr) in ours for i in node.items)
        ]

    @cached_property
    def iterations_of_blocks(self) -> frozenset[str]:
        """Names that a loop in a block counts to and that say how many blocks there are."""
        loops = (node for body in self.bodies for node in ast.walk(body))
        counted = {
            argument.id
            for node in loops
            if isinstance(node, ast.For) and isinstance(node.iter, ast.Call)
            for argument in node.iter.args
            if isinstance(argument, ast.Name) and called(node.iter) in SERIAL
        }
        return frozenset(counted & {name for call in self.launches for name in _names_in(call)})

    @property
    def prefix(self) -> str:
        """The prefix of names of the language, such as `T.`."""
        function = self.launches[0].func
        return f"{ast.unparse(function.value)}." if isinstance(function, ast.Attribute) else ""

    def source(self, node: ast.expr) -> str:
        return ast.get_source_segment(self.program.text, node) or ""

    def edits(self, pieces: Sequence[tuple[ast.expr, str]]) -> tuple[LineEdit, ...]:
        """The lines that have other text in place of some expressions, each on one line; nothing
        where one of them is on several."""
        by_line: dict[int, list[tuple[int, int, str]]] = {}
        for node, text in pieces:
            if node.end_lineno != node.lineno or node.end_col_offset is None:
                return ()
            by_line.setdefault(node.lineno, []).append((node.col_offset, node.end_col_offset, text))
        return tuple(self._edit(number, found) for number, found in sorted(by_line.items()))

    def inserted(self, line: int, column: int, text: str) -> tuple[LineEdit, ...]:
        """The line with a text at a column."""
        return (self._edit(line, [(column, column, text)]),)

    def _edit(self, number: int, pieces: list[tuple[int, int, str]]) -> LineEdit:
        old = self.lines[number - 1]
        raw = old.encode()  # columns of a tree are bytes
        for begin, end, text in sorted(pieces, reverse=True):
            raw = raw[:begin] + text.encode() + raw[end:]
        return LineEdit(number, old, raw.decode())


def _names_in(node: ast.AST) -> Iterator[str]:
    return (found.id for found in ast.walk(node) if isinstance(found, ast.Name))


def called(call: ast.Call) -> str:
    """The last part of the name of the called function, "" for anything without one."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def calls_in(node: ast.AST) -> Iterator[ast.Call]:
    return (found for found in ast.walk(node) if isinstance(found, ast.Call))


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value a call gives by a name."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def integer(node: ast.expr | None) -> int | None:
    """The number a node is, if it is a whole one written down."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None
