"""Programs of ranks that nobody writes at first: words in several roles, puts of odd sizes, lines
that ranks share, atomics, a fence among puts to several ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rank_kernels import DEVICE, LATE, PROMPT, STRICT, RankKernels, own, schedules, shared
from rank_prelude import PRELUDE

KERNELS = RankKernels(PRELUDE)
PARAMETERS = "GM_ADDR x, GM_ADDR y, GM_ADDR out, GM_ADDR w"
N, LINE = 64, 16


def add(name: str, body: str) -> str:
    return KERNELS.add(name, PARAMETERS, f"Tile t;\n{body}")


def arrays(ranks: int, rows: int = 4) -> tuple[Any, ...]:
    """x, y, out and the words; x of rank r counts from 1000 r + 1 on."""
    x = own(ranks, rows, N)
    for rank in range(ranks):
        x[rank][:] = 1000 * rank + 1 + np.arange(rows * N).reshape(rows, N)
    return x, shared(ranks, rows, N), own(ranks, rows, N), shared(ranks, 8 * LINE)


def clean(name: str, ranks: int, checks: int = STRICT) -> tuple[Any, ...]:
    """Runs a kernel in every schedule, and returns its latest arrays."""
    for options in schedules():
        values = arrays(ranks)
        KERNELS.run(name, ranks, *values, checks=checks, **options)
    return values


def told(name: str, ranks: int, checks: int = STRICT) -> set[str]:
    """The kinds of the first errors of a kernel, one for each schedule.

    With several threads the schedule is the machine's: of two errors either may come first."""
    return {
        KERNELS.fault(name, ranks, *arrays(ranks), checks=checks, **options).kind
        for options in schedules()
    }


# Rank 0 gets two rows from each other rank by one word, and reads as much as it knows to be there.
SEVERAL = """
if (t.me > 0) {{
    for (int32_t i = 0; i < 2; ++i) {{
        t.Load(x, i); t.Store(y, i, 0); {quiet}
        aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_ADD, 0);
    }}
}} else {{
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_GE, 1);
    {between}
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_GE, 2);
    t.Load(y, 0); t.Load(y, 1); t.Store(out, 0, 0);
}}
"""
FIRST_ROW = "t.Load(y, 0); t.Store(out, 1, 0);"
add("two_adds", SEVERAL.format(quiet="aclshmem_quiet();", between=FIRST_ROW))
add("two_adds_early", SEVERAL.format(quiet="aclshmem_quiet();", between="t.Load(y, 1);"))
add("two_adds_open", SEVERAL.format(quiet="", between=FIRST_ROW))


def test_several_waits_on_one_word_learn_step_by_step() -> None:
    values = clean("two_adds", 2)
    np.testing.assert_array_equal(values[2][0][1], values[0][1][0])
    assert told("two_adds_early", 2) == {"race"}
    assert told("two_adds_open", 2) == {"unquiet-signal"}
    # Two ranks, each of which may have sent both of the first two.
    assert told("two_adds", 3) == {"race"}


# A word that is added to in one phase, and set in the next.
ROLES = """
for (int32_t p = 0; p < t.all; ++p) aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_ADD, p);
aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, t.all);
{meet}
{back}
{again}
t.Load(x, 0); t.Store(y, 0, t.next); aclshmem_quiet();
aclshmemx_signal_op(Word(w, 0), 7, ACLSHMEM_SIGNAL_SET, t.next);
aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 7);
t.Load(y, 0); t.Store(out, 0, t.me);
"""
BACK = "aclshmemx_signal_op(Word(w, 0), 0, ACLSHMEM_SIGNAL_SET, t.me);"
MEET = "aclshmem_barrier_all();"
add("roles", ROLES.format(meet=MEET, back=BACK, again=MEET))
add("roles_meet_once", ROLES.format(meet="", back=BACK, again=MEET))
add("roles_never_meet", ROLES.format(meet="", back=BACK, again=""))
add("roles_reset_late", ROLES.format(meet=MEET, back=BACK, again=""))


def test_a_word_changes_its_role_where_all_ranks_meet() -> None:
    values = clean("roles", 3)
    np.testing.assert_array_equal(values[2][0][0], values[0][2][0])
    clean("roles_meet_once", 3)
    assert told("roles_never_meet", 3) <= {"signal-lost", "signal-reset"}
    assert told("roles_reset_late", 3) == {"signal-reset"}


# So many bytes from a place that is no line's start, to the next rank.
def odd(size: int, at: int) -> str:
    return add(
        f"odd_{size}_{at}",
        f"""
    aclshmem_putmem((__gm__ uint8_t*)y + {at}, (__gm__ uint8_t*)x + {at}, {size}, t.next);
    aclshmem_barrier_all();
    t.Load(y, 0); t.Store(out, 0, t.me);
    """,
    )


ODD = {odd(size, at): (size, at) for size, at in [(1, 0), (3, 5), (31, 1), (33, 31), (200, 7)]}


@pytest.mark.parametrize("name", ODD)
def test_a_put_of_an_odd_size_touches_its_bytes_and_no_others(name: str) -> None:
    size, at = ODD[name]
    for delivery in (PROMPT, LATE):
        x, y, out, w = arrays(3)
        y[1][:] = -1
        KERNELS.run(name, 3, x, y, out, w, delivery=delivery)
        expected = np.full(4 * N * 4, 0xFF, np.uint8)
        expected[at : at + size] = x[0].view(np.uint8).ravel()[at : at + size]
        np.testing.assert_array_equal(y[1].view(np.uint8).ravel(), expected)


# Ranks 1 and 2 write the halves of a line of rank 0.
HALVES = """
if (t.me > 0) {{ {store} }}
aclshmem_barrier_all();
t.Load(y, 0); t.Store(out, 0, t.me);
"""
BYTES = "aclshmem_putmem((__gm__ int32_t*)y + {by} * (t.me - 1), x, 32, 0);"
ELEMENT = "aclshmem_int32_p((__gm__ int32_t*)y + {by} * (t.me - 1), t.me, 0);"
add("halves", HALVES.format(store=BYTES.format(by=8)))
add("halves_meet", HALVES.format(store=BYTES.format(by=7)))
add("elements", HALVES.format(store=ELEMENT.format(by="LINE")))
add("elements_in_a_line", HALVES.format(store=ELEMENT.format(by=8)))


def test_ranks_share_a_line_as_long_as_none_stores_it_whole() -> None:
    values = clean("halves", 3)
    np.testing.assert_array_equal(values[2][0][0, 8:16], values[0][2][0, :8])
    clean("elements", 3)
    assert told("halves_meet", 3) == {"race"}
    assert told("elements_in_a_line", 3) == {"race"}


# All ranks add to one place of rank 0; one of them does something else besides.
ATOMICS = """
t.Load(x, 0);
GlobalTensor<{type}> g; g.SetGlobalBuffer((__gm__ {type}*)aclshmem_ptr(y, 0));
LocalTensor<{type}> tile = t.data.Get<{type}>();
SetAtomicAdd<{type}>(); DataCopy(g, tile, N); SetAtomicNone();
{besides}
{meet}
if (t.me == 0) {{ t.Load(y, 0); t.Store(out, 0, 0); }}
"""
PUT = "if (t.me == 1) { t.Load(x, 0); t.Store(y, 0, 0); }"
add("atomics", ATOMICS.format(type="int32_t", besides="", meet=MEET))
add("atomics_read_early", ATOMICS.format(type="int32_t", besides="", meet=""))
add("atomics_and_a_put", ATOMICS.format(type="int32_t", besides=PUT, meet=MEET))


def test_atomics_of_ranks_go_with_each_other_and_nothing_else() -> None:
    values = clean("atomics", 3)
    np.testing.assert_array_equal(values[2][0][0], sum(values[0][r][0] for r in range(3)))
    assert told("atomics_read_early", 3) == {"race"}
    assert told("atomics_and_a_put", 3) == {"race"}


# Rank 0 puts to ranks 1 and 2; a fence orders what follows to each of them.
FENCED = """
if (t.me == 0) {{
    t.Load(x, 0); t.Store(y, 0, 1); t.Store(y, 0, 2);
    aclshmem_fence();
    {after}
    aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 1);
    aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 2);
}} else if (t.me < 3) {{
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 1);
    t.Load({where}, 0); t.Store(out, 0, t.me);
}}
"""
OTHER = "(GM_ADDR)aclshmem_ptr(y, 3 - t.me)"
add("fence_two", FENCED.format(after="", where="y"))
add("fence_other", FENCED.format(after="", where=OTHER))
add("fence_third", FENCED.format(after="t.Store(y, 1, 3);", where="y"))
add("fence_then_put", FENCED.format(after="t.Store(y, 1, 1);", where="y"))


@pytest.mark.parametrize("checks", [DEVICE, STRICT])
def test_a_fence_is_for_each_rank_by_itself(checks: int) -> None:
    clean("fence_two", 3, checks)
    assert told("fence_then_put", 3, checks) == {"unquiet-signal"}
    if checks == DEVICE:
        clean("fence_other", 3, checks)
    else:
        assert told("fence_other", 3, checks) == {"race"}


def test_what_is_open_to_a_rank_that_is_not_told_does_not_matter() -> None:
    """Rank 3 gets a row that nobody waits for."""
    for options in schedules():
        values = arrays(4)
        KERNELS.run("fence_third", 4, *values, **options)
        np.testing.assert_array_equal(values[2][1][0], values[0][0][0])
        np.testing.assert_array_equal(values[2][2][0], values[0][0][0])


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "name, ranks, kind",
    [
        ("two_adds_early", 2, "race"),
        ("two_adds", 3, "race"),
        ("roles_reset_late", 3, "signal-reset"),
        ("atomics_and_a_put", 3, "race"),
        ("fence_other", 3, "race"),
        ("fence_then_put", 3, "unquiet-signal"),
    ],
)
def test_fifty_seeds_tell_one_thing(name: str, ranks: int, kind: str) -> None:
    found = set()
    for seed in range(50):
        for delivery in (PROMPT, LATE):
            for threads in (1, 2):
                fault = KERNELS.fault(
                    name, ranks, *arrays(ranks), seed=seed, delivery=delivery, threads=threads
                )
                found.add((fault.kind, fault.line, fault.text))
    assert {each[0] for each in found} == {kind} and len(found) == 1, found
