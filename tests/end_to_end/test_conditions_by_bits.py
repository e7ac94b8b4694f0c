"""Conditions joined by the operators of bits, as kernels for GPUs have them: of truth values `&`, `|`
and `~` are `and`, `or` and `not`, wherever a condition stands. Each runs at `strict`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")

N = 40
FORMS = {
    "not": lambda a, b: ~a,
    "both": lambda a, b: a & b,
    "either": lambda a, b: a | b,
    "one": lambda a, b: a ^ b,
    "neither": lambda a, b: ~(a | b),
    "first alone": lambda a, b: a & ~b,
}


def kernel(form: Callable[[Any, Any], Any], where: str) -> Any:
    """Y is 1 where the form of `P[i] > 3` and `i < n` holds, else 2."""

    @T.prim_func
    def main(P: T.Tensor((N,), "int32"), n: T.int32, Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=128) as bx:
            p = T.alloc_fragment((N,), "int32")
            y = T.alloc_fragment((N,), "int32")
            first = T.alloc_fragment((N,), "bool")
            T.copy(P, p)
            T.fill(y, 2)
            if where == "a branch of the block":
                for i in T.serial(N):
                    if form(P[i] > 3, i < n):
                        T.fill(p, 1)
                    else:
                        T.fill(p, 2)
                    y[i] = p[0]
            elif where == "a branch of elements":
                for i in T.Parallel(N):
                    if form(p[i] > 3, i < n):
                        y[i] = 1
            elif where == "a choice":
                for i in T.Parallel(N):
                    y[i] = T.if_then_else(form(p[i] > 3, i < n), 1, 2)
            else:
                for i in T.Parallel(N):
                    first[i] = form(p[i] > 3, i < n)
                for i in T.Parallel(N):
                    if ~first[i]:
                        y[i] = 2
                    else:
                        y[i] = 1
            T.copy(y, Y)

    return main


@pytest.mark.parametrize(
    "where", ["a branch of the block", "a branch of elements", "a choice", "a mask"]
)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
def test_operators_of_bits_join_conditions(form: str, where: str) -> None:
    p, y = torch.arange(N, dtype=torch.int32) % 8, torch.zeros(N, dtype=torch.int32)
    compile(kernel(FORMS[form], where))(p, 21, y)
    holds = FORMS[form](p > 3, torch.arange(N) < 21)
    assert torch.equal(y, torch.where(holds, 1, 2).int())


@pytest.mark.parametrize("n", [0, -1])
@pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning")
def test_cores_agree_on_what_is_joined_with_a_known_condition(n: int) -> None:
    """The variable is 0 to both cores, so that the inner branch asks what the outer one has."""

    @T.prim_func
    def main(A: T.Tensor((16, 16), "float32"), P: T.Tensor((16,), "int32"),
             C: T.Tensor((2,), "int32"), S: T.Tensor((16, 16), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((16, 16), "float32")
            b = T.alloc_shared((16, 16), "float32")
            s = T.alloc_fragment((16, 16), "float32")
            z = T.alloc_fragment((16, 16), "float32")
            seen = T.alloc_var("int32", init=0)
            T.copy(A, a)
            T.clear(s)
            T.clear(z)
            n1 = C[bx] * 8
            for i, j in T.Parallel(16, 16):
                s[i, j] = T.max(T.min(s[i, j], 8), -8)
            if n1 >= 0:
                if (n1 >= 0) & (seen < 2):
                    for i, j in T.Parallel(16, 16):
                        b[i, j] = A[P[i], j]
                    T.gemm(a, b, s, transpose_B=True)
            else:
                for i, j in T.Parallel(16, 16):
                    z[i, j] = T.max(T.min(z[i, j], 8), -8) + 1
            for i, j in T.Parallel(16, 16):
                s[i, j] = s[i, j] + z[i, j]
            T.copy(s, S)

    a = torch.randint(-3, 4, (16, 16)).float()
    p, c = torch.arange(16, dtype=torch.int32).flip(0), torch.tensor([n, 0], dtype=torch.int32)
    s = torch.zeros(16, 16)
    compile(main)(a, p, c, s)
    assert torch.equal(s, a @ a[p].T if n >= 0 else torch.ones(16, 16))
