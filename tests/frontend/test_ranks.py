"""Ranks in the language: numbers, symmetric tensors, copies, signals, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tile_frontend as T
from tile_ir import Func, KernelError, print_func

N = 64


def _text(func: Func) -> str:
    """The printed function without places."""
    return re.sub(r" @[\d:]+( generated)?", "", print_func(func).split("\n", 2)[2])


def test_both_forms_of_as_are_one() -> None:
    """S-2: `as (r, n)` and the seed's `as r, n`, which Python reads as two frames."""

    @T.prim_func
    def tuple_(x: T.SymmTensor((N,), "float32"), y: T.SymmTensor((N,), "float32")) -> None:
        with T.Kernel(1) as cid:
            with T.Scale("device") as (r, num):
                T.put(x, y, (r + 1) % num)

    @T.prim_func
    def bare(x: T.SymmTensor((N,), "float32"), y: T.SymmTensor((N,), "float32")) -> None:
        with T.Kernel(1) as cid:
            with T.Scale("device") as r, num:
                T.put(x, y, (r + 1) % num)

    @T.prim_func
    def functions(x: T.SymmTensor((N,), "float32"), y: T.SymmTensor((N,), "float32")) -> None:
        with T.Kernel(1) as cid:
            with T.Scale("device") as r:
                T.put(x, y, (r + 1) % T.num_ranks())

    assert _text(tuple_) == _text(bare) == _text(functions)


def test_a_second_name_that_has_a_value_is_refused() -> None:
    num = 3

    with pytest.raises(KernelError, match="`num` has a value already"):

        @T.prim_func
        def kernel(x: T.SymmTensor((N,), "float32")) -> None:
            with T.Kernel(1) as cid:
                with T.Scale("device") as r, num:
                    T.put(x, x, r)


def test_the_level_of_vector_cores_is_the_lane() -> None:
    """S-3, the first half: `T.Scale("vec")` and a name for the lane."""

    @T.prim_func
    def scale(x: T.Tensor((2, N), "float32")) -> None:
        with T.Kernel(1) as cid:
            with T.Scale("vec") as vid:
                t = T.alloc_ub((N,), "float32")
                T.copy(x[vid, :], t)

    @T.prim_func
    def named(x: T.Tensor((2, N), "float32")) -> None:
        with T.Kernel(1) as (cid, vid):
            t = T.alloc_ub((N,), "float32")
            T.copy(x[vid, :], t)

    assert _text(scale).replace('"scale"', "") == _text(named).replace('"named"', "")


@pytest.mark.parametrize("level", ["thread", "warpgroup", "sm", "die", "cta", "planet"])
def test_levels_that_the_machine_lacks_name_ours(level: str) -> None:
    """S-4."""
    with pytest.raises(KernelError) as found:

        @T.prim_func
        def kernel(x: T.Tensor((N,), "float32")) -> None:
            with T.Kernel(1) as cid:
                with T.Scale(level) as r:
                    pass

    assert found.value.slug == "scale-level"
    assert (
        "device" in str(found.value.hint)
        or "block" in str(found.value.hint)
        or ("vec" in str(found.value.hint))
    )


def test_a_level_outside_the_launch_is_refused() -> None:
    with pytest.raises(KernelError) as found:

        @T.prim_func
        def kernel(x: T.Tensor((N,), "float32")) -> None:
            with T.Scale("block") as b:
                with T.Kernel(1) as cid:
                    pass

    assert found.value.slug == "scale-nesting"


def _both_remote(x: Any, y: Any, t: Any, r: Any) -> Any:
    return T.copy(x, y, src_pe=r, dst_pe=r)


def _negative(x: Any, y: Any, t: Any, r: Any) -> Any:
    return T.put(t, y, -1)


def _private(x: Any, y: Any, t: Any, r: Any) -> Any:
    return T.copy(x, t, dst_pe=r)


@pytest.mark.parametrize(
    ("call", "slug"),
    [(_both_remote, "both-remote"), (_negative, "peer-range"), (_private, "not-symmetric")],
)
def test_sides_that_can_not_be(call: Any, slug: str) -> None:
    """S-7, what the text shows."""
    with pytest.raises(KernelError) as found:

        @T.prim_func
        def kernel(x: T.SymmTensor((N,), "float32"), y: T.SymmTensor((N,), "float32")) -> None:
            with T.Kernel(1) as cid:
                t = T.alloc_ub((N,), "float32")
                call(x, y, t, T.rank())

    assert found.value.slug == slug
    assert found.value.loc is not None and found.value.loc.line > 0


def test_a_tile_on_chip_is_nobody_elses() -> None:
    with pytest.raises(KernelError) as found:

        @T.prim_func
        def kernel(words: T.Tensor((N,), "int32")) -> None:
            with T.Kernel(1) as cid:
                t = T.alloc_ub((N,), "int32")
                T.signal(t[0], 1, T.rank())

    assert found.value.slug == "not-symmetric"


def test_a_plain_tensor_that_ranks_share_is_symmetric() -> None:
    """Also in what the text has said of it before."""

    @T.prim_func
    def plain(x: T.Tensor((N,), "float32"), y: T.Tensor((N,), "float32")) -> None:
        with T.Kernel(1) as cid:
            t = T.alloc_ub((N,), "float32")
            T.copy(y, t)
            y[3] = y[2] + 1.0
            T.put(t, y, 1)
            T.copy(x, t)

    @T.prim_func
    def said(x: T.Tensor((N,), "float32"), y: T.SymmTensor((N,), "float32")) -> None:
        with T.Kernel(1) as cid:
            t = T.alloc_ub((N,), "float32")
            T.copy(y, t)
            y[3] = y[2] + 1.0
            T.put(t, y, 1)
            T.copy(x, t)

    assert _text(plain).replace("plain", "") == _text(said).replace("said", "")


def _traced(call: Any) -> Func:
    @T.prim_func
    def kernel(
        x: T.SymmTensor((N,), "float32"), y: T.SymmTensor((N,), "float32"), words: T.Signals(2)
    ) -> None:
        with T.Kernel(1) as (cid, vid):
            t = T.alloc_ub((N,), "float32")
            call(x, y, words, t)

    return kernel


# What each spelling means: that of another library, and ours.
SPELLINGS: dict[str, tuple[Any, Any]] = {
    "put_block": (lambda x, y, w, t: T.put_block(x, y, N, 1), lambda x, y, w, t: T.put(x, y, 1)),
    "get_warp": (
        lambda x, y, w, t: T.get_warp(x, y, N, src_pe=1, unroll_factor=4),
        lambda x, y, w, t: T.get(x, y, 1),
    ),
    "put_block at home": (
        lambda x, y, w, t: T.put_block(x, y, N),
        lambda x, y, w, t: T.copy(x, y),
    ),
    "putmem_nbi": (
        lambda x, y, w, t: T.putmem_nbi(y, x, 128, 1),
        lambda x, y, w, t: T.put(x, y, 1, 32),
    ),
    "getmem": (
        lambda x, y, w, t: T.getmem(y, x, 128, 1),
        lambda x, y, w, t: T.get(x, y, 1, 32),
    ),
    "putmem_signal": (
        lambda x, y, w, t: T.putmem_signal(y, t, 4 * N, w[1], 5, "add", 1),
        lambda x, y, w, t: T.put_signal(t, y, w[1], 5, 1, op="add"),
    ),
    "signal_op": (
        lambda x, y, w, t: T.signal_op(w[1], 5, "ACLSHMEM_SIGNAL_ADD", 1),
        lambda x, y, w, t: T.signal(w[1], 5, 1, op="add"),
    ),
    "signal_wait_until": (
        lambda x, y, w, t: T.signal_wait_until(w[0], "CMP_GE", 3),
        lambda x, y, w, t: T.wait_ge(w[0], 3),
    ),
    "st": (
        lambda x, y, w, t: T.st(w[0], 3, scope="sys", sem="release", dst_pe=1),
        lambda x, y, w, t: T.signal(w[0], 3, 1),
    ),
    "atom_add": (
        lambda x, y, w, t: T.atom_add(w[0], 3, scope="sys", sem="release"),
        lambda x, y, w, t: T.signal(w[0], 3, op="add"),
    ),
    "barrier_blocks": (lambda x, y, w, t: T.barrier_blocks(), lambda x, y, w, t: T.barrier()),
    "shmem_put_nbi": (
        lambda x, y, w, t: T.shmem_put_nbi(y, x, N, 1),
        lambda x, y, w, t: T.put(x, y, 1),
    ),
    "shmem_get_nbi": (
        lambda x, y, w, t: T.shmem_get_nbi(y, x, N, 1),
        lambda x, y, w, t: T.get(x, y, 1),
    ),
    "shmem_ub_put_nbi": (
        lambda x, y, w, t: T.shmem_ub_put_nbi(t, y, 32, 1, 16),
        lambda x, y, w, t: T.put(t, y[16:], 1, 32),
    ),
    "shmem_ub_get_nbi": (
        lambda x, y, w, t: T.shmem_ub_get_nbi(t, x, 32, 1),
        lambda x, y, w, t: T.get(x, t, 1, 32),
    ),
    "get_pe": (
        lambda x, y, w, t: T.put(t, y, (T.get_pe() + 1) % T.n_pes()),
        lambda x, y, w, t: T.put(t, y, (T.rank() + 1) % T.num_ranks()),
    ),
    "copy with dst": (
        lambda x, y, w, t: T.copy(y, t, dst=1),
        lambda x, y, w, t: T.copy(t, y, dst_pe=1),
    ),
    "exchanged": (
        lambda x, y, w, t: T.put_block(y, t, N, 1),
        lambda x, y, w, t: T.put(t, y, 1),
    ),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_other_spellings_mean_ours(name: str) -> None:
    """S-5, S-6."""
    theirs, ours = (_traced(call) for call in SPELLINGS[name])
    assert _text(theirs) == _text(ours)
    told = [remark.slug for remark in theirs.remarks]
    assert told == (["copy-order"] if name in ("copy with dst", "exchanged") else [])


def test_elements_are_counted_over_rows() -> None:
    @T.prim_func
    def kernel(x: T.SymmTensor((2, 3, 32), "int8")) -> None:
        with T.Kernel(1) as cid:
            t = T.alloc_ub((32,), "int8")
            T.copy(x[0, 0, 0], t)
            T.shmem_ub_put_nbi(t, x, 16, 1, 4 * 32 + 8)

    assert "$x[1:+1, 1:+1, 1:+1, 8:+16]" in _text(kernel)


def test_words_lie_in_lines_of_their_own() -> None:
    @T.prim_func
    def kernel(words: T.Signals(4)) -> None:
        with T.Kernel(1) as cid:
            T.signal(words[2], 1, 0)
            T.wait_ge(words[2], 1)

    text = _text(kernel)
    assert "int32 [%all_ranks, 4, 16]" in text
    assert "signal($words[0:+1, 2:+1, 0:+1], 1, none)" in text
    assert "wait_signal($words[%own_rank:+1, 2:+1, 0:+1], 1)" in text


def test_a_signal_of_a_block_waits_for_its_cores() -> None:
    """A text without a name for the vector cores is that of a whole block, and so is its signal."""

    @T.prim_func
    def block(words: T.Signals(1)) -> None:
        with T.Kernel(1) as cid:
            T.signal(words[0], 1, 0)

    @T.prim_func
    def lanes(words: T.Signals(1)) -> None:
        with T.Kernel(1) as (cid, vid):
            T.signal(words[0], 1, 0)

    assert "sync_block()" in _text(block)
    assert "sync_block" not in _text(lanes)


def test_names_of_ranks_are_nobody_elses() -> None:
    """A user's `own_rank` gets another name in the printed function."""

    @T.prim_func
    def kernel(x: T.SymmTensor((N,), "float32")) -> None:
        with T.Kernel(2) as own_rank:
            T.put(x, x, own_rank)

    assert "blocks(2) %own_rank_1" in _text(kernel)
