"""`T.reinterpretcast`: two names for the same bytes, from Python to the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structural_equality import structurally_equal

import tile_frontend as T
from tile_ir import Func, KernelError, parse, print_func
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch, interpreted


def both_directions() -> Func:
    """Written as float and read as int32; then written as int16 and read as float."""

    @T.prim_func
    def k(X: T.Tensor((4, 64), "float32"), Y: T.Tensor((4, 64), "int32"),
          Z: T.Tensor((4, 64), "float32")):  # fmt: skip
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            word = T.alloc_ub((4, 64), "int32")
            half = T.alloc_ub((2, 128), "int16")
            x = T.alloc_ub((4, 64), "float32")
            T.reinterpretcast(word, x, "int32_t")
            T.reinterpretcast(half, word, "int16_t")
            T.copy(X, x)
            T.barrier_all()
            T.tile.add(word, word, 1)
            T.barrier_all()
            T.copy(word, Y)
            T.barrier_all()
            T.tile.fill(half[1, :], 0)
            T.barrier_all()
            T.copy(x, Z)

    return k


def retyped() -> Func:
    """The element type said last counts; an element access goes through the alias too."""

    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "uint32")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            view = T.alloc_ub((64,), "int32")
            x = T.alloc_ub((64,), "float32")
            T.copy(X, x)
            for _i in T.serial(2):
                T.reinterpretcast(view, x, "uint32_t")
            T.barrier_all()
            view[3] = 5
            T.barrier_all()
            T.copy(view, Y)

    return k


@pytest.mark.parametrize("make", [both_directions, retyped])
def test_bytes_are_shared(make: Any, tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    func = make()
    number = batch.add(func)
    batch.build()
    shapes = [p.static_shape() for p in func.tensors]
    x = np.random.default_rng(1).standard_normal(shapes[0]).astype(np.float32)
    arrays = [
        x,
        *(np.zeros(s, p.dtype.storage) for s, p in zip(shapes[1:], func.tensors[1:], strict=True)),
    ]
    outcome = batch.run(number, arrays, checks=launcher().CHECKS_STRICT)
    assert outcome.error is None, outcome.error.text
    for got, want in zip(outcome.arrays, interpreted(func, arrays), strict=True):
        assert np.array_equal(got, want)
    if make is both_directions:
        assert np.array_equal(outcome.arrays[1], x.view(np.int32) + 1)
        assert not outcome.arrays[2][1].any()
    else:
        expected = x.view(np.uint32).copy()
        expected[3] = 5
        assert np.array_equal(outcome.arrays[1], expected)


def test_text_keeps_the_alias() -> None:
    func = both_directions()
    text = print_func(func)
    assert "alias $x" in text
    assert structurally_equal(func, parse(text))


def wrong(body: Any) -> str:
    """The slug of what is wrong with the reinterpretation `body` makes of two buffers."""

    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def k(X: T.Tensor((64,), "float32")):
            with T.Kernel(1, threads=1, is_npu=True) as (_):
                a = T.alloc_ub((64,), "float32")
                b = T.alloc_ub((64,), "int32")
                c = T.alloc_ub((128,), "int32")
                m = T.alloc_L1((16, 16), "float16")
                T.tile.fill(a, 0.0)
                body(a, b, c, m)

    assert caught.value.loc is not None
    return caught.value.slug


def test_what_is_wrong_is_said() -> None:
    assert wrong(lambda a, b, c, m: T.reinterpretcast(a, b, "float")) == "reinterpret-used"
    assert wrong(lambda a, b, c, m: T.reinterpretcast(c, a, "int32_t")) == "reinterpret-size"
    assert wrong(lambda a, b, c, m: T.reinterpretcast(b, m, "int32_t")) == "operand-memory"
    assert wrong(lambda a, b, c, m: T.reinterpretcast(b, 3, "int32_t")) == "operand-kind"
    assert wrong(lambda a, b, c, m: T.reinterpretcast(b, a, "int33_t")) == "unknown-dtype"
    assert wrong(lambda a, b, c, m: T.reinterpretcast(b, b, "float")) == "reinterpret-itself"

    def twice(a: Any, b: Any, c: Any, m: Any) -> None:
        T.reinterpretcast(b, a, "int32_t")
        T.reinterpretcast(b, c, "int32_t")

    assert wrong(twice) == "reinterpret-used"
