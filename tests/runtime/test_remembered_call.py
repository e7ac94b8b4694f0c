"""Calls that repeat an earlier one are made without Python: with the same results, errors and texts,
and not any more once something they depend on is another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from hand_written import SAXPY_CPP, HandWritten, func_of
from tile_ir import CallError, Func
from tile_ir.switches import override
from tile_runtime import SimulationError, compile
from tile_runtime.devices.simulator_device import SimulatorLaunch
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.launcher.run_watchers import record_calls, watch_runs

A, B = torch.arange(8.0), torch.ones(8)


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The calls made by way of Python."""
    calls: list[int] = []
    launch = SimulatorLaunch.__call__

    def counted(self: SimulatorLaunch, *arguments: Any) -> None:
        calls.append(1)
        launch(self, *arguments)

    monkeypatch.setattr(SimulatorLaunch, "__call__", counted)
    return calls


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The kernel of SAXPY_CPP is compiled once."""
    with override(cache_dir=str(tmp_path_factory.mktemp("kernels"))):
        yield


def remembering(func: Func, *arguments: Any, reuse: bool = True, **options: Any) -> JITKernel:
    """A kernel that was called with these arguments until it remembers the call."""
    with override(cache=reuse):
        kernel = compile(func, **options)
    for _ in range(2):
        kernel(*arguments)
    return kernel


def test_results_are_new_and_right(saxpy: Func, slow_calls: list[int]) -> None:
    kernel = remembering(saxpy, A, B, 1.0, out_idx=2)
    before = len(slow_calls)
    first, second = kernel(A, B, 2.5), kernel(B, A, s=3)
    assert torch.equal(first, 2.5 * A + B) and torch.equal(second, 3 * B + A)
    assert first.dtype is A.dtype and first.is_contiguous() and not first.requires_grad
    third = kernel(torch.nn.Parameter(A, requires_grad=False), B[None][0], 0.5)
    assert torch.equal(third, 0.5 * A + B)
    assert len(slow_calls) == before


def test_in_place_and_other_shapes(saxpy: Func, slow_calls: list[int]) -> None:
    c = torch.zeros(8)
    kernel = remembering(saxpy, A, B, c, 1.0)
    before = len(slow_calls)
    assert kernel(A, B, c, 2.0) == [] and torch.equal(c, 2 * A + B)
    assert len(slow_calls) == before
    for size in (8, 3, 3, 3, 0, 0, 0, 8):
        a, b, c = torch.rand(size), torch.rand(size), torch.zeros(size)
        kernel(a, b, c, 2.0)
        assert torch.equal(c, 2 * a + b)


def test_errors_are_those_of_a_first_call(saxpy: Func) -> None:
    wrong: tuple[tuple[Any, ...], ...] = (
        (A,),
        (A, B, 1.0, 2),
        (A, B, None),
        (A, B, "1"),
        (A, None, 1.0),
        (A.numpy(), B, 1.0),
        (A.double(), B, 1.0),
        (A.int(), B, 1.0),
        (A.view(2, 4), B, 1.0),
        (A[:4], B, 1.0),
        (torch.zeros(16)[::2], B, 1.0),
        (torch.zeros(8).to("meta"), B, 1.0),
        (torch._neg_view(A), B, 1.0),
    )
    kernel, unused = remembering(saxpy, A, B, 1.0, out_idx=2), compile(saxpy, out_idx=2)
    for arguments in wrong:
        texts = []
        for called in (unused, kernel):
            with pytest.raises(CallError) as caught:
                called(*arguments)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]
        assert torch.equal(kernel(A, B, 1.0), A + B)


INTEGERS = """file 0 "k.py"
func "k" phase built @0:1:1 {
  tensor $A : int8[4] @0:2:5
  tensor $C : float32[4] @0:3:5
  scalar %small : int8
  scalar %large : uint64
  launch blocks(1) %cid %vid threads any @0:8:5 {
  }
}
"""
STORES_THEM = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void k_kernel(GM_ADDR A, GM_ADDR C, int32_t small, int64_t large) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AscendC::GlobalTensor<float> c;
    c.SetGlobalBuffer((__gm__ float*)C);
    c.SetValue(0, static_cast<float>(small));
    c.SetValue(1, static_cast<float>(large));
}
extern "C" void call(uint8_t* A, uint8_t* C, int8_t small, uint64_t large, void* stream) {
    tile_simulator::launch("k", 1, k_kernel, A, C, small, large);
}
"""


def test_numbers_keep_their_ranges_and_types_their_bits(
    hand_written: Callable[[str], HandWritten],
) -> None:
    hand_written(STORES_THEM)
    a, c = torch.zeros(4, dtype=torch.int8), torch.zeros(4)
    kernel = remembering(func_of(INTEGERS, k="def k(A, C): ...\n"), a, c, 1, 2, reuse=False)
    kernel(a, c, -128, 2**40)
    assert c.tolist() == [-128.0, 2.0**40, 0.0, 0.0]
    for small, large in ((128, 0), (-129, 0), (0, -1), (0, 2**64), (1.0, 0), ("1", 0)):
        with pytest.raises(CallError):
            kernel(a, c, small, large)
    with pytest.raises(CallError, match="`A` is int2, expected int8"):
        kernel(torch.empty(4, dtype=torch.int2), c, 1, 2)


def test_gradients(saxpy: Func, slow_calls: list[int]) -> None:
    wanting = torch.arange(8.0, requires_grad=True)
    kernel = remembering(saxpy, A, B, 1.0, out_idx=2)
    y = kernel(wanting, B, 1.0)
    with pytest.raises(CallError, match="has no gradient"):
        y.sum().backward()
    kernel(A, B, 1.0)
    before = len(slow_calls)
    with torch.no_grad():
        assert not kernel(wanting, B, 1.0).requires_grad
    assert len(slow_calls) == before
    with torch.autograd.forward_ad.dual_level():
        kernel(A, B, 1.0)
        assert len(slow_calls) == before + 1


def test_faults_prints_and_gaps_are_told_each_time(
    saxpy: Func, hand_written: Callable[[str], HandWritten], capsys: pytest.CaptureFixture[str]
) -> None:
    hand_written(SAXPY_CPP.replace("// FAULT", 'AscendC::printf("s is %f\\n", s);'))
    kernel = remembering(saxpy, A, B, 2.5, reuse=False, out_idx=2)
    capsys.readouterr()
    kernel(A, B, 4.5)
    assert capsys.readouterr().out == "[aiv0 of block 0] s is 4.500000\n"

    hand_written(SAXPY_CPP.replace("// FAULT", "if (s > 2) c.SetValue(N + 100, 1.0f);"))
    kernel = remembering(saxpy, A, B, 1.0, reuse=False, out_idx=2)
    with pytest.raises(SimulationError) as caught:
        kernel(A, B, 3.0)
    assert caught.value.fault.kind == "out-of-bounds"

    hand_written(SAXPY_CPP.replace("i < N", "i < N - (s > 2)"))
    kernel = remembering(saxpy, A, B, 1.0, reuse=False, out_idx=2)
    with pytest.warns(match="nothing writes \\[7\\] of output `C`: 1 of 8 elements"):
        kernel(A, B, 3.0)


def test_switches_hold_for_the_next_call(
    saxpy: Func, slow_calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = remembering(saxpy, A, B, 1.0, out_idx=2)
    with override(time=True), watch_runs(lambda kernel: None):
        kernel(A, B, 1.0)
        assert kernel.timeline() is not None
    before = len(slow_calls)
    kernel(A, B, 1.0)  # as it was remembered
    assert len(slow_calls) == before and kernel.timeline() is None
    monkeypatch.setenv("TILE_TIME", "1")
    kernel(A, B, 1.0)
    assert kernel.timeline() is not None
    kernel(A, B, 1.0)
    assert len(slow_calls) == before + 1 and kernel.timeline() is not None
    monkeypatch.delenv("TILE_TIME")
    kernel(A, B, 1.0)
    assert kernel.timeline() is None


def test_who_watches_sees_every_call(saxpy: Func, slow_calls: list[int]) -> None:
    kernel = remembering(saxpy, A, B, 1.0, out_idx=2)
    seen: list[Any] = []
    with watch_runs(seen.append):
        kernel(A, B, 1.0)
    with record_calls(lambda kernel, call, inputs: seen.append(call.values[3])):
        kernel(A, B, 2.0)
    assert seen == [kernel, 2.0]
    before = len(slow_calls)
    kernel(A, B, 1.0)
    assert len(seen) == 2 and len(slow_calls) == before


def test_threads_have_their_own_switches(saxpy: Func) -> None:
    kernel = remembering(saxpy, A, B, 1.0, out_idx=2)
    wrong: list[str] = []

    def timed() -> None:
        with override(time=True):
            for _ in range(50):
                if not torch.equal(kernel(A, B, 1.0), A + B) or kernel.timeline() is None:
                    wrong.append("untimed")

    threads = [threading.Thread(target=timed) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        kernel(A, B, 1.0)
        if kernel.timeline() is not None:
            wrong.append("timed")
    for thread in threads:
        thread.join()
    assert not wrong
