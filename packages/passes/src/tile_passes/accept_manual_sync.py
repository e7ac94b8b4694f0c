"""Takes the flags and barriers of the source as they are, after checking that they are legal."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import Body, Diagnostic, Effect, Expr, Func, KernelError, Op, Phase, Section, Target
from tile_ir.analysis import Interval, Ranges, interval, launch_ranges, walk_with_ranges
from tile_ir.quick_dataclasses import replace
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.PLANNED, gives=Phase.SYNCED)
def accept_manual_sync(func: Func, target: Target) -> Func:
    """Check the ids of user flags; the verifier checks their pipes.

    Needs: PLANNED. Gives: SYNCED. Idea: compute the interval of each id. An id that the hardware
    has but no document names is a remark. Limits: `tile-ascend check` verifies that the flags
    suffice.
    """
    ranges = launch_ranges(func)
    remarks: list[Diagnostic] = []
    for stmt in func.launch.body:
        if isinstance(stmt, Section):
            remarks += _check(stmt.body, ranges, target)
    return replace(func, remarks=(*func.remarks, *remarks)) if remarks else func


def _check(body: Body, ranges: Ranges, target: Target) -> Iterator[Diagnostic]:
    for stmt, known in walk_with_ranges(body, ranges):
        if not isinstance(stmt, Op):
            continue
        match stmt.opdef.effect:
            case Effect.SET_FLAG | Effect.WAIT_FLAG:
                found = _check_id(stmt, "event_id", target.encoded_events_per_pair, known)
                if target.events_per_pair <= found.high < target.encoded_events_per_pair:
                    yield _undocumented(stmt, found, target)
            case Effect.SET_CROSS_FLAG | Effect.WAIT_CROSS_FLAG:
                _check_id(stmt, "flag", target.cross_flags, known)


def _check_id(op: Op, name: str, count: int, known: Ranges) -> Interval:
    value = op.operand(name)
    assert isinstance(value, Expr), f"{name} is a scalar"
    found = interval(value, known)
    if found.low >= count or found.high < 0:
        raise KernelError(
            "flag-id",
            f"{op.opdef.name}: {name} is {found.low:g} to {found.high:g}, "
            f"expected 0 to {count - 1}",
            op.loc,
        )
    return found


def _undocumented(op: Op, found: Interval, target: Target) -> Diagnostic:
    ids = f"{found.low:g}" if found.low == found.high else f"{found.low:g} to {found.high:g}"
    return Diagnostic(
        "event-id",
        f"{op.opdef.name}: event_id is {ids}, but documents name 0 to "
        f"{target.events_per_pair - 1} only",
        op.loc,
        f"take an id from 0 to {target.events_per_pair - 1}",
        "warning",
    )
