"""Define the result of one rule: a limit of a run, its part of the time, and the change."""

from __future__ import annotations

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.tools.report.timed_run import Place


@dataclass(frozen=True, slots=True)
class Cause:
    """`bound` names the cause in a word or two; `what` goes on after "bound by", and `evidence` is
    what was measured; `change` is what to do, an imperative; `places` are the lines it is about,
    the most important first. `share` is how much of the time goes there, 0 to 1. A change that is
    made `by_hand` is none of sizes, loops and options, which can be tried."""

    bound: str
    what: str
    evidence: str
    change: str
    share: float
    places: tuple[Place, ...] = ()
    by_hand: bool = False


def percents(share: float) -> str:
    return f"{100 * share:.0f} %"


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")
