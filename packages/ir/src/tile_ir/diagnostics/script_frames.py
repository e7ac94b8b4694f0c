"""Select the frames of a traceback that belong to the script or to a cell of a notebook."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traceback import FrameSummary

# How the names of our packages begin; there may be several code generators.
OURS = ("tile_ir.", "tile_frontend.", "tile_passes.", "tile_codegen_", "tile_runtime.")
# What runs the cells of a notebook.
_SHELL = ("IPython.", "ipykernel.")


def script_frames(trace: TracebackType | None) -> list[FrameSummary]:
    """Return the frames without those of the compiler and of the shell that runs a cell."""
    import traceback  # most scripts end without an error

    frames, ours = [], False
    for summary, (frame, _) in zip(
        traceback.extract_tb(trace), traceback.walk_tb(trace), strict=True
    ):
        module = f"{frame.f_globals.get('__name__', '')}."
        # Python's own part of our `with` statements is ours as well.
        ours = module.startswith(OURS) or (ours and module.startswith("contextlib."))
        if not ours and not module.startswith(_SHELL):
            frames.append(summary)
    return frames


def notebook_text(message: str, trace: TracebackType | None, files: set[str]) -> str:
    """Return the text of an error in a notebook: the lines of the cells, then the message.

    `files` are those that the message names. Cells stand in it by their numbers, as `In[3]`.
    """
    frames = script_frames(trace)
    lines = []
    for frame in frames:
        cell = _cell(frame.filename)
        place = f"Cell {cell}, line {frame.lineno}" if cell else f"{frame.filename}:{frame.lineno}"
        where = "" if frame.name == "<module>" else f", in {frame.name}"
        lines.append(f"{place}{where}" + (f"\n    {frame.line}" if frame.line else ""))
    for file in sorted(files, key=len, reverse=True):
        message = message.replace(file, _cell(file) or file)
    return "\n".join([*lines, message])


def _cell(file: str) -> str:
    """Return the number of a cell of a notebook as `In[3]`; "" for every other file."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    named = getattr(getattr(running, "compile", None), "format_code_name", None)
    found = named(file) if named is not None else None
    return str(found[1]) if found else ""
