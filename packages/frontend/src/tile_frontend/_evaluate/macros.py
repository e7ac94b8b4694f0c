"""Expand the body of a `@T.macro` at each call (docs/rules/kernels.md#macros)."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from typing import Any

from tile_frontend._evaluate.call_expressions import Expandable
from tile_frontend._evaluate.scope import Captured, Scope, capture
from tile_frontend._evaluate.statements import StatementEvaluator
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.source import Source, find_function
from tile_frontend._tracing.trace import current
from tile_ir import KernelError
from tile_ir.diagnostics.expansions import Expansion

# A macro that calls itself without end is stopped before Python's own limit.
DEEPEST = 50


class Macro(Expandable):
    """A function whose text is evaluated where it is called."""

    def __init__(self, fn: Callable[..., Any], hygienic: bool, captured: Captured) -> None:
        self.fn, self.hygienic, self.captured = fn, hygienic, captured
        self.__name__, self.__doc__ = fn.__name__, fn.__doc__
        self._found: tuple[Source, ast.FunctionDef] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.expand(args, kwargs, None)

    def expand(self, args: Any, kwargs: dict[str, Any], caller: Scope | None) -> None:
        """Evaluate the body with these arguments. A macro that is not hygienic looks names up
        where it is called."""
        trace = current(f"macro `{self.__name__}`")
        if self._found is None:
            self._found = find_function(self.fn)
        source, function = self._found
        try:
            bound = inspect.signature(self.fn).bind(*args, **kwargs)
        except TypeError as error:
            raise Fault("arity", f"macro `{self.__name__}`: {error}") from None
        bound.apply_defaults()
        if trace.depth >= DEEPEST:
            raise Fault("macro-recursion", f"macro `{self.__name__}` expands without end")
        trace.expansions += 1
        trace.depth += 1
        scope = Scope(self.captured, None if self.hygienic else caller)
        evaluator = StatementEvaluator(trace, source, scope, trace.expansions)
        parameters = {a.arg: source.loc(a) for a in function.args.args}
        for name, value in bound.arguments.items():
            scope.bind(name, value, parameters.get(name, source.loc(function)))
        here = trace.here
        last = function.end_lineno or function.lineno
        call = Expansion(self.__name__, source.file, function.lineno, last, here)
        trace.calls.append(call)
        try:
            evaluator.run(function.body)
        except KernelError as error:
            raise error.with_notes([call.note()]) from error.__cause__
        finally:
            trace.depth -= 1
            trace.here = here


def macro(fn: Callable[..., Any] | None = None, *, hygienic: bool = True) -> Any:
    """Decorate a function to be expanded where a kernel calls it."""
    if fn is None:
        frame = sys._getframe(1)
        return lambda f: Macro(f, hygienic, capture(f, frame))
    if not inspect.isfunction(fn):
        raise KernelError("macro", f"T.macro decorates functions, found {fn!r}")
    return Macro(fn, hygienic, capture(fn, sys._getframe(1)))
