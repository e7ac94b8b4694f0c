"""What other libraries move between devices by numbers of elements or bytes, from an address on."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tile_frontend as T
from tile_ir import Func, KernelError, print_func

ROWS, COLUMNS = 8, 64


def _traced(call: Any) -> Func:
    @T.prim_func
    def kernel(
        x: T.SymmTensor((ROWS, COLUMNS), "float32"),
        y: T.SymmTensor((ROWS, COLUMNS), "float32"),
        line: T.SymmTensor((ROWS * COLUMNS,), "float32"),
        words: T.Signals(2),
        n: T.int32,
    ) -> None:
        with T.Kernel(1, threads=128) as cid:
            t = T.alloc_shared((4, COLUMNS), "float32")
            call(x, y, line, words, t, n)

    return kernel


# By number: what is written for GPUs, and the slices that it means.
RUNS: dict[str, tuple[Any, Any]] = {
    "rows from an element": (
        lambda x, y, l, w, t, n: T.put_block(T.address_of(x[2, 0]), T.address_of(y[n, 0]), 128, 1),
        lambda x, y, l, w, t, n: T.put(x[2:4, :], y[n : n + 2, :], 1),
    ),
    "part of a row": (
        lambda x, y, l, w, t, n: T.putmem(T.address_of(y[n, 16]), T.address_of(x[n, 8]), 64, 1),
        lambda x, y, l, w, t, n: T.put(x[n, 8:24], y[n, 16:32], 1),
    ),
    "rows of a number that the call decides": (
        lambda x, y, l, w, t, n: T.getmem(y[1, 0], x[0, 0], n * COLUMNS * 4, 1),
        lambda x, y, l, w, t, n: T.get(x[0:n, :], y[1 : n + 1, :], 1),
    ),
    "elements of one line": (
        lambda x, y, l, w, t, n: T.shmem_put_nbi(l[n], l[0:96], n, 1),
        lambda x, y, l, w, t, n: T.put(l[0:n], l[n : n + n], 1),
    ),
    "the first rows of a tile": (
        lambda x, y, l, w, t, n: T.putmem_nbi_block(y[n, 0], T.address_of(t[0, 0]), 512, 1),
        lambda x, y, l, w, t, n: T.put(t[0:2, :], y[n : n + 2, :], 1),
    ),
    "rows behind the start of a tensor": (
        lambda x, y, l, w, t, n: T.shmem_ub_put_nbi(t, y, 128, 1, (n * 2 + 1) * COLUMNS),
        lambda x, y, l, w, t, n: T.put(t[0:2, :], y[n * 2 + 1 : n * 2 + 3, :], 1),
    ),
    "a line behind the start of a tensor": (
        lambda x, y, l, w, t, n: T.shmem_ub_put_nbi(t, l, 64, 1, n),
        lambda x, y, l, w, t, n: T.put(t[0:1, :], l[n : n + 64], 1),
    ),
    "all of a tensor": (
        lambda x, y, l, w, t, n: T.put_block(x, y, ROWS * COLUMNS, 1),
        lambda x, y, l, w, t, n: T.put(x, y, 1),
    ),
    "at home": (
        lambda x, y, l, w, t, n: T.put_block(T.address_of(x[4, 0]), y[2, 0], 2 * COLUMNS),
        lambda x, y, l, w, t, n: T.copy(x[4:6, :], y[2:4, :]),
    ),
    "a word": (
        lambda x, y, l, w, t, n: T.signal_op(T.address_of(w[1]), n, T.Amo.SIGNAL_ADD, 1),
        lambda x, y, l, w, t, n: T.signal(w[1], n, 1, op="add"),
    ),
    "by the numbers of NVSHMEM": (
        lambda x, y, l, w, t, n: T.signal_op(w[1], n, 9, 1),
        lambda x, y, l, w, t, n: T.signal(w[1], n, 1),
    ),
    "a comparison": (
        lambda x, y, l, w, t, n: T.signal_wait_until(T.address_of(w[0]), T.CmpType.GE, n),
        lambda x, y, l, w, t, n: T.wait_ge(w[0], n, scope="gpu"),
    ),
    "equal by number": (
        lambda x, y, l, w, t, n: T.signal_wait_until(w[0], 0, n),
        lambda x, y, l, w, t, n: T.wait_eq(w[0], n),
    ),
    "a meeting of ranks": (
        lambda x, y, l, w, t, n: T.sync_blocks(w),
        lambda x, y, l, w, t, n: T.barrier(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_the_slices_it_covers(name: str) -> None:
    """S-5. What only a run knows is asserted besides."""
    theirs, ours = (print_func(_traced(call)) for call in RUNS[name])
    assert re.sub(r".*device_assert.*\n", "", theirs) == ours


# By what is wrong: what is written, and the slug.
WRONG: dict[str, tuple[Any, str]] = {
    "longer than the row": (
        lambda x, y, l, w, t, n: T.put(x[0, :], y[0, :], 1, 128), "copy-extent",
    ),
    "longer than the slice": (
        lambda x, y, l, w, t, n: T.put(l[0:16], l[32:48], 1, 32), "copy-extent",
    ),
    "longer than the tensor": (
        lambda x, y, l, w, t, n: T.put_block(l[256], l[0], 512, 1), "copy-extent",
    ),
    "from the middle of a row over its end": (
        lambda x, y, l, w, t, n: T.put_block(x[0, 8], y[0, 8], COLUMNS, 1), "copy-extent",
    ),
    "longer than any row": (
        lambda x, y, l, w, t, n: T.put_block(x[0, n], y[0, n], COLUMNS + 8, 1), "copy-extent",
    ),
    "no whole rows": (
        lambda x, y, l, w, t, n: T.put_block(x[0, 0], y[0, 0], COLUMNS + 8, 1), "copy-extent",
    ),
    "no rows as far as one knows": (
        lambda x, y, l, w, t, n: T.put(x[0:2, :], y[0:2, :], 1, n), "copy-extent",
    ),
    "bytes of another type": (
        lambda x, y, l, w, t, n: T.putmem(l[0], w[0], 4, 1), "dtype-mismatch",
    ),
    "an address of nothing": (lambda x, y, l, w, t, n: T.address_of(3), "operand-kind"),
    "words of another type": (lambda x, y, l, w, t, n: T.signal(l[0], 1, 1), "operand-dtype"),
    "a number that means another thing elsewhere": (
        lambda x, y, l, w, t, n: T.signal_wait_until(w[0], 2, n), "operand-kind",
    ),
    "a wait that learns nothing": (
        lambda x, y, l, w, t, n: T.wait_ge(w[0], 1, semantics="volatile"), "gpu-name",
    ),
    "data stored as a word": (
        lambda x, y, l, w, t, n: T.st(l[0], 1.0, dst_pe=1), "gpu-name",
    ),
    "a scalar of another rank": (lambda x, y, l, w, t, n: T.ld(w[0], n, src_pe=1), "gpu-name"),
    "a collective": (lambda x, y, l, w, t, n: T.allreduce(x), "gpu-name"),
    "an instruction": (lambda x, y, l, w, t, n: T.TPUT(x, y), "gpu-name"),
    "a meeting by another name": (lambda x, y, l, w, t, n: T.sync_all_block(), "gpu-name"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_run_is_told(name: str) -> None:
    call, slug = WRONG[name]
    with pytest.raises(KernelError) as found:
        _traced(call)
    assert found.value.slug == slug
    assert found.value.loc is not None


def test_looks_over_the_link_are_told() -> None:
    func = _traced(lambda x, y, l, w, t, n: T.wait_ge(w[0], 1, peer=1))
    assert [(r.slug, r.severity) for r in func.remarks] == [("poll-of-peer", "warning")]
