"""Bodies of random kernels in pipelined loops of every extent, number of stages and first round: the
compiler's order, and any other that their statements allow. Each gives what the loop gives as it is
written, and with it that each round is there once: a statement in every loop counts it."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest
from kept_cases import kept

from fuzz.barriers import barriers_everywhere
from fuzz.kernels import argument_sets, in_given_orders, in_pipelines, random_kernel
from fuzz.machine import run
from fuzz.verdict import check, difference, opinions, plan, run_failure, static_failures
from tile_ir import Alloc, Automatic, Buffer, For, Func, Memory, Op, Phase, Section, Store
from tile_ir.dtypes import FLOAT16, FLOAT32, INT32
from tile_ir.expr import Const, Expr, Load, Var, as_expr
from tile_ir.nodes import Body, LoopKind, Stmt
from tile_ir.ops import OPS
from tile_ir.regions import Region
from tile_ir.traversal import rewrite, with_statements
from tile_ir.verification.verifier import verify

BODIES = 300
ROUNDS = 16
EXTENTS, STARTS = range(10), (0, 1, 3)
LOOPS = list(product(EXTENTS, range(1, 5), STARTS))
# Four loops for each body: with 30 bodies every loop is there.
CASES = [(seed, *LOOPS[(4 * seed + k) % len(LOOPS)]) for seed in range(BODIES) for k in range(4)]


@pytest.mark.parametrize(("seed", "extent", "stages", "start"), kept(CASES, 36))
def test_pipelined_equals_serial(seed: int, extent: int, stages: int, start: int) -> None:
    func = pipelined(random_kernel(seed), extent, stages, start)
    if seed % 2:
        func = in_given_orders(func, random.Random(f"{seed} {extent} {stages}"))
    failure = check(func, seed, opinions()).failure
    assert failure is None, f"{failure.kind}: {failure.message}"


# Compiled once for all extents and first rounds.
AT_RUN_TIME = list(product(range(BODIES), range(1, 5)))


@pytest.mark.parametrize(("seed", "stages"), kept(AT_RUN_TIME, 12))
def test_bounds_known_at_run_time(seed: int, stages: int) -> None:
    """Every extent from every first round: what the loop gives as it is written, in order."""
    first, count = Var("first"), Var("count")
    func = pipelined(random_kernel(seed), count, stages, first)
    func = replace(func, params=(*func.params, first, count))
    serial = func.with_body(rewrite(func.launch.body, _serial))
    (given,) = argument_sets(func, seed, 1)
    sets = [[*given[:-2], start, extent] for extent, start in product(EXTENTS, STARTS)]
    expected = run(barriers_everywhere(plan(serial, False)[0]), sets)
    assert expected.error is None, expected.error
    if seed % 2:
        func = in_given_orders(func, random.Random(f"{seed} {stages}"))
    by = opinions()
    planned, target = plan(func, False)
    final = by.order(planned, target)
    verify(final, target)
    outcome = run(final, sets, trace=256)
    failures = [
        *static_failures(final, target, by),
        run_failure(outcome, final),
        difference(final, outcome.arrays, expected.arrays),
    ]
    assert not any(failures), [f for f in failures if f is not None]


def _serial(stmt: Stmt) -> Stmt:
    if isinstance(stmt, For) and stmt.kind is LoopKind.PIPELINED:
        return replace(stmt, kind=LoopKind.SERIAL, stages=0, given=())
    return stmt


def pipelined(func: Func, extent: int | Expr, stages: int, start: int | Expr) -> Func:
    """The kernel with all of its loops pipelined ones, the outer ones of that many rounds. Those of
    the vector core count their rounds, element by element of one tile."""
    loc, begin = func.loc, as_expr(start)
    counts = Buffer("rounds", Memory.UB, INT32, (Const(ROUNDS),), loc)
    out = Buffer("rounds_out", Memory.GM, INT32, (Const(ROUNDS),), loc)
    line = max(s.loc.line for s in func.launch.body)

    def outer(stmt: Stmt) -> Stmt:
        if not (isinstance(stmt, For) and stmt.kind is LoopKind.SERIAL):
            return stmt
        nonlocal line
        line += 1
        place = (stmt.var,)
        count = Store(counts, place, Load(counts, place) + 1, replace(loc, line=line))
        body = (*stmt.body, count) if stmt.var.dtype == INT32 else stmt.body
        return replace(stmt, start=begin, stop=begin + extent, body=body)

    def section(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Section) or stmt.core.value != "vector":
            return stmt
        whole = Region.whole(counts)
        # Fewer rounds than were drawn leave tiles without a value.
        tiles = [a.buffer for a in func.launch.allocs if a.buffer.memory is Memory.UB]
        fills = [_filled(b) for b in (counts, *tiles) if b.dtype in (INT32, FLOAT32, FLOAT16)]
        last = Op(OPS["copy_ub_gm"], (whole, Region.whole(out)), (), loc)
        return replace(stmt, body=(*fills, *map(outer, stmt.body), last))

    body: Body = with_statements(func.launch.body, map(section, func.launch.body))
    func = replace(func, automatic=frozenset({Automatic.SYNC}), params=(*func.params, out))
    func = func.with_body(
        in_pipelines(body, lambda: stages), allocs=(*func.launch.allocs, Alloc(counts, loc))
    )
    return func.at_phase(Phase.SPLIT)


def _filled(buffer: Buffer) -> Op:
    value = Const(0) if buffer.dtype is INT32 else Const(0.0, buffer.dtype)
    return Op(OPS["fill"], (Region.whole(buffer), value), (), buffer.loc)
