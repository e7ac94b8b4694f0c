"""The same kernels with loops that are to be pipelined, as they are before `inject_pipeline`."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from fuzz.kernels.random_kernel import random_kernel
from tile_ir import Automatic, For, Func, Let, LoopKind, Phase
from tile_ir.nodes import Body, Given, Stmt
from tile_ir.traversal import bodies, breaks, with_bodies, with_statements
from tile_passes.pipelining.dependence_graph import dependence_graph
from tile_passes.pipelining.modulo_schedule import ordered, raise_stages
from tile_passes.pipelining.plan_versions import Candidates, version_candidates
from tile_passes.streams.items import Step

MOST_STAGES = 4


def pipelined_kernel(seed: int) -> Func:
    """The kernel of a seed, most of its loops pipelined."""
    func, rng = random_kernel(seed), random.Random(f"pipelined {seed}")
    func = replace(func, name=f"pipelined{seed}", automatic=frozenset({Automatic.SYNC}))
    func = func.with_body(in_pipelines(func.launch.body, some_stages(rng))).at_phase(Phase.SPLIT)
    return in_given_orders(func, rng) if rng.random() < 0.5 else func


def some_stages(rng: random.Random) -> Callable[[], int]:
    """One to four for most loops, none for the others."""
    return lambda: rng.randint(1, MOST_STAGES) if rng.random() < 0.8 else 0


def in_given_orders(func: Func, rng: random.Random) -> Func:
    """The kernel with pipelined loops that say in which order and stage each statement is: any that
    the statements allow."""
    given = {c.loop: _any_order(func, c, rng) for c in version_candidates(func)}

    def body(stmts: Body) -> Body:
        return with_statements(stmts, map(stmt, stmts))

    def stmt(old: Stmt) -> Stmt:
        new = with_bodies(old, tuple(body(b) for b in bodies(old)))
        said = given.get(old, ()) if isinstance(old, For) else ()
        return replace(new, given=said) if isinstance(new, For) and said else new

    return func.with_body(body(func.launch.body))


def _any_order(func: Func, loop: Candidates, rng: random.Random) -> tuple[Given, ...]:
    if any(breaks(loop.loop.body)):
        return ()
    steps = [Step(stmt, None) for stmt in loop.loop.body]
    iteration = dependence_graph(func, loop.loop, steps, (*loop.handed, *loop.others))
    stage = {u: rng.randrange(3) for u in iteration.units}
    keys = {u: (rng.random(), 0, 0) for u in iteration.units}
    if not raise_stages(iteration, stage, 3):
        return ()
    units = ordered(iteration, stage, keys)
    said: dict[Stmt, tuple[int, int]] = {}
    for unit in units or ():
        for s in unit.stmts:
            if not isinstance(s, Let):
                said[s] = (len(said), stage[unit])
    return tuple(Given(s.loc, *said[s]) for s in loop.loop.body if s in said)


def in_pipelines(body: Body, stages: Callable[[], int]) -> Body:
    """The body with its serial loops to be pipelined, in so many stages; with none they stay."""
    found = []
    for stmt in body:
        stmt = with_bodies(stmt, tuple(in_pipelines(b, stages) for b in bodies(stmt)))
        if isinstance(stmt, For) and stmt.kind is LoopKind.SERIAL and (count := stages()):
            stmt = replace(stmt, kind=LoopKind.PIPELINED, stages=count)
        found.append(stmt)
    return with_statements(body, found)
