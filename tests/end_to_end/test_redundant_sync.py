"""A timed run remarks on the kernel's own flags that order nothing, and on none of the compiler's."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import Func, KernelWarning
from tile_ir.switches import override
from tile_runtime import compile

F = "float32"


@T.prim_func
def twice(A: T.Tensor((64,), F), B: T.Tensor((64,), F)):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((64,), F)
        with T.Scope("V"):
            if vid == 0:
                T.copy(A, a)
                T.set_flag("mte2", "v", 0)
                T.wait_flag("mte2", "v", 0)
                T.set_flag("mte2", "v", 1)  # here
                T.wait_flag("mte2", "v", 1)
                T.tile.add(a, a, 1.0)
                T.set_flag("v", "mte3", 0)
                T.wait_flag("v", "mte3", 0)
                T.copy(a, B)


@T.prim_func
def once(A: T.Tensor((64,), F), B: T.Tensor((64,), F)):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((64,), F)
        with T.Scope("V"):
            if vid == 0:
                T.copy(A, a)
                T.set_flag("mte2", "v", 0)
                T.wait_flag("mte2", "v", 0)
                T.tile.add(a, a, 1.0)
                T.set_flag("v", "mte3", 0)
                T.wait_flag("v", "mte3", 0)
                T.copy(a, B)


@T.prim_func
def ordered_by_the_compiler(A: T.Tensor((64,), F), B: T.Tensor((64,), F)):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((64,), F)
        if vid == 0:
            T.copy(A, a)
            T.tile.add(a, a, 1.0)
            T.copy(a, B)


def remarks(func: Func, time: bool, configs: dict[str, bool] | None = None) -> list[Any]:
    with (
        override(time=time, check="strict"),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        kernel = compile(func, pass_configs=configs or {})
        result = torch.zeros(64)
        for _ in range(2):
            kernel(torch.ones(64), result)
        assert torch.equal(result, torch.full((64,), 2.0))
    return [w for w in caught if issubclass(w.category, KernelWarning)]


def test_a_flag_that_orders_nothing_is_told_once_at_its_line() -> None:
    (warning,) = remarks(twice, time=True)
    assert "[redundant-flag]" in str(warning.message)
    assert "# here" in Path(warning.filename).read_text().splitlines()[warning.lineno - 1]
    assert not remarks(twice, time=False)
    assert not remarks(once, time=True)


@pytest.mark.parametrize("sync", ["tl.ascend_auto_sync"])
def test_flags_of_the_compiler_are_its_own_affair(sync: str) -> None:
    assert not remarks(
        ordered_by_the_compiler, True, {sync: True, "tl.ascend_auto_cv_combine": True}
    )
