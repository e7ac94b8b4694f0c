"""Kernels as packages for GPUs have them: factories that host functions call, tensors with strides
of their own and some that are left out, launches without threads. Each runs at `strict` against
torch."""

from __future__ import annotations

import linecache
from typing import Any

import pytest
import torch

from end_to_end.language_for_gpus import T
from tile_frontend import StridedTensor
from tile_ir import CallError, KernelError, KernelWarning
from tile_runtime import jit

pytestmark = pytest.mark.usefixtures("strict")


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found.float(), expected.float(), rtol=1e-4, atol=1e-4)


# Launches of one index ----------------------------------------------------------------------------


@jit
def shares_of_matrices(count: int, size: int) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def shares(X: T.Tensor((n, size, size), "float32"), Y: T.Tensor((n, size, size), "float32")):
        with T.Kernel(T.ceildiv(n, count)) as b:
            x = T.alloc_fragment((count, size, size), "float32")
            of_rows = T.alloc_fragment((count, size), "float32")
            of_columns = T.alloc_fragment((count, size), "float32")
            T.copy(X[b * count, 0, 0], x)
            T.reduce_sum(x, of_rows, dim=2)
            for i, j, k in T.Parallel(count, size, size):
                x[i, j, k] = x[i, j, k] / of_rows[i, j]
            T.reduce_sum(x, of_columns, dim=1)
            for i, j, k in T.Parallel(count, size, size):
                x[i, j, k] = x[i, j, k] / of_columns[i, k]
            T.copy(x, Y[b * count, 0, 0])

    return shares


@pytest.mark.parametrize(("n", "count"), [(1, 1), (5, 4)])
def test_a_launch_of_one_index_is_for_gpus(n: int, count: int) -> None:
    """Dimensions are counted from the first one then, where on Ascend they are the last two."""
    x = torch.rand(n, 4, 4) + 0.5
    y = torch.empty_like(x)
    shares_of_matrices(count, 4)(x, y)
    x = x / x.sum(2, keepdim=True)
    close(y, x / x.sum(1, keepdim=True))


# Elements with gaps between them ------------------------------------------------------------------


@jit
def every_third(width: int, columns: int, start: int) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def gathered(X: T.Tensor((n, columns), "float32"), Y: T.Tensor((n, width), "float32")):
        with T.Kernel(n, threads=128) as b:
            y = T.alloc_fragment((width,), "float32")
            for j in T.Parallel(width):
                y[j] = X[b, j * 3 + start]
            T.copy(y, Y[b, 0])

    return gathered


@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
@pytest.mark.parametrize("start", [1, -4])
@pytest.mark.parametrize("columns", [40, 100, 104])
def test_elements_with_gaps_end_with_their_tensor(columns: int, start: int) -> None:
    x, y = torch.randn(3, columns), torch.empty(3, 64)
    every_third(64, columns, start)(x, y)
    places = torch.arange(64) * 3 + start
    inside = (places >= 0) & (places < columns)
    assert torch.equal(y, torch.where(inside, x[:, places.clamp(0, columns - 1)], 0))


# Tensors that callers have another way ------------------------------------------------------------


@jit
def doubled(columns: int) -> Any:
    n, pitch, pitch_out = T.symbolic("n"), T.symbolic("pitch"), T.symbolic("pitch_out")

    @T.prim_func
    def kernel(
        X: StridedTensor[(n, columns), (pitch, 1), T.float32],
        Y: StridedTensor[(n, columns), (pitch_out, 1), T.float32],
    ):
        with T.Kernel(n, threads=64) as b:
            T.assume(pitch % 4 == 0)
            x = T.alloc_shared((columns,), "float32")
            T.copy(X[b, 0], x)
            for i in T.Parallel(columns):
                x[i] = x[i] * 2.0
            T.copy(x, Y[b, 0])

    return kernel


def test_rows_may_lie_apart_where_the_text_says_strides() -> None:
    x, y = torch.randn(5, 96), torch.zeros(32, 5)
    kernel = doubled(32)
    kernel(x[:, 16:48], y.T)
    assert torch.equal(y.T, x[:, 16:48] * 2)
    dense = torch.empty(5, 32)
    for _ in range(2):
        kernel(x[:, :32], dense)
        assert torch.equal(dense, x[:, :32] * 2)


def test_strides_of_all_dimensions_are_given() -> None:
    with pytest.raises(KernelError, match="1 strides for 2 dimensions"):
        StridedTensor[(4, 4), (4,), "float32"]


@jit
def weighted(columns: int, with_weights: bool) -> Any:
    n, m, k = T.symbolic("n"), T.symbolic("m"), T.symbolic("k")

    @T.prim_func
    def kernel(
        X: T.Tensor((n, columns), "float32"),
        W: T.Tensor((n, columns), "float32"),
        unused: T.Tensor((m, k), "int32"),
        Y: T.Tensor((n, columns), "float32"),
    ):
        with T.Kernel(n, threads=64) as b:
            x = T.alloc_fragment((columns,), "float32")
            w = T.alloc_fragment((columns,), "float32")
            T.copy(X[b, 0], x)
            if with_weights:
                T.copy(W[b, 0], w)
                for i in T.Parallel(columns):
                    x[i] = x[i] * w[i]
            T.copy(x, Y[b, 0])

    return kernel


def test_what_a_kernel_leaves_alone_may_be_left_out() -> None:
    x, w, y = torch.randn(3, 32), torch.randn(3, 32), torch.empty(3, 32)
    weighted(32, False)(x, None, None, y)
    assert torch.equal(y, x)
    weighted(32, True)(x, w, None, y)
    assert torch.equal(y, x * w)
    with pytest.raises(CallError, match="`W` is None, expected a tensor of float32"):
        weighted(32, True)(x, None, None, y)


# Copies that convert ------------------------------------------------------------------------------


@jit
def copied(columns: int, dtype: Any, other: Any) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def kernel(
        X: T.Tensor((n, columns), dtype),
        Y: T.Tensor((n, columns), other),
        Z: T.Tensor((n, columns), dtype),
    ):
        with T.Kernel(n, threads=64) as b:
            x = T.alloc_shared((columns,), dtype)
            y = T.alloc_fragment((columns,), other)
            T.copy(X[b, 0], x)
            T.copy(x, Y[b, 0])
            T.copy(X[b, 0], y)
            T.copy(y, Z[b, 0])

    return kernel


@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
@pytest.mark.parametrize("columns", [6, 64])
@pytest.mark.parametrize("other", [torch.int32, torch.float32, torch.uint8])
def test_copies_convert_long_integers(columns: int, other: torch.dtype) -> None:
    x = torch.randint(0, 200, (3, columns))
    y, z = torch.zeros(3, columns, dtype=other), torch.zeros_like(x)
    copied(columns, torch.int64, other)(x, y, z)
    assert torch.equal(y, x.to(other)) and torch.equal(z, x)


# Parts of the threads of a block ------------------------------------------------------------------


@jit
def told_by_one_thread(columns: int) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def kernel(
        X: T.Tensor((n, columns), "float32"),
        sums: T.Tensor((n,), "float32"),
        counts: T.Tensor((4,), "int32"),
        Y: T.Tensor((n, columns), "float32"),
        limit: T.int32,
    ):
        with T.Kernel(n, threads=128) as b:
            thread = T.get_thread_binding()
            warp = thread // 32
            x = T.alloc_fragment((columns,), "float32")
            s = T.alloc_fragment((1,), "float32")
            doubled = T.alloc_shared((columns,), "float32")
            if b >= limit:
                T.thread_return()
            T.copy(X[b, 0], x)
            T.reduce_sum(x, s)
            if thread == 0:
                sums[b] = s[0]
                T.atomic_add(counts[0], 1)
            if thread == 0 and b == 1:
                T.atomic_add(counts[1], 1)
            if warp == 1:
                for i in T.Parallel(columns):
                    doubled[i] = x[i] * 2
            else:
                if T.get_lane_idx() == 3 and warp == 2:
                    T.atomic_add(counts[2], 1)
            if thread >= 128:
                T.atomic_add(counts[3], 1)
            T.copy(doubled, Y[b, 0])

    return kernel


@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
def test_a_branch_may_ask_which_threads_it_is_for() -> None:
    x, sums, y = torch.randn(5, 64), torch.zeros(5), torch.zeros(5, 64)
    counts = torch.zeros(4, dtype=torch.int32)
    told_by_one_thread(64)(x, sums, counts, y, 3)
    x[3:] = 0
    close(sums, x.sum(1))
    close(y, x * 2)
    assert counts.tolist() == [3, 1, 3, 0]


@pytest.mark.parametrize(
    "line",
    [
        "w = T.Select(thread == 0, 1.0, 2.0)",
        # Several threads would do it, each from what it reads.
        "if thread < 2: shared[0] += 1.0",
        "if thread < b: x[0] += 1.0",
        # Threads have elements of loops each, which the layout decides.
        "for i in T.Parallel(5):\n                if thread == 0: S[i] = 1.0",
        "for i in T.serial(4):\n                if b == i: T.thread_return()",
    ],
)
def test_what_differs_from_thread_to_thread_is_told(line: str) -> None:
    text = f"""
@T.prim_func
def kernel(S: T.Tensor((5,), "float32")):
        with T.Kernel(5, threads=128) as b:
            thread = T.get_thread_binding(0)
            v = T.alloc_var("float32")
            shared = T.alloc_shared((64,), "float32")
            x = T.alloc_fragment((64,), "float32")
            {line}
"""
    linecache.cache["<threads>"] = (len(text), None, text.splitlines(keepends=True), "<threads>")
    with pytest.raises(KernelError) as caught:
        exec(compile(text, "<threads>", "exec"), {"T": T, "__name__": "script"})
    assert caught.value.slug in ("gpu-name", "thread-program") and caught.value.loc is not None


# What each thread does, in a loop of them ---------------------------------------------------------


@jit
def hashes(words: int) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def kernel(
        words_of: T.Tensor((n, words), "int32"),
        factors: T.Tensor((words,), "int64"),
        out: T.Tensor((n,), "int32"),
    ):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as b:
            for t in T.Parallel(32):
                row = b * 32 + t
                if row < n:
                    h = T.alloc_var("int64")
                    h = 0
                    for i in T.serial(words):
                        h = T.bitwise_xor(h, T.cast(words_of[row, i], "int64") * factors[i])
                    out[row] = h % 1009

    return kernel


@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
@pytest.mark.parametrize("n", [5, 37])
def test_variables_of_long_integers_belong_to_an_iteration(n: int) -> None:
    words = torch.randint(0, 100000, (n, 3), dtype=torch.int32)
    factors = torch.randint(0, 2**40, (3,))
    out = torch.zeros(n, dtype=torch.int32)
    hashes(3)(words, factors, out)
    products = words.long() * factors
    expected = products[:, 0] ^ products[:, 1] ^ products[:, 2]
    assert torch.equal(out, (expected % 1009).int())


@jit
def counted(groups: int, blocks: int) -> Any:
    n, k = T.symbolic("n"), 3

    @T.prim_func
    def kernel(G: T.Tensor((n, k), "int64"), out: T.Tensor((groups,), "int32")):
        with T.Kernel(blocks, threads=64) as b:
            mine = T.alloc_shared((groups,), "int32")
            T.clear(mine)
            for t in T.Parallel(64):
                for i in T.serial(b * 64 + t, n, blocks * 64):
                    for j in T.unroll(k):
                        if G[i, j] >= 0:
                            T.atomic_add(mine[G[i, j]], 1)
            for t in T.Parallel(64):
                for i in T.serial(t, groups, 64):
                    if mine[i] > 0:
                        T.atomic_add(out[i], mine[i])

    return kernel


@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
@pytest.mark.parametrize("n", [1, 150])
def test_elements_of_a_tile_are_counted(n: int) -> None:
    places = torch.randint(-1, 20, (n, 3))
    out = torch.zeros(20, dtype=torch.int32)
    counted(20, 2)(places, out)
    assert torch.equal(out, torch.bincount(places[places >= 0], minlength=20).int())


# Variables and tiles that conditions write --------------------------------------------------------


@jit
def gated(columns: int, guarded: bool) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def kernel(
        X: T.Tensor((n, columns), "float16"),
        chosen: T.Tensor((n,), "int32"),
        Y: T.Tensor((n, columns), "float32"),
        most: T.float32,
    ):
        with T.Kernel(T.ceildiv(n, 2), threads=128) as b:
            x = T.alloc_fragment((2, columns), "float16")
            y = T.alloc_fragment((2, columns), "float32")
            rows = T.alloc_fragment((2,), "int32")
            T.copy(chosen[b * 2], rows)
            T.copy(X[b * 2, 0], x)
            T.clear(y)
            for i, j in T.Parallel(2, columns):
                if not guarded or rows[i] >= 0:
                    v = T.alloc_var("float32")
                    v = T.float32(x[i, j])
                    v = T.min(v, most)
                    y[i, j] = v / (1 + T.exp(-v))
            T.copy(y, Y[b * 2, 0])

    return kernel


@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
@pytest.mark.parametrize("guarded", [False, True])
def test_a_variable_of_an_element_may_stand_below_a_condition(guarded: bool) -> None:
    x, rows = torch.randn(5, 64).half(), torch.tensor([0, -1, 2, -1, 4], dtype=torch.int32)
    y = torch.zeros(5, 64)
    gated(64, guarded)(x, rows, y, 1.0)
    v = x.float().clamp(max=1.0)
    v = v * torch.sigmoid(v)
    close(y, torch.where(rows[:, None] >= 0, v, 0) if guarded else v)


@jit
def greatest_of_parts(columns: int, width: int, part: int) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def kernel(X: T.Tensor((n, columns), "float32"), Y: T.Tensor((n, columns // part), "float32")):
        with T.Kernel(n, threads=64) as b:
            x = T.alloc_fragment((width,), "float32")
            parts = T.reshape(x, (width // part, part))
            most = T.alloc_fragment((width // part,), "float32")
            for i in T.Parallel(width):
                if i < columns:
                    x[i] = X[b, i] * 2
            T.reduce_absmax(parts, most, dim=1)
            for i in T.Parallel(width // part):
                if i < columns // part:
                    Y[b, i] = most[i]

    return kernel


def test_a_tile_that_is_written_in_part_may_be_read_by_another_name() -> None:
    x, y = torch.randn(3, 64), torch.zeros(3, 2)
    with pytest.warns(KernelWarning, match="nothing has written it: it holds zeros"):
        greatest_of_parts(64, 128, 32)(x, y)
    close(y, x.view(3, 2, 32).abs().amax(2) * 2)


@jit
def marked(with_sums: bool) -> Any:
    n, m = T.symbolic("n"), T.symbolic("m")

    @T.prim_func
    def kernel(
        P: T.Tensor((n,), "int32"), X: T.Tensor((m, 64), "float32"), W: T.Tensor((n,), "float32")
    ):
        with T.Kernel(n, threads=128) as b:
            x = T.alloc_fragment((64,), "float32")
            s = T.alloc_fragment((1,), "float32")
            if P[b] == -1:
                W[b] = 0
            if b >= m:
                T.thread_return()
            if with_sums:
                T.async_copy(X[b, 0], x)
                T.ptx_wait_group(0)
                T.reduce_sum(x, s)
                if P[b] >= 0:
                    W[b] = s[0]

    return kernel


@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
@pytest.mark.parametrize("with_sums", [False, True])
def test_blocks_store_numbers_beside_each_other(with_sums: bool) -> None:
    """Not the cube core, which would store the line that other blocks have elements in."""
    p = torch.tensor([-1, 0, -1, -1, 2, -1, 1], dtype=torch.int32)
    x, w = torch.randn(5, 64), torch.ones(7)
    marked(with_sums)(p, x, w)
    expected = torch.where(p < 0, 0.0, 1.0)
    if with_sums:
        expected[:5] = torch.where(p[:5] < 0, 0.0, x.sum(1))
    close(w, expected)
