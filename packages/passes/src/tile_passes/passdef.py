"""Define a pass: a plain function from function to function, and the phases it connects."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tile_ir import Func, Phase, Target
from tile_ir.quick_dataclasses import dataclass

P = ParamSpec("P")
R = TypeVar("R")
PassFunction = Callable[[Func, Target], Func]


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass. `gives` is None when the phase stays; `optional` ones may be skipped; `folds` says
    that it only computes what the text says: a rule broken after it is the user's mistake."""

    name: str
    run: PassFunction
    needs: Phase
    gives: Phase | None
    optional: bool
    folds: bool = False

    @property
    def summary(self) -> str:
        """First line of the pass's docstring."""
        return (self.run.__doc__ or "").strip().splitlines()[0]


def ir_pass(
    needs: Phase,
    gives: Phase | None = None,
    optional: bool = False,
    folds: bool = False,
) -> Callable[[PassFunction], Pass]:
    """Make a pass of a function; it is called by the name of the function."""

    def decorate(fn: PassFunction) -> Pass:
        return Pass(fn.__name__, fn, needs, gives, optional, folds)

    return decorate
