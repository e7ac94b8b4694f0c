"""A timed run in a few lines for a terminal: the verdict, lines by work, pipes, and remarks. The
page says the same with pictures."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir.quick_dataclasses import replace
from tile_runtime.scripts.columns import columns
from tile_runtime.simulator.rank_tables import tables_text
from tile_runtime.simulator.time_error import modelled_text
from tile_runtime.tools.report.kernel_facts import TriedChange
from tile_runtime.tools.report.number_text import cut, microseconds, percent, short
from tile_runtime.tools.report.pipe_shares import PipeShare, pipe_shares
from tile_runtime.tools.report.timed_run import TimedRun, place_text
from tile_runtime.tools.report.why.bank_padding import BankConflict
from tile_runtime.tools.report.why.line_work import LineWork
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.verdict import verdict

_MOST_LINES = 12
_LONGEST_SOURCE = 60
_LONGEST_CHANGE = 100


def headline(run: TimedRun) -> str:
    """Kernel, chip and times."""
    return (
        f"{run.kernel} on {run.soc}, modelled {modelled_text(run.timeline)}; "
        f"source {run.source_hash}"
    )


def report_text(run: TimedRun) -> str:
    """The report as text."""
    return "\n".join(_parts(run))


def verdict_text(measures: Measures) -> str:
    """The verdict in three lines, and what else holds the run back, a sentence a line."""
    found = verdict(measures)
    lines = [f"{found.what}."]
    lines += [f"  evidence: {found.evidence}."] if found.evidence else []
    lines += [f"  do: {found.do}"] if found.do else []
    return "\n".join([*lines, *(f"  {sentence}" for sentence in found.also)])


def _tried(change: TriedChange) -> str:
    """A change and what it gives; the change in short, as what is advised stands above."""
    return replace(change, change=cut(change.change, _LONGEST_CHANGE)).text


def _parts(run: TimedRun) -> Iterator[str]:
    measures = Measures(run)
    yield headline(run)
    yield verdict_text(measures)
    if run.ranks is not None:
        yield f"\n{run.ranks.ranks} ranks, {run.ranks.times_text()}\n\n{tables_text(run.ranks)}"
    tried = run.facts.tried
    if tried:
        yield f"\nchanges tried ({len(tried)}), each on the same inputs:"
        yield "\n".join(f"  {_tried(change)}" for change in tried)
        if tried[0].paste:
            yield "\n" + "\n".join(("to paste:", *tried[0].paste))
    if not measures.lines:
        return
    whole = sum(line.total for line in measures.lines)
    shown = measures.lines[:_MOST_LINES]
    yield f"\nlines by work ({len(shown)} of {len(measures.lines)}):"
    head = ("", "place", "cycles", "of all", "path", "on", "source")
    yield columns([head, *(_line(measures, line, whole) for line in shown)], right=(2, 3, 4))
    if measures.banks:
        banks = measures.banks[:_MOST_LINES]
        yield f"\nbank conflicts ({len(banks)} of {len(measures.banks)} lines):"
        titles = ("", "place", "cycles", "what removes them")
        yield columns([titles, *map(_bank, banks)], right=(2,))
    yield "\npipes, mean over the cores that took part:"
    yield columns([_pipe(share, run.timeline.microseconds) for share in pipe_shares(run.timeline)])
    remarks = [("", place_text(place), remark) for place, remark in sorted(run.remarks.items())]
    if remarks:
        yield "\nremarks of the compiler:"
        yield columns(remarks)


def _line(measures: Measures, line: LineWork, whole: float) -> tuple[str, ...]:
    path = percent(line.decisive, measures.path.cycles) if line.decisive else ""
    pipes = ", ".join(f"{core} {pipe}" for core, pipe in line.work)
    return (
        "",
        place_text(line.place),
        short(line.total),
        percent(line.total, whole),
        path,
        pipes,
        cut(line.text, _LONGEST_SOURCE),
    )


def _bank(bank: BankConflict) -> tuple[str, ...]:
    return "", place_text(bank.place), short(bank.cycles), bank.advice


def _pipe(share: PipeShare, whole: float) -> tuple[str, ...]:
    waits = ", ".join(f"{reason} {percent(time, whole)}" for reason, time in share.waiting.items())
    return (
        "", f"{share.core} {share.pipe}", f"{percent(share.busy, whole)} busy",
        microseconds(share.busy), f"waits for {waits}" if waits else "",
    )  # fmt: skip
