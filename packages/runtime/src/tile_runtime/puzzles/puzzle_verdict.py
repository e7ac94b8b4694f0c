"""The verdict of the judge about a file."""

from __future__ import annotations

from tile_ir.quick_dataclasses import dataclass

# What may be said, from the first step of the judge to the last.
UNFINISHED = "unfinished"  # `...` still stands in the file
BROKEN = "broken"  # Python raises an error
REFUSED = "refused"  # the compiler reports an error
AUTOMATIC = "automatic"  # the compiler does what the puzzle is about
FINDING = "finding"  # the simulator reports an error
WRONG = "wrong"  # the result is not that of the reference
SLOW = "slow"  # right, but above the limit of time
LATE = "late"  # the judge stopped it
RIGHT = "right"
KINDS = (UNFINISHED, BROKEN, REFUSED, AUTOMATIC, FINDING, WRONG, SLOW, LATE, RIGHT)


@dataclass(frozen=True, slots=True)
class PuzzleVerdict:
    """`kind` is one of the words above, `slug` that of the error. `text` is what a learner reads,
    with line and hint. `microseconds` and the `share` of the roofline are those of a timed run."""

    kind: str
    text: str = ""
    slug: str = ""
    microseconds: float | None = None
    share: float | None = None

    @property
    def right(self) -> bool:
        """Whether the puzzle is solved."""
        return self.kind == RIGHT
