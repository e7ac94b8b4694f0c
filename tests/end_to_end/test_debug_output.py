"""`T.printf` and `T.dump_tensor`, on the simulator and interpreted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tile_frontend as T
import tile_ir
from tile_ir import Func, KernelError

from .kernel_batch import KernelBatch


def printing() -> Func:
    @T.prim_func
    def k(X: T.Tensor((4, 16), "float32"), n: T.int32):
        with T.Kernel(1, threads=1, is_npu=True) as (cid), T.Scope("V"):
            x = T.alloc_ub((4, 16), "float32")
            T.copy(X, x)
            T.barrier_all()
            T.printf("%d %i %u %x %5d|%-4d|%03d\n", n, n, n, n, n, n, n)
            T.printf("%f %.2f %%\n", x[0, 1], x[0, 2])
            T.printf('%s: 100%% "%s"\t%p\n', "name\\", "a%b", n)
            T.printf("ub %p gm %p\n", x, X)
            T.printf("plain\n")
            T.dump_tensor(x[1, :], 5, 3)

    return k


def test_formats(tmp_path: Path) -> None:
    x = np.arange(64, dtype=np.float32).reshape(4, 16)
    batch = KernelBatch(tmp_path)
    number = batch.add(printing())
    batch.build()
    outcome = batch.run(number, [x, 11])
    assert outcome.error is None, outcome.error.text
    own = tile_ir.interpret(printing(), [x.copy(), 11])
    for text in (outcome.printed, own):
        assert "11 11 11 b    11|11  |011\n" in text
        assert "1.000000 2.00 %\n" in text
        assert 'name\\: 100% "a%b"\t0xb\n' in text
        assert "plain\n" in text
        assert "16" in text and "18" in text
    assert re.search(r"ub 0x[0-9a-f]+ gm 0x[0-9a-f]+\n", outcome.printed)


@pytest.mark.parametrize(
    ("call", "slug"),
    [
        (lambda x, n: T.printf("%d\n"), "printf-format"),
        (lambda x, n: T.printf("%d\n", n, n), "printf-format"),
        (lambda x, n: T.printf("%d\n", x), "printf-format"),
        (lambda x, n: T.printf("%d\n", x[0]), "printf-format"),
        (lambda x, n: T.printf("%f\n", n), "printf-format"),
        (lambda x, n: T.printf("%y\n", n), "printf-format"),
        (lambda x, n: T.printf(n), "printf-format"),
        (lambda x, n: T.dump_tensor(x, n, 4), "attribute-type"),
    ],
)
def test_what_is_wrong_is_said(call: Any, slug: str) -> None:
    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def k(X: T.Tensor((16,), "float32"), n: T.int32):
            with T.Kernel(1, threads=1, is_npu=True) as (cid), T.Scope("V"):
                x = T.alloc_ub((16,), "float32")
                call(x, n)

    assert caught.value.slug == slug
    assert caught.value.loc is not None
