"""Findings name the right one of several buffers that one line of a kernel in Python makes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime import SimulationError, compile


@T.macro
def loaded(A: Any, buffer: Any) -> None:
    t = T.alloc_ub((64,), "float32"); u = T.alloc_ub((64,), "float32")  # noqa: E702  # fmt: skip
    T.copy(A, t)
    T.copy(A, u)
    T.barrier_all()
    T.tile.add(buffer, t, u)


def statements(second: bool, ordered: bool) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as (cid,):
            a = T.alloc_ub((64,), "float32"); b = T.alloc_ub((64,), "float32")  # noqa: E702  # fmt: skip
            with T.Scope("V"):
                T.copy(A, b if second else a)
                if ordered:
                    T.barrier_all()
                T.copy(b if second else a, B)

    return main


def unpacked(second: bool, ordered: bool) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as (cid,):
            a, b = T.alloc_ub((64,), "float32"), T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                T.copy(A, b if second else a)
                if ordered:
                    T.barrier_all()
                T.copy(b if second else a, B)

    return main


def comprehended(second: bool, ordered: bool) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as (cid,):
            slots = [T.alloc_ub((64,), "float32") for _ in range(2)]
            with T.Scope("V"):
                T.copy(A, slots[1 if second else 0])
                if ordered:
                    T.barrier_all()
                T.copy(slots[1 if second else 0], B)

    return main


def within_a_macro(second: bool, ordered: bool) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as (cid,):
            a = T.alloc_ub((64,), "float32"); b = T.alloc_ub((64,), "float32")  # noqa: E702  # fmt: skip
            with T.Scope("V"):
                loaded(A, b if second else a)
                if ordered:
                    T.barrier_all()
                T.copy(b if second else a, B)

    return main


KERNELS = {
    statements: ("a", "b"), unpacked: ("a", "b"), comprehended: ("slots_0", "slots_1"),
    within_a_macro: ("a", "b"),
}  # fmt: skip


@pytest.mark.parametrize("made", KERNELS)
@pytest.mark.parametrize("second", [False, True])
def test_the_right_one_is_named(made: Any, second: bool) -> None:
    kernel = compile(made(second, ordered=False), out_idx=[1])
    with override(check="device"), pytest.raises(SimulationError) as caught:
        kernel(torch.ones(64))
    assert caught.value.slug == "race"
    assert f"of '{KERNELS[made][second]}' (UB)" in caught.value.message
    with override(check="strict"):
        assert compile(made(second, ordered=True), out_idx=[1])(torch.ones(64)).min() >= 1


def test_an_access_beyond_a_buffer_shows_where_it_was_made() -> None:
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
        with T.Kernel(1, is_npu=True, threads=1) as (cid,):
            a = T.alloc_ub((64,), "float32"); b = T.alloc_ub((8, 64), "float32")  # noqa: E702  # fmt: skip
            with T.Scope("V"):
                T.copy(A, b[n, :])
                T.barrier_all()
                T.copy(b[n, :], B)
                T.copy(A, a)

    kernel = compile(T.prim_func(main), out_idx=[1])
    with override(check="strict"):
        kernel(torch.ones(64), 7)
        with pytest.raises(SimulationError) as caught:
            kernel(torch.ones(64), 8)
    error = caught.value
    assert error.slug == "out-of-bounds" and "of 'b' (UB)" in error.message
    (note,) = error.notes
    assert note.message == "the buffer is made here" and note.loc is not None
    assert note.loc.line == main.__code__.co_firstlineno + 2
