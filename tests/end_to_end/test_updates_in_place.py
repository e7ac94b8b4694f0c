"""Elements of gm that are updated in place: each block and round has its own, in lines that other
cores write too. Copies carry them where nothing reads them behind the update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import Var
from tile_ir.analysis import EVERYTHING, Interval
from tile_passes.analysis.index_digits import fixed_by
from tile_passes.analysis.updated_once import updated_once
from tile_runtime import compile

pytestmark = [
    pytest.mark.usefixtures("strict"),
    pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning"),
]

C, B, R = 11, 4, 5
Body = Callable[[Any, Any, Any, Any], None]


def of_block(s: Any, m: Any, c: Any, b: Any) -> None:
    m[b, c, 0] = 0.5 * m[b, c, 0] + s[0]


def of_rounds(s: Any, m: Any, c: Any, b: Any) -> None:
    for i in T.serial(R):
        m[b, c, i] = 0.5 * m[b, c, i] + s[0]


def of_rounds_backwards(s: Any, m: Any, c: Any, b: Any) -> None:
    for i in T.serial(R - 1, -1, -1):
        old = m[b, c, i]
        if old > 0:
            m[b, c, i] = old + s[0]


def on_either_side(s: Any, m: Any, c: Any, b: Any) -> None:
    if s[0] > 0:
        m[b, c, 0] = m[b, c, 0] + s[0]
    else:
        m[b, c, 0] = m[b, c, 0] - 1


def twice(s: Any, m: Any, c: Any, b: Any) -> None:
    for _i in T.serial(2):
        m[b, c, 0] = 0.5 * m[b, c, 0] + s[0]


def read_behind(s: Any, m: Any, c: Any, b: Any) -> None:
    m[b, c, 0] = 0.5 * m[b, c, 0] + s[0]
    m[b, c, 1] = m[b, c, 0]


def kernel(body: Body, blocks: int, grid: int) -> Any:
    update = T.macro(body)

    @T.prim_func
    def main(X: T.Tensor((grid, C, 40), "float32"), M: T.Tensor((grid, C, R), "float32")):
        with T.Kernel(blocks, grid, threads=128) as (c, b):
            x = T.alloc_fragment((40,), "float32")
            s = T.alloc_fragment((1,), "float32")
            T.copy(X[b, c, 0], x)
            T.reduce_sum(x, s, dim=0)
            update(s, M, c, b)

    return main


def wanted(body: Body, x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    m, s = m.clone(), x.sum(2)
    match body.__name__:
        case "of_block":
            m[..., 0] = 0.5 * m[..., 0] + s
        case "of_rounds":
            m = 0.5 * m + s[..., None]
        case "of_rounds_backwards":
            m = torch.where(m > 0, m + s[..., None], m)
        case "on_either_side":
            m[..., 0] += torch.where(s > 0, s, -1.0)
        case "twice":
            m[..., 0] = 0.5 * (0.5 * m[..., 0] + s) + s
        case _:
            m[..., 0] = 0.5 * m[..., 0] + s
            m[..., 1] = m[..., 0]
    return m


@pytest.mark.parametrize("grid", [1, B, 3 * B])
@pytest.mark.parametrize("body", [of_block, of_rounds, of_rounds_backwards, on_either_side])
def test_updates_of_neighbours_do_not_meet(body: Body, grid: int) -> None:
    x, m = torch.randn(grid, C, 40), torch.randn(grid, C, R)
    expected = wanted(body, x, m)
    compile(kernel(body, C, grid))(x, m)
    assert torch.allclose(m, expected, atol=1e-4)


@pytest.mark.parametrize("body", [twice, read_behind])
def test_what_is_read_again_stays_with_the_scalar_unit(body: Body) -> None:
    """One block alone, since such stores of several blocks meet in lines of the data cache."""
    x, m = torch.randn(1, C, 40), torch.randn(1, C, R)
    expected = m.clone()
    expected[:, :1] = wanted(body, x[:, :1], m[:, :1])
    main = kernel(body, 1, 1)
    compile(main)(x, m)
    assert torch.allclose(m, expected, atol=1e-4)
    assert not {b.name for b in updated_once(main)}


a, b, n = (Var(name) for name in "abn")
KNOWN = {a: Interval(0, 9), b: Interval(0, 4), n: EVERYTHING}


@pytest.mark.parametrize(
    ("indices", "apart"),
    [
        ((a, b), True),
        ((a * 5 + b,), True),
        ((a * 4 + b,), False),
        ((a + b * 10, n), True),
        ((a + b * 9,), False),
        ((a // 2, a % 2, b), True),
        ((a // 2, a % 3, b), False),
        ((a // 2, b), False),
        ((a % 5, b - a), False),
        ((a, b + a), True),
        (((a * 5 + b) // 7, (a * 5 + b) % 7), True),
        ((a % 2, a // 2 % 3, a // 6, b), True),
        ((a * b, b), False),
        ((n * 9 + a, b), False),
        ((n * 10 + a, b), True),
        ((a % 10, b), True),
    ],
)
def test_indices_that_tell_variables_apart(indices: tuple[Any, ...], apart: bool) -> None:
    assert ({a, b} <= fixed_by(indices, KNOWN)) is apart
