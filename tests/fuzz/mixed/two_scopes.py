"""Kernels with a scope for each core, which hand tiles over in workspaces of their own: the text of
one core stands before that of the other, so that it does not say what comes first. With each comes a
kernel whose text does."""

from __future__ import annotations

import random

from fuzz.kernels.writing import Writer
from fuzz.mixed.random_mixed import PARAMETERS, first_values, kernel
from fuzz.mixed.tensors import PLACES, Tensors
from fuzz.mixed.work import Draw, Known, Work
from tile_ir import Core, For, Func, LoopKind, Section
from tile_ir.dtypes import FLOAT16, FLOAT32
from tile_ir.expr import Const, Expr, Var, substitute
from tile_ir.nodes import Op, Stmt
from tile_ir.opdef import core_of
from tile_ir.traversal import map_expressions


def two_scopes(seed: int) -> tuple[Func, Func]:
    """The kernel of a seed, and one that means the same and says it from top to bottom."""
    rng = random.Random(f"two scopes {seed}")
    writer = Writer(rng)
    lanes = rng.choice(["split", "one", "rows", "rows"])
    tensors = Tensors(writer, lanes, rng.choice([1, 2]), 16)
    tensors.declare(workspaces=0.0)
    work = Work(writer, tensors)
    known = Known(list(PARAMETERS))
    first = first_values(writer, tensors, work, known)
    halves = _rounds(rng, work, tensors, known)
    cube, vector, together = halves
    head = _of(first, Core.CUBE), _of(first, Core.VECTOR)
    scopes = [
        Section(Core.CUBE, (*head[0], *cube), writer.loc()),
        Section(Core.VECTOR, (*head[1], *vector), writer.loc()),
    ]
    if rng.random() < 0.4:
        scopes.reverse()
    name = f"scopes{seed}"
    return kernel(name, tensors, scopes), kernel(name, tensors, [*first, *together])


def _of(body: list[Stmt], core: Core) -> list[Stmt]:
    return [s for s in body if isinstance(s, Op) and core_of(s) is core]


def _rounds(
    rng: random.Random, work: Work, t: Tensors, known: Known
) -> tuple[list[Stmt], list[Stmt], list[Stmt]]:
    """What the cube core does, what the vector cores do, and both in the order that is meant."""
    w = work.writer
    loops = rng.random() < 0.8
    stop: Expr = rng.choice([*PARAMETERS, *PARAMETERS, Const(rng.randrange(5))])
    i, j = Var(w.name("i")), Var(w.name("j"))
    inner = known.inside(i, 4) if loops else known
    back = rng.random() < 0.6
    slots = rng.choice([1, 1, 2, 3] if back else [1, PLACES]) if loops else 1
    there = t.gm("w", FLOAT32, (t.blocks, max(slots, 1), t.side, t.side))
    t.to_vector.append(there)
    place: Expr = Const(0)
    if slots > 1:
        place = i if slots == PLACES else i % slots
    make = [*_drawn(work, inner, (work.load_matrix,), 0.5), *work.gemm(inner)]
    make.append(work.copy(t.whole(work.pick(t.l0c)), t.tile(there, place)))
    take: list[Stmt] = [work.copy(t.own_rows(there, place), t.whole(work.pick(t.ub)))]
    take += _drawn(work, inner, (work.compute, work.store_rows, work.load_rows), 0.5)
    finish: list[Stmt] = []
    if back:
        here = t.gm("x", FLOAT16, (t.blocks, 1, t.side, t.side))
        t.to_cube.append(here)
        take += work.narrow(inner)
        take.append(work.copy(t.whole(work.pick(t.ub_half)), t.own_rows(here, 0)))
        finish.append(work.copy(t.tile(here, 0), t.whole(work.pick(t.l1))))
        finish += work.gemm(inner)
    take += work.store_rows(inner)
    finish += work.store_matrix(inner)
    if not loops:
        return [*make, *finish], take, [*make, *take, *finish]

    def loop(var: Var, body: list[Stmt]) -> list[Stmt]:
        return [For(var, Const(0), stop, LoopKind.SERIAL, tuple(body), w.loc())]

    renamed = [_renamed(s, i, j) for s in take]
    after_loop = (work.store_matrix(known), work.store_rows(known))
    return (
        [*loop(i, [*make, *finish]), *after_loop[0]],
        [*loop(j, renamed), *after_loop[1]],
        [*loop(i, [*make, *take, *finish]), *after_loop[0], *after_loop[1]],
    )


def _drawn(work: Work, known: Known, draws: tuple[Draw, ...], share: float) -> list[Stmt]:
    """Some of these."""
    return [s for d in draws if work.writer.chance(share) for s in d(known)]


def _renamed(stmt: Stmt, old: Var, new: Var) -> Stmt:
    (found,) = map_expressions((stmt,), lambda e: substitute(e, {old: new}))
    return found
