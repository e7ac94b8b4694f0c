"""What is left out where the harness asks whether an instruction is needed."""

from __future__ import annotations

from fuzz.barriers import barriers_everywhere
from fuzz.flags import flags_everywhere
from fuzz.kernels import random_kernel
from fuzz.minimality import flag_removals, minimality, single_removals
from fuzz.verdict import is_sync, plan, same_statements
from tile_ir import Core, Func
from tile_ir.nodes import Section
from tile_ir.traversal import walk


def vector_kernel() -> Func:
    planned = (plan(random_kernel(seed), tight=False)[0] for seed in range(100))
    return next(
        f
        for f in planned
        if [s.core for s in f.launch.body if isinstance(s, Section)] == [Core.VECTOR]
    )


def syncs(func: Func) -> int:
    return sum(is_sync(s) for s in walk(func.launch.body))


def test_single_removals_leave_out_one_instruction_each() -> None:
    planned = vector_kernel()
    final = flags_everywhere(planned)
    removals = list(single_removals(final))
    assert len(removals) == syncs(final)
    assert {syncs(r.func) for r in removals} == {syncs(final) - 1}
    assert all(same_statements(planned, r.func) is None for r in removals[:10])


def test_flag_removals_leave_out_all_of_a_pair() -> None:
    final = flags_everywhere(vector_kernel())
    removals = list(flag_removals(final))
    assert len(removals) == 12, "one for each pair of pipes, as all have one id"
    assert sum(len(r.stmts) for r in removals) == syncs(final) - sum(
        1
        for s in walk(final.launch.body)
        if is_sync(s) and s.opdef.name == "pipe_barrier"  # type: ignore[union-attr]
    )


def test_what_is_noticed_is_counted() -> None:
    final = barriers_everywhere(vector_kernel())
    total = syncs(final)
    all_missed = minimality(final, lambda func: True)
    assert (all_missed.single, all_missed.single_noticed) == (total, total)
    assert all_missed.unnoticed == ()
    none_missed = minimality(final, lambda func: False)
    assert (none_missed.single, none_missed.single_noticed) == (total, 0)
    assert (all_missed + none_missed).single == 2 * total
    assert none_missed.unnoticed[0].startswith(final.name)
