"""Print an error of ours that a script does not catch: its own frames and the diagnostic.

A name that a module or an object of ours does not have is such an error too.

Frames of the compiler are left out. TILE_DEBUG=1 shows everything.
"""

from __future__ import annotations

import sys
from types import TracebackType

from tile_ir.diagnostics.errors import Stopped, TileError
from tile_ir.diagnostics.script_frames import OURS, script_frames
from tile_ir.switches import switch


class _Hook:
    """Stands before the hook that was there, which still gets every other exception."""

    def __init__(self) -> None:
        self.previous = sys.excepthook

    def __call__(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        ours = isinstance(error, (TileError, Stopped)) or _is_missing_name(error, trace)
        if not ours or switch("debug"):
            self.previous(kind, error, trace)
            return
        if isinstance(error, Stopped):  # where the user did that tells nothing
            sys.stderr.write(f"{error}\n")
            return
        import traceback

        text = "".join(traceback.format_list(script_frames(trace)))
        name = "" if isinstance(error, TileError) else f"{kind.__name__}: "
        sys.stderr.write(f"{text}{name}{error}\n")


def _is_missing_name(error: BaseException, trace: TracebackType | None) -> bool:
    """Whether a `__getattr__` of ours has raised the error."""
    if not isinstance(error, AttributeError) or trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = f"{trace.tb_frame.f_globals.get('__name__', '')}."
    return trace.tb_frame.f_code.co_name == "__getattr__" and module.startswith(OURS)


def show_errors_plainly() -> None:
    """Install the hook once in a process; importing the language does so."""
    if not isinstance(sys.excepthook, _Hook):
        sys.excepthook = _Hook()
