"""Elements of gm with zeros around them, read where they are used: loads overlap with the work
without being asked, and tiles are filled at borders only. Right at strict, at odd sizes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override

ALONE = {T.PassConfigKey.TL_ASCEND_OVERLAP_LOOPS: False}


def causal(L: int, C: int, taps: int, rows: int = 16, columns: int = 128) -> Any:
    """A convolution over time, each tap of which reads its own rows."""

    @T.prim_func
    def kernel(X: T.Tensor((L, C), "float16"), K: T.Tensor((taps, C), "float16"), Y: T.Tensor((L, C), "float16")):  # fmt: skip
        with T.Kernel(T.ceildiv(C, columns), T.ceildiv(L, rows), threads=128) as (bc, bl):
            y = T.alloc_fragment((rows, columns), "float32")
            out = T.alloc_shared((rows, columns), "float16")
            T.clear(y)
            for w in T.serial(taps):
                for i, j in T.Parallel(rows, columns):
                    at = bl * rows + i + w - (taps - 1)
                    x = T.if_then_else(at >= 0, X[at, bc * columns + j], T.float16(0))
                    y[i, j] += T.cast(x, "float32") * T.cast(K[w, bc * columns + j], "float32")
            for i, j in T.Parallel(rows, columns):
                out[i, j] = y[i, j]
            T.copy(out, Y[bl * rows, bc * columns])

    return kernel


def causal_rows(L: int, C: int, taps: int, rows: int = 16, columns: int = 64) -> Any:
    """The same along rows, each of which has taps of its own."""

    @T.prim_func
    def kernel(X: T.Tensor((C, L), "float16"), K: T.Tensor((C, taps), "float16"), Y: T.Tensor((C, L), "float16")):  # fmt: skip
        with T.Kernel(T.ceildiv(L, columns), T.ceildiv(C, rows), threads=128) as (bl, bc):
            k = T.alloc_shared((rows, taps), "float16")
            y = T.alloc_fragment((rows, columns), "float32")
            T.copy(K[bc * rows, 0], k)
            T.clear(y)
            for w in T.serial(taps):
                for i, j in T.Parallel(rows, columns):
                    at = bl * columns + j + w - (taps - 1)
                    x = T.if_then_else(at >= 0, X[bc * rows + i, at], 0.0)
                    y[i, j] += T.cast(x, "float32") * T.cast(k[i, w], "float32")
            T.copy(y, Y[bc * rows, bl * columns])

    return kernel


def around(L: int, C: int, rows: int = 8, columns: int = 64) -> Any:
    """The sum of the rows before and behind, and 1 where there is none."""

    @T.prim_func
    def kernel(X: T.Tensor((L, C), "float32"), Y: T.Tensor((L, C), "float32")):
        with T.Kernel(T.ceildiv(C, columns), T.ceildiv(L, rows), threads=128) as (bc, bl):
            y = T.alloc_shared((rows, columns), "float32")
            for i, j in T.Parallel(rows, columns):
                at = bl * rows + i
                y[i, j] = T.if_then_else(at >= 1, X[at - 1, bc * columns + j], 1.0)
                y[i, j] += T.if_then_else(at < L - 1, X[at + 1, bc * columns + j], 1.0)
            T.copy(y, Y[bl * rows, bc * columns])

    return kernel


def convolved(x: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    wide = torch.nn.functional.pad(x.float(), (0, 0, len(k) - 1, 0))
    return sum(wide[w : w + len(x)] * k[w].float() for w in range(len(k))).half()  # type: ignore[union-attr]


@pytest.mark.parametrize(("L", "C", "taps"), [(48, 128, 4), (37, 200, 3), (5, 33, 4)])
def test_a_causal_convolution(strict: None, L: int, C: int, taps: int) -> None:
    made = torch.Generator().manual_seed(L)
    x, k = torch.randn(L, C, generator=made).half(), torch.randn(taps, C, generator=made).half()
    y = T.compile(causal(L, C, taps), out_idx=[-1])(x, k)
    torch.testing.assert_close(y, convolved(x, k), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(("L", "C", "taps"), [(192, 32, 4), (201, 20, 3), (40, 16, 4)])
def test_a_causal_convolution_along_rows(strict: None, L: int, C: int, taps: int) -> None:
    made = torch.Generator().manual_seed(L)
    x, k = torch.randn(C, L, generator=made).half(), torch.randn(C, taps, generator=made).half()
    kernel = T.compile(causal_rows(L, C, taps), out_idx=[-1])
    torch.testing.assert_close(kernel(x, k), convolved(x.T, k.T).T, rtol=1e-2, atol=1e-2)
    assert not [r for r in kernel.remarks if r.slug == "scalar-loop"]


@pytest.mark.parametrize(("L", "C"), [(64, 128), (21, 50)])
def test_rows_on_both_sides(strict: None, L: int, C: int) -> None:
    x = torch.randn(L, C, generator=torch.Generator().manual_seed(C))
    wide = torch.nn.functional.pad(x, (0, 0, 1, 1), value=1.0)
    torch.testing.assert_close(
        T.compile(around(L, C), out_idx=[-1])(x), wide[:-2] + wide[2:], rtol=0, atol=0
    )


def test_loads_of_elements_overlap() -> None:
    x, k = torch.zeros(2048, 512).half(), torch.zeros(4, 512).half()
    times = []
    for configs in (ALONE, {}):
        with override(time=True):
            kernel = T.compile(causal(2048, 512, 4, 64), out_idx=[-1], pass_configs=configs)
            kernel(x, k)
        timeline = kernel.timeline()
        assert timeline is not None
        times.append(timeline.task_microseconds)
    assert times[1] <= times[0]
