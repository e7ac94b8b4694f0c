"""The same kernels with loops that are to be pipelined, as they are before `inject_pipeline`."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from fuzz.kernels.random_kernel import random_kernel
from tile_ir import Automatic, For, Func, LoopKind, Phase
from tile_ir.nodes import Body
from tile_ir.walk import bodies, with_bodies, with_statements

MOST_STAGES = 4


def pipelined_kernel(seed: int) -> Func:
    """The kernel of a seed, most of its loops pipelined."""
    func, rng = random_kernel(seed), random.Random(f"pipelined {seed}")
    func = replace(func, name=f"pipelined{seed}", automatic=frozenset({Automatic.SYNC}))
    return func.with_body(in_pipelines(func.launch.body, some_stages(rng))).at_phase(Phase.SPLIT)


def some_stages(rng: random.Random) -> Callable[[], int]:
    """One to four for most loops, none for the others."""
    return lambda: rng.randint(1, MOST_STAGES) if rng.random() < 0.8 else 0


def in_pipelines(body: Body, stages: Callable[[], int]) -> Body:
    """The body with its serial loops to be pipelined, in so many stages; with none they stay."""
    found = []
    for stmt in body:
        stmt = with_bodies(stmt, tuple(in_pipelines(b, stages) for b in bodies(stmt)))
        if isinstance(stmt, For) and stmt.kind is LoopKind.SERIAL and (count := stages()):
            stmt = replace(stmt, kind=LoopKind.PIPELINED, stages=count)
        found.append(stmt)
    return with_statements(body, found)
