"""Write pipelined loops as ordinary loops in which each stage is some iterations behind.

Iteration `i` of the new loop executes stage `k` of iteration `i - k`. Executed in the order of its
text it means what the old loop means, so that all later passes treat it as any other. Every access
names the version of its iteration. There are two forms:

* Inside a core the loop runs the iterations that have all stages, without a condition. Those of the
  prologue and the epilogue stand before and behind it. Where the loop may have fewer iterations
  than that takes, a branch keeps the loop as it was.
* Over both kinds of core the loop runs for all iterations, stage after stage, each under the
  condition that its iteration exists: the order between the cores is found for one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache, partial, reduce
from itertools import groupby

from tile_ir import (
    Alloc,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    If,
    Let,
    Section,
    Stmt,
    Target,
    Var,
    binary,
    bodies,
    buffers_of,
    map_expressions,
    reads_memory,
    replace_buffers,
    replace_own_buffers,
    rewrite,
    simplify,
    substitute,
    walk,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import Ranges, decided, launch_ranges, ranges_inside, trip_count, with_ranges
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.free_names import FreeNames
from tile_passes.pipelining.plan_versions import with_versions
from tile_passes.pipelining.schedule import Pipelined, Stages


# Who plans looks whether what is written has room, and then it is written.
@lru_cache(maxsize=4)
def skew_loops(func: Func, plans: tuple[Pipelined, ...], target: Target) -> Func:
    """Write the loops of a function as planned. Other pipelined loops stay."""
    plan = {p.loop: p for p in plans}
    names = FreeNames.of(func)
    new = {
        b: with_versions(b, count, target.alignment.get(b.memory, 1))
        for p in plans
        for b, count in p.versions.items()
    }
    # A tensor of the author's has the size that its caller gave it: versions are another one.
    declared = [b for p in plans if isinstance(p, Stages) for b in p.versions if b in p.declared]
    new |= {b: replace(new[b], name=names.fresh(f"{b.name}_versions")) for b in declared}
    scratch = {a.buffer: a for a in func.launch.allocs if a.scratch}
    writer = _LoopWriter(plan, new, names, scratch)
    body = writer.body(func.launch.body, dict.fromkeys(new, Const(0)), launch_ranges(func))
    if not new and not writer.added:
        return func.with_body(body)
    allocs = tuple(replace(a, buffer=new.get(a.buffer, a.buffer)) for a in func.launch.allocs)
    params = (
        *(new.get(p, p) if isinstance(p, Buffer) and p not in declared else p for p in func.params),
        *(new[b] for b in declared),
    )
    return replace(func.with_body(body, allocs=(*allocs, *writer.added)), params=params)


@dataclass(slots=True)
class _LoopWriter:
    """Writes loops as planned, with `new` buffers that have versions. Statements outside of a new
    loop get other names and, as `added`, `scratch` buffers of their own: with the same bytes they
    would wait for everything in between."""

    plan: Mapping[For, Pipelined]
    new: Mapping[Buffer, Buffer]
    names: FreeNames
    scratch: dict[Buffer, Alloc]
    added: list[Alloc] = field(default_factory=list)

    def body(self, body: Body, version: Mapping[Buffer, Expr], known: Ranges) -> Body:
        sights = with_ranges(body, known)
        found = (s for stmt, here in sights for s in self.stmt(stmt, version, here))
        return with_statements(body, found)

    def stmt(self, stmt: Stmt, version: Mapping[Buffer, Expr], known: Ranges) -> Body:
        new, inside = replace_own_buffers(stmt, self.new, version), version
        plan = self.plan.get(stmt) if isinstance(stmt, For) else None
        if plan is not None:
            own = {b: binary("%", plan.loop.var, n) for b, n in plan.versions.items()}
            inside = {**version, **own}
        within = ranges_inside(new, known)
        if plan is None or not (plan.skewed or isinstance(plan, Stages)):
            return (with_bodies(new, tuple(self.body(b, inside, within) for b in bodies(new))),)
        assert isinstance(new, For)
        written = partial(self.body, version=inside, known=within)
        if isinstance(plan, Stages):
            return (self.guarded(new, plan, written),)
        return self.peeled(new, plan, written, known)

    def guarded(self, loop: For, plan: Stages, written: Callable[[Body], Body]) -> For:
        """All iterations in one loop, stage after stage, in the order of the text within each."""
        arrangement, steps = plan.arrangement, plan.iteration.steps
        stage_of = {s: k for unit, k in arrangement.stage.items() for s in unit.stmts}
        body: list[Stmt] = []
        for stage in sorted(set(stage_of.values())):
            own = [s for s in steps if stage_of.get(s.stmt, stage) == stage]
            stmts = written(tuple(s.stmt for s in own))
            # Definitions stand in every stage, by names of their own.
            again = [new for old, new in zip(own, stmts, strict=True)
                     if stage and old.stmt not in stage_of]  # fmt: skip
            shifted = self.shifted(loop, stmts, loop.var, stage, again)
            cores = zip((s.core for s in own), shifted, strict=True)
            inside: list[Stmt] = []
            for core, group in groupby(cores, key=lambda pair: pair[0]):
                run = tuple(stmt for _, stmt in group)
                inside += run if core is None else (Section(core, run, run[0].loc),)
            # The iterations of the new loop that are one of the old.
            exists = [loop.var >= loop.start + stage] if stage else []
            if stage < arrangement.last:
                exists.append(loop.var < loop.stop + stage)
            if exists:
                condition = reduce(partial(binary, "and"), exists)
                inside = [If(condition, tuple(inside), (), loop.loc)]
            body += inside
        return replace(loop, stop=loop.stop + arrangement.last, body=tuple(body))

    def peeled(
        self, loop: For, plan: Pipelined, written: Callable[[Body], Body], known: Ranges
    ) -> Body:
        """A prologue, the loop, and an epilogue."""
        before: list[Stmt] = []

        def named(bound: Expr, what: str) -> Expr:
            """One value for what is used again behind the loop."""
            if not reads_memory(bound):
                return bound
            var = Var(self.names.fresh(f"{loop.var.name}_{what}"), bound.dtype)
            before.append(Let(var, bound, loop.loc))
            return var

        loop = replace(loop, body=written(loop.body))
        loop = replace(loop, start=named(loop.start, "start"), stop=named(loop.stop, "stop"))
        units = [(written(u.stmts), plan.arrangement.stage[u]) for u in plan.arrangement.units]
        pipelined = tuple(self.all_parts(loop, units, plan.arrangement.last))
        enough = simplify(trip_count(loop) >= plan.arrangement.last)
        always = decided(enough, known)
        if always is None:
            return (*before, If(enough, pipelined, self.elsewhere((loop,)), loop.loc))
        return (*before, *(pipelined if always else (loop,)))

    def all_parts(self, loop: For, units: Sequence[tuple[Body, int]], last: int) -> Iterator[Stmt]:
        def alone(number: Expr, stages: range) -> Iterator[Stmt]:
            for stmts, stage in units:
                if stage in stages:
                    shifted = self.shifted(loop, stmts, number, stage, stmts)
                    yield from self.elsewhere(rewrite(shifted, _taken))

        for turn in range(last):
            yield from alone(loop.start + turn, range(turn + 1))
        body = tuple(s for stmts, k in units for s in self.shifted(loop, stmts, loop.var, k, stmts))
        yield replace(loop, start=simplify(loop.start + last), body=body)
        for turn in range(last):
            yield from alone(loop.stop + turn, range(turn + 1, last + 1))

    def shifted(
        self, loop: For, stmts: Iterable[Stmt], number: Expr, stage: int, renamed: Iterable[Stmt]
    ) -> Body:
        """Statements of a stage as iteration `number` of the new loop executes them; definitions
        among `renamed` get names that are free."""
        at = simplify(number - stage)
        values: dict[Var, Expr] = {} if at == loop.var else {loop.var: at}
        again = set(renamed)
        found: list[Stmt] = []
        for old in stmts:
            (stmt,) = map_expressions((old,), partial(substitute, values=dict(values)))
            if isinstance(stmt, Let) and old in again:
                var = replace(stmt.var, name=self.names.fresh(stmt.var.name))
                values[stmt.var] = var
                stmt = replace(stmt, var=var)
            found.append(stmt)
        return tuple(found)

    def elsewhere(self, body: Body) -> Body:
        """The statements once more, as other objects: each has one place in the text."""
        used = dict.fromkeys(b for s in walk(body) for b in buffers_of(s) if b in self.scratch)
        new: dict[Buffer, Buffer] = {}
        for buffer in used:
            new[buffer] = replace(buffer, name=self.names.fresh(buffer.name))
            self.added.append(replace(self.scratch[buffer], buffer=new[buffer]))
            self.scratch[new[buffer]] = self.added[-1]
        return rewrite(replace_buffers(body, new) if new else body, replace)


def _taken(stmt: Stmt) -> Stmt | Body:
    """The side that a branch takes where the number of the iteration decides its condition: the
    other side may be nothing for this one. A side with definitions stays a scope of its own, since
    each iteration that stands alone has the same names."""
    if not isinstance(stmt, If) or not isinstance(stmt.condition, Const):
        return stmt
    side = stmt.then if stmt.condition.value else stmt.orelse
    return stmt if any(isinstance(s, Let) for s in side) else side
