"""Show the verdict about a change: as text, as Markdown for a page, and as lines that a runner of
workflows turns into annotations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tile_ir import Diagnostic
from tile_runtime.scripts.columns import columns
from tile_runtime.tools.continuous_integration.check_change import ChangeVerdict
from tile_runtime.tools.continuous_integration.compare_times import TimeChange

_HEADER = ("kernel", "base us", "now us", "change")


def change_text(verdict: ChangeVerdict) -> str:
    """The findings with their lines, the table of times, and a count."""
    files = {f.diagnostic.loc.file for f in verdict.found if f.diagnostic.loc is not None}
    sources = {file: _text(verdict.root / file) for file in files}
    parts = [
        "\n".join(each.render(sources) for each in (found.diagnostic, *found.notes))
        for found in verdict.found
    ]
    rows = [_row(change) for change in verdict.changes]
    if rows:
        parts.append(columns([_HEADER, *rows], right=(1, 2)))
    return "\n\n".join([*parts, _counted(verdict)])


def change_markdown(verdict: ChangeVerdict) -> str:
    """The same for the summary of a run on a code host."""
    lines = [f"### Kernels: {_counted(verdict)}", ""]
    if verdict.changes:
        lines += [f"| {' | '.join(_HEADER)} |", "| --- | ---: | ---: | --- |"]
        lines += [f"| {' | '.join(map(_cell, _row(change)))} |" for change in verdict.changes]
        lines += ["", "Times are modelled, of one launch on the device.", ""]
    for found in verdict.found:
        each = found.diagnostic
        place = f"`{each.loc.file}:{each.loc.line}` " if each.loc else ""
        lines.append(f"- {place}{each.severity} `{each.slug}`: {_cell(each.message)}")
    return "\n".join(lines).rstrip() + "\n"


def workflow_commands(verdict: ChangeVerdict) -> Iterator[str]:
    """A line for each finding, as runners of GitHub's workflows read them."""
    for found in verdict.found:
        each = found.diagnostic
        level = each.severity if each.severity in ("error", "warning") else "notice"
        title = f"title={_escaped(each.slug, True)}"
        loc = each.loc
        place = "" if loc is None else f"file={_escaped(loc.file, True)},line={loc.line},"
        yield f"::{level} {place}{title}::{_escaped(_said(each))}"


def _said(diagnostic: Diagnostic) -> str:
    return diagnostic.message + (f"\nhint: {diagnostic.hint}" if diagnostic.hint else "")


def _escaped(text: str, inside: bool = False) -> str:
    """Text of a workflow command; in properties colons and commas have a meaning."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if inside else text


def _row(change: TimeChange) -> tuple[str, ...]:
    shown = change.shown
    name = f"{shown.kernel} ({shown.sizes})" if shown.sizes else shown.kernel
    before, after = (
        "-" if time is None else f"{time.microseconds:.2f}"
        for time in (change.before, change.after)
    )
    return name, before, after, change.text


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _counted(verdict: ChangeVerdict) -> str:
    against = f" against {verdict.base[:12]}" if verdict.base else ""
    warnings = sum(found.diagnostic.severity == "warning" for found in verdict.found)
    return (
        f"{_number(len(verdict.files), 'file')} judged{against}, {verdict.kept} of them before: "
        f"{_number(verdict.errors, 'error')}, {_number(warnings, 'warning')}"
    )


def _number(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
