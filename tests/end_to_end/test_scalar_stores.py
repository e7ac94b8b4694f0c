"""Elements that the scalar unit stores to gm: neighbours of other cores in one line of its data
cache stay whole, as copies carry the elements there."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime import SimulationError

AUTO = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
BY_HAND = {T.PassConfigKey.TL_ASCEND_SCALAR_STORE_TO_DMA: True}
BLOCKS, WIDTH = 8, 64


def kernel(form: str, dtype: str, width: int) -> Any:
    """Every block stores to its part of `Y` what it takes from a row of `X`."""

    @T.prim_func
    def store(X: T.Tensor((BLOCKS, WIDTH), dtype), Y: T.Tensor((BLOCKS, width), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(BLOCKS, is_npu=True) as (cid, vid):
            x = T.alloc_ub((WIDTH,), dtype)
            with T.Scope("V"):
                if vid == 0:
                    T.copy(X[cid, 0], x)
                    T.set_flag("mte2", "s", 0)
                    T.wait_flag("mte2", "s", 0)
                    if form == "element":
                        Y[cid, 0] = x[3]
                    elif form == "row":
                        for i in T.serial(width):
                            Y[cid, i] = x[2 * i]
                    elif form == "some":
                        for i in T.serial(width):
                            if i % 2 == 1:
                                Y[cid, i] = x[i]
                    elif form == "both ways":
                        for i in T.serial(width):
                            Y[cid, width - 1 - i] = x[i]

    return store


def expected(form: str, x: torch.Tensor, width: int) -> torch.Tensor:
    y = torch.zeros(BLOCKS, width, dtype=x.dtype)
    columns = torch.arange(width)
    match form:
        case "element":
            y[:, 0] = x[:, 3]
        case "row":
            y[:] = x[:, 2 * columns]
        case "some":
            odd = columns[columns % 2 == 1]
            y[:, odd] = x[:, odd]
        case _:
            y[:] = x[:, columns].flip(1)
    return y


@pytest.mark.parametrize("configs", [AUTO, BY_HAND], ids=["auto", "by hand"])
@pytest.mark.parametrize("width", [1, 5, 16])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64"])
@pytest.mark.parametrize("form", ["element", "row", "some", "both ways"])
def test_elements_of_cores_in_one_line(form: str, dtype: str, width: int, configs: Any) -> None:
    x = torch.randint(-100, 100, (BLOCKS, WIDTH)).to(getattr(torch, dtype))
    y = torch.zeros(BLOCKS, width, dtype=x.dtype)
    with override(check="strict"):
        T.compile(kernel(form, dtype, width), pass_configs=configs)(x, y)
    assert torch.equal(y, expected(form, x, width))


def test_by_hand_and_not_asked_for_they_race() -> None:
    x, y = torch.zeros(BLOCKS, WIDTH), torch.zeros(BLOCKS, 5)
    with pytest.raises(SimulationError, match=r"race.*'Y'"):
        T.compile(kernel("element", "float32", 5))(x, y)


def test_a_loop_that_leaves_the_tensor_is_told() -> None:
    """A copy would be cut where the tensor ends."""

    @T.prim_func
    def store(
        X: T.Tensor((WIDTH,), "float32"), N: T.Tensor((8,), "int32"), Y: T.Tensor((5,), "float32")
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            x, n = T.alloc_ub((WIDTH,), "float32"), T.alloc_ub((8,), "int32")
            with T.Scope("V"):
                if vid == 0:
                    T.copy(X, x)
                    T.copy(N, n)
                    for i in T.serial(5):
                        Y[i + n[0]] = x[i]

    run = T.compile(store, pass_configs=AUTO)
    x, y = torch.arange(WIDTH, dtype=torch.float32), torch.zeros(5)
    run(x, torch.zeros(8, dtype=torch.int32), y)
    assert torch.equal(y, x[:5])
    with pytest.raises(SimulationError, match="out-of-bounds"):
        run(x, torch.ones(8, dtype=torch.int32), y)


def test_a_copy_into_a_line_keeps_an_element_and_the_other_way_round() -> None:
    """The vendor's page on cache coherence: what a transfer stores to a line that the data cache
    holds is lost."""

    @T.prim_func
    def store(X: T.Tensor((WIDTH,), "float32"), Y: T.Tensor((WIDTH,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            x = T.alloc_ub((WIDTH,), "float32")
            with T.Scope("V"):
                if vid == 0:
                    T.copy(X, x)
                    Y[8] = x[1]
                    T.copy(x[0:8], Y[0:8])
                    Y[9] = x[2]

    x, y = torch.arange(WIDTH, dtype=torch.float32) + 1, torch.zeros(WIDTH)
    with override(check="strict"):
        T.compile(store, pass_configs=AUTO)(x, y)
    want = torch.zeros(WIDTH)
    want[:8], want[8], want[9] = x[:8], x[1], x[2]
    assert torch.equal(y, want)
