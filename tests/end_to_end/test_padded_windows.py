"""Windows of gm that begin before their tensor, or end behind it, are loaded by transfers that pad
their rows: none is gathered, and all values are those of torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override

SIZES = [(12, 58), (9, 20), (1, 33), (16, 64)]
REACHES = [1, 2, 8]
DTYPES = ["float16", "float32", "bfloat16", "int32", "int16", "int8"]


@pytest.fixture(autouse=True)
def strict():
    with override(check="strict"):
        yield


def sums(H: int, W: int, reach: int, dtype: str, threads: int | None) -> T.PrimFunc:
    @T.prim_func
    def kernel(X: T.Tensor((2, H, W), dtype), Y: T.Tensor((2, H, W), "float32")):
        with T.Kernel(2, threads=threads) as c:
            total = T.alloc_fragment((H, W), "float32")
            T.clear(total)
            for p in T.serial(3):
                for q in T.serial(3):
                    for i, j in T.Parallel(H, W):
                        h, w = i + (p - 1) * reach, j + (q - 1) * reach
                        inside = h >= 0 and h < H and w >= 0 and w < W
                        x = T.if_then_else(inside, X[c, h, w], T.cast(0, dtype))
                        total[i, j] += T.cast(x, "float32")
            T.copy(total, Y[c, 0, 0])

    return kernel


def summed(x: torch.Tensor, reach: int) -> torch.Tensor:
    wide = torch.nn.functional.pad(x.float(), (reach,) * 4)
    H, W = x.shape[1:]
    return sum(
        wide[:, p : p + H, q : q + W]
        for p in range(0, 2 * reach + 1, reach)
        for q in range(0, 2 * reach + 1, reach)
    )


def values(dtype: str, *shape: int) -> torch.Tensor:
    return torch.randint(-9, 10, shape).to(getattr(torch, dtype))


def source_and_result(kernel: T.PrimFunc, *inputs: torch.Tensor) -> tuple[str, Any]:
    compiled = T.compile(kernel, out_idx=[-1])
    return compiled.get_kernel_source(), compiled(*inputs)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_windows(dtype: str, reach: int, sizes: tuple[int, int]) -> None:
    x = values(dtype, 2, *sizes)
    source, found = source_and_result(sums(*sizes, reach, dtype, None), x)
    if sizes[0] > 1 or dtype != "int8":  # both lanes have bytes of the one row: within a block
        assert "tile::copy_gm_ub_padded" in source and "gather" not in source.lower()
    assert torch.equal(found, summed(x, reach))


@pytest.mark.parametrize("sizes", SIZES[:2], ids=str)
@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_what_lies_before_a_tensor_is_0_in_a_text_for_gpus(
    dtype: str, sizes: tuple[int, int]
) -> None:
    x = values(dtype, 2, *sizes)
    source, found = source_and_result(sums(*sizes, 1, dtype, 128), x)
    assert "tile::copy_gm_ub_padded" in source and "gather" not in source.lower()
    assert torch.equal(found, summed(x, 1))


@pytest.mark.parametrize("outside", [float("-inf"), -1.5])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_another_value_around_a_tensor(dtype: str, outside: float) -> None:
    H, W = 10, 50

    @T.prim_func
    def kernel(X: T.Tensor((2, H, W), dtype), Y: T.Tensor((2, H, W), dtype)):
        with T.Kernel(2) as c:
            most = T.alloc_fragment((H, W), dtype)
            T.copy(X[c, 0, 0], most)
            for q in T.serial(3):
                for i, j in T.Parallel(H, W):
                    w = j + q - 1
                    x = T.if_then_else(w >= 0 and w < W, X[c, i, w], T.cast(outside, dtype))
                    most[i, j] = T.max(most[i, j], x)
            T.copy(most, Y[c, 0, 0])

    x = torch.randn(2, H, W).to(getattr(torch, dtype)) - 3
    wide = torch.nn.functional.pad(x, (1, 1), value=outside)
    expected = torch.maximum(torch.maximum(wide[..., :-2], wide[..., 2:]), x)
    source, found = source_and_result(kernel, x)
    assert "tile::copy_gm_ub_padded" in source
    assert torch.equal(found, expected)


def test_what_stands_behind_a_row_in_its_block_stays() -> None:
    """A row of 12 padded elements in a tile whose other columns hold values already."""
    H, W = 6, 12

    @T.prim_func
    def kernel(X: T.Tensor((H, W), "float16"), Y: T.Tensor((H, 16), "float16")):
        with T.Kernel(1):
            a = T.alloc_shared((H, 16), "float16")
            T.fill(a, 7)
            for i, j in T.Parallel(H, W):
                a[i, j] = T.if_then_else(j >= 1, X[i, j - 1], T.cast(0, "float16"))
            T.copy(a, Y)

    x = torch.randn(H, W).half()
    expected = torch.full((H, 16), 7.0).half()
    expected[:, 0], expected[:, 1:W] = 0, x[:, :-1]
    assert torch.equal(source_and_result(kernel, x)[1], expected)
