"""What a call allocates starts as never written: reading it is a fault, and so is an output that is
not written to its end. What the caller passes in is the caller's."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelWarning
from tile_ir.switches import override
from tile_runtime import compile
from tile_runtime.simulator.simulation_error import SimulationError

LEVELS = ("device", "strict")


def copied(rows: int, blocks: int = 1, reads_output: bool = False) -> Any:
    """Each block copies `rows` rows of its four; of A, or of the output itself."""

    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8, 64), "float32"), n: T.int32):
        with T.Kernel(blocks, is_npu=True, threads=1) as (cid,):
            a = T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                for i in range(T.min(n, rows)):
                    if reads_output:
                        T.copy(B[7 - i, 0], a)
                    else:
                        T.copy(A[cid * 4 + i, 0], a)
                    T.barrier_all()
                    T.copy(a, B[cid * 4 + i, 0])
                    T.barrier_all()

    return main


def accumulated() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(2, is_npu=True, threads=1) as (cid,):
            a = T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                T.copy(A, a)
                T.barrier_all()
                T.tile.atomic_add(B, a)
                T.barrier_all()

    return main


def through_workspace(writes: bool) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((64,), "float32"), W: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as (cid,):
            a = T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                T.copy(A, a)
                T.barrier_all()
                if writes:
                    T.copy(a, W)
                    T.barrier_all()
                T.copy(W, a)
                T.barrier_all()
                T.copy(a, B)

    return main


def hint(kernel: Any, *arguments: Any) -> str:
    with override(check="strict"), pytest.raises(SimulationError) as caught:
        kernel(*arguments)
    return caught.value.hint or ""


def told(kernel: Any, level: str, *arguments: Any) -> list[str]:
    """What a call says: the slug of its error, or the texts of its warnings."""
    with override(check=level), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            kernel(*arguments)
        except SimulationError as error:
            return [f"{error.slug}: {error.message}"]
    return [str(w.message) for w in caught if issubclass(w.category, KernelWarning)]


@pytest.mark.parametrize("level", LEVELS)
def test_an_output_written_in_part_is_found(level: str) -> None:
    (text,) = told(compile(copied(5), out_idx=[1]), level, torch.ones(8, 64), 9)
    assert "nothing writes [5, 0] to [7, 63] of output `B`: 192 of 512 elements" in text
    assert text.startswith("output-not-written: ") == (level == "strict")


@pytest.mark.parametrize("level", LEVELS)
def test_several_gaps_and_none_at_all(level: str) -> None:
    kernel = compile(copied(4, blocks=2), out_idx=[1])
    (text,) = told(kernel, level, torch.ones(8, 64), 3)
    assert "[3, 0] to [3, 63], the first of them, of output `B`: 128 of 512" in text
    assert not told(kernel, level, torch.ones(8, 64), 4)
    fresh = compile(copied(4, blocks=2), out_idx=[1])
    (text,) = told(fresh, level, torch.ones(8, 64), 0)
    assert "nothing writes output `B`" in text


@pytest.mark.parametrize("level", LEVELS)
def test_what_the_caller_passes_in_is_the_callers(level: str) -> None:
    b = torch.zeros(8, 64)
    assert not told(compile(copied(5)), level, torch.ones(8, 64), b, 9)
    assert not told(compile(copied(4, reads_output=True)), level, torch.ones(8, 64), b, 9)
    sums = torch.zeros(64)
    assert not told(compile(accumulated()), level, torch.ones(64), sums)
    assert (sums == 2).all()


@pytest.mark.parametrize("level", LEVELS)
def test_reading_what_nobody_wrote_is_an_error(level: str) -> None:
    kernel = compile(copied(8, reads_output=True), out_idx=[1])
    (text,) = told(kernel, level, torch.ones(8, 64), 9)
    assert text.startswith("uninitialised-read: DataCopyPad: src reads 256 bytes of GM buffer 'B'")
    (text,) = told(compile(accumulated(), out_idx=[1]), level, torch.ones(64))
    assert text.startswith("uninitialised-read: ") and "adds to 256 bytes of GM buffer 'B'" in text


@pytest.mark.parametrize("level", LEVELS)
def test_a_workspace_is_written_before_it_is_read(level: str) -> None:
    def call(writes: bool) -> list[str]:
        kernel = compile(through_workspace(writes), out_idx=[2], workspace_idx=[1])
        return told(kernel, level, torch.ones(64))

    assert not call(True)
    (text,) = call(False)
    assert text.startswith("uninitialised-read: ") and "'W'" in text


@pytest.mark.parametrize("level", LEVELS)
def test_a_wrong_out_idx_is_found(level: str) -> None:
    (text,) = told(compile(copied(8), out_idx=[0]), level, torch.ones(8, 64), 9)
    assert text.startswith("uninitialised-read: ") and "'A'" in text


def test_hints_name_what_chose_the_tensor() -> None:
    x = torch.ones(8, 64)
    wrong = "out_idx names `A`, so it holds anything at first: write it first, or pass it in and "
    assert hint(compile(copied(8), out_idx=[0]), x, 9) == (
        wrong + "leave it out of out_idx; the kernel writes `B`: out_idx=[1]"
    )
    both = compile(copied(8), out_idx=[0, 1])
    assert hint(both, 9) == wrong + "leave it out of out_idx"
    assert hint(compile(through_workspace(False), out_idx=[2], workspace_idx=[1]), x[0]) == (
        "workspace_idx names `W`, so it holds anything at first: write it first"
    )
    nothing = "write all of it, or pass it in as an argument: leave it out of out_idx"
    other = compile(through_workspace(True), out_idx=[0, 2])
    assert hint(compile(copied(5), out_idx=[1]), x, 9) == nothing
    assert hint(compile(copied(5), out_idx=[1]), x, 0) == nothing
    assert "out_idx names `A`" in hint(other, x[0])


def test_an_output_that_only_another_parameter_takes_names_it() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as (cid,):
            a = T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                T.copy(A, a)
                T.barrier_all()
                T.copy(a, C)

    assert hint(compile(main, out_idx=[1]), torch.ones(64), torch.ones(64)).endswith(
        "leave it out of out_idx; the kernel writes `C`: out_idx=[2]"
    )


def test_without_checks_nothing_is_said() -> None:
    assert not told(compile(copied(5), out_idx=[1]), "off", torch.ones(8, 64), 9)
