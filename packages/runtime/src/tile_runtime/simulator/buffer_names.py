"""Names for the buffers in a report of the simulator, read from the places that made them.

The simulator reports the place where a kernel made a buffer, and not its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

_MADE = re.compile(
    r"the (?P<memory>\w+) buffer made at (?P<file>[^\s:]+):(?P<line>\d+)(?::(?P<column>\d+))?"
)
# `T x = queue.Get…(…)`, `x = queue.AllocTensor…`, `x.SetAddr(…)`, `PopStackBuffer<…>(x)`.
_ASSIGNED = re.compile(r"(?P<name>\w+)\s*=\s*[^=;]*(?:Get|Alloc|LocalTensor)")
_PLACED = re.compile(r"(?P<name>\w+)\.SetAddr\b|PopStackBuffer<.*?>\(\s*(?P<popped>\w+)")
# `LocalTensor<T> x(…), y{…}`: its type, and then each of its names.
_TYPE = re.compile(r"LocalTensor<.*?>\s+(?=\w)")
_DECLARATOR = re.compile(r"\s*(?P<name>\w+)\s*(?P<next>[({\[=,;])")
_OPENING, _CLOSING = "([{", ")]}"


def names_made(line: str) -> tuple[tuple[int, str], ...]:
    """The names a line of C++ gives to local tensors it makes, each with where it begins (from 0),
    in their order."""
    found = {m.start("name"): m["name"] for m in _ASSIGNED.finditer(line)}
    for match in _PLACED.finditer(line):
        group = "name" if match["name"] else "popped"
        found[match.start(group)] = match[group]
    for match in _TYPE.finditer(line):
        found.update(_declared(line, match.end()))
    return tuple(sorted(found.items()))


def _declared(line: str, begin: int) -> Iterator[tuple[int, str]]:
    """The names of a declaration whose type ends at `begin` that have a value there."""
    while (match := _DECLARATOR.match(line, begin)) is not None:
        if match["next"] in "({[=":
            yield match.start("name"), match["name"]
        begin = _end_of_declarator(line, match.start("next"))
        if line[begin : begin + 1] != ",":
            return
        begin += 1


def _end_of_declarator(line: str, begin: int) -> int:
    """Where the comma or semicolon behind a declarator stands, or what ends the line."""
    depth = 0
    for index in range(begin, len(line)):
        letter = line[index]
        depth += (letter in _OPENING) - (letter in _CLOSING)
        if depth < 0 or (depth == 0 and letter in ",;"):
            return index
    return len(line)


def name_buffers(text: str, sources: Mapping[str, Sequence[str]]) -> str:
    """The text with names for buffers where they are known; `sources` holds the lines of every
    source by the last part of its path. Of several made on one line it is the one before the
    column; without a column from the compiler, it may be any."""

    def named(match: re.Match[str]) -> str:
        lines = sources.get(PurePath(match["file"]).name, ())
        number, column = int(match["line"]), int(match["column"] or 0)
        made = names_made(lines[number - 1]) if 0 < number <= len(lines) else ()
        if column:
            made = tuple(m for m in made if m[0] < column)[-1:]
        either = " or ".join(f"'{name}'" for name in dict.fromkeys(name for _, name in made))
        if either:
            return f"{either} ({match['memory']})"
        return match[0].removesuffix(f":{column}") if column else match[0]

    return _MADE.sub(named, text)


def places_made(text: str) -> tuple[tuple[str, int], ...]:
    """File and line of where each buffer the simulator's text mentions was made, each once."""
    found = ((m["file"], int(m["line"])) for m in _MADE.finditer(text))
    return tuple(dict.fromkeys(found))
