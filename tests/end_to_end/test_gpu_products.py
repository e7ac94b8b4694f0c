"""Products as kernels for GPUs have them: what becomes of their sums and operands in every place
where vector code, copies and other products use these. Each at `strict` against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_runtime import compile

pytestmark = [pytest.mark.usefixtures("strict"), pytest.mark.whole]

M, N, K, STEP = 48, 32, 96, 32
ROUNDS = K // STEP


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


DTYPES = {"float16": "float32", "bfloat16": "float32", "float32": "float32", "int8": "int32"}


def operand(*shape: int, dtype: str = "float16") -> torch.Tensor:
    """Small whole numbers: sums are exact in every order."""
    return torch.randint(-3, 4, shape).to(getattr(torch, dtype))


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.double() @ b.double()).to(torch.int32 if a.dtype is torch.int8 else torch.float32)


@T.macro
def begin(use, c, d):
    T.clear(d)
    if use not in ("cleared by the first", "clear in each round", "set before"):
        T.clear(c)
    if use == "set before":
        for i, j in T.Parallel(M, N):
            c[i, j] = T.if_then_else(i > j, i - j, 3)


@T.macro
def add_product(use, a, b, c, first):
    if use == "clear in each round":
        T.fill(c, 0)
    if use == "changed in each round":
        for i, j in T.Parallel(M, N):
            c[i, j] = c[i, j] * 2
    T.gemm(a, b, c, clear_accum=first if use == "cleared by the first" else False)
    if use == "two products":
        T.gemm(a, b, c)


@T.macro
def end(use, c, d):
    if use not in ("clear in each round", "to gm"):
        for i, j in T.Parallel(M, N):
            d[i, j] = c[i, j] + 1


def sums(use: str, dtype: str, stages: int = 2) -> Any:
    """A kernel whose sum `c` of products over k is used as `use` says."""
    accum = DTYPES[dtype]

    @T.prim_func
    def k(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), accum),
          D: T.Tensor((M, N), accum)):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((M, STEP), dtype)
            b = T.alloc_shared((STEP, N), dtype)
            c = T.alloc_fragment((M, N), accum)
            d = T.alloc_fragment((M, N), accum)
            begin(use, c, d)
            for ko in T.Pipelined(ROUNDS, num_stages=stages):
                T.copy(A[0, ko * STEP], a)
                T.copy(B[ko * STEP, 0], b)
                add_product(use, a, b, c, ko == 0)
                if use == "clear in each round":
                    for i, j in T.Parallel(M, N):
                        d[i, j] = T.if_then_else(ko == 0, c[i, j], T.max(d[i, j], c[i, j]))
            end(use, c, d)
            T.copy(c, C)
            T.copy(d, D)

    return k


def expected(use: str, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    parts = [
        product(a[:, n * STEP : (n + 1) * STEP], b[n * STEP : (n + 1) * STEP])
        for n in range(ROUNDS)
    ]
    total = sum(parts[1:], parts[0])
    match use:
        case "two products":
            total = 2 * total
        case "changed in each round":
            total = parts[0] * 0
            for part in parts:
                total = total * 2 + part
        case "set before":
            i, j = torch.arange(M).reshape(-1, 1), torch.arange(N).reshape(1, -1)
            total = total + torch.where(i > j, i - j, 3).to(total.dtype)
        case "clear in each round":
            return parts[-1], torch.stack(parts).amax(0)
        case "to gm":
            return total, total * 0
    return total, total + 1


USES = ["over all rounds", "cleared by the first", "clear in each round", "changed in each round",
        "set before", "two products", "to gm"]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("use", USES)
def test_uses_of_a_sum(use: str, dtype: str) -> None:
    torch.manual_seed(0)
    a, b = operand(M, K, dtype=dtype), operand(K, N, dtype=dtype)
    found = compile(sums(use, dtype), out_idx=[2, 3])(a, b)
    for one, want in zip(found, expected(use, a, b), strict=True):
        assert torch.equal(one, want)


@pytest.mark.parametrize("stages", [0, 1, 3, 4, 5])
@pytest.mark.parametrize("use", ["over all rounds", "changed in each round"])
def test_stages_change_no_bit(use: str, stages: int) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(M, K).half(), torch.randn(K, N).half()
    serial = compile(sums(use, "float16", 0), out_idx=[2, 3],
                     pass_configs={"tl.ascend_retile": False})(a, b)  # fmt: skip
    found = compile(sums(use, "float16", stages), out_idx=[2, 3])(a, b)
    for one, want in zip(found, serial, strict=True):
        torch.testing.assert_close(one, want, rtol=1e-6, atol=1e-5)
    found = compile(sums(use, "float16", stages), out_idx=[2, 3],
                    pass_configs={"tl.ascend_retile": False})(a, b)  # fmt: skip
    for one, want in zip(found, serial, strict=True):
        assert torch.equal(one, want)


def operands(how: str, dtype: str, transpose: tuple[bool, bool]) -> Any:
    """A product whose operands come as `how` says; sizes are those of what is stored."""
    accum = DTYPES[dtype]
    of_a, of_b = ((N, M) if transpose[0] else (M, N)), ((K, N) if transpose[1] else (N, K))

    @T.prim_func
    def k(A: T.Tensor(of_a, dtype), B: T.Tensor(of_b, dtype), C: T.Tensor((M, K), accum),
          D: T.Tensor(of_a, dtype)):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared(of_a, dtype)
            b = T.alloc_shared(of_b, dtype)
            fa = T.alloc_fragment(of_a, dtype)
            fb = T.alloc_fragment(of_b, dtype)
            c = T.alloc_fragment((M, K), accum)
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            if how == "fragments":
                T.copy(a, fa)
                T.copy(b, fb)
                T.gemm(fa, fb, c, transpose_A=transpose[0], transpose_B=transpose[1])
            elif how == "made by elements":
                for i, j in T.Parallel(*of_a):
                    a[i, j] = a[i, j] + a[i, j]
                T.gemm(a, b, c, transpose_A=transpose[0], transpose_B=transpose[1])
            elif how == "read by elements":
                T.gemm(a, b, c, transpose_A=transpose[0], transpose_B=transpose[1])
                for i, j in T.Parallel(*of_a):
                    fa[i, j] = a[i, j] + a[i, j]
            elif how == "loaded to a fragment":
                T.copy(A, fa)
                T.gemm(fa, b, c, transpose_A=transpose[0], transpose_B=transpose[1])
            else:
                T.gemm(a, b, c, transpose_A=transpose[0], transpose_B=transpose[1])
            T.copy(c, C)
            T.copy(fa if how in ("read by elements", "fragments") else a, D)

    return k


HOW = ["shared", "fragments", "loaded to a fragment", "made by elements", "read by elements"]


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
@pytest.mark.parametrize("transpose", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("how", HOW)
def test_operands(how: str, transpose: tuple[bool, bool], dtype: str) -> None:
    torch.manual_seed(0)
    a, b = operand(M, N, dtype=dtype), operand(N, K, dtype=dtype)
    stored = a.T.contiguous() if transpose[0] else a, b.T.contiguous() if transpose[1] else b
    c, d = compile(operands(how, dtype, transpose), out_idx=[2, 3])(*stored)
    twice = {"made by elements": (2, 2), "read by elements": (1, 2)}.get(how, (1, 1))
    assert torch.equal(c, product(a, b) * twice[0])
    assert torch.equal(d, stored[0] * twice[1])


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_tile_is_both_operands(dtype: str) -> None:
    @T.prim_func
    def k(A: T.Tensor((M, K), dtype), C: T.Tensor((M, M), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((M, K), dtype)
            c = T.alloc_fragment((M, M), "float32")
            T.copy(A, a)
            T.gemm(a, a, c, transpose_B=True, clear_accum=True)
            T.copy(c, C)

    torch.manual_seed(0)
    a = operand(M, K, dtype=dtype)
    assert torch.equal(compile(k, out_idx=-1)(a), product(a, a.T))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("through", ["shared", "fragment"])
def test_a_product_is_the_operand_of_the_next(through: str, dtype: str) -> None:
    """Converted, in each round, with nothing else of it used."""

    @T.prim_func
    def k(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((N, 64), dtype),
          D: T.Tensor((M, 64), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((M, STEP), dtype)
            b = T.alloc_shared((STEP, N), dtype)
            c = T.alloc_shared((N, 64), dtype)
            s = T.alloc_fragment((M, N), "float32")
            p = (
                T.alloc_shared((M, N), dtype)
                if through == "shared"
                else T.alloc_fragment((M, N), dtype)
            )
            d = T.alloc_fragment((M, 64), "float32")
            T.copy(C, c)
            T.clear(d)
            for ko in T.Pipelined(ROUNDS, num_stages=2):
                T.copy(A[0, ko * STEP], a)
                T.copy(B[ko * STEP, 0], b)
                T.clear(s)
                T.gemm(a, b, s)
                T.copy(s, p)
                T.gemm(p, c, d)
            T.copy(d, D)

    torch.manual_seed(0)
    a, b, c = operand(M, K, dtype=dtype), operand(K, N, dtype=dtype), operand(N, 64, dtype=dtype)
    want = sum(
        product(
            product(a[:, n * STEP : (n + 1) * STEP], b[n * STEP : (n + 1) * STEP]).to(a.dtype), c
        )
        for n in range(ROUNDS)
    )
    assert torch.equal(compile(k, out_idx=-1)(a, b, c), want)


@pytest.mark.parametrize("changed", [False, True])
def test_a_sum_is_an_operand_itself(changed: bool) -> None:

    @T.prim_func
    def k(A: T.Tensor((M, K), "float32"), B: T.Tensor((K, N), "float32"),
          C: T.Tensor((N, N), "float32"), D: T.Tensor((M, N), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((M, STEP), "float32")
            b = T.alloc_shared((STEP, N), "float32")
            c = T.alloc_shared((N, N), "float32")
            s = T.alloc_fragment((M, N), "float32")
            d = T.alloc_fragment((M, N), "float32")
            T.copy(C, c)
            T.clear(d)
            T.clear(s)
            for ko in T.Pipelined(ROUNDS, num_stages=2):
                T.copy(A[0, ko * STEP], a)
                T.copy(B[ko * STEP, 0], b)
                T.gemm(a, b, s)
                if changed:
                    for i, j in T.Parallel(M, N):
                        s[i, j] = s[i, j] + 1
                T.gemm(s, c, d)
            T.copy(d, D)

    torch.manual_seed(0)
    a, b = operand(M, K, dtype="float32"), operand(K, N, dtype="float32")
    c = torch.eye(N)[torch.randperm(N)]
    s, d = torch.zeros(M, N), torch.zeros(M, N)
    for n in range(ROUNDS):
        s = s + product(a[:, n * STEP : (n + 1) * STEP], b[n * STEP : (n + 1) * STEP]) + changed
        d = d + product(s, c)
    assert torch.equal(compile(k, out_idx=-1)(a, b, c), d)


SIZES = [(8, 8, 16), (16, 16, 16), (24, 40, 16), (128, 128, 128), (256, 128, 64), (1, 64, 512),
         (100, 33, 72), (256, 256, 32), (16, 512, 48)]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sizes_of_tiles(size: tuple[int, int, int], dtype: str) -> None:
    m, n, depth = size

    @T.prim_func
    def k(A: T.Tensor((m, depth), dtype), B: T.Tensor((depth, n), dtype),
          C: T.Tensor((m, n), dtype)):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((m, depth), dtype)
            b = T.alloc_shared((depth, n), dtype)
            c = T.alloc_fragment((m, n), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c)
            T.copy(c, C)

    torch.manual_seed(0)
    a, b = operand(m, depth, dtype=dtype), operand(depth, n, dtype=dtype)
    want = (a.double() @ b.double()).to(a.dtype)
    assert torch.equal(compile(k, out_idx=-1)(a, b), want)


@pytest.mark.parametrize("turned", [0, 1])
def test_zero_and_one_say_false_and_true(turned: int) -> None:
    @T.prim_func
    def k(
        A: T.Tensor((16, 16), "float16"),
        B: T.Tensor((16, 16), "float16"),
        C: T.Tensor((16, 16), "float32"),
    ):
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((16, 16), "float16")
            b = T.alloc_shared((16, 16), "float16")
            c = T.alloc_fragment((16, 16), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, turned, 1 - turned, clear_accum=1)
            T.copy(c, C)

    a, b = operand(16, 16), operand(16, 16)
    found = compile(k, out_idx=[2])(a, b)
    a, b = (a.T, b) if turned else (a, b.T)
    torch.testing.assert_close(found, a.float() @ b.float())
