"""A function with its pipelined loops written as their schedules say: serial loops, in which every
access names the version of its round. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tile_ir import (
    Body,
    Buffer,
    Const,
    For,
    Func,
    LoopKind,
    Stmt,
    Target,
    binary,
    bodies,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import Ranges, launch_ranges, ranges_inside, with_ranges
from tile_passes.free_names import FreeNames
from tile_passes.pipelining.in_versions import Version, own_in_version, with_versions
from tile_passes.pipelining.schedule import Schedule
from tile_passes.pipelining.skew import Again, skewed


def in_schedule(func: Func, schedules: Iterable[Schedule], target: Target) -> Func:
    """The function without pipelined loops; those that have no schedule are serial ones."""
    plan = {s.loop: s for s in schedules}
    new = {
        b: with_versions(b, count, target.alignment[b.memory])
        for schedule in plan.values()
        for b, count in schedule.versions.items()
    }
    first = {old: (buffer, Const(0)) for old, buffer in new.items()}
    scratch = {a.buffer: a for a in func.launch.allocs if a.scratch}
    again = Again(FreeNames.of(func), scratch)
    body = _Rounds(plan, new, again).body(func.launch.body, first, launch_ranges(func))
    if not new and not again.added:
        return func.with_body(body)
    allocs = tuple(replace(a, buffer=new.get(a.buffer, a.buffer)) for a in func.launch.allocs)
    return func.with_body(body, allocs=(*allocs, *again.added))


class _Rounds:
    """Puts the version of its round in every statement; pipelined loops become serial ones."""

    def __init__(
        self, plan: Mapping[For, Schedule], new: Mapping[Buffer, Buffer], again: Again
    ) -> None:
        self.plan, self.new, self.again = plan, new, again

    def body(self, body: Body, version: Mapping[Buffer, Version], known: Ranges) -> Body:
        sights = with_ranges(body, known)
        found = (s for stmt, here in sights for s in self.stmt(stmt, version, here))
        return with_statements(body, found)

    def stmt(self, stmt: Stmt, version: Mapping[Buffer, Version], known: Ranges) -> Body:
        new, inside = own_in_version(stmt, version), version
        if isinstance(new, For) and new.kind is LoopKind.PIPELINED:
            new = replace(new, kind=LoopKind.SERIAL, stages=0, given=())
        schedule = self.plan.get(stmt) if isinstance(stmt, For) else None
        if schedule is not None:
            var = schedule.loop.var
            inside = {
                **version,
                **{b: (self.new[b], binary("%", var, n)) for b, n in schedule.versions.items()},
            }
        within = ranges_inside(new, known)
        new = with_bodies(new, tuple(self.body(b, inside, within) for b in bodies(new)))
        if schedule is None or not schedule.skewed:
            return (new,)
        assert isinstance(new, For)
        order = schedule.arrangement
        units = {u: replace(u, stmts=self.body(u.stmts, inside, within)) for u in order.units}
        return skewed(new, order.of(units), self.again, known)


__all__ = ["in_schedule"]
