"""Whether HBM or L2, which all cores share, is what a run waits for."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import TARGETS
from tile_ir.costs.timing import timing_of
from tile_runtime.tools.report.why.finding import Cause, percents
from tile_runtime.tools.report.why.line_work import share_of_lines
from tile_runtime.tools.report.why.measures import Measures

# A memory that gives this share of its bandwidth is the answer. All of it is never reached: reads
# and write-backs take turns.
MOSTLY_USED = 0.65
# From this share of the roofline on the bytes of the tensors themselves are the answer.
NEAR_ROOF = 0.9
# So many times the bytes of the tensors come from HBM where L2 could have kept them.
AGAIN = 1.3
_FEWER_BYTES = (
    "only fewer bytes help: join it with the kernel before or behind it, or take a narrower type"
)
_TRANSFERS = ("MTE2", "MTE3", "FIX")


def memory_findings(m: Measures) -> Iterator[Cause]:
    """At most one: HBM, or else L2."""
    totals = m.run.timeline.totals
    target = TARGETS.get(m.run.soc)
    seconds = m.body / m.run.timeline.mhz * 1e-6
    moved = totals["read_bytes"] + totals["write_bytes"]
    hbm = totals["hbm_bytes"] / seconds / (m.run.timeline.hbm_bandwidth * 1e9)
    l2 = moved / seconds / (timing_of(target)["l2_bandwidth"] * 1e9) if target else 0.0
    if hbm >= MOSTLY_USED:
        again = totals["hbm_bytes"] / m.roofline.bytes if m.roofline.bytes else 1.0
        if again >= AGAIN:
            change = (
                f"its tensors come from HBM {again:.1f} times: let blocks that run together share "
                "what they load (T.use_swizzle, larger tiles), so that L2 still holds it"
            )
        else:
            change = _FEWER_BYTES
        yield _at_its_lines(
            m, "HBM", f"{percents(hbm)} of its bandwidth is in use", hbm, change, again < AGAIN
        )
    elif m.roofline.bound == "HBM" and m.roofline.share >= NEAR_ROOF:
        said = f"its tensors alone take {percents(m.roofline.share)} of the time"
        yield _at_its_lines(m, "HBM", said, m.roofline.share, _FEWER_BYTES, True)
    elif l2 >= MOSTLY_USED:
        change = "load less often: larger tiles use each byte for more work"
        yield _at_its_lines(
            m, "L2", f"{percents(l2)} of its bandwidth is in use", l2, change, False
        )


def _at_its_lines(
    m: Measures, memory: str, said: str, share: float, change: str, by_hand: bool
) -> Cause:
    found = share_of_lines(m.lines, lambda key: key[1] in _TRANSFERS)
    if found:
        said += f", most at {m.line_text(found[0][0].place)}"
    if m.off_line.share >= 0.5 and m.off_line.strided:
        said += f"; most rows ({m.off_line.size:.0f} bytes) do not start on multiples of 512 bytes"
        change = "pad rows in global memory to multiples of 512 bytes, or give blocks whole rows"
    places = tuple(line.place for line, _ in found[:2])
    return Cause(memory, memory, said, change, share, places, by_hand)
