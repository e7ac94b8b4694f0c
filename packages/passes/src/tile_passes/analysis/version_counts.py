"""How many versions the buffers of a loop have, so that all of their slots are told apart."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tile_ir import Alloc, Buffer, buffer_bytes
from tile_ir.analysis import MOST_RESIDUES


def in_step(versions: Mapping[Buffer, int]) -> dict[Buffer, int]:
    """At least so many versions of each buffer, with a joint period that the order engine unrolls
    loops to: with five and two versions slots were the same after ten iterations only, and one flag
    stood for all. Of the periods the one that takes the fewest bytes. What has too many versions
    for any period stays."""
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
