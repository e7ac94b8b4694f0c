"""Kernels as TileLang for GPUs has them: grids, threads, products of tiles in any memory, functions
that are kernels themselves. Each runs at `strict` against torch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile, jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def close(found: torch.Tensor, expected: torch.Tensor, tolerance: float = 1e-2) -> None:
    torch.testing.assert_close(found.float(), expected.float(), rtol=tolerance, atol=tolerance)


@jit
def matmul(A, B, block_M: int, block_N: int, block_K: int, dtype: Any = T.float16):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        a = T.alloc_shared((block_M, block_K), dtype)
        b = T.alloc_shared((block_K, block_N), dtype)
        c = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(c)
        for ko in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[by * block_M, ko * block_K], a, coalesced_width=8)
            T.copy(B[ko * block_K, bx * block_N], b)
            T.gemm(a, b, c, policy=T.GemmWarpPolicy.FullRow)
        for i, j in T.Parallel(block_M, block_N):
            c[i, j] = T.max(c[i, j], 0)
        T.copy(c, C[by * block_M, bx * block_N])
    return C


@pytest.mark.parametrize(("m", "n", "k"), [(64, 96, 64), (70, 33, 100)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_product_and_what_follows_it(m: int, n: int, k: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
    close(matmul(a, b, 32, 32, 32, dtype), torch.relu(a.float() @ b.float()), 2e-2)


def test_sizes_choose_the_kernel() -> None:
    kernel = matmul.compile(M=64, N=32, K=32, block_M=32, block_N=32, block_K=32)
    a, b = torch.randn(64, 32).half(), torch.randn(32, 32).half()
    assert torch.equal(kernel(a, b), matmul(a, b, 32, 32, 32))
    assert matmul.compile(M=64, N=32, K=32, block_M=32, block_N=32, block_K=32) is kernel
    assert kernel.get_kernel_source() == matmul.get_kernel_source(
        M=64, N=32, K=32, block_M=32, block_N=32, block_K=32
    )


@jit
def linear_ids(A, gx: int, gy: int, gz: int):
    n = T.const("n")
    A: T.Tensor((n, 16), T.int32)
    with T.Kernel(gx, gy, gz, threads=(64, 2)) as (bx, by, bz):
        a = T.alloc_shared((16,), T.int32)
        T.fill(a, bx + gx * (by + gy * bz))
        T.copy(a, A[bx + gx * (by + gy * bz), :])


@pytest.mark.parametrize("grid", [(3, 4, 2), (1, 5, 1), (2, 1, 3)])
def test_the_first_index_of_a_grid_is_the_fastest(grid: tuple[int, int, int]) -> None:
    count = grid[0] * grid[1] * grid[2]
    ids = torch.full((count, 16), -1, dtype=torch.int32)
    assert linear_ids(ids, *grid) is None
    assert torch.equal(ids[:, 0], torch.arange(count, dtype=torch.int32))


@pytest.mark.parametrize("threads", [None, 1, 2, 128, 1024, [64], (128, 2)])
def test_threads_mean_nothing(threads: Any) -> None:
    given = {} if threads is None else {"threads": threads}

    @T.prim_func
    def k(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, **given) as bx:
            a = T.alloc_shared((32, 64), "float32")
            T.copy(A[bx * 32, 0], a)
            for i, j in T.Parallel(32, 64):
                a[i, j] = a[i, j] * 2.0 if a[i, j] > 0 else a[i, j]
            T.copy(a, B[bx * 32, 0])

    x = torch.randn(64, 64)
    assert torch.equal(compile(k, out_idx=-1)(x), torch.where(x > 0, x * 2, x))


TYPES = ["float16", "bfloat16", "float32", "int32", "int16", "int8"]


@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_copies_convert(dtype: str, to: str) -> None:
    """From gm to a tile, from there to gm, and from gm to gm."""

    @T.prim_func
    def k(A: T.Tensor((20, 48), dtype), B: T.Tensor((20, 48), to), C: T.Tensor((20, 48), to),
          D: T.Tensor((20, 48), to)):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((20, 48), to)
            b = T.alloc_fragment((20, 48), dtype)
            T.copy(A, a)
            T.copy(a, B)
            T.copy(A, b)
            T.copy(b, C)
            T.copy(A, D)

    x = torch.randint(-100, 100, (20, 48)).to(getattr(torch, dtype))
    for found in compile(k, out_idx=[1, 2, 3])(x):
        assert torch.equal(found, x.to(getattr(torch, to)))


def test_a_copy_between_tensors_larger_than_ub() -> None:
    @T.prim_func
    def k(A: T.Tensor((3, 200, 300), "float32"), B: T.Tensor((2, 200, 300), "float16")):
        with T.Kernel(1, threads=128) as bx:
            T.copy(A[1:3, :, :], B)

    x = torch.randn(3, 200, 300)
    assert torch.equal(compile(k, out_idx=[1])(x), x[1:].half())


def attention(causal: bool, rows: int, size: int):
    scale = (1.0 / size) ** 0.5 * 1.44269504
    shape = (1, rows, 2, size)

    @T.prim_func
    def k(Q: T.Tensor(shape, "float16"), K: T.Tensor(shape, "float16"),
          V: T.Tensor(shape, "float16"), R: T.Tensor(shape, "float16")):  # fmt: skip
        with T.Kernel(T.ceildiv(rows, 64), 2, 1, threads=128) as (bx, by, bz):
            q = T.alloc_shared([64, size], "float16")
            k = T.alloc_shared([64, size], "float16")
            v = T.alloc_shared([64, size], "float16")
            o = T.alloc_shared([64, size], "float16")
            scores = T.alloc_fragment([64, 64], "float32")
            weights = T.alloc_fragment([64, 64], "float16")
            out = T.alloc_fragment([64, size], "float32")
            top, before, factor, total, sums = (T.alloc_fragment([64], "float32") for _ in range(5))
            T.copy(Q[bz, bx * 64 : (bx + 1) * 64, by, :], q)
            T.fill(out, 0)
            T.fill(sums, 0)
            T.fill(top, -T.infinity("float32"))
            end = T.ceildiv((bx + 1) * 64, 64) if causal else T.ceildiv(rows, 64)
            for n in T.Pipelined(end, num_stages=2):
                T.copy(K[bz, n * 64 : (n + 1) * 64, by, :], k)
                for i, j in T.Parallel(64, 64):
                    seen = bx * 64 + i >= n * 64 + j if causal else n * 64 + j < rows
                    scores[i, j] = T.if_then_else(seen, 0, -T.infinity("float32"))
                T.gemm(q, k, scores, transpose_B=True)
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(64):
                    factor[i] = T.exp2(before[i] * scale - top[i] * scale)
                for i, j in T.Parallel(64, 64):
                    scores[i, j] = T.exp2(scores[i, j] * scale - top[i] * scale)
                T.reduce_sum(scores, total, dim=1)
                for i in T.Parallel(64):
                    sums[i] = sums[i] * factor[i] + total[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(64, size):
                    out[i, j] *= factor[i]
                T.copy(V[bz, n * 64 : (n + 1) * 64, by, :], v)
                T.gemm(weights, v, out)
            for i, j in T.Parallel(64, size):
                out[i, j] /= sums[i]
            T.copy(out, o)
            T.copy(o, R[bz, bx * 64 : (bx + 1) * 64, by, :])

    return k


@pytest.mark.parametrize("causal", [True, False])
def test_attention(causal: bool) -> None:
    torch.manual_seed(1)
    q, k, v = (torch.randn(1, 128, 2, 64).half() for _ in range(3))
    found = compile(attention(causal, 128, 64), out_idx=[3])(q, k, v)
    sides = (x.float().transpose(1, 2) for x in (q, k, v))
    expected = torch.nn.functional.scaled_dot_product_attention(*sides, is_causal=causal)
    close(found, expected.transpose(1, 2), 5e-3)


def test_steps_of_loops_and_names_of_chosen_branches() -> None:
    @jit
    def k(A, wide: bool = True):
        A: T.Tensor((64,), T.int32)
        if wide:
            stride = 4
        if not wide:
            stride = 2
        with T.Kernel(1, threads=64) as bx:
            for i in T.serial(60, -1, -stride):
                A[i] = i
            for i in range(1, 64, stride):
                A[i] = -i

    a = torch.zeros(64, dtype=torch.int32)
    k(a)
    expected = torch.zeros(64, dtype=torch.int32)
    expected[0:61:4] = torch.arange(0, 61, 4, dtype=torch.int32)
    expected[1::4] = -torch.arange(1, 64, 4, dtype=torch.int32)
    assert torch.equal(a, expected)


def test_several_results_in_the_order_of_the_return() -> None:
    @jit
    def k(A):
        n = T.const("n")
        A: T.Tensor((n,), T.float32)
        B = T.empty(n, dtype=T.float32)
        C = T.empty((n,), T.float32)
        with T.Kernel(1, threads=32) as bx:
            for i in T.Parallel(n):
                B[i] = A[i] + 1.0
                C[i] = A[i] * 2.0
        return C, B

    a = torch.randn(32)
    c, b = k(a)
    assert torch.equal(c, a * 2) and torch.equal(b, a + 1)


class TestMistakes:
    def test_a_constant_that_no_tensor_gives(self) -> None:
        @jit
        def k(A):
            n = T.const("n")
            A: T.Tensor((n * 2,), T.float32)
            with T.Kernel(1) as bx:
                A[0] = 0.0

        with pytest.raises(KernelError, match="the constant `n` has no value"):
            k(torch.zeros(4))

    def test_an_output_that_is_not_returned(self) -> None:
        @jit
        def k(A):
            A: T.Tensor((16,), T.float32)
            B = T.empty((16,), T.float32)
            with T.Kernel(1) as bx:
                B[0] = A[0]

        with pytest.raises(KernelError, match="is made by T.empty, but not returned"):
            k(torch.zeros(16))

    def test_arguments_that_do_not_fit(self) -> None:
        with pytest.raises(KernelError, match="missing a required argument"):
            matmul(torch.zeros(4, 4).half())
        with pytest.raises(KernelError, match="no parameter and no constant `X`"):
            matmul.compile(X=1, block_M=16, block_N=16, block_K=16)

    def test_a_sum_that_nothing_has_begun(self) -> None:
        @T.prim_func
        def k(A: T.Tensor((32, 32), "float16"), B: T.Tensor((32, 32), "float32")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_shared((32, 32), "float16")
                c = T.alloc_fragment((32, 32), "float32")
                T.copy(A, a)
                T.gemm(a, a, c)
                T.copy(c, B)

        with pytest.raises(KernelError, match="nothing in the kernel gives it a first value"):
            compile(k)


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_state_is_read_by_products_and_written_by_vector_code(rounds: int) -> None:
    """The text is one program: what stands first reads what was there before."""

    @jit
    def step(S, A, R, dtype: Any = T.float16):
        S: T.Tensor((64, 32), dtype)
        A: T.Tensor((64, 32), dtype)
        R: T.Tensor((64, 32), T.float32)
        with T.Kernel(2, threads=128) as bx:
            s = T.alloc_shared((32, 32), dtype)
            a = T.alloc_shared((32, 32), dtype)
            v = T.alloc_fragment((32, 32), dtype)
            o = T.alloc_fragment((32, 32), T.float32)
            for _ in T.serial(rounds):
                T.copy(S[bx * 32, 0], s)
                T.copy(A[bx * 32, 0], a)
                T.gemm(a, s, o, clear_accum=True)
                T.copy(A[bx * 32, 0], v)
                for i, j in T.Parallel(32, 32):
                    v[i, j] = v[i, j] + 1.0
                T.copy(v, S[bx * 32, 0])
                T.copy(o, R[bx * 32, 0])

    torch.manual_seed(0)
    s, a, o = torch.randn(64, 32).half(), torch.randn(64, 32).half(), torch.zeros(64, 32)
    before = s.clone()
    step(s, a, o)
    last = before if rounds == 1 else (a + 1.0)
    expected = [x.float() @ y.float() for x, y in zip(a.split(32), last.split(32), strict=True)]
    close(o, torch.cat(expected))
    assert torch.equal(s, a + 1.0)


@pytest.mark.parametrize("dtype", [torch.int8, torch.bool, torch.int32])
def test_both_cores_decide_by_a_copy_of_a_tensor(dtype: torch.dtype) -> None:
    """Blocks of keys that a mask leaves out: the mask is copied to a tile first."""

    @jit
    def masked(A, B, M, C):
        A: T.Tensor((2, 32, 64), T.float16)
        B: T.Tensor((64, 32), T.float16)
        M: T.Tensor((2, 4), dtype)
        C: T.Tensor((2, 32, 32), T.float32)
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((32, 16), T.float16)
            b = T.alloc_shared((16, 32), T.float16)
            part = T.alloc_fragment((32, 32), T.float32)
            c = T.alloc_fragment((32, 32), T.float32)
            mask = T.alloc_fragment((4,), dtype)
            T.copy(M[bx, :], mask)
            T.clear(c)
            for k in T.Pipelined(4, num_stages=1):
                if mask[k] != 0:
                    T.copy(A[bx, 0, k * 16], a)
                    T.copy(B[k * 16, 0], b)
                    T.gemm(a, b, part, clear_accum=True)
                    for i, j in T.Parallel(32, 32):
                        c[i, j] = c[i, j] * 0.5 + part[i, j]
            T.copy(c, C[bx, 0, 0])

    torch.manual_seed(0)
    a, b = torch.randn(2, 32, 64).half(), torch.randn(64, 32).half()
    mask = torch.tensor([[1, 0, 1, 1], [0, 1, 1, 0]]).to(dtype)
    found = torch.zeros(2, 32, 32)
    masked(a, b, mask, found)
    expected = torch.zeros(2, 32, 32)
    for block in range(2):
        for k in range(4):
            if mask[block, k]:
                part = a[block, :, k * 16 : k * 16 + 16].float() @ b[k * 16 : k * 16 + 16].float()
                expected[block] = expected[block] * 0.5 + part
    close(found, expected)


def test_columns_of_tiles_are_copied() -> None:
    @jit
    def columns(A, B, C):
        A: T.Tensor((64, 12), T.float32)
        B: T.Tensor((64, 12), T.float32)
        C: T.Tensor((12, 64), T.float32)
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((32, 12), T.float32)
            kept = T.alloc_shared((32, 12), T.float32)
            column = T.alloc_fragment((32,), T.float32)
            T.copy(A[bx * 32, 0], a)
            for k in T.serial(12):
                T.copy(a[:, k], column)
                for i in T.Parallel(32):
                    column[i] = column[i] * 2.0
                T.copy(column, kept[:, 11 - k])
                T.copy(kept[:, 11 - k], C[k, bx * 32 : bx * 32 + 32])
            T.copy(kept, B[bx * 32, 0])

    a, b, c = torch.randn(64, 12), torch.zeros(64, 12), torch.zeros(12, 64)
    columns(a, b, c)
    assert torch.equal(b, 2 * a.flip(1)) and torch.equal(c, 2 * a.T)


def test_sums_that_l0c_can_not_hold_are_added_up_in_ub() -> None:
    """Two sums over a loop, and two products of each round, of 64 KB each: l0c has 128 KB."""

    @jit
    def sums(A, B, V, W):
        A: T.Tensor((128, 64), T.float16)
        B: T.Tensor((64, 128), T.float16)
        V: T.Tensor((128, 128), T.float32)
        W: T.Tensor((128, 128), T.float32)
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((128, 16), T.float16)
            b = T.alloc_shared((16, 128), T.float16)
            p = T.alloc_fragment((128, 128), T.float32)
            v = T.alloc_fragment((128, 128), T.float32)
            w = T.alloc_fragment((128, 128), T.float32)
            p16 = T.alloc_fragment((128, 128), T.float16)
            T.clear(v)
            T.clear(w)
            for k in T.serial(4):
                T.copy(A[0, k * 16], a)
                T.copy(B[k * 16, 0], b)
                T.gemm(a, b, p, clear_accum=True)
                for i, j in T.Parallel(128, 128):
                    p16[i, j] = T.max(p[i, j], 0.0) * 0.25
                T.gemm(a, b, v)
                T.gemm(p16, p16, w)
            T.copy(v, V)
            T.copy(w, W)

    torch.manual_seed(0)
    a, b = torch.randn(128, 64).half(), torch.randn(64, 128).half()
    v, w = torch.zeros(128, 128), torch.zeros(128, 128)
    sums(a, b, v, w)
    close(v, a.float() @ b.float())
    expected = torch.zeros(128, 128)
    for k in range(0, 64, 16):
        p = torch.relu(a[:, k : k + 16].float() @ b[k : k + 16].float()).mul(0.25).half().float()
        expected += p @ p
    close(w, expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int32, torch.int8])
def test_scalars_of_two_types_have_a_maximum(dtype: torch.dtype) -> None:
    @jit
    def extremes(X, Y):
        X: T.Tensor((8,), dtype)
        Y: T.Tensor((2,), T.float32)
        with T.Kernel(1, threads=128) as _:
            most = T.alloc_var(T.float32)
            least = T.alloc_var(T.float32)
            most = -T.infinity(T.float32)
            least = T.infinity(T.float32)
            for k in T.serial(8):
                most = T.max(most, X[k])
                least = T.min(X[k], least)
            Y[0] = most
            Y[1] = least

    x, y = torch.tensor([3, -4, 7, 0, 2, -1, 5, 6]).to(dtype), torch.zeros(2)
    extremes(x, y)
    assert y.tolist() == [7, -4]


def test_a_tensor_has_another_form_over_the_same_bytes() -> None:
    @jit
    def flat(X):
        M, N = T.const("M, N")
        X: T.Tensor((M, N), T.float32)
        Y = T.empty((M, N), T.float32)
        with T.Kernel(M * N // 64, threads=128) as bx:
            rows = T.Tensor((M * N,), T.float32, X.data)
            results = T.Tensor((M * N,), T.float32, data=Y.data)
            x = T.alloc_shared((64,), T.float32)
            T.copy(rows[bx * 64], x)
            for i in T.Parallel(64):
                x[i] = x[i] + 1.0
            T.copy(x, results[bx * 64])
        return Y

    x = torch.randn(16, 24)
    assert torch.equal(flat(x), x + 1)


def test_a_transposed_tile_is_written_second() -> None:
    @jit
    def turned(A):
        A: T.Tensor((64, 32), T.float16)
        B = T.empty((32, 64), T.float16)
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((64, 32), T.float16)
            b = T.alloc_shared((32, 64), T.float16)
            T.copy(A, a)
            T.clear(b)
            T.transpose(a, b)
            T.copy(b, B)
        return B

    a = torch.randn(64, 32).half()
    assert torch.equal(turned(a), a.T)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int32])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_a_reduction_in_the_type_of_its_result(dtype: torch.dtype, dim: int) -> None:
    kept = 32 if dim == 0 else 16

    @jit
    def reduced(X):
        X: T.Tensor((16, 32), dtype)
        Y = T.empty((kept,), T.float32)
        Z = T.empty((kept,), T.float32)
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared((16, 32), dtype)
            total = T.alloc_fragment((kept,), T.float32)
            most = T.alloc_fragment((kept,), T.float32)
            T.copy(X, x)
            T.reduce_sum(x, total, dim=dim, batch=1)
            T.reduce_max(x, most, dim=dim, clear=True, nan_propagate=False)
            T.copy(total, Y)
            T.copy(most, Z)
        return Y, Z

    torch.manual_seed(0)
    x = (torch.randn(16, 32) * 4).to(dtype)
    total, most = reduced(x)
    close(total, x.float().sum(dim), 1e-5)
    assert torch.equal(most, x.float().amax(dim))


def test_a_transposed_tile_by_name_and_what_is_reduced() -> None:
    @jit
    def turned(A):
        A: T.Tensor((32, 32), T.float16)
        B = T.empty((32, 32), T.float16)
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((32, 32), T.float16)
            b = T.alloc_shared((32, 32), T.float16)
            T.copy(A, a)
            T.clear(b)
            T.transpose(dst=b, src=a)
            T.copy(b, B)
        return B

    a = torch.randn(32, 32).half()
    assert torch.equal(turned(a), a.T)

    @jit
    def three(A):
        A: T.Tensor((2, 8, 16), T.float32)
        B = T.empty((16,), T.float32)
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((2, 8, 16), T.float32)
            b = T.alloc_fragment((16,), T.float32)
            T.copy(A, a)
            T.reduce_sum(a, b, dim=1)
            T.copy(b, B)
        return B

    with pytest.raises(
        KernelError, match=r"reducing dimension 1 of `a` \[2, 8, 16\] gives \[2, 16\]"
    ):
        three(torch.randn(2, 8, 16))


def test_a_tile_with_two_names_is_read_where_it_lies() -> None:
    """What is written under its other name is not in the tensor that it was copied from."""

    @jit
    def renamed(M, A, B, C):
        M: T.Tensor((16,), T.int32)
        A: T.Tensor((16, 16), T.float16)
        B: T.Tensor((16, 16), T.float16)
        C: T.Tensor((16, 16), T.float32)
        with T.Kernel(1, threads=128) as _:
            m = T.alloc_shared((16,), T.int32)
            other = T.view(m, (4, 4))
            n = T.alloc_fragment((16, 16), T.float32)
            a = T.alloc_shared((16, 16), T.float16)
            b = T.alloc_shared((16, 16), T.float16)
            c = T.alloc_fragment((16, 16), T.float32)
            T.copy(M, m)
            for i, j in T.Parallel(4, 4):
                other[i, j] = other[i, j] + 1
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.clear(n)
            for i, j in T.Parallel(16, 16):
                n[i, j] = c[i, j]
            if m[3] == 1:
                for i, j in T.Parallel(16, 16):
                    n[i, j] = n[i, j] * 2.0
            T.copy(n, C)

    torch.manual_seed(0)
    a, b, c = torch.randn(16, 16).half(), torch.randn(16, 16).half(), torch.zeros(16, 16)
    renamed(torch.zeros(16, dtype=torch.int32), a, b, c)
    close(c, 2 * (a.float() @ b.float()))


@jit
def converted(X, source: str, between: str, to: str):
    M, N = T.const("M N")
    X: T.Tensor((M, N), source)
    Y = T.empty((M, N), to)
    with T.Kernel(T.ceildiv(M, 16), threads=128) as bx:
        a = T.alloc_shared((16, N), between)
        b = T.alloc_fragment((16, N), to)
        T.copy(X[bx * 16, 0], a)
        T.copy(a, b)
        T.copy(b, Y[bx * 16, 0])
    return Y


@pytest.mark.parametrize(
    "kinds",
    [
        ("float16", "float16", "int32"),
        ("float32", "int8", "float16"),
        ("float32", "float32", "int16"),
        ("int32", "float16", "float32"),
        ("bfloat16", "int32", "float16"),
    ],
    ids="-".join,
)
def test_copies_convert_as_casts_of_c_do(kinds: tuple[str, str, str]) -> None:
    first, between, last = (getattr(torch, kind) for kind in kinds)
    x = (torch.randn(20, 24) * 20).to(first)
    assert torch.equal(converted(x, *kinds), x.to(between).to(last))


@jit
def met_between(X, Y):
    """Lanes store rows of sums, all cores meet, and each lane reads other rows."""
    S, D = T.const("S D")
    X: T.Tensor((S, D), "float16")
    Y: T.Tensor((48, 16), "float32")
    Z = T.empty((48, 16), "float32")
    with T.Kernel(24, threads=128) as bx:
        a = T.alloc_shared((24, D), "float16")
        s = T.alloc_fragment((24, 24), "float32")
        r = T.alloc_fragment((24,), "float32")
        line = T.alloc_fragment((16,), "float32")
        m = T.alloc_var("float32")
        if bx < 2:
            T.copy(X[bx * 24, 0], a)
            T.gemm(a, a, s, transpose_B=True, clear_accum=True)
            T.reduce_sum(s, r, dim=1)
            T.copy(r, Y[bx * 24 : bx * 24 + 24, 3])
        T.sync_grid()
        for w in T.serial(2):
            m = 0
            for _ in T.serial(2):
                m = T.max(m, Y[24 * w + bx, 3])
            for _ in T.serial(2):
                m = m + Y[24 * w + bx, 3]
            for j in T.Parallel(16):
                line[j] = m + j
            T.copy(line, Z[24 * w + bx, 0])
    return Z


def test_a_barrier_of_all_cores_parts_what_lanes_share() -> None:
    x, y = torch.randn(48, 32).half() / 4, torch.zeros(48, 16)
    halves = (x[:24].float(), x[24:].float())
    sums = torch.cat([(half @ half.T).sum(1) for half in halves])
    found = met_between(x, y)
    close(y[:, 3], sums)
    close(found, (sums.clamp(min=0) + 2 * sums)[:, None] + torch.arange(16))


@jit
def product_where_positive(A, B, size: int):
    N = T.const("N")
    A: T.Tensor((N,), "float16")
    B: T.Tensor((N,), "float16")
    C = T.empty((N,), "float16")
    with T.Kernel(T.ceildiv(N, size), threads=128) as bx:
        for i in T.Parallel(size):
            at = bx * size + i
            C[at] = T.if_then_else(A[at] * B[at] > 0, A[at] * B[at], 0)
    return C


def test_a_line_without_room_is_computed_in_parts() -> None:
    a, b = torch.randn(1 << 20).half(), torch.randn(1 << 20).half()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="(?s).*scalar loop")
        assert torch.equal(product_where_positive(a, b, 1024), torch.relu(a * b))
