"""Write the verdict on a timed run: its bound, its distance from the roofline, the change.

The files beside this one hold the rules; this one chooses one of their findings.
"""

from __future__ import annotations

import math

from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.tools.report.number_text import microseconds
from tile_runtime.tools.report.timed_run import Place
from tile_runtime.tools.report.why.across_the_chip import (
    idle_findings,
    launch_findings,
    start_findings,
)
from tile_runtime.tools.report.why.between_ranks import rank_findings
from tile_runtime.tools.report.why.finding import Cause, percents, plural
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.shared_memory import memory_findings
from tile_runtime.tools.report.why.within_a_core import core_findings


@dataclass(frozen=True, slots=True)
class Verdict:
    """`bound` is the cause in a word or two. Three lines say it: `what` binds the run and how far
    it is from the roofline, the `evidence`, and what to `do`; the last two are empty where nothing
    ran. `places` are the lines of source it is about; `also` are sentences about what else holds
    the run back."""

    bound: str
    what: str
    evidence: str = ""
    do: str = ""
    places: tuple[Place, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The three lines as one sentence."""
        if not self.evidence:
            return f"{self.what}."
        return f"{self.what}: {self.evidence}: {self.do}."


def verdict(m: Measures) -> Verdict:
    """Why a run took its time."""
    line = m.run.timeline
    if not len(line.events):
        return Verdict("nothing", "Nothing ran: no core has executed an instruction")
    if not math.isfinite(line.totals["cycles"]):
        return Verdict(
            "hang",
            "Would hang on the chip: blocks wait for others that no core is free to run; launch no "
            f"more of them than the {m.chains.cores} cores",
        )
    found = _found(m)
    if not found:
        return Verdict("nothing", "Nothing worked: cores only waited and set flags")
    first, others = found[0], found[1:]
    return Verdict(
        first.bound,
        f"Bound by {first.what}, {_distance(m)}",
        first.evidence,
        _do(m, first),
        first.places,
        tuple(f"Then by {f.what}: {f.evidence}: {f.change}." for f in others),
    )


def _do(m: Measures, first: Cause) -> str:
    """The best tried change; where none helps, that, and the change by hand."""
    tried = m.run.facts.tried
    if not tried:
        return first.change
    best = tried[0]
    if best.advised:
        # Vector instructions in place of scalar ones are worth more than any size.
        more = f"; by hand: {first.change}" if first.by_hand and first.bound == "scalar" else ""
        return best.text + more
    fastest = f"the fastest is {best.text}" if best.after else "none gives the same result"
    said = (
        f"{plural(len(tried), 'change')} of sizes, loops and options tried, none helps: {fastest}"
    )
    return f"{said}; by hand: {first.change}" if first.by_hand else said


def _found(m: Measures) -> list[Cause]:
    """All that hold. No schedule makes launching quicker or more of the memory; of the rest, what
    takes most of the cores' time comes first, and what a core does has the time it is at work."""
    idle, starts = [*idle_findings(m)], [*start_findings(m)]
    at_work = math.prod(1 - finding.share for finding in (*idle, *starts))
    inside = [replace(f, share=f.share * at_work) for f in core_findings(m)]
    rest = sorted([*idle, *starts, *inside, *rank_findings(m)], key=lambda finding: -finding.share)
    return [*launch_findings(m), *memory_findings(m), *rest]


def _distance(m: Measures) -> str:
    """The distance from the roofline."""
    roof = m.roofline
    if not roof.least[roof.bound]:
        return "no roofline, as it neither calculates nor moves anything"
    least = microseconds(roof.least[roof.bound] * 1e6)
    if roof.share > 1:
        why = ", as L2 holds what it wrote last" if roof.bound == "HBM" else ""
        return f"beyond the roofline ({roof.bound} alone: {least}){why}"
    return f"at {percents(roof.share)} of the roofline ({roof.bound} alone: {least})"
