"""`T.tile.broadcast` as scripts write it: ranks, axes and types."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tile_frontend as T
from tile_ir import Automatic, Func, KernelError
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch

NONE: Mapping[str, int] = {}
FORMS = [
    ((256,), (1,), {"axis": 0}), ((256,), (1,), NONE), ((256,), (1,), {"axis": -1}),
    ((40,), (1,), NONE), ((64,), (64,), {"axis": 0}), ((4, 32), (1, 32), {"axis": -2}),
    ((4, 32), (4, 1), {"axis": -1}), ((4, 32), (4,), {"axis": 1}), ((4, 32), (32,), NONE),
    ((4, 40), (4, 1), NONE), ((4, 40), (40,), NONE), ((4, 32), (4, 32), NONE),
    ((96, 160), (96, 1), NONE), ((96, 160), (1, 160), NONE),
]  # fmt: skip


def kernel(
    dst: tuple[int, ...], src: tuple[int, ...], options: Mapping[str, int], dtype: str
) -> Func:
    @T.prim_func
    def k(X: T.Tensor(src, dtype), Y: T.Tensor(dst, dtype)):
        with T.Kernel(1, threads=1):
            x = T.alloc_ub(src, dtype)
            y = T.alloc_ub(dst, dtype)
            T.copy(X, x)
            T.tile.broadcast(y, x, **options)
            T.copy(y, Y)

    return k


@pytest.mark.whole
def test_forms_and_types(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    cases: list[tuple[int, Any, Any, str]] = []
    for dtype in ("float16", "int8", "uint8", "int64"):
        for dst, src, options in FORMS:
            if dtype != "int64" or np.prod(dst) < 4096:
                number = batch.add(kernel(dst, src, options, dtype), [Automatic.SYNC])
                cases.append((number, dst, src, dtype))
    batch.build()
    rng = np.random.default_rng(1)
    for number, dst, src, dtype in cases:
        low, high = (0, 256) if dtype == "uint8" else (-128, 128)
        x = rng.integers(low, high, src).astype(dtype)
        y = np.zeros(dst, dtype)
        outcome = batch.run(number, [x, y], checks=launcher().CHECKS_STRICT)
        assert outcome.error is None, outcome.error.text
        column = len(src) == 1 and src[0] == dst[0] and len(dst) == 2
        want = np.broadcast_to(x.reshape(-1, 1) if column else x, dst)
        assert np.array_equal(outcome.arrays[1], want), (dst, src, dtype)


@pytest.mark.parametrize("dtype", ["float16", "int8"])
@pytest.mark.parametrize(
    ("dst", "src", "options", "text"),
    [
        ((256,), (1,), {"axis": 1}, "broadcast: axis is 1 for a buffer of rank 1, expected one of 0, -1"),
        ((4, 32), (1,), NONE, r"hint: .* for one value all over write T.tile.fill\(y, x\[0\]\)"),
        ((2, 4, 32), (4, 1), NONE, "broadcast: dst `y` has .* expected one matrix"),
    ],
)  # fmt: skip
def test_what_does_not_fit(dst: Any, src: Any, options: Any, text: str, dtype: str) -> None:
    with pytest.raises(KernelError, match=text):
        kernel(dst, src, options, dtype)
