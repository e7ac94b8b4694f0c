"""Signals between ranks: what they carry, what they do not, and what a wait learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rank_kernels import DEVICE, STRICT, RankKernels, own, schedules, shared
from rank_prelude import PRELUDE

KERNELS = RankKernels(PRELUDE)
PARAMETERS = "GM_ADDR x, GM_ADDR y, GM_ADDR out, GM_ADDR w"
RANKS = (1, 2, 3, 5, 8)
N, LINE = 64, 16

PUT = "t.Load(x, 0); t.Store(y, 0, t.next);"
QUIET = "aclshmem_quiet();"
SIGNAL = "aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, t.next);"
WAIT = "aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 1);"
READ = "t.Load(y, 0); t.Store(out, 0, t.me);"


def add(name: str, *steps: str) -> str:
    return KERNELS.add(name, PARAMETERS, "Tile t;\n" + "\n".join(steps))


add("neighbour", PUT, QUIET, SIGNAL, WAIT, READ)
add("neighbour_no_quiet", PUT, SIGNAL, WAIT, READ)
add("neighbour_no_wait", PUT, QUIET, SIGNAL, READ)
add("neighbour_no_signal", PUT, QUIET, WAIT, READ)
add("neighbour_early", QUIET, SIGNAL, PUT, QUIET, WAIT, READ)
add(
    "neighbour_put_signal",
    "aclshmem_putmem_signal(y, x, N * 4, Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, t.next);",
    WAIT,
    READ,
)


def arrays(ranks: int, rows: int = 1, words: int = 8 * LINE) -> tuple[Any, ...]:
    """x, y, out and the words; x of rank r counts from 1000 r on."""
    x = own(ranks, rows, N)
    for rank in range(ranks):
        x[rank][:] = 1000 * rank + np.arange(rows * N).reshape(rows, N)
    return x, shared(ranks, rows, N), own(ranks, rows, N), shared(ranks, words)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", ["neighbour", "neighbour_put_signal"])
def test_a_put_and_a_signal_to_the_next_rank(name: str, ranks: int) -> None:
    for options in schedules():
        x, y, out, w = arrays(ranks)
        KERNELS.run(name, ranks, x, y, out, w, **options)
        for rank in range(ranks):
            np.testing.assert_array_equal(out[rank], x[(rank - 1) % ranks])


BROKEN = {
    "neighbour_no_quiet": "unquiet-signal",
    "neighbour_no_wait": "race",
    "neighbour_early": "race",
    "neighbour_no_signal": "deadlock",
}


@pytest.mark.parametrize("checks", [DEVICE, STRICT])
@pytest.mark.parametrize("name", BROKEN)
def test_a_step_left_out_is_told_in_every_schedule(name: str, checks: int) -> None:
    told = set()
    for options in schedules():
        fault = KERNELS.fault(name, 3, *arrays(3), checks=checks, **options)
        told.add((fault.kind, fault.line))
    assert {kind for kind, _ in told} == {BROKEN[name]}
    assert len(told) == 1


def test_a_race_names_both_ranks_and_the_edge_that_is_missing() -> None:
    fault = KERNELS.fault("neighbour_no_wait", 2, *arrays(2))
    assert "rank 0, block 0 aiv0 MTE" in fault.text and "rank 1, block 0 aiv0 MTE" in fault.text
    assert "of GM buffer 'y' of rank " in fault.text
    assert "aclshmem_quiet()" in fault.hint and "aclshmemx_signal_op" in fault.hint
    assert fault.rank == 1


# Every rank hands on what it got last, with a word that counts the steps.
RING = """
t.Load(x, 0); t.Store(y, t.me, t.me);
{complete}
for (int32_t s = 0; s + 1 < t.all; ++s) {{
    const int32_t row = (t.me - s + t.all) % t.all;
    t.Load(y, row); t.Store(y, row, t.next);
    {quiet}
    aclshmemx_signal_op(Word(w, 0), s + 1, ACLSHMEM_SIGNAL_SET, t.next);
    {wait}
}}
for (int32_t row = 0; row < t.all; ++row) {{ t.Load(y, row); t.Store(out, row, t.me); }}
"""
GE = "aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_GE, s + 1);"
add("ring", RING.format(complete=QUIET, quiet=QUIET, wait=GE))
add("ring_no_quiet", RING.format(complete=QUIET, quiet="", wait=GE))
add("ring_no_wait", RING.format(complete=QUIET, quiet=QUIET, wait=""))
add("ring_short_wait", RING.format(complete=QUIET, quiet=QUIET, wait=GE.replace("s + 1", "s")))


def ring_arrays(ranks: int) -> tuple[Any, ...]:
    x, _, _, w = arrays(ranks)
    return x, shared(ranks, ranks, N), own(ranks, ranks, N), w


@pytest.mark.parametrize("ranks", RANKS)
def test_a_ring(ranks: int) -> None:
    for options in schedules():
        x, y, out, w = ring_arrays(ranks)
        KERNELS.run("ring", ranks, x, y, out, w, **options)
        for rank in range(ranks):
            np.testing.assert_array_equal(out[rank], np.concatenate(x.arrays))


@pytest.mark.parametrize(
    "name, kind",
    [("ring_no_quiet", "unquiet-signal"), ("ring_no_wait", "race"), ("ring_short_wait", "race")],
)
def test_a_broken_ring(name: str, kind: str) -> None:
    for options in schedules():
        assert KERNELS.fault(name, 4, *ring_arrays(4), **options).kind == kind


ALL_TO_ALL = """
for (int32_t p = 0; p < t.all; ++p) {{
    t.Load(x, p); t.Store(y, t.me, p);
    aclshmem_quiet();
    aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_ADD, p);
}}
aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_GE, {count});
for (int32_t p = 0; p < t.all; ++p) {{ t.Load(y, p); t.Store(out, p, t.me); }}
"""
add("all_to_all", ALL_TO_ALL.format(count="t.all"))
add("all_to_all_short", ALL_TO_ALL.format(count="t.all - 1"))


@pytest.mark.parametrize("ranks", RANKS)
def test_all_to_all(ranks: int) -> None:
    for options in schedules():
        x, y, out, w = arrays(ranks, ranks)
        KERNELS.run("all_to_all", ranks, x, y, out, w, **options)
        for rank in range(ranks):
            np.testing.assert_array_equal(out[rank], np.stack([a[rank] for a in x.arrays]))


def test_a_wait_learns_only_what_its_condition_needs() -> None:
    for options in schedules():
        fault = KERNELS.fault("all_to_all_short", 3, *arrays(3, 3), **options)
        assert fault.kind == "race"


# Ranks 1, 2 and 3 each add to a word of rank 0.
THREE = """
if (t.me > 0) {{
    t.Load(x, 0); t.Store(y, t.me, 0);
    aclshmem_quiet();
    aclshmemx_signal_op(Word(w, 0), {value}, ACLSHMEM_SIGNAL_ADD, 0);
}} else {{
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_{compare}, {count});
    for (int32_t p = 1; p < t.all; ++p) {{ t.Load(y, p); t.Store(out, p, 0); }}
}}
"""
add("three_all", THREE.format(value=1, compare="GE", count=3))
add("three_equal", THREE.format(value=1, compare="EQ", count=3))
add("three_two", THREE.format(value=1, compare="GE", count=2))
add("three_other", THREE.format(value="t.me", compare="GT", count=5))


@pytest.mark.parametrize("name, clean", [
    ("three_all", True), ("three_equal", True), ("three_other", True), ("three_two", False),
])  # fmt: skip
def test_adds_of_three_ranks(name: str, clean: bool) -> None:
    for options in schedules():
        values = arrays(4, 4)
        if clean:
            KERNELS.run(name, 4, *values, **options)
        else:
            assert KERNELS.fault(name, 4, *values, **options).kind == "race"


# One rank adds three times, each time after a row of its own.
add("one_adds", """
if (t.me == 1) {
    for (int32_t i = 0; i < 3; ++i) {
        t.Load(x, i); t.Store(y, i, 0); aclshmem_quiet();
        aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_ADD, 0);
    }
} else {
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_GE, 2);
    t.Load(y, 0); t.Store(out, 0, 0); t.Load(y, 1); t.Store(out, 1, 0);
}
""")  # fmt: skip


def test_adds_of_one_rank_come_in_their_order() -> None:
    for options in schedules():
        KERNELS.run("one_adds", 2, *arrays(2, 3), **options)


# Block 1 of rank 0 puts, block 0 signals.
BLOCKS = """
if (t.me == 0 && GetBlockIdx() == 1) {{ t.Load(x, 0); t.Store(y, 0, 1); aclshmem_quiet(); }}
if (t.me == 0) {{ {sync} }}
if (t.me == 0 && GetBlockIdx() == 0) {{
    aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 1);
}}
if (t.me == 1 && GetBlockIdx() == 0) {{
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 1);
    t.Load(y, 0); t.Store(out, 0, 1);
}}
"""
add("blocks", BLOCKS.format(sync="SyncAll();"))
add("blocks_no_sync", BLOCKS.format(sync=""))
add("blocks_no_quiet", BLOCKS.format(sync="SyncAll();").replace("aclshmem_quiet();", ""))


def test_a_signal_carries_what_its_core_has_joined() -> None:
    for options in schedules():
        KERNELS.run("blocks", 2, *arrays(2), blocks=2, **options)
        for name in ("blocks_no_sync", "blocks_no_quiet"):
            assert KERNELS.fault(name, 2, *arrays(2), blocks=2, **options).kind == "race"


# What a rank stores to its own memory for others to fetch.
GET = """
t.Load(x, 0); t.Store(y, 0, t.me);
{done}
aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, t.next);
aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 1);
const int32_t from = (t.me + t.all - 1) % t.all;
t.Load((GM_ADDR)aclshmem_ptr(y, from), 0); t.Store(out, 0, t.me);
"""
add("get", GET.format(done="t.Done();"))
add("get_not_done", GET.format(done=""))


@pytest.mark.parametrize("checks", [DEVICE, STRICT])
def test_a_get_after_a_signal(checks: int) -> None:
    for options in schedules():
        values = arrays(3)
        KERNELS.run("get", 3, *values, checks=checks, **options)
        np.testing.assert_array_equal(values[2][0], values[0][2])
        fault = KERNELS.fault("get_not_done", 3, *arrays(3), checks=checks, **options)
        assert fault.kind == "race"


# A scalar store to own memory beside an open put to a rank that does not matter.
add("scalar_store", """
GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)y);
if (t.me == 0) {
    t.Load(x, 0); t.Store(y, 0, 1);
    g.SetValue(0, 7);
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);
    aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 2);
}
if (t.me == 2) {
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 1);
    g.SetGlobalBuffer((__gm__ int32_t*)aclshmem_ptr(y, 0));
    DataCopy(t.tile, g, 8);
}
""")  # fmt: skip


def test_a_quiet_is_no_matter_of_own_memory() -> None:
    for options in schedules():
        KERNELS.run("scalar_store", 3, *arrays(3), **options)


# Two ranks set words of rank 0.
LINES = """
if (t.me > 0) aclshmemx_signal_op(Word(w, (t.me - 1) * {apart}), 1, ACLSHMEM_SIGNAL_{op}, 0);
if (t.me == 0) {{
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 1);
    aclshmem_signal_wait_until(Word(w, {apart}), ACLSHMEM_CMP_EQ, 1);
}}
"""
add("one_line", LINES.format(apart=1, op="SET"))
add("two_lines", LINES.format(apart="LINE", op="SET"))
add("one_line_adds", LINES.format(apart=1, op="ADD"))
add("set_and_add", """
if (t.me == 1) aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 0);
if (t.me == 2) aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_ADD, 0);
if (t.me == 0) aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_GE, 1);
""")  # fmt: skip
add("set_over_set", """
if (t.me == 1) {
    aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 0);
    aclshmemx_signal_op(Word(w, 0), 2, ACLSHMEM_SIGNAL_SET, 0);
} else {
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 1);
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 2);
}
""")  # fmt: skip


def test_words_share_no_line_unless_they_are_added_to() -> None:
    for options in schedules():
        KERNELS.run("two_lines", 3, *arrays(3), **options)
        KERNELS.run("one_line_adds", 3, *arrays(3), **options)
        for name, ranks in (("one_line", 3), ("set_and_add", 3), ("set_over_set", 2)):
            assert KERNELS.fault(name, ranks, *arrays(ranks), **options).kind == "signal-lost", name


# A word and what is no signal in one line.
BESIDE = """
if (t.me == 1) aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_{op}, 0);
if (t.me == {who}) {{
    t.Load(x, 0);
    GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)aclshmem_ptr(w, 0) + {apart});
    DataCopy(g, t.tile, 8); aclshmem_quiet();
}}
"""
add("word_and_data", BESIDE.format(op="SET", who=2, apart=8))
add("word_and_own_data", BESIDE.format(op="SET", who=0, apart=8))
add("word_and_data_apart", BESIDE.format(op="SET", who=2, apart="LINE"))
add("count_and_data", BESIDE.format(op="ADD", who=2, apart=8))


def test_data_beside_a_word_that_is_set_is_lost() -> None:
    for options in schedules():
        KERNELS.run("word_and_data_apart", 3, *arrays(3), **options)
        KERNELS.run("count_and_data", 3, *arrays(3), **options)
        for name in ("word_and_data", "word_and_own_data"):
            fault = KERNELS.fault(name, 3, *arrays(3), **options)
            assert fault.kind == "signal-lost"
            assert "as a whole" in fault.text


# Rounds of one word: back to 0 by its rank, or counted up.
ROUNDS = """
for (int32_t i = 0; i < 3; ++i) {{
    if (t.me == 1) {{
        t.Load(x, i); t.Store(y, i, 0); aclshmem_quiet();
        {signal}
    }} else {{
        {wait}
        t.Load(y, i); t.Store(out, i, 0);
        {reset}
    }}
}}
"""
SET_ONE = "aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 0);"
RESET = "aclshmemx_signal_op(Word(w, 0), 0, ACLSHMEM_SIGNAL_SET, 0);"
ACKNOWLEDGE = "aclshmemx_signal_op(Word(w, LINE), i + 1, ACLSHMEM_SIGNAL_SET, 1);"
AWAIT = "aclshmem_signal_wait_until(Word(w, LINE), ACLSHMEM_CMP_GE, i + 1);"
add("rounds_reset", ROUNDS.format(signal=SET_ONE, wait=WAIT, reset=RESET))
add(
    "rounds_reset_by_add",
    ROUNDS.format(signal=SET_ONE.replace("SET", "ADD"), wait=WAIT.replace("EQ", "GE"), reset=RESET),
)
add("rounds_reset_plainly", ROUNDS.format(signal=SET_ONE, wait=WAIT, reset="""
    { GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)w); g.SetValue(0, 0);
      DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g); }
"""))  # fmt: skip
add("rounds_acknowledged", ROUNDS.format(
    signal=SET_ONE + AWAIT, wait=WAIT, reset=RESET + ACKNOWLEDGE))  # fmt: skip
add(
    "rounds_counted",
    ROUNDS.format(
        signal=SET_ONE.replace(", 1,", ", i + 1,"),
        wait=WAIT.replace("EQ, 1", "GE, i + 1"),
        reset="",
    ),
)


def test_a_word_is_set_back_in_order_with_the_next_signal() -> None:
    for options in schedules():
        for name in ("rounds_counted", "rounds_acknowledged"):
            values = arrays(2, 3)
            KERNELS.run(name, 2, *values, **options)
            np.testing.assert_array_equal(values[2][0], values[0][1])
        for name in ("rounds_reset", "rounds_reset_by_add", "rounds_reset_plainly"):
            fault = KERNELS.fault(name, 2, *arrays(2, 3), **options)
            assert fault.kind == "signal-reset", (name, fault.text)


def test_rounds_are_counted_on_over_calls() -> None:
    x, y, out, w = arrays(2, 3)
    KERNELS.run("rounds_counted", 2, x, y, out, w)
    assert w[0][0] == 3


# A word that the rank before sets anew in every round: who waits for one value may look when the
# next is there, unless the rank before has heard that it was seen.
ROUNDS = """
for (int32_t n = 1; n <= 3; ++n) {{
    aclshmemx_signal_op(Word(w, 0), {value}, ACLSHMEM_SIGNAL_{op}, t.next);
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_{compare}, n);
    {heard}
}}
"""
HEARD = """
    aclshmemx_signal_op(Word(w, LINE), n, ACLSHMEM_SIGNAL_SET, (t.me + t.all - 1) % t.all);
    aclshmem_signal_wait_until(Word(w, LINE), ACLSHMEM_CMP_GE, n);
"""
for op, value in (("SET", "n"), ("ADD", "1")):
    for compare in ("EQ", "GE"):
        for heard in ("", HEARD):
            add(
                f"rounds_{op}_{compare}{'_heard' if heard else ''}",
                ROUNDS.format(op=op, value=value, compare=compare, heard=heard),
            )
# Rank 0 says it once and takes it back, after a word of another rank that has nothing to do with it.
TAKEN_BACK = """
if (t.me == 0) {
    aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 1);
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_GE, 1);
    aclshmemx_signal_op(Word(w, 0), 0, ACLSHMEM_SIGNAL_SET, 1);
} else if (t.me == 1) {
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_GE, 1);
} else {
    aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 0);
}
"""
add("taken_back", TAKEN_BACK)


@pytest.mark.parametrize("op", ["SET", "ADD"])
def test_a_value_stays_until_who_waits_for_it_has_looked(op: str) -> None:
    """S-14: that all ranks looked in time in a run says nothing."""
    for options in schedules():
        for name in (f"rounds_{op}_GE", f"rounds_{op}_EQ_heard"):
            KERNELS.run(name, 3, *arrays(3), **options)
        fault = KERNELS.fault(f"rounds_{op}_EQ", 3, *arrays(3), **options)
        assert fault.kind == "signal-lost" and "it may see the value or not" in fault.text
        assert KERNELS.fault("taken_back", 3, *arrays(3), **options).kind == "signal-lost"
