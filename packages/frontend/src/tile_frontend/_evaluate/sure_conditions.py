"""Find branches and loops that surely never run, by the ranges of variables
(docs/rules/kernels.md#statements). No value is lost there."""

from __future__ import annotations

from tile_frontend._tracing.trace import Trace
from tile_ir import Expr, Var, resolved
from tile_ir.analysis import Interval, Ranges, decided, interval


def surely(trace: Trace, condition: Expr) -> bool | None:
    """Whether a condition always or never holds; None where that depends on the run."""
    return decided(resolved(condition, trace.known), _ranges(trace))


def most_rounds(trace: Trace, var: Expr, start: Expr, stop: Expr) -> float:
    """How many iterations a loop has at most; notes the range of its variable."""
    known = _ranges(trace)
    low, high = (interval(resolved(e, trace.known), known) for e in (start, stop))
    if isinstance(var, Var):
        trace.ranges[var] = Interval(low.low, max(high.high - 1, low.low))
    return max(0, high.high - low.low)


def _ranges(trace: Trace) -> Ranges:
    ranges: Ranges = {}
    header = trace.header
    if header is not None:
        # How many blocks there are is no more than a number of this launch.
        ranges[header.block] = Interval(0, float("inf"))
        ranges[header.lane] = Interval(0, 1 if header.threads is None else 0)
    return ranges | trace.ranges
