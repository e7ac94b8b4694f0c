"""Functions that the text of a kernel defines: macros that see the names around them."""

from __future__ import annotations

import ast
from inspect import Parameter, Signature
from typing import Any

from tile_frontend._evaluate.decorators import Macro
from tile_frontend._evaluate.scope import Captured, Scope
from tile_frontend._tracing.source import Source


class InnerMacro(Macro):
    """A function of the text, with the values of its defaults."""

    def __init__(
        self, source: Source, node: ast.FunctionDef, scope: Scope, defaults: dict[str, Any]
    ) -> None:
        self.hygienic, self.captured, self.scope = False, Captured({}, {}, {}, {}), scope
        self.__name__, self.__doc__ = node.name, ast.get_docstring(node)
        self._found = source, node
        self.defaults = defaults

    def signature(self) -> Signature:
        args = self.text()[1].args
        kinds = [
            *((a, Parameter.POSITIONAL_ONLY) for a in args.posonlyargs),
            *((a, Parameter.POSITIONAL_OR_KEYWORD) for a in args.args),
            *((a, Parameter.KEYWORD_ONLY) for a in args.kwonlyargs),
        ]
        found = [
            Parameter(a.arg, kind, default=self.defaults.get(a.arg, Parameter.empty))
            for a, kind in kinds
        ]
        return Signature(found)

    def expand(self, args: Any, kwargs: dict[str, Any], caller: Scope | None) -> Any:
        return super().expand(args, kwargs, self.scope)


def defaults_of(args: ast.arguments) -> dict[str, ast.expr]:
    """The default of each parameter that has one."""
    plain = [*args.posonlyargs, *args.args]
    behind = plain[len(plain) - len(args.defaults) :]
    found = {a.arg: d for a, d in zip(behind, args.defaults, strict=True)}
    named = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    return found | {a.arg: d for a, d in named if d is not None}
