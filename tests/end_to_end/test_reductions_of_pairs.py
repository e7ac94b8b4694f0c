"""Reductions of kernels for GPUs from every type into every type, of one to three dimensions, into a
new result and onto an old one. Each at `strict` against torch, exactly: values are small integers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")

FLOATS = ["float32", "float16", "bfloat16"]
TYPES = [*FLOATS, "int32", "int16", "int8"]
COMBINE: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "sum": torch.add, "abssum": torch.add, "max": torch.maximum, "absmax": torch.maximum,
    "min": torch.minimum,
}  # fmt: skip
SHAPES = [
    (37,),
    (64,),
    (8, 16),
    (5, 24),
    (16, 7),
    (3, 4, 16),
    (2, 5, 9),
    (4, 16, 3),
    (1, 64),
    (64, 1),
]


@dataclass(frozen=True)
class Case:
    kind: str
    shape: tuple[int, ...]
    dim: int
    keep: bool
    clear: bool
    memories: tuple[str, str]

    @property
    def result(self) -> tuple[int, ...]:
        axis = self.dim % len(self.shape)
        return self.shape[:axis] + (1,) * self.keep + self.shape[axis + 1 :] or (1,)

    def expected(self, x: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        parts = list(x.to(before.dtype).unbind(self.dim))
        parts = [p.abs() for p in parts] if self.kind.startswith("abs") else parts
        found = reduce(COMBINE[self.kind], parts).reshape(self.result)
        return found if self.clear else COMBINE[self.kind](before, found)


def cases(seed: str, number: int) -> list[Case]:
    r = random.Random(seed)
    found = []
    for _ in range(number):
        kind, shape = r.choice(list(COMBINE)), r.choice(SHAPES)
        dim = r.randrange(-len(shape), len(shape))
        clear = kind == "abssum" or r.random() < 0.6
        memories = r.choice(["shared", "fragment"]), r.choice(["shared", "fragment"])
        found.append(Case(kind, shape, dim, r.random() < 0.4, clear, memories))
    return found


def kernel(case: Case, dtype: str, to: str) -> Any:
    first, second = (getattr(T, f"alloc_{memory}") for memory in case.memories)

    @T.prim_func
    def k(A: T.Tensor(case.shape, dtype), B: T.Tensor(case.result, to)):
        with T.Kernel(1, threads=128) as bx:
            a = first(case.shape, dtype)
            b = second(case.result, to)
            T.copy(A, a)
            T.copy(B, b)
            operation = getattr(T, f"reduce_{case.kind}")
            if case.kind == "abssum":
                operation(a, b, dim=case.dim)
            elif case.clear:
                operation(a, b, case.dim)
            else:
                operation(a, b, dim=case.dim, clear=False, batch=2)
            T.copy(b, B)

    return k


@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_any_type_into_any_type(dtype: str, to: str) -> None:
    torch.manual_seed(0)
    for case in cases(f"{dtype} {to}", 2):
        x = torch.randint(-3, 4, case.shape).to(getattr(torch, dtype))
        before = torch.randint(-3, 4, case.result).to(getattr(torch, to))
        expected = case.expected(x, before)
        compile(kernel(case, dtype, to))(x, before)
        assert torch.equal(before, expected), case


@pytest.mark.parametrize("to", ["int32", "int16", "int8"])
@pytest.mark.parametrize("kind", ["bitand", "bitor", "bitxor"])
def test_bits_onto_an_old_result(kind: str, to: str) -> None:
    @T.prim_func
    def k(A: T.Tensor((8, 16), to), B: T.Tensor((8,), to), C: T.Tensor((1, 16), to)):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_fragment((8, 16), to)
            b = T.alloc_fragment((8,), to)
            c = T.alloc_shared((1, 16), to)
            T.copy(A, a)
            T.copy(B, b)
            T.copy(C, c)
            getattr(T, f"reduce_{kind}")(a, b, dim=1, clear=False)
            getattr(T, f"reduce_{kind}")(a, c, dim=0, clear=True)
            T.copy(b, B)
            T.copy(c, C)

    combine = getattr(torch, f"bitwise_{kind[3:]}")
    kinds = getattr(torch, to)
    x, b, c = (torch.randint(-100, 100, s).to(kinds) for s in ((8, 16), (8,), (1, 16)))
    expected = [combine(b, reduce(combine, x.unbind(1))), reduce(combine, x.unbind(0))[None]]
    compile(k)(x, b, c)
    assert torch.equal(b, expected[0]) and torch.equal(c, expected[1])


def test_infinities_and_what_begins_a_reduction() -> None:
    """Of negative numbers only, of infinities, of the least numbers of a type."""

    @T.prim_func
    def k(A: T.Tensor((4, 16), "float32"), N: T.Tensor((4, 16), "int8"),
          B: T.Tensor((3, 4), "float32"), J: T.Tensor((2, 4), "int8")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_fragment((4, 16), "float32")
            i = T.alloc_fragment((4, 16), "int8")
            b = T.alloc_fragment((4,), "float32")
            j = T.alloc_fragment((4,), "int8")
            T.copy(A, a)
            T.copy(N, i)
            T.reduce_max(a, b, dim=1)
            T.copy(b, B[0, :])
            T.reduce_min(a, b, dim=1)
            T.copy(b, B[1, :])
            T.reduce_absmax(a, b, dim=1)
            T.copy(b, B[2, :])
            T.reduce_max(i, j, dim=1)
            T.copy(j, J[0, :])
            T.reduce_min(i, j, dim=1)
            T.copy(j, J[1, :])

    inf = float("inf")
    a = -torch.rand(4, 16) - 1
    a[1], a[2] = -inf, -a[2]
    a[3, :2] = torch.tensor([inf, -inf])
    i = torch.full((4, 16), -128, dtype=torch.int8)
    i[1], i[2, 3], i[3] = 127, -127, torch.arange(-8, 8)
    b, j = compile(k, out_idx=[2, 3])(a, i)
    assert torch.equal(b, torch.stack([a.amax(1), a.amin(1), a.abs().amax(1)]))
    assert torch.equal(j, torch.stack([i.amax(1), i.amin(1)]))


def test_rows_that_blocks_share_between_vector_cores() -> None:
    """Sums of both dimensions of one tile, which two vector cores divide, used by elements."""

    @T.prim_func
    def k(A: T.Tensor((3 * 32, 64), "float32"), B: T.Tensor((3 * 32, 64), "float32"),
          C: T.Tensor((3, 64), "float32")):  # fmt: skip
        with T.Kernel(3, threads=128) as bx:
            a = T.alloc_shared((32, 64), "float32")
            rows = T.alloc_fragment((32,), "float32")
            columns = T.alloc_fragment((64,), "float32")
            T.copy(A[bx * 32, 0], a)
            T.reduce_sum(a, rows, dim=1)
            T.reduce_max(a, columns, dim=0)
            for i, j in T.Parallel(32, 64):
                a[i, j] = a[i, j] - rows[i] + columns[j]
            T.copy(a, B[bx * 32, 0])
            T.copy(columns, C[bx, 0])

    a = torch.randint(-8, 8, (96, 64)).float()
    b, c = compile(k, out_idx=[1, 2])(a)
    tiles = a.view(3, 32, 64)
    columns = tiles.amax(1)
    expected = tiles - tiles.sum(2, keepdim=True) + columns[:, None]
    assert torch.equal(b, expected.view(96, 64)) and torch.equal(c, columns)
