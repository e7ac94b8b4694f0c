"""Rows about advice: what following it once gives on the slow kernels, by the model."""

from __future__ import annotations

import statistics
import sys
import time

from end_to_end.slow_kernels.corpus import CORPUS, Slow
from end_to_end.slow_kernels.follow_advice import Followed, follow_advice

from bench.row import Examples, Measurement, Row, exactly

# As many changes as a report tries.
TRIES = 12


def followed_advice(examples: Examples) -> list[Row]:
    """The median gain over all slow kernels, the least one, how far the worst prediction is off,
    and the gain of each."""
    found = [_followed(slow) for slow in CORPUS.values()]
    gains = [f.gain for f in found]
    off = [100 * abs(f.measured / f.predicted - 1) for f in found]
    return [
        Row(
            f"advice on {len(found)} slow kernels: gain", statistics.median(gains), min(gains),
            max(gains), "times", len(gains), 1.3, True,
        ),
        exactly("advice: the least gain", min(gains), "times", 1.0, more_is_better=True),
        exactly("advice: the worst prediction is off by", max(off), "%", 15),
        *(exactly(f"advice on {f.name}", f.gain, "times") for f in found),
    ]  # fmt: skip


def _followed(slow: Slow) -> Followed:
    """The advice on one kernel, told as soon as it is found: all of them take minutes."""
    begin = time.perf_counter()
    f = follow_advice(slow, {}, TRIES, apart=True)
    told = f"{f.before:.2f} -> {f.measured:.2f} us ({f.predicted:.2f} predicted), {f.tried} tried"
    seconds = time.perf_counter() - begin
    print(
        f"advice on {f.name}: {told} in {seconds:.0f} s: {f.verdict.do}",
        file=sys.stderr,
        flush=True,
    )
    return f


ADVICE: dict[str, Measurement] = {"advice": followed_advice}
