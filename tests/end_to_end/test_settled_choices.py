"""Masks that have one outcome for most tiles: kernels as for GPUs, each at `strict` against torch,
with tiles above, on and below every edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, For, Func, If
from tile_passes.settle_choices import settle_choices
from tile_passes.simplify import simplify
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")

N, TILE, DIM = 96, 32, 32
ROUNDS = N // TILE
LARGE = -1000.0


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


# What is seen of key `k` from query `q`; `T` has the operators of the language.
MASKS: dict[str, Callable[[Any, Any], Any]] = {
    "causal": lambda q, k: q >= k,
    "strictly later": lambda q, k: k > q,
    "window": lambda q, k: (q >= k) & (q < k + 40),
    "far away": lambda q, k: (q < k - 33) | (q > k + 33),
    "keys": lambda q, k: k < 70,
    "queries": lambda q, k: 2 * q <= 90,
}
WORDS: dict[str, Callable[[Any, Any], Any]] = {
    **MASKS,
    "window": lambda q, k: T.And(q >= k, q < k + 40),
    "far away": lambda q, k: T.Or(q < k - 33, q > k + 33),
}


def before(seen: Callable[[Any, Any], Any], others: bool) -> Any:
    """The product is added to the mask."""

    @T.prim_func
    def k(A: T.Tensor((N, DIM), "float16"), B: T.Tensor((N, DIM), "float16"),
          C: T.Tensor((N, N), "float32")):  # fmt: skip
        with T.Kernel(ROUNDS, threads=128) as bx:
            a = T.alloc_shared((TILE, DIM), "float16")
            b = T.alloc_shared((TILE, DIM), "float16")
            s = T.alloc_fragment((TILE, TILE), "float32")
            T.copy(A[bx * TILE, 0], a)
            for n in T.Pipelined(ROUNDS, num_stages=2):
                T.copy(B[n * TILE, 0], b)
                for i, j in T.Parallel(TILE, TILE):
                    if others:
                        s[i, j] = T.if_then_else(T.Not(seen(bx * TILE + i, n * TILE + j)), LARGE, 0)
                    else:
                        q = bx * TILE + i
                        key = n * TILE + j
                        s[i, j] = T.if_then_else(seen(q, key), 0, LARGE)
                T.gemm(a, b, s, transpose_B=True)
                for i, j in T.Parallel(TILE, TILE):
                    s[i, j] = s[i, j] * 2.0
                T.copy(s, C[bx * TILE, n * TILE])

    return k


def behind(seen: Callable[[Any, Any], Any], branch: bool) -> Any:
    """The mask is put over the product."""

    @T.prim_func
    def k(A: T.Tensor((N, DIM), "float16"), B: T.Tensor((N, DIM), "float16"),
          C: T.Tensor((N, N), "float32")):  # fmt: skip
        with T.Kernel(ROUNDS, threads=128) as bx:
            a = T.alloc_shared((TILE, DIM), "float16")
            b = T.alloc_shared((TILE, DIM), "float16")
            s = T.alloc_fragment((TILE, TILE), "float32")
            T.copy(A[bx * TILE, 0], a)
            for n in T.serial(ROUNDS):
                T.copy(B[n * TILE, 0], b)
                T.clear(s)
                T.gemm(a, b, s, transpose_B=True)
                for i, j in T.Parallel(TILE, TILE):
                    if branch:
                        if T.Not(seen(bx * TILE + i, n * TILE + j)):
                            s[i, j] = LARGE
                    else:
                        s[i, j] = T.if_then_else(seen(bx * TILE + i, n * TILE + j), s[i, j], LARGE)
                T.copy(s, C[bx * TILE, n * TILE])

    return k


def operands() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    a, b = (torch.randint(-3, 4, (N, DIM)).half() for _ in range(2))
    return a, b, a.float() @ b.float().T


def masked(name: str) -> torch.Tensor:
    return MASKS[name](torch.arange(N).reshape(-1, 1), torch.arange(N).reshape(1, -1))


def masked_under_a_branch(func: Func) -> bool:
    """Whether one branch on the place of a tile stands around the nest of the mask."""
    settled = settle_choices.run(simplify.run(func, DEFAULT_TARGET), DEFAULT_TARGET)
    (loop,) = (s for s in settled.launch.body if isinstance(s, For))
    return [isinstance(s, If) for s in loop.body].count(True) == 1


@pytest.mark.whole
@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("name", MASKS)
def test_a_product_is_added_to_a_mask(name: str, others: bool) -> None:
    a, b, product = operands()
    want = (torch.where(masked(name), 0.0, LARGE) + product) * 2
    kernel = before(WORDS[name], others)
    assert masked_under_a_branch(kernel)
    assert torch.equal(compile(kernel, out_idx=-1)(a, b), want)


@pytest.mark.whole
@pytest.mark.parametrize("branch", [False, True])
@pytest.mark.parametrize("name", MASKS)
def test_a_mask_is_put_over_a_product(name: str, branch: bool) -> None:
    a, b, product = operands()
    want = torch.where(masked(name), product, LARGE)
    kernel = behind(WORDS[name], branch)
    assert masked_under_a_branch(kernel)
    assert torch.equal(compile(kernel, out_idx=-1)(a, b), want)
