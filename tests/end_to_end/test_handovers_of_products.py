"""How often a sum of products goes from the cube core to the vector cores, and where operands are
parts of tiles. Each at `strict` against torch."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_ir import Core, Func, KernelError, Op, Section, walk
from tile_runtime import compile

pytestmark = [pytest.mark.usefixtures("strict"), pytest.mark.whole]

M, N, K, STEP = 48, 32, 224, 32


def transfers(func: Func, given: int) -> tuple[int, int]:
    """How often sums leave l0c for other tensors than those of the call, and for these; loops
    count once."""
    own = set(func.params[:given])
    leaving = [
        s.operands[1].buffer
        for s in walk(func.launch.body)
        if isinstance(s, Op) and s.opdef.name.startswith("copy_l0c_gm")
    ]
    return sum(b not in own for b in leaving), sum(b in own for b in leaving)


def cores(func: Func) -> set[Core]:
    return {s.core for s in walk(func.launch.body) if isinstance(s, Section)}


CLEARS = ["outside", "fill", "by the first", "two products", "converted", "only stored"]


@pytest.mark.parametrize("how", CLEARS)
def test_a_sum_is_handed_over_once(how: str) -> None:
    """Over all rounds, whatever clears it."""
    to = "float16" if how == "converted" else "float32"

    @T.prim_func
    def k(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), to)):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((M, STEP), "float16")
            b = T.alloc_shared((STEP, N), "float16")
            c = T.alloc_fragment((M, N), "float32")
            if how == "fill":
                T.fill(c, 0)
            elif how != "by the first":
                T.clear(c)
            for ko in T.Pipelined(K // STEP, num_stages=2):
                T.copy(A[0, ko * STEP], a)
                T.copy(B[ko * STEP, 0], b)
                T.gemm(a, b, c, clear_accum=ko == 0 if how == "by the first" else False)
                if how == "two products":
                    T.gemm(a, b, c)
            if how not in ("converted", "only stored"):
                for i, j in T.Parallel(M, N):
                    c[i, j] = c[i, j] * 2
            T.copy(c, C)

    a, b = torch.randint(-3, 4, (M, K)).half(), torch.randint(-3, 4, (K, N)).half()
    kernel = compile(k, out_idx=2)
    found = kernel(a, b)
    total = a.float() @ b.float()
    times = {"two products": 4, "converted": 1, "only stored": 1}.get(how, 2)
    assert torch.equal(found, (total * times).to(found.dtype))
    stored = how in ("converted", "only stored")
    assert transfers(kernel.lowered, 3) == ((0, 1) if stored else (1, 0))
    assert cores(kernel.lowered) == ({Core.CUBE} if stored else {Core.CUBE, Core.VECTOR})


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
@pytest.mark.parametrize("which", ["rows", "columns", "slots", "a fragment on the right"])
def test_operands_are_parts_of_tiles(which: str, dtype: str) -> None:
    accum = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def k(A: T.Tensor((2, 64, 64), dtype), B: T.Tensor((64, 64), dtype),
          C: T.Tensor((32, 64), accum)):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((2, 64, 64), dtype)
            b = T.alloc_shared((64, 64), dtype)
            f = T.alloc_fragment((64, 64), dtype)
            c = T.alloc_fragment((32, 64), accum)
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            if which == "rows":
                T.gemm(a[1, 32:64, :], b, c)
            elif which == "columns":
                T.gemm(a[0, 0:32, 32:64], b[32:64, :], c)
            elif which == "slots":
                for s in T.serial(2):
                    T.gemm(a[s, 0:32, :], b, c)
            else:
                T.copy(B, f)
                T.gemm(a[0, 0:32, :], f, c)
            T.copy(c, C)

    a, b = (torch.randint(-3, 4, s).to(getattr(torch, dtype)) for s in ((2, 64, 64), (64, 64)))
    x, y = a.double(), b.double()
    expected = {
        "rows": x[1, 32:] @ y, "columns": x[0, :32, 32:] @ y[32:],
        "slots": (x[0, :32] + x[1, :32]) @ y, "a fragment on the right": x[0, :32] @ y,
    }[which]  # fmt: skip
    found = compile(k, out_idx=2)(a, b)
    assert torch.equal(found, expected.to(found.dtype))


@pytest.mark.parametrize("when", ["before", "between", "behind"])
def test_an_operand_is_read_and_written_by_elements(when: str) -> None:
    """The same tile in products and in vector code, in rounds."""

    @T.prim_func
    def k(A: T.Tensor((3, 32, 32), "float16"), C: T.Tensor((32, 32), "float32"),
          D: T.Tensor((3, 32, 32), "float16"), S: T.Tensor((32,), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((32, 32), "float16")
            f = T.alloc_fragment((32, 32), "float32")
            rows = T.alloc_fragment((32,), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            T.clear(rows)
            for n in T.Pipelined(3, num_stages=2):
                T.copy(A[n, 0, 0], a)
                if when == "before":
                    for i, j in T.Parallel(32, 32):
                        a[i, j] = a[i, j] + 1
                T.gemm(a, a, c, transpose_B=True)
                if when == "between":
                    for i, j in T.Parallel(32, 32):
                        a[i, j] = a[i, j] + 1
                    T.gemm(a, a, c, transpose_B=True)
                if when == "behind":
                    for i, j in T.Parallel(32, 32):
                        a[i, j] = a[i, j] + 1
                T.copy(a, f)
                T.reduce_sum(f, rows, dim=1, clear=False)
                T.copy(a, D[n, 0, 0])
            T.copy(c, C)
            T.copy(rows, S)

    a = torch.randint(-3, 4, (3, 32, 32)).half()
    c, d, s = compile(k, out_idx=[1, 2, 3])(a)
    x, y = a.float(), a.float() + 1
    of = {"before": [y], "between": [x, y], "behind": [x]}[when]
    assert torch.equal(c, sum((t @ t.transpose(1, 2)).sum(0) for t in of))
    assert torch.equal(d, y.half()) and torch.equal(s, y.sum((0, 2)))


@pytest.mark.parametrize("size", [64, 256])
@pytest.mark.parametrize("turned", [False, True])
def test_a_wide_sum_of_a_tile_with_itself(size: int, turned: bool) -> None:
    @T.prim_func
    def k(A: T.Tensor((size, size), "float16"), B: T.Tensor((size, size), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((size, size), "float16")
            c = T.alloc_fragment((size, size), "float32")
            T.copy(A, a)
            T.gemm(a, a, c, transpose_B=turned, clear_accum=True)
            T.copy(c, B)

    a = torch.randint(-3, 4, (size, size)).half()
    x = a.float()
    assert torch.equal(compile(k, out_idx=1)(a), x @ (x.T if turned else x))


def test_what_has_no_room_is_named() -> None:
    @T.prim_func
    def k(A: T.Tensor((512, 512), "float32"), B: T.Tensor((512, 512), "float32")):
        with T.Kernel(1, threads=128) as bx:
            the_large_one = T.alloc_shared((512, 512), "float32")
            c = T.alloc_fragment((512, 512), "float32")
            T.copy(A, the_large_one)
            T.gemm(the_large_one, the_large_one, c, clear_accum=True)
            T.copy(c, B)

    with pytest.raises(KernelError, match="the_large_one") as raised:
        compile(k, out_idx=1)
    assert raised.value.slug == "memory-overflow"


SCHEDULES = {
    "none": {},
    "stages": {"num_stages": 3},
    "of each statement": {"stage": [0, 0, 1, 1], "order": [0, 1, 2, 3]},
    "in another order": {"stage": [0, 0, 1, 1], "order": [1, 0, 2, 3]},
    "three deep": {"num_stages": 3, "stage": [0, 1, 2, 2], "order": [0, 1, 2, 3]},
}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_schedule_changes_no_bit(schedule: str) -> None:
    given = SCHEDULES[schedule]

    @T.prim_func
    def k(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"),
          C: T.Tensor((M, N), "float32"), D: T.Tensor((M, N), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((M, STEP), "float16")
            b = T.alloc_shared((STEP, N), "float16")
            c = T.alloc_fragment((M, N), "float32")
            d = T.alloc_fragment((M, N), "float32")
            T.clear(c)
            T.clear(d)
            for ko in T.Pipelined(K // STEP, **given):
                T.copy(A[0, ko * STEP], a)
                T.copy(B[ko * STEP, 0], b)
                T.gemm(a, b, c)
                for i, j in T.Parallel(M, N):
                    d[i, j] = d[i, j] * 0.5 + b[i % STEP, j] * a[i, j]
            T.copy(c, C)
            T.copy(d, D)

    torch.manual_seed(0)
    a, b = torch.randn(M, K).half(), torch.randn(K, N).half()
    same = {"tl.ascend_retile": False}
    c, d = compile(k, out_idx=[2, 3], pass_configs=same)(a, b)
    total, running = torch.zeros(M, N), torch.zeros(M, N)
    rows = torch.arange(M) % STEP
    for n in range(K // STEP):
        x, y = a[:, n * STEP : (n + 1) * STEP], b[n * STEP : (n + 1) * STEP]
        total += x.float() @ y.float()
        running = running * 0.5 + (y[rows] * x).float()
    torch.testing.assert_close(c, total, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(d, running, rtol=1e-3, atol=1e-3)
    FOUND.setdefault("first", (c, d))
    assert all(map(torch.equal, FOUND["first"], (c, d)))


FOUND: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
