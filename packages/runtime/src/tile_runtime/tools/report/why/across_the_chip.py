"""Find limits of a run between its cores: launching, cores without work, blocks that start one
after the other. Looks into no block; the memory that cores share is in `shared_memory`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tile_runtime.tools.report.number_text import microseconds
from tile_runtime.tools.report.why.finding import Cause, percents, plural
from tile_runtime.tools.report.why.measures import Measures

# Shares of the time from which on a cause is the answer.
MOSTLY_LAUNCH = 0.6
MANY_IDLE = 0.3
MANY_STARTS = 0.2
# Blocks that differ by no more than this from the mean are alike.
_ALIKE = 0.2


def launch_findings(m: Measures) -> Iterator[Cause]:
    line = m.run.timeline
    start = line.totals["start_cycles"] / line.mhz + line.totals["launch_us"]
    share = start / line.task_microseconds
    if share >= MOSTLY_LAUNCH:
        yield Cause(
            "launch",
            "launching",
            f"{microseconds(start)} of {microseconds(line.task_microseconds)} go by "
            f"before the {plural(m.chains.used, 'core')} it starts "
            f"{'has' if m.chains.used == 1 else 'have'} begun",
            "give one launch more work, or join the kernel with its neighbours",
            share,
            by_hand=True,
        )


def idle_findings(m: Measures) -> Iterator[Cause]:
    chains = m.chains
    idle = 1 - chains.taken / (chains.cores * m.body)
    if idle < MANY_IDLE:
        return
    count = len(chains.blocks)
    unused = 1 - chains.used / chains.cores
    spans = chains.end - chains.start
    mean, longest = float(spans.mean()), int(np.argmax(spans))
    on_used = 1 - (1 - idle) / (1 - unused)
    places = tuple(m.path.sums(lambda part: m.run.shown_place(part.place)))[:1]
    if spans[longest] > (1 + _ALIKE) * mean and on_used > unused:
        # A run may have no line that it spends time at.
        most = f"; that block's core spends most at {m.line_text(places[0])}" if places else ""
        yield Cause(
            "imbalance",
            "one core",
            f"block {chains.blocks[longest]} takes {m.time(spans[longest])}, the mean of "
            f"{plural(count, 'block')} {m.time(mean)}, and {percents(idle)} of the cores' time is "
            f"idle{most}",
            "deal the work out evenly: split what the long block does over several, or give out "
            "long blocks first",
            idle,
            places,
        )
    elif unused >= on_used:
        yield Cause(
            "few blocks",
            "idle cores",
            f"{plural(count, 'block')} on {chains.cores} cores",
            "cut the work into more blocks: smaller tiles, or the reduction split over blocks",
            idle,
        )
    else:
        waves = -(-count // chains.cores)
        left = count - (waves - 1) * chains.cores
        yield Cause(
            "last wave",
            "the last wave",
            f"{plural(count, 'block')} on {chains.cores} cores take {waves} "
            f"waves, and the last one keeps {plural(left, 'core')} busy",
            f"choose tiles that give a multiple of {chains.cores} blocks, or many more of them",
            idle,
        )


def start_findings(m: Measures) -> Iterator[Cause]:
    chain = m.chains.last
    share = m.chains.gaps / m.body
    if share >= MANY_STARTS:
        each = m.chains.gaps / (len(chain) - 1)
        yield Cause(
            "block starts",
            "the start of blocks",
            f"{len(m.chains.blocks):,} blocks on {m.chains.cores} cores, "
            f"{m.time(each)} before each, {percents(share)} of the time",
            _deal_blocks(m),
            share,
        )


def _deal_blocks(m: Measures) -> str:
    loop = f"{m.chains.cores} blocks that go over the tiles in a loop"
    if m.run.facts.ordered:
        # One option lets the compiler do it.
        option = 'pass_configs={"tl.ascend_persistent": True}'
        return f"make it persistent, {loop}: one option does it, {option}"
    return f"make it persistent, {loop} (`for ... in T.Persistent(...)`), or larger tiles"
