"""Barriers of all ranks, quiet and fence, transfers of the library, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rank_kernels import DEVICE, LATE, PROMPT, STRICT, RankKernels, own, schedules, shared
from rank_prelude import PRELUDE

KERNELS = RankKernels(PRELUDE)
PARAMETERS = "GM_ADDR x, GM_ADDR y, GM_ADDR out, GM_ADDR w"
RANKS = (1, 2, 3, 5, 8)
N, LINE, OFF = 64, 16, 0


def add(name: str, body: str, kind: str = "KERNEL_TYPE_MIX_AIV_1_0") -> str:
    return KERNELS.add(name, PARAMETERS, f"Tile t;\n{body}", kind)


def arrays(ranks: int, rows: int = 1) -> tuple[Any, ...]:
    x = own(ranks, rows, N)
    for rank in range(ranks):
        x[rank][:] = 1000 * rank + np.arange(rows * N).reshape(rows, N)
    return x, shared(ranks, rows, N), own(ranks, rows, N), shared(ranks, 8 * LINE)


# Every block of a rank puts a row to the next rank and reads the one that it got.
BY_BARRIER = """
const int32_t row = GetBlockIdx();
t.Load(x, row); t.Store(y, row, t.next);
{barrier}
t.Load(y, {read}); t.Store(out, row, t.me);
"""
add("barrier", BY_BARRIER.format(barrier="aclshmem_barrier_all();", read="GetBlockNum() - 1 - row"))
add("vector_barrier", BY_BARRIER.format(barrier="aclshmemx_barrier_all_vec();", read="row"))
add("no_barrier", BY_BARRIER.format(barrier="", read="row"))
add("sync_only", BY_BARRIER.format(barrier="aclshmem_sync_all();", read="row"))
add(
    "quiet_and_sync",
    BY_BARRIER.format(barrier="aclshmem_quiet(); aclshmem_sync_all();", read="row"),
)
add("own_rank_only", BY_BARRIER.format(barrier="aclshmem_quiet(); SyncAll();", read="row"))
add("mixed", """
if ASCEND_IS_AIV { t.Load(x, GetBlockIdx()); t.Store(y, GetBlockIdx(), t.next); }
aclshmem_barrier_all();
if ASCEND_IS_AIV { t.Load(y, GetBlockIdx()); t.Store(out, GetBlockIdx(), t.me); }
""", "KERNEL_TYPE_MIX_AIC_1_2")  # fmt: skip


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", ["barrier", "vector_barrier", "quiet_and_sync"])
def test_a_barrier_of_all_cores_of_all_ranks(name: str, ranks: int) -> None:
    for options in schedules():
        x, y, out, w = arrays(ranks, 3)
        KERNELS.run(name, ranks, x, y, out, w, blocks=3, **options)
        for rank in range(ranks):
            got = x[(rank - 1) % ranks]
            expected = got[::-1] if name == "barrier" else got
            np.testing.assert_array_equal(out[rank], expected)


def test_cube_cores_come_to_a_barrier_too() -> None:
    for options in schedules():
        x, y, out, w = arrays(2, 2)
        KERNELS.run("mixed", 2, x, y, out, w, **options)
        np.testing.assert_array_equal(out[0], x[1])


@pytest.mark.parametrize("name", ["no_barrier", "sync_only", "own_rank_only"])
@pytest.mark.parametrize("checks", [DEVICE, STRICT])
def test_nothing_less_than_quiet_and_a_meeting_orders_ranks(name: str, checks: int) -> None:
    for options in schedules():
        fault = KERNELS.fault(name, 2, *arrays(2, 3), blocks=3, checks=checks, **options)
        assert fault.kind == "race", fault.text


# A put to rank 1, of which rank 2 learns by a signal, and reads.
THIRD = """
if (t.me == 0) {{
    t.Load(x, 0); t.Store(y, 0, 1);
    {complete}
    aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, {to});
}}
if (t.me == {to}) {{
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 1);
    t.Load((GM_ADDR)aclshmem_ptr(y, 1), 0); t.Store(out, 0, t.me);
}}
"""
add("third_quiet", THIRD.format(complete="aclshmem_quiet();", to=2))
add("third_fence", THIRD.format(complete="aclshmem_fence();", to=2))
add("same_fence", THIRD.format(complete="aclshmem_fence();", to=1))


def test_a_fence_is_a_quiet_on_this_device_and_an_order_per_rank_in_general() -> None:
    for options in schedules():
        for name, checks in (
            ("third_quiet", STRICT),
            ("third_fence", DEVICE),
            ("same_fence", STRICT),
            ("same_fence", DEVICE),
        ):
            values = arrays(3)
            KERNELS.run(name, 3, *values, checks=checks, **options)
            to = 1 if name == "same_fence" else 2
            np.testing.assert_array_equal(values[2][to], values[0][0])
        assert KERNELS.fault("third_fence", 3, *arrays(3), **options).kind == "race"


# The rank to which was put tells the third one that it has got it.
add("acknowledged", """
if (t.me == 0) {
    t.Load(x, 0); t.Store(y, 0, 1); aclshmem_quiet();
    aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 1);
} else {
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 1);
    if (t.me == 1) aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 2);
    else { t.Load((GM_ADDR)aclshmem_ptr(y, 1), 0); t.Store(out, 0, t.me); }
}
""")  # fmt: skip
add("third_barrier", """
if (t.me == 0) { t.Load(x, 0); t.Store(y, 0, 1); }
aclshmem_barrier_all();
t.Load((GM_ADDR)aclshmem_ptr(y, 1), 0); t.Store(out, 0, t.me);
""")  # fmt: skip


def test_over_roce_only_the_owner_of_the_memory_knows_that_a_store_is_complete() -> None:
    for options in schedules():
        for name in ("acknowledged", "third_barrier"):
            values = arrays(3)
            KERNELS.run(name, 3, *values, node_ranks=1, **options)
            np.testing.assert_array_equal(values[2][2], values[0][0])
        KERNELS.run("third_quiet", 3, *arrays(3), node_ranks=1, checks=DEVICE, **options)
        assert KERNELS.fault("third_quiet", 3, *arrays(3), node_ranks=1, **options).kind == "race"


# A scalar read, again after the next rank has stored there.
STALE = """
GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)y);
if (t.me == 0) {{
    int32_t seen = g.GetValue(0);
    aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 1);
    aclshmem_signal_wait_until(Word(w, LINE), ACLSHMEM_CMP_EQ, 1);
    {drop}
    seen += g.GetValue(0);
    g.SetGlobalBuffer((__gm__ int32_t*)out); g.SetValue(0, seen);
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);
}} else {{
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 1);
    t.Load(x, 0); t.Store(y, 0, 0); aclshmem_quiet();
    aclshmemx_signal_op(Word(w, LINE), 1, ACLSHMEM_SIGNAL_SET, 0);
}}
"""
DROP = "DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);"
add("stale", STALE.format(drop=""))
add("dropped", STALE.format(drop=DROP))


def test_a_scalar_load_after_a_remote_store_drops_its_line_first() -> None:
    for options in schedules():
        values = arrays(2)
        KERNELS.run("dropped", 2, *values, **options)
        assert values[2][0][0, 0] == 1000
        assert KERNELS.fault("stale", 2, *arrays(2), **options).kind == "stale-read"


LIBRARY = {
    "put_tensors": "aclshmemx_mte_put_nbi(gy, gx, piece, N * 2, t.next, 0);",
    "put_pointers": "aclshmemx_mte_put_nbi((__gm__ int32_t*)y, (__gm__ int32_t*)x, "
    "(__ubuf__ int32_t*)piece.GetPhyAddr(), 96, N * 2, t.next, 0);",
    "put_rows": "aclshmemx_mte_put_nbi(gy, gx, rows, "
    "non_contiguous_copy_param{2, N, N, N}, t.next, 0);",
    "put_bytes": "aclshmem_putmem(y, x, N * 8, t.next);",
    "put_typed": "aclshmem_int32_put((__gm__ int32_t*)y, (__gm__ int32_t*)x, N * 2, t.next);",
    "put_elements": "for (int32_t i = 0; i < 2 * N; ++i)"
    "aclshmem_int32_p((__gm__ int32_t*)y + i, aclshmem_int32_g((__gm__ int32_t*)x + i, t.me), t.next);",
    "put_from_ub": "DataCopy(rows, gx, N * 2); SetFlag<HardEvent::MTE2_MTE3>(0);"
    "WaitFlag<HardEvent::MTE2_MTE3>(0); aclshmemx_mte_put_nbi(gy, rows, N * 2, t.next, 0);",
    "add_remotely": "for (int32_t i = 0; i < 2 * N; ++i) { PipeBarrier<PIPE_ALL>();"
    "aclshmem_int32_atomic_add((__gm__ int32_t*)y + i, i + 1000 * t.me, t.next); }",
}
for _name, _call in LIBRARY.items():
    add(
        _name,
        f"""
    GlobalTensor<int32_t> gx, gy; gx.SetGlobalBuffer((__gm__ int32_t*)x, 2 * N);
    gy.SetGlobalBuffer((__gm__ int32_t*)y, 2 * N);
    LocalTensor<int32_t> piece(TPosition::VECCALC, 8192, 24), rows(TPosition::VECCALC, 8192, N * 2);
    {_call}
    aclshmem_barrier_all();
    t.Load(y, 0); t.Store(out, 0, t.me); t.Load(y, 1); t.Store(out, 1, t.me);
    """,
    )


@pytest.mark.parametrize("name", LIBRARY)
def test_copies_of_the_library(name: str) -> None:
    for options in schedules():
        x, y, out, w = arrays(3, 2)
        KERNELS.run(name, 3, x, y, out, w, **options)
        for rank in range(3):
            np.testing.assert_array_equal(out[rank], x[(rank - 1) % 3])


REFUSED = {
    "peer-range": "t.Load(x, 0); t.Store(y, 0, t.all);",
    "not-symmetric": "t.Load(x, 0); t.Store(out, 0, t.next);",
    "atomic-no-fetch": "aclshmem_int32_atomic_fetch_add((__gm__ int32_t*)w, 1, t.next);",
}
for _name, _body in REFUSED.items():
    add(_name.replace("-", "_"), _body)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_the_library_refuses(kind: str) -> None:
    fault = KERNELS.fault(kind.replace("-", "_"), 2, *arrays(2))
    assert (fault.kind, bool(fault.hint)) == (kind, True)


add("late", """
if (t.me == 0) { t.Load(x, 0); t.Store(y, 0, 1);
    aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 1);
    aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 1); }
if (t.me == 1) { aclshmem_signal_wait_until(Word(w, 0), ACLSHMEM_CMP_EQ, 1);
    t.Load(y, 0); t.Store(out, 0, t.me);
    aclshmemx_signal_op(Word(w, 0), 1, ACLSHMEM_SIGNAL_SET, 0); }
""")  # fmt: skip


@pytest.mark.parametrize("delivery, shown", [(PROMPT, True), (LATE, False)])
def test_a_store_without_quiet_may_stay_with_its_core(delivery: int, shown: bool) -> None:
    x, y, out, w = arrays(2)
    x[0][:] += 7
    KERNELS.run("late", 2, x, y, out, w, checks=OFF, delivery=delivery)
    np.testing.assert_array_equal(out[1], x[0] if shown else 0 * x[0])
    np.testing.assert_array_equal(y[1], x[0])
    assert KERNELS.fault("late", 2, *arrays(2), delivery=delivery).kind == "unquiet-signal"


add("rounds", """
for (int32_t i = 0; i < 40; ++i) {
    t.Load(x, 0); t.Store(y, 0, t.next);
    aclshmem_barrier_all();
    t.Load(y, 0); t.Store(out, 0, t.me);
    aclshmem_barrier_all();
}
""")  # fmt: skip


@pytest.mark.parametrize("starved", [1, 2, 3])
def test_a_starved_rank(starved: int) -> None:
    x, y, out, w = arrays(3)
    KERNELS.run("rounds", 3, x, y, out, w, starved_rank=starved)
    np.testing.assert_array_equal(out[0], x[2])


add("numbers", """
GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)out);
SyncAll();
if (GetBlockIdx() == 1) {
    g.SetValue(0, GetBlockNum()); g.SetValue(1, block_idx);
    g.SetValue(2, aclshmem_my_pe()); g.SetValue(3, aclshmem_n_pes());
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);
}
""")  # fmt: skip


def test_a_kernel_sees_its_own_rank() -> None:
    for options in schedules():
        values = arrays(3)
        KERNELS.run("numbers", 3, *values, blocks=2, **options)
        for rank in range(3):
            assert list(values[2][rank][0, :4]) == [2, 1, rank, 3]
