"""Report mistakes found where only the values are known.

The evaluator, which knows the text, turns a `Fault` into a placed KernelError; outside a kernel it
is placed at the line of the caller.
"""

from __future__ import annotations

import linecache
import sys
from types import FrameType
from typing import NoReturn

from tile_frontend._tracing.current_kernel import CURRENT
from tile_frontend._tracing.source import display_name
from tile_ir import KernelError, Loc, Problem

PACKAGE = "tile_frontend"


class Fault(KernelError):
    """A KernelError that may still lack its place; `argument` names the parameter to blame, or
    numbers the index of a subscript."""

    argument: str | int | None

    def __new__(  # type: ignore[misc]
        cls, slug: str, message: str, hint: str | None = None, argument: str | int | None = None
    ) -> KernelError:
        """Outside a kernel a plain KernelError at the caller's line: nobody has to place it."""
        frame = None if CURRENT.get() else _caller()
        if frame is None:
            return super().__new__(cls)
        loc, text = _place(frame)
        return KernelError(slug, message, loc, hint, sources={loc.file: text})

    def __init__(
        self, slug: str, message: str, hint: str | None = None, argument: str | int | None = None
    ) -> None:
        super().__init__(slug, message, None, hint)
        self.argument = argument


def reject(problem: Problem, argument: str | None = None) -> NoReturn:
    """Raise what the op table found wrong."""
    raise Fault(problem.slug, problem.message, problem.hint, argument or problem.operand)


def outside_kernel(what: str) -> NoReturn:
    """Raise what is to be said of a statement that Python runs itself, and not a kernel: also in a
    plain function that a kernel calls, at the line of that function."""
    frame = _caller()
    message = f"`{what}` stands outside a kernel"
    hint = "put it into a function decorated with @T.prim_func or @T.macro"
    if frame is None:
        raise KernelError("outside-kernel", message, None, hint)
    loc, text = _place(frame)
    raise KernelError("outside-kernel", message, loc, hint, sources={loc.file: text})


def _caller() -> FrameType | None:
    """The innermost frame that is not ours."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != PACKAGE and not module.startswith(PACKAGE + "."):
            return frame
        frame = frame.f_back
    return None


def _place(frame: FrameType) -> tuple[Loc, str]:
    filename = frame.f_code.co_filename
    lines = linecache.getlines(filename, frame.f_globals)
    line = frame.f_lineno
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    column = len(text) - len(text.lstrip()) + 1
    if sys.version_info >= (3, 11):
        position = list(frame.f_code.co_positions())[frame.f_lasti // 2]
        line, column = position[0] or line, (position[2] or column - 1) + 1
    return Loc(display_name(filename), line, column), "".join(lines)
