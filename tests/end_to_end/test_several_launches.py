"""Functions with several launches: each sees what those before it wrote to global memory."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError, LaunchSequence, TileError
from tile_runtime import compile, do_bench, jit
from tile_runtime.jit_kernels.sequence_kernel import SequenceKernel

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


ROWS, COLUMNS, PARTS = 32, 128, 4


@jit(out_idx=[-1])
def split_sum(rows: int, columns: int, parts: int):
    """Sums of rows: of pieces first, then of the sums of the pieces."""
    step = columns // parts

    @T.prim_func
    def main(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows,), "float32")):
        partial = T.alloc_global((parts, rows), "float32")
        with T.Kernel(parts, threads=128) as p:
            x = T.alloc_fragment((rows, step), "float32")
            s = T.alloc_fragment((rows,), "float32")
            T.copy(X[0, p * step], x)
            T.reduce_sum(x, s, dim=1)
            T.copy(s, partial[p, 0])
        blocks = rows // 16
        with T.Kernel(blocks, threads=128) as b:
            x = T.alloc_fragment((parts, 16), "float32")
            s = T.alloc_fragment((16,), "float32")
            T.copy(partial[0, b * 16], x)
            T.reduce_sum(x, s, dim=0)
            T.copy(s, Y[b * 16])

    return main


@pytest.fixture(scope="module")
def rows() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(ROWS, COLUMNS)


def test_values_go_from_launch_to_launch(rows: torch.Tensor) -> None:
    kernel = split_sum(ROWS, COLUMNS, PARTS)
    for _ in range(2):
        torch.testing.assert_close(kernel(rows), rows.sum(1))
    assert isinstance(kernel, SequenceKernel)
    assert [p.name for p in kernel.params] == ["X", "Y"]
    assert [k.prim_func.name for k in kernel.launches] == ["main_1", "main_2"]
    names = [[a.buffer.name for a in k.prim_func.launch.allocs] for k in kernel.launches]
    assert names == [["x", "s"], ["x", "s"]]


def test_it_is_asked_as_other_kernels_are(rows: torch.Tensor) -> None:
    kernel = split_sum(ROWS, COLUMNS, PARTS)
    source = kernel.get_kernel_source()
    assert "main_1" in source and "main_2" in source
    whole = do_bench(lambda: kernel(rows))
    assert whole > 0
    again = pickle.loads(pickle.dumps(kernel))
    torch.testing.assert_close(again(rows), rows.sum(1))
    with pytest.raises(KernelError) as raised:
        _ = kernel.lowered
    assert raised.value.slug == "several-launches"
    with pytest.raises(KernelError) as raised:
        _ = kernel.prim_func.launch
    assert raised.value.slug == "several-launches"


def test_the_time_is_that_of_all_launches(rows: torch.Tensor) -> None:
    kernel = split_sum(ROWS, COLUMNS, PARTS)
    partial = torch.empty(PARTS, ROWS)
    y = torch.empty(ROWS)
    each = [do_bench(lambda k=k: k(rows, y, partial)) for k in kernel.launches]
    assert do_bench(lambda: kernel(rows)) == pytest.approx(sum(each), rel=0.2)


@jit
def twice(X, scale: float = 2.0):
    n = T.const("n")
    X: T.Tensor((n,), "float32")
    Y = T.empty((n,), "float32")
    Z = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, 64), threads=64) as b:
        for i in T.Parallel(64):
            Y[b * 64 + i] = X[b * 64 + i] * scale
    with T.Kernel(1, threads=64) as b:
        for k in T.serial(T.ceildiv(n, 64)):
            for i in T.Parallel(64):
                Z[k * 64 + i] = Y[k * 64 + i] + X[k * 64 + i]
    return Z, Y


@pytest.mark.parametrize("n", [128, 192])
def test_an_eager_function_launches_twice(n: int) -> None:
    x = torch.randn(n)
    z, y = twice(x)
    assert torch.equal(y, x * 2)
    torch.testing.assert_close(z, x * 3)


@T.prim_func
def one_launch(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64) as b:
        kept = T.alloc_global((64,), "float32")
        a = T.alloc_shared((64,), "float32")
        T.copy(X, a)
        T.copy(a, kept)
        T.copy(kept, a)
        T.copy(a, Y)


def test_a_tensor_of_the_call_in_one_launch() -> None:
    assert isinstance(one_launch, LaunchSequence)
    x = torch.randn(64)
    assert torch.equal(compile(one_launch, out_idx=-1)(x), x)


@T.prim_func
def reads_first(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    kept = T.alloc_global((64,), "float32")
    with T.Kernel(1, threads=64) as b:
        a = T.alloc_shared((64,), "float32")
        T.copy(kept, a)
        T.copy(a, Y)
    with T.Kernel(1, threads=64) as b:
        a = T.alloc_shared((64,), "float32")
        T.copy(X, a)
        T.copy(a, kept)


@T.prim_func
def writes_half(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    kept = T.alloc_global((32,), "float32")
    for _ in [0, 1]:
        with T.Kernel(1, threads=64) as b:
            a = T.alloc_shared((32,), "float32")
            T.copy(X[0:32], a)
            T.copy(a, kept)
    with T.Kernel(1, threads=64) as b:
        a = T.alloc_shared((32,), "float32")
        T.copy(kept, a)
        T.copy(a, Y[0:32])


def test_memory_that_no_launch_wrote() -> None:
    with pytest.raises(TileError) as raised:
        compile(reads_first, out_idx=-1)(torch.randn(64))
    assert raised.value.slug == "uninitialised-read"


def test_what_no_launch_wrote_of_an_output() -> None:
    """As where guards leave elements out: nothing, which is 0 on the simulator."""
    x = torch.randn(64)
    want = torch.cat((x[:32], torch.zeros(32)))
    assert torch.equal(compile(writes_half, out_idx=-1)(x), want)


def launches_in_a_loop(count: int) -> Any:
    """A launch for each number of a loop outside of launches; the last differs."""

    @T.macro
    def step(X, by, last):
        with T.Kernel(1, threads=64) as b:
            x = T.alloc_shared((32,), "float32")
            T.copy(X[0:32], x)
            for i in T.Parallel(32):
                if last:
                    x[i] = x[i] * 2 + by
                else:
                    x[i] = x[i] + by
            T.copy(x, X[0:32])

    @T.prim_func
    def main(X: T.Tensor((32,), "float32")):
        step(X, 1, False)
        for s in range(0, count, 3):
            step(X, s, s + 3 >= count)
        for i in T.serial(2):
            if i == 1:
                step(X, 10, False)

    return main


@pytest.mark.parametrize("count", [0, 1, 7])
def test_a_loop_of_launches_is_unrolled(count: int) -> None:
    func = launches_in_a_loop(count)
    assert isinstance(func, LaunchSequence)
    assert len(func.funcs) == 2 + -(-count // 3)
    if count:
        x = torch.zeros(32)
        compile(func)(x)
        assert torch.equal(x, torch.full((32,), {1: 12.0, 7: 24.0}[count]))
