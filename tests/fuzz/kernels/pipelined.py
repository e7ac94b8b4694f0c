"""The same kernels with loops that are to be pipelined, as they are before `inject_pipeline`."""

from __future__ import annotations

import random
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
    return func.with_body(in_pipelines(func.launch.body, rng)).at_phase(Phase.SPLIT)


def in_pipelines(body: Body, rng: random.Random) -> Body:
    """The body with most of its loops to be pipelined."""
    found = []
    for stmt in body:
        stmt = with_bodies(stmt, tuple(in_pipelines(b, rng) for b in bodies(stmt)))
        if isinstance(stmt, For) and stmt.kind is LoopKind.SERIAL and rng.random() < 0.8:
            stmt = replace(stmt, kind=LoopKind.PIPELINED, stages=rng.randint(1, MOST_STAGES))
        found.append(stmt)
    return with_statements(body, found)
