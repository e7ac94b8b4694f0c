"""With which arguments to compile the factories of a script: those of a comment
`# tile-ascend: add(M=100, N=256)`, or of the first call in its text that can be evaluated."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

Arguments: TypeAlias = "tuple[list[Any], dict[str, Any]]"

_COMMENT = re.compile(r"#\s*tile-ascend:\s*(.+)")


def calls_of(name: str, text: str, values: Mapping[str, Any]) -> Iterator[Arguments]:
    """The arguments of each call of a function in a script, those of comments first. They are
    evaluated with the values of the module; names of loops over written values stand for the first
    of them. A call whose arguments call something, or use a value of the run, is left out."""
    for line in text.splitlines():
        comment = _COMMENT.search(line)
        if comment is not None:
            yield from _calls(_parsed(comment[1]), name, values)
    yield from _calls(_parsed(text), name, values)


def _parsed(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError):
        return []


def _calls(body: list[ast.stmt], name: str, values: Mapping[str, Any]) -> Iterator[Arguments]:
    known = dict(values)
    for stmt in body:
        match stmt:
            case ast.For(target=target, iter=items):
                _bind(target, items, known, lambda found: next(iter(found)))
            case ast.Assign(targets=[target], value=value):
                _bind(target, value, known, lambda found: found)
        inner = [b for field in ("body", "orelse", "finalbody") for b in getattr(stmt, field, [])]
        yield from _calls_in(_without(stmt), name, known)
        if inner:
            yield from _calls(inner, name, known)


def _without(stmt: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without the statements inside."""
    for field, value in ast.iter_fields(stmt):
        if field not in ("body", "orelse", "finalbody", "handlers", "decorator_list"):
            yield from (
                v for v in (value if isinstance(value, list) else [value]) if isinstance(v, ast.AST)
            )


def _calls_in(nodes: Iterator[ast.AST], name: str, known: Mapping[str, Any]) -> Iterator[Arguments]:
    for node in nodes:
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and _called(call.func) == name:
                arguments = _arguments(call, known)
                if arguments is not None:
                    yield arguments


def _called(func: ast.expr) -> str:
    """`add` of `add(...)` and of `add.compile(...)`."""
    if isinstance(func, ast.Attribute) and func.attr == "compile":
        func = func.value
    return func.id if isinstance(func, ast.Name) else ""


def _arguments(call: ast.Call, known: Mapping[str, Any]) -> Arguments | None:
    try:
        given = [_value(a, known) for a in call.args]
        named: dict[str, Any] = {}
        for keyword in call.keywords:
            value = _value(keyword.value, known)
            named.update(value if keyword.arg is None else {keyword.arg: value})
    except _Unknown:
        return None
    return given, named


class _Unknown(Exception):
    """An expression that calls something, or whose value only a run can give."""


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    if any(
        isinstance(n, (ast.Call, ast.Starred, ast.Await, ast.NamedExpr)) for n in ast.walk(node)
    ):
        raise _Unknown
    names = {n.id: known[n.id] for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in known}
    try:
        return eval(
            compile(ast.Expression(node), "<arguments>", "eval"), {"__builtins__": {}}, names
        )
    except Exception:  # of the script's own objects
        raise _Unknown from None


def _bind(
    target: ast.expr, source: ast.expr, known: dict[str, Any], chosen: Callable[[Any], Any]
) -> None:
    """Give names a value, where it is written in the text."""
    try:
        value = chosen(_value(source, known))
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        parts = list(value) if isinstance(target, ast.Tuple) else [value]
    except (_Unknown, TypeError, StopIteration):
        return
    if len(names) == len(parts):
        known.update(
            (n.id, p) for n, p in zip(names, parts, strict=True) if isinstance(n, ast.Name)
        )
