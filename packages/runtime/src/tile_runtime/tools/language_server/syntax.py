"""Find the errors and warnings of Python itself in a text, without executing it."""

from __future__ import annotations

import ast
from pathlib import Path

from tile_runtime.tools.language_server.seen import SeenFinding


def syntax_mistake(path: Path, text: str) -> SeenFinding | None:
    """Why a text is no Python, if it is none."""
    try:
        ast.parse(text, str(path))
    except SyntaxError as error:
        return _mistake(path, error.msg, error.lineno or 1, error.offset or 1)
    except (ValueError, RecursionError, MemoryError) as error:  # a null byte; brackets too deep
        return _mistake(path, str(error) or "the text is nested too deeply")
    return None


def _mistake(path: Path, message: str, line: int = 1, column: int = 1) -> SeenFinding:
    return SeenFinding(str(path), line, column, "error", "python-syntax", message, "")
