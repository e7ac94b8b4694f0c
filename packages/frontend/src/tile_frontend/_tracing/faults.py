"""Report mistakes found where only the values are known.

The evaluator has the text and turns a `Fault` into a placed KernelError; outside a kernel its place
is the line of the caller.
"""

from __future__ import annotations

import linecache
import sys
from contextvars import ContextVar
from types import FrameType
from typing import Any, NoReturn

from tile_frontend._tracing.source import display_name
from tile_ir import KernelError, Loc

PACKAGE = "tile_frontend"
# The `trace.Trace` of the kernel that is traced: set by `prim_func`, read by `T.` functions.
CURRENT: ContextVar[Any] = ContextVar("tile_frontend_trace", default=None)


class Fault(KernelError):
    """A KernelError that may still lack its place; `argument` names the parameter to blame, or
    numbers the index of a subscript."""

    argument: str | int | None

    def __new__(  # type: ignore[misc]
        cls, slug: str, message: str, hint: str | None = None, argument: str | int | None = None
    ) -> KernelError:
        """Outside a kernel, make a plain KernelError at the caller's line: there is no evaluator to
        place it."""
        return super().__new__(cls) if CURRENT.get() else _at_caller(slug, message, hint)

    def __init__(
        self, slug: str, message: str, hint: str | None = None, argument: str | int | None = None
    ) -> None:
        super().__init__(slug, message, None, hint)
        self.argument = argument


def outside_kernel(what: str) -> NoReturn:
    """Raise the error of a statement that Python runs itself, without a kernel. Inside a plain
    function that a kernel calls, its place is the line in that function."""
    raise _at_caller(
        "outside-kernel",
        f"`{what}` stands outside a kernel",
        "put it into a function decorated with @T.prim_func or @T.macro",
    )


def placed(error: KernelError, loc: Loc) -> KernelError:
    """The error at this place, where it has none."""
    if error.loc is not None:
        return error
    return KernelError(error.slug, error.message, loc, error.hint)


def _at_caller(slug: str, message: str, hint: str | None) -> KernelError:
    """An error at the line of the innermost frame that is not ours."""
    found = place_of_caller()
    if found is None:
        return KernelError(slug, message, None, hint)
    loc, text = found
    return KernelError(slug, message, loc, hint, sources={loc.file: text})


def place_of_caller() -> tuple[Loc, str] | None:
    """Where the innermost frame that is not ours stands, and the text of its file."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != PACKAGE and not module.startswith(PACKAGE + "."):
            return _place(frame)
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
