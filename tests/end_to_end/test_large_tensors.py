"""Tensors of more elements than int32 counts: every way to a place in them. Their memory is only
touched where the kernels touch it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T

ROWS, WIDTH = 2**25 + 64, 64
AT = (0, 1, 2**25 - 1, 2**25, 2**25 + 1, 5, ROWS - 1, 7)
CONFIGS = {"tl.ascend_auto_sync": True}
S = T.symbolic("S")


@T.macro
def by_rows(x: Any, k: Any, t: Any, cid: Any) -> None:
    T.copy(x[k[cid], :], t)


@T.macro
def by_elements(x: Any, k: Any, t: Any, cid: Any) -> None:
    for i in T.serial(WIDTH):
        t[i] = x[k[cid], i]


@T.macro
def in_parallel(x: Any, k: Any, t: Any, cid: Any) -> None:
    for i in T.Parallel(WIDTH):
        t[i] = x[k[cid], i]


@T.macro
def by_stores(x: Any, k: Any, t: Any, cid: Any) -> None:
    T.copy(x[k[cid], :], t)
    x[k[cid], 1] = 9


@T.macro
def flat(x: Any, k: Any, t: Any, cid: Any) -> None:
    T.copy(x[k[cid] * WIDTH : k[cid] * WIDTH + WIDTH], t)


@T.macro
def in_halves(x: Any, k: Any, t: Any, cid: Any) -> None:
    T.copy(x[k[cid] // 2, k[cid] % 2, :], t)


@T.macro
def transposed(x: Any, k: Any, t: Any, cid: Any) -> None:
    T.copy(x[0, k[cid], :], t)


FORMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "rows": (by_rows, (ROWS, WIDTH)),
    "elements": (by_elements, (ROWS, WIDTH)),
    "parallel": (in_parallel, (ROWS, WIDTH)),
    "stores": (by_stores, (ROWS, WIDTH)),
    "flat": (flat, (ROWS * WIDTH,)),
    "three dimensions": (in_halves, (ROWS // 2, 2, WIDTH)),
    "large strides": (transposed, (2, ROWS, WIDTH)),
    "symbolic rows": (by_rows, (S, WIDTH)),
    "symbolic elements": (by_elements, (S, WIDTH)),
    "symbolic, flat": (flat, (S,)),
}


@pytest.mark.parametrize("form", FORMS)
def test_places_beyond_int32(form: str) -> None:
    read, shape = FORMS[form]

    @T.jit(out_idx=[2], pass_configs=CONFIGS)
    def make() -> Any:
        @T.prim_func
        def k(
            X: T.Tensor(shape, "int8"), At: T.Tensor((8,), "int32"), Y: T.Tensor((8, WIDTH), "int8")
        ):  # fmt: skip
            with T.Kernel(8, threads=1) as cid:
                i = T.alloc_shared((8,), "int32")
                t = T.alloc_shared((WIDTH,), "int8")
                T.copy(At, i)
                read(X, i, t, cid)
                T.copy(t, Y[cid, :])

        return k

    size = ROWS * WIDTH * (2 if form == "large strides" else 1)
    memory = np.zeros(size, np.int8)
    rows = memory[: ROWS * WIDTH].reshape(ROWS, WIDTH)
    for number, row in enumerate(AT):
        rows[row] = number + 1
    given = [(ROWS if len(shape) > 1 else ROWS * WIDTH) if n is S else n for n in shape]
    got = make()(torch.from_numpy(memory.reshape(given)), torch.tensor(AT, dtype=torch.int32))
    assert got[:, 0].tolist() == list(range(1, 9))
    assert got[:, -1].tolist() == list(range(1, 9))
    if form == "stores":
        assert [int(rows[row, 1]) for row in AT] == [9] * 8
