"""Findings with paths below the current folder, where the checkout is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType

from tile_ir import Diagnostic, Loc
from tile_ir.quick_dataclasses import replace
from tile_runtime.tools.command_line.finding_formats import Found


def below(file: str) -> str:
    """The path of a file as a relative one, where it is below the current folder."""
    path = os.path.relpath(file) if os.path.isabs(file) else os.path.normpath(file)
    return file if path.startswith(os.pardir) else path


def relative(found: Found) -> Found:
    """A finding with such paths."""
    notes = tuple(map(_moved, found.notes))
    return replace(found, diagnostic=_moved(found.diagnostic), notes=notes)


def raised_in(file: str, slug: str, message: str, error: BaseException) -> Found:
    """A finding at the innermost line of a file on the way to an exception, with a note at the
    innermost line of the checkout where that is in another file."""
    places = list(_lines_of(error.__traceback__))
    own = [place for place in places if place.file == file]
    inner = [place for place in places[-1:] if place.file != file]
    notes = tuple(Diagnostic("", "raised here", place, severity="note") for place in inner)
    return Found(Diagnostic(slug, message, own[-1] if own else Loc(file, 1, 1)), notes)


def not_run(file: str, what: str, example: str) -> Found:
    """A finding about a file of which nothing runs."""
    hint = f"say how to run it, in a comment: `{example}`"
    return Found(Diagnostic("not-run", what, Loc(file, 1, 1), hint, "warning"))


def _moved(diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.loc is None:
        return diagnostic
    return replace(diagnostic, loc=replace(diagnostic.loc, file=below(diagnostic.loc.file)))


def _lines_of(trace: TracebackType | None) -> Iterator[Loc]:
    """The lines of the checkout that a traceback goes through, outermost first."""
    while trace is not None:
        file = below(trace.tb_frame.f_code.co_filename)
        if not os.path.isabs(file) and os.path.isfile(file):
            yield Loc(file, trace.tb_lineno, 1)
        trace = trace.tb_next
