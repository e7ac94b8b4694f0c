"""Loops of the two cores that hand a tile over in every round, under conditions: each round takes
what the same round of the other core has left, or the text is refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import PassConfigKey, compile

pytestmark = pytest.mark.usefixtures("strict")

AUTOMATIC = {
    PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
    PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}
BLOCKS, ROUNDS, N = 3, 4, 16


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def sums(cube: Any, vector: Any) -> Any:
    """Y adds up the products of all rounds, each through the same workspace, weighted by their
    number; `cube` and `vector` say from the block, the lane and a tensor whether the core works."""

    @T.prim_func
    def kernel(A: T.Tensor((BLOCKS, ROUNDS, N, N), "float16"), On: T.Tensor((BLOCKS,), "int32"),
               S: T.Tensor((BLOCKS, N, N), "float32"),
               Y: T.Tensor((BLOCKS, N, N), "float32")):  # fmt: skip
        with T.Kernel(BLOCKS) as (cid, vid):
            a = T.alloc_L1((N, N), "float16")
            c = T.alloc_L0C((N, N), "float32")
            part = T.alloc_ub((N // 2, N), "float32")
            total = T.alloc_ub((N // 2, N), "float32")
            with T.Scope("C"):
                if cube(cid, vid, On):
                    for k in T.serial(ROUNDS):
                        T.copy(A[cid, k, :, :], a)
                        T.gemm_v0(a, a, c, init=True)
                        T.copy(c, S[cid, :, :])
            with T.Scope("V"):
                T.tile.fill(total, 0.0)
                if vector(cid, vid, On):
                    for k in T.serial(ROUNDS):
                        T.copy(S[cid, vid * 8 : vid * 8 + 8, :], part)
                        T.tile.mul(part, part, T.cast(k + 1, "float32"))
                        T.tile.add(total, total, part)
                T.copy(total, Y[cid, vid * 8 : vid * 8 + 8, :])

    return kernel


GUARDS = {
    "block": (lambda cid, vid, on: cid < 2, lambda cid, vid, on: cid < 2),
    "tensor": (lambda cid, vid, on: on[cid] > 0, lambda cid, vid, on: on[cid] > 0),
}


@pytest.mark.parametrize("guard", GUARDS)
def test_rounds_go_together_under_one_condition(guard: str) -> None:
    torch.manual_seed(0)
    a = torch.randint(-3, 4, (BLOCKS, ROUNDS, N, N)).half()
    on, work = torch.tensor([1, 1, 0], dtype=torch.int32), torch.zeros(BLOCKS, N, N)
    got = compile(sums(*GUARDS[guard]), out_idx=[-1], pass_configs=AUTOMATIC)(a, on, work)
    weights = torch.arange(1, ROUNDS + 1).reshape(1, -1, 1, 1)
    want = ((a.float() @ a.float()) * weights).sum(1)
    want[2] = 0
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize(
    ("cube", "vector"),
    [
        (lambda cid, vid, on: cid < 2, lambda cid, vid, on: cid < 3),
        (lambda cid, vid, on: cid < 2, lambda cid, vid, on: True),
        (lambda cid, vid, on: True, lambda cid, vid, on: vid == 0),
    ],
)
def test_other_conditions_are_refused(cube: Any, vector: Any) -> None:
    with pytest.raises(KernelError, match=r"handover-guards.*\n") as raised:
        compile(sums(cube, vector), out_idx=[-1], pass_configs=AUTOMATIC)
    assert "same conditions" in str(raised.value)


def test_inner_loops_share_bytes_in_rounds_of_their_own() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((2, ROUNDS, N, N), "float16"),
               S: T.Tensor((2, N, N), "float32"),
               Y: T.Tensor((2, N, N), "float32")):  # fmt: skip
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_L1((N, N), "float16")
            c = T.alloc_L0C((N, N), "float32")
            part = T.alloc_ub((N // 2, N), "float32")
            total = T.alloc_ub((N // 2, N), "float32")
            with T.Scope("C"):
                for i in T.serial(2):
                    for k in T.serial(ROUNDS):
                        T.copy(A[i, k, :, :], a)
                        T.gemm_v0(a, a, c, init=True)
                        T.copy(c, S[i, :, :])
            with T.Scope("V"):
                for j in T.serial(2):
                    T.tile.fill(total, 0.0)
                    for _k in T.serial(ROUNDS):
                        T.copy(S[j, vid * 8 : vid * 8 + 8, :], part)
                        T.tile.add(total, total, part)
                    T.copy(total, Y[j, vid * 8 : vid * 8 + 8, :])

    torch.manual_seed(0)
    a = torch.randint(-3, 4, (2, ROUNDS, N, N)).half()
    got = compile(kernel, out_idx=[-1], pass_configs=AUTOMATIC)(a, torch.zeros(2, N, N))
    torch.testing.assert_close(got, (a.float() @ a.float()).sum(1))


def counted(variable: bool) -> Any:
    """As many rounds as a tensor says, which the vector cores may keep in a variable."""

    @T.prim_func
    def kernel(A: T.Tensor((BLOCKS, ROUNDS, N, N), "float16"), On: T.Tensor((BLOCKS,), "int32"),
               S: T.Tensor((BLOCKS, N, N), "float32"),
               Y: T.Tensor((BLOCKS, N, N), "float32")):  # fmt: skip
        with T.Kernel(BLOCKS) as (cid, vid):
            a = T.alloc_L1((N, N), "float16")
            c = T.alloc_L0C((N, N), "float32")
            part = T.alloc_ub((N // 2, N), "float32")
            total = T.alloc_ub((N // 2, N), "float32")
            with T.Scope("C"):
                rounds = On[cid]
                for k in T.serial(rounds):
                    T.copy(A[cid, k, :, :], a)
                    T.gemm_v0(a, a, c, init=True)
                    T.copy(c, S[cid, :, :])
            with T.Scope("V"):
                T.tile.fill(total, 0.0)
                times = T.alloc_var("int32", init=0)
                times = On[cid]
                for _k in T.serial(times if variable else On[cid]):
                    T.copy(S[cid, vid * 8 : vid * 8 + 8, :], part)
                    T.tile.add(total, total, part)
                T.copy(total, Y[cid, vid * 8 : vid * 8 + 8, :])

    return kernel


def test_rounds_that_a_tensor_counts() -> None:
    torch.manual_seed(0)
    a = torch.randint(-3, 4, (BLOCKS, ROUNDS, N, N)).half()
    on, work = torch.tensor([1, 4, 0], dtype=torch.int32), torch.zeros(BLOCKS, N, N)
    got = compile(counted(False), out_idx=[-1], pass_configs=AUTOMATIC)(a, on, work)
    products = a.float() @ a.float()
    torch.testing.assert_close(
        got, torch.stack([p[:n].sum(0) for p, n in zip(products, on, strict=True)])
    )


def test_rounds_that_may_differ_are_refused() -> None:
    with pytest.raises(KernelError, match="may not run equally often") as raised:
        compile(counted(True), out_idx=[-1], pass_configs=AUTOMATIC)
    assert raised.value.slug == "handover-iterations"


def there_and_back(rounds: int, cube: Any, vector: Any) -> Any:
    """Products that the vector cores double, and that the cube core multiplies once more."""

    @T.prim_func
    def kernel(A: T.Tensor((rounds, N, N), "float16"), S: T.Tensor((N, N), "float32"),
               P: T.Tensor((N, N), "float16"), Y: T.Tensor((rounds, N, N), "float32")):  # fmt: skip
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_L1((N, N), "float16")
            p = T.alloc_L1((N, N), "float16")
            c = T.alloc_L0C((N, N), "float32")
            s = T.alloc_ub((N // 2, N), "float32")
            half = T.alloc_ub((N // 2, N), "float16")
            with T.Scope("C"):
                for k in cube(rounds):
                    T.copy(A[k, :, :], a)
                    T.gemm_v0(a, a, c, init=True)
                    T.copy(c, S)
                    T.copy(P, p)
                    T.gemm_v0(p, a, c, init=True)
                    T.copy(c, Y[k, :, :])
            with T.Scope("V"):
                for _ in vector(rounds):
                    T.copy(S[vid * 8 : vid * 8 + 8, :], s)
                    T.tile.add(s, s, s)
                    T.tile.cast(half, s, "CAST_RINT", N // 2 * N)
                    T.copy(half, P[vid * 8 : vid * 8 + 8, :])

    return kernel


LOOPS = {"serial": T.serial, "pipelined": partial(T.Pipelined, num_stages=1)}


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("cube", LOOPS)
@pytest.mark.parametrize("vector", LOOPS)
def test_loops_of_any_kind_go_together(rounds: int, cube: str, vector: str) -> None:
    """Also of one iteration: a loop that only one core keeps would come before all of the other."""
    torch.manual_seed(0)
    a = torch.randint(-2, 3, (rounds, N, N)).half()
    work = torch.zeros(N, N), torch.zeros(N, N).half()
    run = compile(
        there_and_back(rounds, LOOPS[cube], LOOPS[vector]), out_idx=[-1], pass_configs=AUTOMATIC
    )
    torch.testing.assert_close(run(a, *work), 2 * (a.float() @ a.float()) @ a.float())
