"""Names for the buffers in a report of the simulator, read from the lines that made them.

The simulator knows where a kernel made a buffer, not what it calls it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

_MADE = re.compile(r"the (?P<memory>\w+) buffer made at (?P<file>[^\s:]+):(?P<line>\d+)")
# `T x = queue.Get…(…)`, `x = queue.AllocTensor…`, or `LocalTensor<T> x(…)`.
_ASSIGNED = re.compile(r"(?P<name>\w+)\s*=\s*[^=;]*(?:Get|Alloc|LocalTensor)")
_CONSTRUCTED = re.compile(r"LocalTensor<.*?>\s+(?P<name>\w+)\s*[({]")


def buffer_name(line: str) -> str | None:
    """The name a line of C++ gives to the local tensor it makes."""
    match = _ASSIGNED.search(line) or _CONSTRUCTED.search(line)
    return match["name"] if match else None


def name_buffers(text: str, sources: Mapping[str, Sequence[str]]) -> str:
    """The text with names for buffers where they are known; `sources` holds the lines of every
    source by the last part of its path."""

    def named(match: re.Match[str]) -> str:
        lines = sources.get(PurePath(match["file"]).name, ())
        number = int(match["line"])
        name = buffer_name(lines[number - 1]) if 0 < number <= len(lines) else None
        return match[0] if name is None else f"'{name}' ({match['memory']})"

    return _MADE.sub(named, text)
