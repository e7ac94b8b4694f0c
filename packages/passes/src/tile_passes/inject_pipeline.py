"""Makes rounds of pipelined loops overlap: buffers that pipes hand over get versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tile_ir import Buffer, Diagnostic, For, Func, Phase, Target
from tile_ir.expr import Const, binary
from tile_ir.nodes import Body, LoopKind, Stmt
from tile_ir.walk import bodies, with_bodies, with_statements
from tile_passes.passdef import ir_pass
from tile_passes.pipelining.in_versions import Version, own_in_version, with_versions
from tile_passes.pipelining.plan_versions import Versions, plan_versions


@ir_pass(needs=Phase.SPLIT, gives=Phase.PIPELINED)
def inject_pipeline(func: Func, target: Target) -> Func:
    """Let rounds of pipelined loops overlap.

    Needs: SPLIT. Gives: PIPELINED. Idea: pipes take their work in program order and wait for flags
    only, so that a load of the next round begins while this one computes if it has bytes of its
    own: what one pipe fills and another empties in a round gets as many versions as the loop has
    stages, taken in turn. Limits: statements stay in their order, so that a scalar that is read
    keeps the next round from beginning; nothing where the order inside a core is the author's.
    """
    plan = plan_versions(func, target)
    new = {
        b: with_versions(b, count, target.alignment[b.memory])
        for versions in plan
        for b, count in versions.count.items()
    }
    body = _Rounds({v.loop: v for v in plan}, new).body(
        func.launch.body, {old: (buffer, Const(0)) for old, buffer in new.items()}
    )
    remarks = tuple(_short_of_memory(v) for v in plan if v.short)
    if new:
        allocs = tuple(replace(a, buffer=new.get(a.buffer, a.buffer)) for a in func.launch.allocs)
        func = func.with_body(func.launch.body, allocs=allocs)
    if remarks:
        func = replace(func, remarks=func.remarks + remarks)
    return func.with_body(body)


def _short_of_memory(versions: Versions) -> Diagnostic:
    found = ", ".join(
        f"`{b.name}` {versions.count.get(b, 1)} of {max(2, versions.loop.stages)}"
        for b in versions.short
    )
    memories = " and ".join(dict.fromkeys(b.memory.value for b in versions.short))
    return Diagnostic(
        "pipeline-versions",
        f"rounds of this loop overlap less than its stages allow: {memories} has no room for all "
        f"versions of what is handed from pipe to pipe ({found})",
        versions.loop.loc,
        "smaller tiles, or fewer stages",
        "warning",
    )


class _Rounds:
    """Puts the version of its round in every statement; pipelined loops become serial ones."""

    def __init__(self, plan: Mapping[For, Versions], new: Mapping[Buffer, Buffer]) -> None:
        self.plan, self.new = plan, new

    def body(self, body: Body, version: Mapping[Buffer, Version]) -> Body:
        return with_statements(body, (self.stmt(stmt, version) for stmt in body))

    def stmt(self, stmt: Stmt, version: Mapping[Buffer, Version]) -> Stmt:
        new, inside = own_in_version(stmt, version), version
        if isinstance(new, For) and new.kind is LoopKind.PIPELINED:
            new = replace(new, kind=LoopKind.SERIAL, stages=0)
        if isinstance(stmt, For) and stmt in self.plan:
            counts = self.plan[stmt].count
            numbers = {b: (self.new[b], binary("%", stmt.var, n)) for b, n in counts.items()}
            inside = {**version, **numbers}
        return with_bodies(new, tuple(self.body(b, inside) for b in bodies(new)))


__all__ = ["inject_pipeline"]
