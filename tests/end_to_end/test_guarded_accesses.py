"""What kernels for GPUs read outside of a tensor is zero, and what they store there vanishes; the
conditions that their authors write leave parts of tiles. Each at `strict` against torch."""

from __future__ import annotations

import warnings

import pytest
import torch

import tile_frontend as T
from tile_runtime import jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found.float(), expected.float(), rtol=1e-3, atol=1e-3)


def indices(count: int, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows without repetition, some of which are outside, and which of them are not."""
    found = torch.randperm(max(rows, count))[:count].int()
    found[3], found[5], found[8] = -1, rows, -(2**31)
    return found, (found >= 0) & (found < rows)


@jit
def rows_gathered(X, At, rows: int):
    N, D, M = T.const("N D M")
    X: T.Tensor((N, D), "float16")
    At: T.Tensor((M,), "int32")
    Y = T.empty((M, D), "float16")
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        s = T.alloc_shared((rows, D), "float16")
        for i, j in T.Parallel(rows, D):
            s[i, j] = X[At[bx * rows + i], j]
        T.copy(s, Y[bx * rows, 0])
    return Y


@jit
def rows_copied(X, At, rows: int):
    N, D, M = T.const("N D M")
    X: T.Tensor((N, 1, D), "float16")
    At: T.Tensor((M,), "int32")
    Y = T.empty((M, D), "float16")
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        s = T.alloc_shared((rows, D), "float16")
        for i in T.serial(rows):
            T.copy(X[At[bx * rows + i], 0, :], s[i, :])
        T.copy(s, Y[bx * rows, 0])
    return Y


@pytest.mark.parametrize("kernel", [rows_gathered, rows_copied], ids=lambda k: k.__name__)
@pytest.mark.parametrize(("count", "width"), [(32, 64), (21, 40)])
def test_a_row_that_is_no_row_is_zero(kernel, count: int, width: int) -> None:
    x = torch.randn(50, width).half()
    at, inside = indices(count, 50)
    expected = torch.zeros(count, width)
    expected[inside] = x[at[inside].long()].float()
    close(kernel(x[:, None] if kernel is rows_copied else x, at, 16), expected)


@jit
def elements_gathered(X, At, size: int):
    N, M = T.const("N M")
    X: T.Tensor((N,), "float32")
    At: T.Tensor((M,), "int32")
    Y = T.empty((M,), "float32")
    with T.Kernel(T.ceildiv(M, size), threads=128) as bx:
        for i in T.Parallel(size):
            Y[bx * size + i] = X[At[bx * size + i]]
    return Y


def test_an_element_that_is_none_is_zero() -> None:
    x = torch.randn(50)
    at, inside = indices(37, 50)
    expected = torch.zeros(37)
    expected[inside] = x[at[inside].long()]
    close(elements_gathered(x, at, 16), expected)


@jit
def elements_of_rows(X, At, rows: int, dtype: str):
    N, D, M = T.const("N D M")
    X: T.Tensor((N, D), dtype)
    At: T.Tensor((M,), "int32")
    Y = T.empty((3, M, D), dtype)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        s = T.alloc_shared((rows, D), dtype)
        at = T.alloc_shared((rows,), "int32")
        T.copy(At[bx * rows], at)
        for i, j in T.Parallel(rows, D):
            s[i, j] = X[at[i] + 1, D - 1 - j]
        T.copy(s, Y[0, bx * rows, 0])
        for i, j in T.Parallel(rows, D):
            s[i, j] = X[at[j % rows], at[i]]
        T.copy(s, Y[1, bx * rows, 0])
        for i, j in T.Parallel(rows, D):
            s[i, j] = X[i + j - 3, j * 2 - i]
        T.copy(s, Y[2, bx * rows, 0])
    return Y


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "bfloat16"])
def test_gathered_elements_outside_are_zero(dtype: str) -> None:
    """Indices from memory, in one dimension and both, and from the text, before and behind."""
    rows, count, width = 16, 32, 48
    x = torch.randint(1, 100, (50, width)).to(getattr(torch, dtype))
    at, _ = indices(count, 50)
    y = elements_of_rows(x, at, rows, dtype)

    def element(r: int, c: int) -> float:
        return x[r, c].item() if 0 <= r < 50 and 0 <= c < width else 0

    for m in range(count):
        i, here = m % rows, at[m // rows * rows :].tolist()
        expected = [
            [element(here[i] + 1, width - 1 - j) for j in range(width)],
            [element(here[j % rows], here[i]) for j in range(width)],
            [element(i + j - 3, j * 2 - i) for j in range(width)],
        ]
        assert y[:, m].tolist() == expected


@jit
def scores_of_gathered(Q, X, At, size: int):
    H, D, N, M = T.const("H D N M")
    Q: T.Tensor((H, D), "float16")
    X: T.Tensor((N, D), "float16")
    At: T.Tensor((M,), "int32")
    S = T.empty((H, M), "float32")
    with T.Kernel(1, threads=128) as bx:
        q = T.alloc_shared((H, D), "float16")
        x = T.alloc_shared((size, D), "float16")
        valid = T.alloc_fragment((size,), "bool")
        s = T.alloc_fragment((H, size), "float32")
        T.copy(Q, q)
        for b in T.Pipelined(T.ceildiv(M, size), num_stages=2):
            for i in T.Parallel(size):
                valid[i] = At[b * size + i] >= 0
            for i, j in T.Parallel(size, D):
                x[i, j] = X[At[b * size + i], j]
            for h, i in T.Parallel(H, size):
                s[h, i] = T.if_then_else(valid[i], 0, -T.infinity("float32"))
            T.gemm(q, x, s, transpose_B=True)
            T.copy(s, S[0, b * size])
    return S


def test_gathered_rows_with_holes_are_operands() -> None:
    q, x = torch.randn(16, 64).half(), torch.randn(40, 64).half()
    at = torch.randint(0, 40, (64,)).int()
    at[::5] = -1
    expected = q.float() @ x[at.clamp(min=0).long()].float().T
    expected[:, at < 0] = -torch.inf
    close(scores_of_gathered(q, x, at, 32), expected)


@jit
def rows_scattered(X, At, Y, rows: int, add: bool):
    M, D, N = T.const("M D N")
    X: T.Tensor((M, D), "float32")
    At: T.Tensor((M,), "int32")
    Y: T.Tensor((N, D), "float32")
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        s = T.alloc_shared((rows, D), "float32")
        T.copy(X[bx * rows, 0], s)
        for i, j in T.Parallel(rows, D):
            if add:
                T.atomic_add(Y[At[bx * rows + i], j], s[i, j])
            else:
                Y[At[bx * rows + i], j] = s[i, j]


@pytest.mark.parametrize("add", [False, True])
def test_a_store_to_no_row_does_nothing(add: bool) -> None:
    x, y = torch.randn(32, 64), torch.ones(50, 64)
    at, inside = indices(32, 50)
    expected = y.clone()
    expected[at[inside].long()] = x[inside] + (1 if add else 0)
    rows_scattered(x, at, y, 16, add)
    close(y, expected)


@jit
def shifted(X, rows: int, shift: int):
    N, D = T.const("N D")
    X: T.Tensor((N, D), "float32")
    Y = T.empty((N, D), "float32")
    with T.Kernel(T.ceildiv(N, rows), threads=128) as bx:
        s = T.alloc_shared((rows, D), "float32")
        T.copy(X[bx * rows - shift, 0], s)
        T.copy(s, Y[bx * rows, 0])
    return Y


@jit
def shifted_line(X, size: int, shift: int):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Y = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, size), threads=128) as bx:
        for i in T.Parallel(size):
            Y[bx * size + i] = X[bx * size + i - shift]
    return Y


@pytest.mark.parametrize("shift", [-5, 3, 8, 21])
def test_a_tile_may_begin_before_its_tensor(shift: int) -> None:
    x = torch.randn(50, 24)
    expected = torch.zeros(50, 24)
    expected[max(shift, 0) : 50 + min(shift, 0)] = x[max(-shift, 0) : 50 - max(shift, 0)]
    close(shifted(x, 16, shift), expected)
    close(shifted_line(x[:, 0].contiguous(), 16, shift), expected[:, 0])


@jit
def moved_out(X, rows: int, shift: int):
    N, D = T.const("N D")
    X: T.Tensor((N, D), "float32")
    Y = T.empty((N, D), "float32")
    with T.Kernel(T.ceildiv(N, rows), threads=128) as bx:
        s = T.alloc_shared((rows, D), "float32")
        T.copy(X[bx * rows, 0], s)
        T.copy(s, Y[bx * rows - shift, 0])
    return Y


def test_a_tile_may_be_stored_before_its_tensor_and_the_rest_is_zero() -> None:
    x = torch.randn(48, 24)
    for _ in range(3):  # the second call and the third are remembered
        close(moved_out(x, 16, 3), torch.cat([x[3:], torch.zeros(3, 24)]))


@jit
def guarded_rows(X, rows: int):
    N, D = T.const("N D")
    X: T.Tensor((N, D), "float32")
    Y = T.empty((N, D), "float32")
    with T.Kernel(T.ceildiv(N, rows), threads=128) as bx:
        f = T.alloc_fragment((rows, D), "float32")
        for i, j in T.Parallel(rows, D):
            f[i, j] = T.if_then_else(bx * rows + i - 1 >= 0, X[bx * rows + i - 1, j], -1.0)
        for i, j in T.Parallel(rows, D):
            if bx * rows + i < N:
                Y[bx * rows + i, j] = f[i, j]
    return Y


@jit
def convolved(X, W, rows: int):
    N, C, K = T.const("N C K")
    X: T.Tensor((N, C), "float32")
    W: T.Tensor((K, C), "float32")
    Y = T.empty((N, C), "float32")
    with T.Kernel(T.ceildiv(N, rows), threads=128) as bx:
        f = T.alloc_fragment((rows, C), "float32")
        T.clear(f)
        for k in T.serial(K):
            for i, c in T.Parallel(rows, C):
                at = bx * rows + i + k - K + 1
                f[i, c] += T.if_then_else(at >= 0, X[at, c], 0) * W[k, c]
        T.copy(f, Y[bx * rows, 0])
    return Y


@jit
def two_parts(X, L, rows: int):
    """Rows below a length are doubled, the others negative; the last column is another one."""
    N, D = T.const("N D")
    X: T.Tensor((N, D), "float32")
    L: T.Tensor((1,), "int32")
    Y = T.empty((N, D), "float32")
    with T.Kernel(T.ceildiv(N, rows), threads=128) as bx:
        for i, j in T.Parallel(rows, D):
            if bx * rows + i < L[0]:
                Y[bx * rows + i, j] = X[bx * rows + i, j] * 2
            else:
                if j < D - 8:
                    Y[bx * rows + i, j] = -X[bx * rows + i, j]
                else:
                    Y[bx * rows + i, j] = 7.0
    return Y


def test_conditions_on_bounds_leave_parts_of_tiles() -> None:
    x, w = torch.randn(50, 40), torch.randn(4, 40)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="(?s).*scalar loop")
        close(guarded_rows(x, 16), torch.cat([-torch.ones(1, 40), x[:-1]]))
        padded = torch.cat([torch.zeros(3, 40), x])
        close(convolved(x, w, 16), sum(padded[k : k + 50] * w[k] for k in range(4)))
        for length in (0, 1, 20, 32, 50, 70):
            expected = torch.where(torch.arange(50)[:, None] < length, x * 2, -x)
            expected[length:, 32:] = 7.0
            close(two_parts(x, torch.tensor([length]).int(), 16), expected)


@jit
def rows_sent_on(X, At, Y, rows: int, width: int):
    """Rows of a tile go where a table says, or nowhere; their ends may lie outside."""
    N, R, D = T.const("N R D")
    X: T.Tensor((N, D), "float32")
    At: T.Tensor((N,), "int32")
    Y: T.Tensor((R, D), "float32")
    with T.Kernel(T.ceildiv(D, width), T.ceildiv(N, rows), threads=128) as (bx, by):
        x = T.alloc_shared((rows, width), "float32")
        at = T.alloc_shared((rows,), "int32")
        T.copy(At[by * rows], at)
        T.copy(X[by * rows, bx * width], x)
        for i, j in T.Parallel(rows, width):
            if at[i] < R and bx * width + j < D:
                Y[at[i], bx * width + j] = x[i, j] * 2


@jit
def bias_of_halves(B, rows: int, width: int):
    D = T.const("D")
    B: T.Tensor((D,), "float16")
    Y = T.empty((rows, D), "float32")
    with T.Kernel(T.ceildiv(D, width), threads=128) as bx:
        y = T.alloc_fragment((rows, width), "float32")
        T.fill(y, 1)
        for i, j in T.Parallel(rows, width):
            y[i, j] += B[bx * width + j]
        T.copy(y, Y[0, bx * width])
    return Y


def test_tiles_wider_than_their_tensors() -> None:
    x, at, bias = torch.randn(24, 40), torch.randperm(24).int(), torch.randn(17).half()
    sent = torch.zeros(20, 40)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="(?s).*scalar loop")
        rows_sent_on(x, at, sent, 8, 32)
        close(bias_of_halves(bias, 8, 32), (bias.float() + 1).expand(8, 17))
    inside = at < 20
    expected = torch.zeros(20, 40)
    expected[at[inside].long()] = x[inside] * 2
    close(sent, expected)


@jit
def chosen_in_place(X, Y, size: int):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Y: T.Tensor((N,), "float32")
    with T.Kernel(T.ceildiv(N, size), threads=128) as bx:
        for i in T.Parallel(size):
            if X[bx * size + i] > 0:
                Y[bx * size + i] = X[bx * size + i] * 2
            elif X[bx * size + i] < -1:
                Y[bx * size + i] = 7
            else:
                Y[bx * size + i] += 1


def test_branches_by_elements_end_at_the_tensor() -> None:
    x, y = torch.randn(100), torch.randn(100)
    expected = torch.where(x > 0, x * 2, torch.where(x < -1, torch.full_like(x, 7.0), y + 1))
    chosen_in_place(x, y, 32)
    close(y, expected)
