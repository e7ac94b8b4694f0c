"""Where macros are called: text that stands once in the source and several times in a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tile_ir.diagnostics.errors import Diagnostic
from tile_ir.location import Loc

# Of a macro that is called often, so many calls are told.
_MOST_CALLS = 3


@dataclass(frozen=True, slots=True)
class Expansion:
    """One call of a macro, whose text has these lines."""

    macro: str
    file: str
    first: int
    last: int
    call: Loc

    def note(self) -> Diagnostic:
        return Diagnostic("", f"macro `{self.macro}` is called here", self.call, severity="note")

    def holds(self, loc: Loc) -> bool:
        return self.file == loc.file and self.first <= loc.line <= self.last


def calls_to(loc: Loc | None, expansions: Sequence[Expansion]) -> tuple[Diagnostic, ...]:
    """Notes about the calls that may have brought a place of a macro's text into the kernel, and in
    turn about those of the macros around them."""
    return tuple(dict.fromkeys(_calls(loc, expansions, 0)))


def _calls(loc: Loc | None, expansions: Sequence[Expansion], depth: int) -> Iterator[Diagnostic]:
    if loc is None or depth > len(expansions):
        return
    for expansion in list(dict.fromkeys(e for e in expansions if e.holds(loc)))[:_MOST_CALLS]:
        yield expansion.note()
        yield from _calls(expansion.call, expansions, depth + 1)
