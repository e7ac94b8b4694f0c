"""Evaluate comprehensions and f-strings, which make Python values while tracing."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tile_frontend._evaluate.expressions import ExpressionEvaluator
from tile_frontend._evaluate.static_loops import MOST_ROUNDS, known_items
from tile_frontend._language.loops import Loop
from tile_frontend._tracing.scalars import Scalar, describe
from tile_frontend._tracing.subscripts import View
from tile_frontend._tracing.values import Tile

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
        if items is None or len(items) > MOST_ROUNDS:
            is_loop = isinstance(found, Loop)
            self.fail(
                "not-a-loop",
                "a comprehension cannot iterate over "
                + (f"this T.{found.name}" if is_loop else describe(found)),
                first.iter,
                "it runs while the kernel is traced: over a Python list, or a range of known size",
            )
        with self.scope.block():
            for item in items:
                self.bind_static(first.target, item)
                tests = [self.evaluate(test) for test in first.ifs]
                for test, node in zip(tests, first.ifs, strict=True):
                    if isinstance(test, Scalar):
                        self.fail(
                            "runtime-condition",
                            "a comprehension chooses while the kernel is traced, but the condition "
                            "is known only when it runs",
                            node,
                        )
                if all(tests):
                    yield from self._comprehended(element, rest)

    def bind_static(self, target: ast.expr, value: Any) -> None:
        """Bind the target of a loop that runs while the kernel is traced."""
        if isinstance(target, ast.Name):
            self.scope.bind(target.id, value, self.source.loc(target))
            return
        if not isinstance(target, (ast.Tuple, ast.List)):
            self.fail("unsupported-syntax", "the target is not a name", target)
        if not isinstance(value, (tuple, list)) or len(value) != len(target.elts):
            count = len(value) if isinstance(value, (tuple, list)) else 1
            self.fail(
                "loop-target",
                f"an element has {count} {'value' if count == 1 else 'values'}, but there are "
                f"{len(target.elts)} names",
                target,
            )
        for inner, item in zip(target.elts, value, strict=True):
            self.bind_static(inner, item)

    def _JoinedStr(self, node: ast.JoinedStr) -> str:
        """Text of what is known while the kernel is traced."""
        parts: list[str] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
                continue
            assert isinstance(part, ast.FormattedValue), "an f-string has no other parts"
            value = self.evaluate(part.value)
            if isinstance(value, (Scalar, Tile, View)):
                self.fail(
                    "runtime-value",
                    f"an f-string is made while the kernel is traced, but found {describe(value)}",
                    part.value if part.value.lineno == node.lineno else node,
                    'print with a format: T.printf("%d\\n", x), with %f for floats',
                )
            spec = "" if part.format_spec is None else self.evaluate(part.format_spec)
            convert = _CONVERSIONS.get(part.conversion)
            shown = value if convert is None else convert(value)
            parts.append(self.guarded(part.value, format, shown, spec))
        return "".join(parts)
