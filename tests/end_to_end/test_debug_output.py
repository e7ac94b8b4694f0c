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
            T.printf("ub %p gm %x\n", x, X)
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


def lines_of(printed: str, words: str) -> list[str]:
    return [line for line in printed.splitlines() if words in line]


def ran(tmp_path: Path, func: Func, arguments: list[Any]) -> str:
    batch = KernelBatch(tmp_path)
    number = batch.add(func)
    batch.build()
    outcome = batch.run(number, arguments)
    assert outcome.error is None, outcome.error.text
    return outcome.printed


def test_unscoped_prints_come_from_the_cores_with_work(tmp_path: Path) -> None:
    @T.prim_func
    def k(X: T.Tensor((2, 16), "float32"), Y: T.Tensor((2, 16), "float32")):
        with T.Kernel(2, is_npu=True) as (cid, vid):
            x = T.alloc_ub((16,), "float32")
            T.copy(X[cid, 0], x)
            T.barrier_all()
            T.printf("first %d\n", cid)
            if x[1] > 0.0:
                T.printf("read %f\n", x[1])
            for i in T.serial(2):
                T.printf("%d ", i)
            T.printf("done")
            T.barrier_all()
            if vid == 0:
                T.copy(x, Y[cid, 0])

    printed = ran(tmp_path, k, [np.ones((2, 16), np.float32), np.zeros((2, 16), np.float32)])
    places = [f"[aiv{lane} of block {block}]" for block in (0, 1) for lane in (0, 1)]
    assert lines_of(printed, "first") == [f"{p} first {p[-2]}" for p in places]
    assert lines_of(printed, "read") == [f"{p} read 1.000000" for p in places]
    assert lines_of(printed, "done") == [f"{p} 0 1 done" for p in places]


def test_a_mixed_kernel_prints_where_a_value_is(tmp_path: Path) -> None:
    @T.prim_func
    def k(A: T.Tensor((16, 16), "float16"), X: T.Tensor((16,), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((16, 16), "float16")
            x = T.alloc_ub((16,), "float32")
            with T.Scope("C"):
                T.copy(A, a)
                T.printf("cube\n")
            with T.Scope("V"):
                T.copy(X, x)
                T.barrier_all()
            v = x[2]
            T.printf("value %f\n", v)
            if v > 0.0:
                T.printf("branch\n")
            T.printf("both\n")

    printed = ran(tmp_path, k, [np.zeros((16, 16), np.float16), np.ones(16, np.float32)])
    vector = ["[aiv0 of block 0]", "[aiv1 of block 0]"]
    assert lines_of(printed, "cube") == ["[aic of block 0] cube"]
    assert lines_of(printed, "value") == [f"{p} value 1.000000" for p in vector]
    assert lines_of(printed, "branch") == [f"{p} branch" for p in vector]
    assert lines_of(printed, "both") == [f"{p} both" for p in ["[aic of block 0]", *vector]]


def test_where_nobody_works_everybody_prints(tmp_path: Path) -> None:
    @T.prim_func
    def k(n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            T.printf("hello %d\n", n)

    assert len(lines_of(ran(tmp_path, k, [3]), "hello 3")) == 3


def test_a_scope_can_not_print_what_its_core_can_not_read() -> None:
    from tile_ir import DEFAULT_TARGET
    from tile_passes import run_pipeline

    @T.prim_func
    def k(X: T.Tensor((16,), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((16,), "float32")
            with T.Scope("V"):
                T.copy(X, x)
                T.barrier_all()
            with T.Scope("C"):
                T.printf("%f\n", x[0])

    with pytest.raises(KernelError) as caught:
        run_pipeline(k, DEFAULT_TARGET)
    assert caught.value.slug == "foreign-value"
    assert caught.value.hint == "move it to the scope of the vector core"
