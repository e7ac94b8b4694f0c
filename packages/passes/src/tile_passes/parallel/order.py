"""Barriers between the steps of a nest: a vector barrier where both sides run on the vector pipe, a
full one where pipes meet, none between steps that share no buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tile_ir import Buffer, Loc, Memory, Op, Store
from tile_ir.expr import Load
from tile_ir.expr import walk as walk_expr
from tile_ir.machine import Pipe
from tile_ir.nodes import Body, Stmt
from tile_ir.opdef import accesses, pipe_of
from tile_ir.walk import expressions, walk
from tile_passes.lowering.builder import Builder


@dataclass(frozen=True, slots=True)
class Work:
    """What a step touches and the pipes it keeps busy."""

    reads: frozenset[Buffer]
    writes: frozenset[Buffer]
    pipes: frozenset[Pipe]

    def meets(self, other: Work) -> bool:
        return bool(
            self.writes & (other.reads | other.writes) or other.writes & (self.reads | self.writes)
        )


VECTOR_ONLY = frozenset({Pipe.V})


def work_of(body: Sequence[Stmt]) -> Work:
    """What the statements touch, inner ones included."""
    reads: set[Buffer] = set()
    writes: set[Buffer] = set()
    pipes: set[Pipe] = set()
    for stmt in walk(tuple(body)):
        for e in expressions(stmt):
            for part in walk_expr(e):
                if isinstance(part, Load) and part.buffer.memory is not Memory.VAR:
                    reads.add(part.buffer)
                    pipes.add(Pipe.S)
        match stmt:
            case Op():
                for region, access in accesses(stmt):
                    if access.reads:
                        reads.add(region.buffer)
                    if access.writes:
                        writes.add(region.buffer)
                pipes.add(pipe_of(stmt))
            case Store(buffer=buffer):
                if buffer.memory is not Memory.VAR:
                    writes.add(buffer)
                    pipes.add(Pipe.S)
    return Work(frozenset(reads), frozenset(writes), frozenset(pipes))


def in_order(steps: Sequence[Stmt], builder: Builder) -> Body:
    """The steps with barriers between those that meet. A vector barrier orders vector work only:
    what stands before it still meets the other pipes."""
    result: list[Stmt] = []
    since_full: list[Work] = []
    fenced = 0  # how many of those stand before the last vector barrier
    for step in steps:
        work = work_of((step,))
        met = [i for i, earlier in enumerate(since_full) if earlier.meets(work)]
        if any(not (since_full[i].pipes | work.pipes) <= VECTOR_ONLY for i in met):
            result.append(builder.barrier_all(step.loc))
            since_full, fenced = [], 0
        elif any(i >= fenced for i in met):
            result.append(builder.barrier("v", step.loc))
            fenced = len(since_full)
        since_full.append(work)
        result.append(step)
    return tuple(result)


def repeated_in_order(
    steps: Sequence[Stmt], own: Sequence[Buffer], loc: Loc, builder: Builder
) -> Body:
    """The body of a loop over rows. Rounds write different rows, but may use the same tiles."""
    body = in_order(steps, builder)
    work = work_of(steps)
    return (barrier(work, loc, builder), *body) if work.writes & frozenset(own) else body


def fenced(steps: Sequence[Stmt], own: Sequence[Buffer], loc: Loc, builder: Builder) -> Body:
    """The steps of a whole nest, ordered against what stands around it where that is not the
    user's business: when they use tiles of the compiler's or pipes the user does not see."""
    body = in_order(steps, builder)
    work = work_of(steps)
    single = len(steps) == 1 and isinstance(steps[0], Op)
    if single or not body:
        return body
    if work.pipes <= VECTOR_ONLY:
        hidden = (work.reads | work.writes) & frozenset(own)
        return (barrier(work, loc, builder), *body) if hidden else body
    every = builder.barrier_all(loc)
    return (every, *body, builder.barrier_all(loc))


def barrier(work: Work, loc: Loc, builder: Builder) -> Op:
    return builder.barrier("v", loc) if work.pipes <= VECTOR_ONLY else builder.barrier_all(loc)


__all__ = ["fenced", "in_order", "repeated_in_order", "work_of"]
