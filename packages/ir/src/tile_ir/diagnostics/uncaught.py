"""Print an error of ours that a script does not catch: its own frames and the diagnostic.

Frames of the compiler are left out. TILE_DEBUG=1 shows everything.
"""

from __future__ import annotations

import sys
from types import TracebackType

from tile_ir.diagnostics.errors import Stopped, TileError
from tile_ir.diagnostics.script_frames import script_frames
from tile_ir.switches import switch


class _Hook:
    """Stands before the hook that was there, which still gets every other exception."""

    def __init__(self) -> None:
        self.previous = sys.excepthook

    def __call__(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, (TileError, Stopped)) or switch("debug"):
            self.previous(kind, error, trace)
            return
        if isinstance(error, Stopped):  # where the user did that tells nothing
            sys.stderr.write(f"{error}\n")
            return
        import traceback

        text = "".join(traceback.format_list(script_frames(trace)))
        sys.stderr.write(f"{text}{error}\n")


def show_errors_plainly() -> None:
    """Install the hook once in a process; importing the language does so."""
    if not isinstance(sys.excepthook, _Hook):
        sys.excepthook = _Hook()
