"""What scripts ask kernel objects, jitted functions and profilers for besides running."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import Func, KernelError
from tile_runtime import compile, jit
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.scripts.testing import torch_assert_close


@jit(out_idx=[-1], verbose=False)
def doubled(n: int, block: int = 64) -> Any:
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n // block, threads=128) as b:
            a = T.alloc_shared((block,), "float32")
            T.copy(A[b * block], a)
            T.tile.add(a, a, a)
            T.copy(a, B[b * block])

    return main


@jit
def eager(A, block: int = 64):
    n = T.const("n")
    A: T.Tensor((n,), "float32")
    B = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, block), threads=128) as b:
        a = T.alloc_shared((block,), "float32")
        T.copy(A[b * block], a)
        T.tile.add(a, a, a)
        T.copy(a, B[b * block])
    return B


@pytest.fixture(scope="module")
def kernel() -> JITKernel:
    return doubled(128)


def test_sources(kernel: JITKernel, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    device, host = kernel.get_kernel_source(kernel_only=True), kernel.get_host_source()
    assert (kernel.kernel_source, kernel.host_source) == (device, host)
    kernel.show_source()
    assert capsys.readouterr().out == f"{device}\n"
    kernel.print_source_code("both", file=tmp_path / "both")
    assert (tmp_path / "both").read_text() == f"{device}\n{host}"
    kernel.export_sources(kernel_path=tmp_path / "k" / "kernel", host_path=tmp_path / "host")
    assert (tmp_path / "k" / "kernel").read_text() == device
    assert (tmp_path / "host").read_text() == host
    kernel.export_library(tmp_path / "kernel.so")
    assert (tmp_path / "kernel.so").read_bytes() == Path(kernel.libpath).read_bytes()
    for call, slug in (
        (lambda: kernel.show_source("ptx"), "source-part"),
        (lambda: kernel.export_sources(), "export-path"),
        (lambda: kernel.export_library(tmp_path), "export-path"),
    ):
        with pytest.raises(KernelError) as raised:
            call()
        assert raised.value.slug == slug


@pytest.mark.parametrize("name", ["n_regs", "n_spills", "resource_usage", "show_ptx"])
def test_what_only_a_gpu_has(kernel: JITKernel, name: str) -> None:
    with pytest.raises(KernelError, match="is of a kernel for a GPU"):
        getattr(kernel, name)
    assert not hasattr(kernel, "no_such_member")


def test_a_jitted_factory() -> None:
    kernel = doubled(128)
    assert doubled.compile(128) is kernel
    assert isinstance(doubled.get_tir(128), Func)
    assert doubled.get_kernel_source(128) == kernel.get_kernel_source()
    assert (doubled.mode, doubled.out_idx, doubled.verbose) == ("lazy", [-1], False)
    assert list(doubled.signature.parameters) == ["n", "block"]
    assert doubled.par_compile([dict(n=128), (128,)])[1] is kernel
    with pytest.raises(KernelError):
        doubled.par_compile([(128, 0, 0)])
    assert doubled.par_compile([(128, 0, 0)], ignore_error=True) == [None]


def test_an_eager_kernel_has_the_same() -> None:
    kernel, other = eager.par_compile([dict(n=128), dict(n=128, block=32)])
    assert kernel is eager.compile(n=128) and other is not kernel
    assert eager.get_tir(n=128) is kernel.prim_func
    assert eager.get_kernel_source(n=128) == kernel.get_kernel_source()
    assert eager.mode == "eager"


def test_a_profiler_checks_and_times(kernel: JITKernel) -> None:
    profiler = kernel.get_profiler()
    profiler.assert_allclose(lambda a: a * 2, atol=0.0, rtol=0.0)
    profiler.assert_consistent(repeat=2)
    checked: list[Any] = []
    profiler.manual_assert_close(
        lambda a: a * 2, manual_check_prog=lambda found, expected: checked.extend([found, expected])
    )
    assert torch.equal(checked[0][0], checked[1][0])
    modelled = profiler.do_bench(
        warmup=1, rep=1, n_warmup=1, n_repeat=1, backend="cupti", return_mode="median",
        device=0, early_stop_baseline=None,
    )  # fmt: skip
    assert 0 < modelled < 1
    assert profiler.do_bench(lambda a: a * 2, n_repeat=1) > 0
    assert torch.equal(profiler.run_once(), kernel.run_once())


def test_a_profiler_takes_numbers() -> None:
    @jit(out_idx=[-1])
    def scaled(n: int) -> Func:
        @T.prim_func
        def main(A: T.Tensor((n,), "float32"), s: T.float32, B: T.Tensor((n,), "float32")):
            with T.Kernel(1, threads=128):
                for i in T.Parallel(n):
                    B[i] = A[i] * s

        return main

    profiler, inputs = scaled(64).get_profiler(), [torch.ones(64), 3.0]
    profiler.assert_allclose(lambda a, s: a * s, input_tensors=inputs)
    profiler.manual_assert_close(lambda a, s: a * s, inputs, lambda found, expected: None)


def test_tensors_are_compared_by_all_they_are() -> None:
    a = torch.tensor([1.0, float("nan")])
    assert torch_assert_close(a, a.clone())
    wrong = [a.half(), a[:1]]
    for other in wrong:
        with pytest.raises(AssertionError, match="differ"):
            torch_assert_close(a, other)
    with pytest.raises(AssertionError):
        torch_assert_close(a, a.clone(), equal_nan=False)


def test_a_kernel_that_was_not_tuned(kernel: JITKernel) -> None:
    assert kernel.get_tuner_result() == {"latency": None, "config": None, "ref_latency": None}
    assert compile(kernel.prim_func, out_idx=-1).config is None
