"""Shrinking keeps what it is told to keep, and little else."""

from __future__ import annotations

import tile_ir
from fuzz.barriers import barriers_everywhere
from fuzz.campaign import kind_of, shrunk
from fuzz.kernels import random_kernel
from fuzz.shrink import shrink, size
from fuzz.verdict import Failure, Opinions, check, is_sync
from tile_ir import Func, Target
from tile_ir.nodes import For, Stmt, Store, While
from tile_ir.traversal import rewrite, walk


def test_keeps_what_it_is_told() -> None:
    def still(func: Func) -> bool:
        loops = [s for s in walk(func.launch.body) if isinstance(s, For)]
        return any(kind_of(inner) == "add" for loop in loops for inner in walk(loop.body))

    func = next(f for f in map(random_kernel, range(100)) if still(f) and size(f) > 60)
    small = shrink(func, still)
    assert still(small)
    tile_ir.verify(small)
    assert [kind_of(s) for s in walk(small.launch.body)] == ["section", "for", "add"]


def test_a_missing_order_shrinks_to_the_statements_that_need_it() -> None:
    """Without barriers behind loads, what is left is little more than a load and its use."""

    def forgetful(func: Func, target: Target) -> Func:
        ordered = barriers_everywhere(func)
        lines = {s.loc.line for s in walk(func.launch.body) if kind_of(s) == "copy_gm_ub"}

        def keep(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
            return () if is_sync(stmt) and stmt.loc.line in lines else stmt

        return ordered.with_body(rewrite(ordered.launch.body, keep))

    by = Opinions(forgetful)
    seed = next(s for s in range(50) if check(random_kernel(s), s, by).failure is not None)
    failure = check(random_kernel(seed), seed, by).failure
    assert failure == Failure("race", failure.message if failure else "")
    small = shrunk(seed, False, failure, by)
    found = check(small, seed, by, compared=5).failure
    assert found is not None and found.kind == "race"
    assert len(list(walk(small.launch.body))) <= 5, tile_ir.print_func(small)


def test_a_loop_that_lost_its_end_is_no_candidate() -> None:
    """Without its step a `while` never ends: whoever shrinks is told so at once."""
    by = Opinions(lambda func, target: barriers_everywhere(func))

    def kind(func: Func) -> str:
        failure = check(func, 0, by, compared=5).failure
        return "" if failure is None else failure.kind

    def still(func: Func) -> bool:
        return any(isinstance(s, While) for s in walk(func.launch.body)) and not kind(func)

    def stepless(func: Func) -> Func:
        steps = {
            s
            for loop in walk(func.launch.body)
            if isinstance(loop, While)
            for s in loop.body
            if isinstance(s, Store)
        }
        return func.with_body(rewrite(func.launch.body, lambda s: () if s in steps else s))

    endless = "interpreter endless-loop"
    func = next(f for f in map(random_kernel, range(100)) if kind(stepless(f)) == endless)
    assert still(func)
    small = shrink(func, still)
    assert still(small) and size(small) < 20
