"""Evaluate loops and texts at trace time: comprehensions, f-strings, Python containers.

`T.unroll` belongs here where its body takes elements of a container, such as a list of buffers.
Bodies of such loops are evaluated once per element, one after the other in the same scope, as if
they were written out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any

from tile_frontend._evaluate.expressions import ExpressionEvaluator
from tile_frontend._evaluate.scope import MISSING, Scope
from tile_frontend._language.loops import Loop
from tile_frontend._tracing.scalars import Scalar, describe
from tile_frontend._tracing.values import Tile, View
from tile_ir import LoopKind, constant_value

# More would be a mistake: the text of the kernel grows with every iteration.
MOST_ITERATIONS = 4096


def static_items(value: Any) -> list[Any] | None:
    """The elements of a Python container or iterator, MOST_ITERATIONS + 1 at most; None for
    anything else, such as a string, a buffer or a loop of the language."""
    if isinstance(value, (str, bytes)):
        return None
    if isinstance(value, (Sequence, Set, Mapping, Iterator)) or type(value).__name__ in _VIEWS:
        return list(islice(iter(value), MOST_ITERATIONS + 1))
    return None


_VIEWS = ("dict_keys", "dict_values", "dict_items")


def constant_range(value: Any) -> range | None:
    """The numbers of a one-dimensional loop whose bounds are known, else None."""
    if not isinstance(value, Loop) or len(value.bounds) != 1:
        return None
    start, stop = (constant_value(bound) for bound in value.bounds[0])
    return None if start is None or stop is None else range(start, stop, value.step)


def known_items(value: Any) -> list[Any] | None:
    """The elements of a Python container, or the numbers of a loop whose bounds are known."""
    numbers = constant_range(value)
    return static_items(value if numbers is None else numbers)


def unrolled_range(loop: Any, stmt: ast.For, scope: Scope, in_launch: bool) -> range | None:
    """The numbers of a loop that is unrolled while the kernel is traced; None for every other loop.

    A `T.unroll` is, if its variable, or a value computed from it, picks elements of a Python
    container. So is a loop outside of launches, which may launch a kernel in each iteration.
    """
    if not isinstance(loop, Loop) or loop.kind not in (LoopKind.UNROLL, LoopKind.SERIAL):
        return None
    if in_launch and (loop.kind is not LoopKind.UNROLL or not _picks(stmt, scope)):
        return None
    return constant_range(loop)


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


_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


class ComprehensionEvaluator(ExpressionEvaluator):
    """Evaluates list comprehensions, generator expressions and f-strings."""

    def _ListComp(self, node: ast.ListComp) -> list[Any]:
        return list(self._comprehended(node.elt, node.generators))

    def _GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return iter(list(self._comprehended(node.elt, node.generators)))

    def _comprehended(
        self, element: ast.expr, generators: Sequence[ast.comprehension]
    ) -> Iterator[Any]:
        """The elements of a comprehension, which runs while the kernel is traced."""
        if not generators:
            yield self.evaluate(element)
            return
        first, *rest = generators
        found = self.evaluate(first.iter)
        items = known_items(found)
        if items is None or len(items) > MOST_ITERATIONS:
            what = f"this T.{found.name}" if isinstance(found, Loop) else describe(found)
            hint = "it runs while the kernel is traced: over a Python list, or a range of known "
            hint += "size"
            message = f"a comprehension cannot iterate over {what}"
            self.fail("not-a-loop", message, first.iter, hint)
        with self.scope.block():
            for item in items:
                self.bind_static(first.target, item)
                tests = [self.evaluate(test) for test in first.ifs]
                for test, node in zip(tests, first.ifs, strict=True):
                    if isinstance(test, Scalar):
                        message = "a comprehension chooses while the kernel is traced, but the "
                        message += "condition is known only when it runs"
                        hint = "write a loop with `if` in its body"
                        self.fail("runtime-condition", message, node, hint)
                if all(tests):
                    yield from self._comprehended(element, rest)

    def bind_static(self, target: ast.expr, value: Any) -> None:
        """Bind the target of a loop that runs while the kernel is traced."""
        if isinstance(target, ast.Name):
            self.scope.bind(target.id, value, self.source.loc(target))
            return
        if not isinstance(target, (ast.Tuple, ast.List)):
            hint = "write a name, such as `i`"
            self.fail("unsupported-syntax", "the target is not a name", target, hint)
        if not isinstance(value, (tuple, list)) or len(value) != len(target.elts):
            count = len(value) if isinstance(value, (tuple, list)) else 1
            message = f"an element has {count} {'value' if count == 1 else 'values'}, but there "
            message += f"are {len(target.elts)} names"
            hint = "write a name for each value"
            self.fail("loop-target", message, target, hint)
        for inner, item in zip(target.elts, value, strict=True):
            self.bind_static(inner, item)

    def _JoinedStr(self, node: ast.JoinedStr) -> str:
        """Format the text while the kernel is traced. Raises KernelError for runtime values."""
        parts: list[str] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
                continue
            assert isinstance(part, ast.FormattedValue), "an f-string has no other parts"
            value = self.evaluate(part.value)
            if isinstance(value, (Scalar, Tile, View)):
                message = "an f-string is made while the kernel is traced, but found "
                where = part.value if part.value.lineno == node.lineno else node
                hint = 'print with a format: T.printf("%d\\n", x), with %f for floats'
                self.fail("runtime-value", message + describe(value), where, hint)
            spec = "" if part.format_spec is None else self.evaluate(part.format_spec)
            convert = _CONVERSIONS.get(part.conversion)
            shown = value if convert is None else convert(value)
            parts.append(self.guarded(part.value, format, shown, spec))
        return "".join(parts)
