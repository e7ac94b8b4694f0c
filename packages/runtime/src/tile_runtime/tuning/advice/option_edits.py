"""Edits that give the pass configs of a kernel another value of a key."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tile_runtime.tuning.advice.kernel_text import KernelText, called, calls_in, keyword
from tile_runtime.tuning.advice.program import OPTION, Edit, LineEdit

# What takes pass configs.
_COMPILERS = ("jit", "compile", "lower", "lazy_jit")


def option_edits(text: KernelText, key: str, value: bool) -> Iterator[Edit]:
    """At most one edit: of the first decorator or call that compiles the kernel."""
    lines = _edited(text, key, value)
    if lines:
        yield Edit(f'"{key}": {value}', lines, OPTION, key)


def _edited(text: KernelText, key: str, value: bool) -> tuple[LineEdit, ...]:
    if text.factory is None:
        return ()
    entry = f'"{key}": {value}'
    for decorator in text.factory.decorator_list:
        if isinstance(decorator, (ast.Name, ast.Attribute)) and _last_name(decorator) == "jit":
            written = f"{text.source(decorator)}(pass_configs={{{entry}}})"
            return text.edits([(decorator, written)])
    for call in [c for d in text.factory.decorator_list for c in calls_in(d)] + [
        *calls_in(text.factory)
    ]:
        if called(call) in _COMPILERS:
            return _in_call(text, call, key, value)
    return ()


def _in_call(text: KernelText, call: ast.Call, key: str, value: bool) -> tuple[LineEdit, ...]:
    entry = f'"{key}": {value}'
    configs = keyword(call, "pass_configs")
    match configs:
        case None:
            # Before the closing parenthesis, which ends the call.
            line, column = call.end_lineno or call.lineno, (call.end_col_offset or 1) - 1
            before = text.lines[line - 1].encode()[:column].decode().rstrip()
            comma = "" if before.endswith(("(", ",")) or not before else ", "
            return text.inserted(line, column, f"{comma}pass_configs={{{entry}}}")
        case ast.Dict(keys=keys, values=values):
            for name, node in zip(keys, values, strict=True):
                if name is not None and _names(name, key):
                    return text.edits([(node, str(value))])
            # After the opening brace; what stands behind it may be empty.
            return text.inserted(
                configs.lineno, configs.col_offset + 1, f"{entry}, " if keys else entry
            )
        case _:
            return text.edits([(configs, f"{{**{text.source(configs)}, {entry}}}")])


def _names(node: ast.expr, key: str) -> bool:
    """Whether a key of a dictionary is this one, as a string or a member of `PassConfigKey`."""
    if isinstance(node, ast.Constant):
        return bool(node.value == key)
    return _last_name(node).lower() == key.replace(".", "_").lower()


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
