"""Define errors as values with a place and a hint, and show them.

Three classes by whose move it is: `KernelError` (the user's source), `IRError` (a broken
invariant: ours when it follows a pass), `BuildError` (a compiler or device tool). The
runtime adds `SimulationError`. None of them decides what to do next.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tile_ir.diagnostics.script_frames import notebook_text
from tile_ir.location import Loc
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: `path:line:col: severity[slug]: message`, the line, a caret, a hint.

    A note about another place that matters has the severity `note` and no slug. A remark of a pass
    about a kernel that is right has the severity `warning`.
    """

    slug: str
    message: str
    loc: Loc | None = None
    hint: str | None = None
    severity: str = "error"

    def render(self, sources: Mapping[str, str] | None = None) -> str:
        """The text a user sees. `sources` maps a file name to its text as it was compiled."""
        place = f"{self.loc}: " if self.loc else ""
        kind = f"{self.severity}[{self.slug}]" if self.slug else self.severity
        lines = [f"{place}{kind}: {self.message}"]
        text = _source_line(self.loc, sources)
        if self.loc is not None and text is not None:
            stripped = text.lstrip()
            lead = len(text) - len(stripped)
            lines.append(f"    {stripped}")
            lines.append("    " + " " * max(self.loc.column - 1 - lead, 0) + "^")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


def _source_line(loc: Loc | None, sources: Mapping[str, str] | None) -> str | None:
    if loc is None or not sources or loc.file not in sources:
        return None
    lines = sources[loc.file].splitlines()
    return lines[loc.line - 1] if 0 < loc.line <= len(lines) else None


class TileError(Exception):
    """Base of every error this compiler raises on purpose."""

    def __init__(
        self,
        slug: str,
        message: str,
        loc: Loc | None = None,
        hint: str | None = None,
        *,
        sources: Mapping[str, str] | None = None,
        notes: Sequence[Diagnostic] = (),
    ) -> None:
        self.diagnostic = Diagnostic(slug, message, loc, hint)
        self.notes = tuple(notes)
        self.sources: Mapping[str, str] = dict(sources or {})
        super().__init__(self._rendered())

    @property
    def slug(self) -> str:
        return self.diagnostic.slug

    @property
    def message(self) -> str:
        return self.diagnostic.message

    @property
    def loc(self) -> Loc | None:
        return self.diagnostic.loc

    @property
    def hint(self) -> str | None:
        return self.diagnostic.hint

    def with_sources(self, sources: Mapping[str, str]) -> TileError:
        """The same error with the text of the files it names, so that it shows the line."""
        self.sources = {**sources, **self.sources}
        self.args = (self._rendered(),)
        return self

    def with_notes(self, notes: Iterable[Diagnostic]) -> TileError:
        """The same error with notes on other relevant places, each once."""
        self.notes = tuple(dict.fromkeys((*self.notes, *notes)))
        self.args = (self._rendered(),)
        return self

    def _render_traceback_(self) -> list[str]:
        """Return the lines of the error for IPython: the lines of the cells and the message."""
        from tile_ir.switches import switch

        if switch("debug"):
            import traceback

            return traceback.format_exception(self)
        files = {d.loc.file for d in (self.diagnostic, *self.notes) if d.loc is not None}
        return notebook_text(str(self), self.__traceback__, files).splitlines()

    def _rendered(self) -> str:
        return "\n".join(d.render(self.sources) for d in (self.diagnostic, *self.notes))


class KernelError(TileError, ValueError):
    """The kernel's source breaks a rule of the language. It is a ValueError too, which scripts for
    tilelang catch around calls and compilations."""


class CallError(KernelError):
    """A kernel object was handed arguments that do not fit its parameters."""


class IRError(TileError):
    """The IR breaks an invariant of its phase, or its text cannot be read."""


class BuildError(TileError):
    """A compiler or device tool is missing or failed; the message has its output."""


class Stopped(KeyboardInterrupt):
    """The user has interrupted a long search. Its text names the results that are kept, and is all
    that is shown; programs that catch interrupts catch it too."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines for IPython: the text alone."""
        return str(self).splitlines()


class OutOfBounds(Exception):
    """An access outside a buffer or a region; the caller that has the statement makes a diagnostic
    of it."""


class KernelWarning(UserWarning):
    """The kernel is right, but something in it is worth knowing: a `remark` of a pass or of the
    simulator."""

    def __init__(self, text: str, remark: Diagnostic) -> None:
        super().__init__(text)
        self.remark = remark


def warn(remarks: Iterable[Diagnostic]) -> None:
    """Show remarks of passes and of the simulator as Python warnings at the user's lines: filters
    of the warnings module select the visible ones, and every line is reported once."""
    for remark in remarks:
        place = remark.loc
        text = f"{remark.message}{f'; {remark.hint}' if remark.hint else ''} [{remark.slug}]"
        warnings.warn_explicit(
            KernelWarning(text, remark),
            KernelWarning,
            place.file if place else "<kernel>",
            place.line if place else 1,
        )


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the one known word with this as a part, else the closest, or None when
    nothing is close."""
    import difflib  # of no use until something is wrong

    words = list(known)
    part = [word for word in words if name in word.split("_")]
    close = part if len(part) == 1 else difflib.get_close_matches(name, words, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else None


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
