"""Loops that run while the kernel is traced: over Python containers, and `T.unroll` where its body
takes elements of one, such as a list of buffers.

Their bodies are evaluated once per element, one after the other in the same scope, as if they were
written out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any

from tile_frontend._evaluate.scope import MISSING, Scope
from tile_frontend._language.loops import Loop
from tile_ir import LoopKind, constant_value

# More would be a mistake: the text of the kernel grows with every round.
MOST_ROUNDS = 4096


def static_items(value: Any) -> list[Any] | None:
    """The elements of a Python container or iterator, MOST_ROUNDS + 1 at most; None for anything
    else, such as a string, a buffer or a loop of the language."""
    if isinstance(value, (str, bytes)):
        return None
    if isinstance(value, (Sequence, Set, Mapping, Iterator)) or type(value).__name__ in _VIEWS:
        return list(islice(iter(value), MOST_ROUNDS + 1))
    return None


_VIEWS = ("dict_keys", "dict_values", "dict_items")


def constant_range(value: Any) -> range | None:
    """The numbers of a one-dimensional loop whose bounds are known, else None."""
    if not isinstance(value, Loop) or len(value.bounds) != 1:
        return None
    start, stop = (constant_value(bound) for bound in value.bounds[0])
    return None if start is None or stop is None else range(start, stop)


def known_items(value: Any) -> list[Any] | None:
    """The elements of a Python container, or the numbers of a loop whose bounds are known."""
    numbers = constant_range(value)
    return static_items(value if numbers is None else numbers)


def unrolled_range(loop: Any, stmt: ast.For, scope: Scope) -> range | None:
    """The numbers of a `T.unroll` whose variable, or what its body computes from it, picks elements
    of a Python container; None for every other loop, which the emitter unrolls."""
    if not isinstance(loop, Loop) or loop.kind is not LoopKind.UNROLL:
        return None
    numbers = constant_range(loop)
    if numbers is None or not _picks(stmt, scope):
        return None
    return numbers


def picked_containers(node: ast.AST, scope: Scope) -> Iterator[ast.Subscript]:
    """The subscripts of names that stand for Python containers."""
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript):
            root: ast.expr = part.value
            while isinstance(root, ast.Subscript):
                root = root.value
            value = scope.find(root.id) if isinstance(root, ast.Name) else MISSING
            if isinstance(value, (list, tuple, dict)):
                yield part


def _picks(stmt: ast.For, scope: Scope) -> bool:
    changing = {
        part.id
        for part in (*ast.walk(stmt.target), *(p for s in stmt.body for p in ast.walk(s)))
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    return any(
        isinstance(name, ast.Name) and name.id in changing
        for inner in stmt.body
        for picked in picked_containers(inner, scope)
        for name in ast.walk(picked.slice)
    )
