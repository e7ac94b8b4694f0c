"""Evaluate what the number of a thread decides in kernel text."""

from __future__ import annotations

import ast
from functools import partial
from typing import NoReturn

from tile_frontend._evaluate.assignments import AssignmentEvaluator
from tile_frontend._evaluate.thread_exchanges import in_memory
from tile_frontend._evaluate.thread_runs import as_runs
from tile_frontend._language.thread_loops import private_var, thread_loop
from tile_frontend._language.threads import ThreadNumber
from tile_frontend._language.warp_exchanges import WarpExchange
from tile_frontend._tracing.scalars import python_number
from tile_ir import Automatic, KernelError


class ThreadEvaluator(AssignmentEvaluator):
    """Evaluates texts in which threads do something each."""

    def with_thread_loops(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a launch or a macro, what each thread does in loops over them."""
        if Automatic.TILES not in self.trace.automatic or self.trace.thread is not None:
            return body

        def fail(message: str, at: ast.stmt, hint: str) -> NoReturn:
            self.fail("thread-program", message, at, hint)

        body = in_memory(body, partial(WarpExchange, self.trace))
        return as_runs(body, self._truths, private_var, partial(thread_loop, self.trace), fail)

    def _truths(self, test: ast.expr) -> tuple[bool, ...] | None:
        """For which threads a condition holds, if its parts are thread numbers and numbers."""
        names = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
        modules = {n.value.id for n in ast.walk(test)
                   if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}  # fmt: skip
        if any(python_number(self.scope.find(name)) is None for name in names - modules):
            return None
        try:
            value = self.evaluate(test)
        except KernelError:
            return None
        return tuple(map(bool, value.values)) if isinstance(value, ThreadNumber) else None
