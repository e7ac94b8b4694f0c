"""Loops whose trip counts are symbols, in texts of ranks: turns that stand for any number of turns,
and loops that concern the cores of one block alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tile_frontend as T
from tile_checkers import check_memory, prove_ranks
from tile_ir import DEFAULT_TARGET, Automatic, Func
from tile_passes import run_pipeline

from .kernels_of_ranks import OPTIONS, final

N, RANKS = 64, 2
TURNS = T.symbolic("turns")
KEYS = T.symbolic("keys")


def told(slots: int, what: str) -> T.PrimFunc:
    """Every rank puts to all others and waits for all. `what` says how it differs."""
    adds, moves, faster = (what == name for name in ("adds", "moves", "faster"))

    @T.prim_func
    def tell(
        x: T.Tensor((N,), "float32"),
        y: T.SymmTensor((64, RANKS, N), "float32"),
        words: T.Signals(RANKS),
        z: T.Tensor((N,), "float32"),
        step: T.int32,
    ):
        with T.Kernel(1, threads=1, is_npu=True) as cid, T.Scale("device") as (r, num):
            a = T.alloc_shared((N,), "float32")
            T.copy(x, a)
            for s in T.serial(num):
                if moves:
                    T.put(a, y[step, r, :], s)
                else:
                    T.put(a, y[step % slots, r, :], s)
            T.quiet()
            for s in T.serial(num):
                if adds:
                    T.signal(words[r], 1, s, "add")
                elif faster:
                    T.signal(words[r], 2 * step, s)
                else:
                    T.signal(words[r], step, s)
            for s in T.serial(num):
                T.wait_ge(words[s], step)
                if moves:
                    T.copy(y[step, s, :], a)
                else:
                    T.copy(y[step % slots, s, :], a)
            T.copy(a, z)

    return tell


def in_turns(slots: int, what: str = "") -> Func:
    func = T.megakernel(
        [T.Task(told(slots, what))("x", "y", "words", "z", "step")],
        inputs=["x"], outputs=["z"], step="step", turns=TURNS, stacked=["x"],
    )  # fmt: skip
    return final(func)


def findings(func: Func) -> set[str]:
    return {d.slug for d in prove_ranks(func, [RANKS]).findings}


def test_slots_that_alternate_are_enough() -> None:
    assert findings(in_turns(2)) == set()
    assert findings(in_turns(1)) == {"race"}
    assert findings(in_turns(2, "adds")) == set()


@pytest.mark.parametrize(("slots", "what"), [(3, ""), (2, "moves"), (2, "faster")])
def test_turns_that_differ_in_more_are_left_to_the_simulator(slots: int, what: str) -> None:
    """More slots than turns are followed for, places that never come again, and words that are set
    to other numbers than are waited for."""
    (found,) = prove_ranks(in_turns(slots, what), [RANKS]).findings
    assert found.slug == "sync-unproved"
    assert "how often this loop runs depends on `turns`" in found.message


def with_products(what: str) -> T.PrimFunc:
    """Cores of a block hand over results in a loop over keys; then ranks exchange rows."""

    @T.prim_func
    def kernel(
        q: T.Tensor((16, 64), "float16"),
        k: T.Tensor((KEYS, 64), "float16"),
        y: T.SymmTensor((16, 64), "float32"),
        words: T.Signals(1),
        z: T.Tensor((16, 64), "float32"),
        step: T.int32,
    ):
        with T.Kernel(1, threads=2, is_npu=True) as cid, T.Scale("device") as (r, num):
            a = T.alloc_shared((16, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((16, 64), "float32")
            part = T.alloc_shared((16, 64), "float32")
            total = T.alloc_shared((16, 64), "float32")
            T.copy(q, a)
            T.tile.fill(total, 0.0)
            for n in T.serial(T.ceildiv(KEYS, 64)):
                T.copy(k[n * 64, 0], b)
                T.gemm_v0(a, b, c, transpose_B=True, init=True)
                T.copy(c, part)
                for i, j in T.Parallel(16, 64):
                    total[i, j] = total[i, j] + part[i, j]
            T.put(total, y, (r + 1) % num)
            T.quiet()
            T.signal(words[0], step, (r + 1) % num)
            if what != "early":
                T.wait_ge(words[0], step)
            T.copy(y, part)
            T.copy(part, z)

    return kernel


def test_loops_inside_a_block_do_not_matter_to_ranks() -> None:
    assert findings(final(with_products(""))) == set()


def test_nothing_is_sure_without_them() -> None:
    """What is found while a loop is left out is told as what it may be, and no more."""
    (found,) = prove_ranks(final(with_products("early")), [RANKS]).findings
    assert found.slug == "sync-unproved"
    assert "how often this loop runs depends on `keys`" in found.message


@T.prim_func
def sum_of_keys(k: T.Tensor((KEYS, N), "float32"), x: T.Tensor((N,), "float32")):
    with T.Kernel(1, threads=1, is_npu=True):
        a = T.alloc_shared((N,), "float32")
        total = T.alloc_shared((N,), "float32")
        T.tile.fill(total, 0.0)
        for n in T.serial(KEYS):
            T.copy(k[n, 0], a)
            for i in T.Parallel(N):
                total[i] = total[i] + a[i]
        T.copy(total, x)


@pytest.mark.parametrize("slots", [1, 2])
def test_rounds_overlap_in_tasks_of_turns(slots: int) -> None:
    """What a loop of a task keeps from round to round is not what the task before, or the turn
    before, has left there; and the order of its pipes says nothing of ranks."""
    func = T.megakernel(
        [T.Task(sum_of_keys)("k", "x"), T.Task(told(slots, ""))("x", "y", "words", "z", "step")],
        inputs=["k"], outputs=["z"], step="step", turns=TURNS, stacked=["k"],
    )  # fmt: skip
    options = replace(OPTIONS, for_speed=(Automatic.ITERATIONS,))
    text = run_pipeline(func, DEFAULT_TARGET, options).func
    assert [len(a.buffer.shape) for a in text.launch.allocs] == [2, 1, 1]  # versions of a tile
    assert check_memory(text) == ()
    assert findings(text) == (set() if slots == 2 else {"race"})
