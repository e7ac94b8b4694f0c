"""One random mixed kernel from a number, in developer style: statements of both cores in one text."""

from __future__ import annotations

import random
from collections.abc import Sequence

from fuzz.kernels.writing import Illegal, Writer
from fuzz.mixed.control import Control
from fuzz.mixed.tensors import CID, VID, Tensors
from fuzz.mixed.work import Draw, Known, Work
from tile_ir import Automatic, Func, Launch, Phase
from tile_ir.dtypes import BOOL, FLOAT16, FLOAT32
from tile_ir.expr import Const, Var
from tile_ir.nodes import Body, Stmt
from tile_ir.traversal import buffers_of, walk

PARAMETERS = (Var("n"), Var("m"))
LANES, WEIGHTS = ("split", "one", "rows", "same"), (3, 2, 4, 1)
THREADS = {"split": 2, "one": 1, "rows": None, "same": None}


def random_mixed(seed: int) -> Func:
    """The kernel of a seed."""
    rng = random.Random(seed)
    writer = Writer(rng)
    blocks = rng.choice([1, 1, 2])
    tensors = Tensors(writer, rng.choices(LANES, WEIGHTS)[0], blocks, 16)
    tensors.declare()
    work = Work(writer, tensors)
    leaves = [*work.cube(), *work.vector(), *work.crossing()]
    if rng.random() < 0.5:
        leaves += work.scalars()
    control = Control(writer, work, leaves, rng.choice([4, 7, 10, 14]))
    known = Known([*PARAMETERS, CID] if blocks > 1 else list(PARAMETERS))
    body = first_values(writer, tensors, work, known)
    while control.budget > 0:
        body += control.body(known, 1, 4)
    for last in (work.store_matrix, work.store_rows):
        body += drawn(last, known)
    return kernel(f"mixed{seed}", tensors, body)


def drawn(draw: Draw, known: Known) -> list[Stmt]:
    try:
        return draw(known)
    except Illegal:
        return []


def first_values(writer: Writer, tensors: Tensors, work: Work, known: Known) -> list[Stmt]:
    """Every buffer has a value before anything is drawn."""
    t = tensors
    body: list[Stmt] = []
    for buffer in t.l1:
        source = t.tile(work.pick(t.halves), work.place(known, 4))
        body.append(work.copy(source, t.whole(buffer)))
    for buffer in t.l0c:
        regions = (t.whole(work.pick(t.l1)), t.whole(work.pick(t.l1)), t.whole(buffer))
        body.append(writer.op("gemm_v0", *regions, Const(True, BOOL), attrs=(False, False)))
    for buffer in t.ub:
        source = t.own_rows(work.pick(t.floats), work.place(known, 4))
        body.append(work.copy(source, t.whole(buffer)))
    for buffer in t.ub_half:
        body.append(writer.op("fill", t.whole(buffer), Const(1.0, FLOAT16)))
    return body


def kernel(name: str, tensors: Tensors, body: Sequence[Stmt]) -> Func:
    """The function with what its body uses, order within and between cores left to the compiler."""
    writer = tensors.writer
    used = {b for s in walk(tuple(body)) for b in buffers_of(s)}
    allocs = tuple(a for a in writer.allocs if a.buffer in used)
    params = tuple(p for p in tensors.all() if p in used)
    loc = writer.loc()
    threads = THREADS[tensors.lanes]
    blocks = Const(tensors.blocks)
    whole: Body = tuple(body)
    launch = Launch(blocks, CID, VID, threads, allocs, whole, loc)
    automatic = frozenset({Automatic.SYNC, Automatic.CROSS})
    return Func(name, (*params, *PARAMETERS), launch, Phase.BUILT, loc, automatic)


__all__ = ["FLOAT32", "kernel", "random_mixed"]
