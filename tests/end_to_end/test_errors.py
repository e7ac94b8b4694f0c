"""Mistakes that only the whole pipeline sees: the message, the line, and nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime.cache.kernel_cache import get_cache_dir

HERE = Path(__file__)


def line_of(text: str) -> int:
    """The line of this file that has a text, the first one."""
    return next(n for n, line in enumerate(HERE.read_text().splitlines(), 1) if text in line)


def entries() -> list[Path]:
    folder = Path(get_cache_dir())
    return [p for p in folder.rglob("*") if p.is_file()] if folder.exists() else []


def test_too_much_on_chip_memory() -> None:
    @T.prim_func
    def k(A: T.Tensor((512, 512), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            small = T.alloc_ub((16, 512), "float32")
            large = T.alloc_ub((256, 512), "float32")  # too large
            with T.Scope("V"):
                T.copy(A[0:16, :], small)
                T.copy(A[0:256, :], large)

    with pytest.raises(KernelError) as caught:
        T.compile(k)
    error = caught.value
    assert error.slug == "memory-overflow"
    line = line_of("# too large")
    assert error.loc is not None and (error.loc.line, error.loc.column) == (line, 21)
    assert error.message.splitlines() == [
        "ub needs 557056 bytes, but has 196608; `large` does not fit "
        f"(*: needed together in line {line + 3})",
        f"    small     32768 bytes  float32[16, 512]  line {line - 1}, live in line {line + 2}",
        f"  * large    524288 bytes  float32[256, 512]  line {line}, live in line {line + 3}",
    ]
    assert error.hint == "make `large` smaller by 327680 bytes"
    assert "    large = T.alloc_ub((256, 512)" in str(error) and not entries()


def test_rows_that_no_transfer_can_place() -> None:
    @T.prim_func
    def k(A: T.Tensor((512, 7), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((8, 7), "float32")
            with T.Scope("V"):
                T.copy(A[0:8, :], tile[0:8, :])
                T.copy(A[8, 0:3], tile[1, 0:3])  # misplaced

    with pytest.raises(KernelError) as caught:
        T.compile(k)
    assert caught.value.slug == "operand-alignment"
    assert caught.value.loc is not None and caught.value.loc.line == line_of("# misplaced")
    assert not entries()


def test_a_value_of_the_other_core() -> None:
    @T.prim_func
    def k(A: T.Tensor((16, 16), "float16")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            u = T.alloc_ub((16,), "int32")
            a = T.alloc_L1((16, 16), "float16")
            if u[0] > 0:  # foreign
                T.copy(A[0:16, :], a)

    with pytest.raises(KernelError) as caught:
        T.compile(k)
    assert caught.value.slug == "foreign-value"
    assert caught.value.message == (
        "this statement runs on the cube core, but uses an element of `u`, which only the vector core "
        "can read"
    )
    assert caught.value.hint == (
        "store it to a tensor in gm on the vector core, and load it from there on this one"
    )
    assert caught.value.loc is not None and caught.value.loc.line == line_of("# foreign")
