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


def names_made(line: str) -> tuple[str, ...]:
    """The names a line of C++ gives to local tensors it makes, in their order."""
    found = [m for pattern in (_ASSIGNED, _CONSTRUCTED) for m in pattern.finditer(line)]
    found.sort(key=lambda m: m.start("name"))
    return tuple(dict.fromkeys(m["name"] for m in found))


def name_buffers(text: str, sources: Mapping[str, Sequence[str]]) -> str:
    """The text with names for buffers where they are known; `sources` holds the lines of every
    source by the last part of its path. Of several made on one line it may be any."""

    def named(match: re.Match[str]) -> str:
        lines = sources.get(PurePath(match["file"]).name, ())
        number = int(match["line"])
        names = names_made(lines[number - 1]) if 0 < number <= len(lines) else ()
        either = " or ".join(f"'{name}'" for name in names)
        return f"{either} ({match['memory']})" if names else match[0]

    return _MADE.sub(named, text)
