"""Choose the number of versions of each buffer of a loop, with a period that has a flag a slot."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tile_ir import Alloc, Buffer, buffer_bytes
from tile_ir.analysis import MOST_RESIDUES


def in_step(versions: Mapping[Buffer, int]) -> dict[Buffer, int]:
    """Return at least so many versions of each buffer, with a joint period that loops are unrolled
    to. With five versions of one and two of another, slots are the same after ten iterations, and
    one flag stands for all. Of the periods it takes the one with the fewest bytes. Counts that are
    larger than any period stay."""
    most = max(versions.values(), default=1)
    if math.lcm(*versions.values()) <= MOST_RESIDUES or most > MOST_RESIDUES:
        return dict(versions)

    def with_period(period: int) -> dict[Buffer, int]:
        divisors = [n for n in range(1, period + 1) if period % n == 0]
        return {b: next(n for n in divisors if n >= count) for b, count in versions.items()}

    return min(
        map(with_period, range(most, MOST_RESIDUES + 1)),
        key=lambda found: sum(n * buffer_bytes(Alloc(b, b.loc)) for b, n in found.items()),
    )
