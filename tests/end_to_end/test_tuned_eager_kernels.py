"""`autotune` above functions that are kernels themselves, and what newer scripts ask of tuners."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import AutoTuner, autotune, jit, set_autotune_inputs

SIZES = [dict(block=32), dict(block=64), dict(block=0)]


@autotune(configs=SIZES, warmup=1, rep=1, executor="here", early_stop=True, early_stop_factor=1.5)
@jit
def scaled(A, factor: float = 2.0, block: int = 16):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, block), threads=128) as b:
        a = T.alloc_shared((block,), "float32")
        T.copy(A[b * block], a)
        for i in T.Parallel(block):
            a[i] = a[i] * factor
        T.copy(a, B[b * block])
    return B


def test_a_call_tunes_and_runs() -> None:
    a = torch.randn(256)
    torch.testing.assert_close(scaled(a), a * 2)
    torch.testing.assert_close(scaled(a, factor=3.0), a * 3)
    torch.testing.assert_close(scaled(a, block=16), a * 2)  # not tuned


def test_compile_gives_the_best_kernel() -> None:
    kernel = scaled.compile(N=256)
    assert kernel.config in SIZES[:2]
    assert kernel.latency is not None and kernel.latency > 0
    a = torch.randn(256)
    torch.testing.assert_close(kernel(a), a * 2)
    assert scaled.compile(N=256) is kernel
    assert scaled.compile(N=256, block=32).prim_func.launch is not None


def lazy(n: int, block: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=128) as b:
            a = T.alloc_shared((block,), "float32")
            T.copy(A[b * block], a)
            T.copy(a, B[b * block])

    return main


def test_what_is_found_may_hold_for_other_values() -> None:
    searched: list[int] = []

    def configs(args: Any, kwargs: Any) -> list[dict[str, int]]:
        searched.append(args[0])
        return [dict(block=32), dict(block=64)]

    tuned = autotune(
        configs=configs, warmup=1, rep=1, executor="here", do_not_specialize=["n"]
    )(jit(out_idx=-1)(lazy))  # fmt: skip
    first, second = tuned(128), tuned.compile(256)
    assert first.tuning is not None and second.tuning is None
    assert second.params[0].shape == (256,)
    with pytest.raises(KernelError, match="which is no parameter"):
        autotune(configs=configs, do_not_specialize=["m"])(jit(lazy))


def test_a_configuration_has_pass_configs() -> None:
    configs = [
        dict(block=32, pass_configs={"tl.ascend_auto_sync": True}),
        dict(block=64, pass_configs={"tl.ascend_auto_sync": True}),
    ]
    tuner = AutoTuner.from_kernel(kernel=lambda block: lazy(128, block), configs=configs)
    tuner.set_compile_args(out_idx=[-1], target="auto").set_profile_args(backend="event")
    a = torch.randn(128)
    with set_autotune_inputs([a]):
        kernel = tuner.run(warmup=1, rep=1, early_stop=True)
    assert kernel.config in configs
    assert torch.equal(kernel(a), a)


@pytest.mark.parametrize("style", ["lazy", "eager"])
def test_every_argument_of_a_tuner(style: str) -> None:
    """Configurations that do not fit are skipped; the winner knows its times."""
    checked: list[Any] = []
    tuned = autotune(
        configs=[*SIZES, dict(block=1 << 22)], warmup=1, rep=1, timeout=60, executor="here",
        supply_type="auto", ref_prog=lambda a: a * 2 if style == "eager" else a,
        supply_prog=lambda params: [torch.randn(256)], rtol=1e-2, atol=1e-2,
        max_mismatched_ratio=0.01, skip_check=False,
        manual_check_prog=lambda found, wanted: checked.append((found, wanted)),
        cache_input_tensors=False, do_not_specialize=None, early_stop=True, early_stop_factor=2.0,
    )  # fmt: skip
    a = torch.randn(256)
    if style == "lazy":
        kernel = tuned(jit(out_idx=-1)(lazy))(256)
        assert torch.equal(kernel(a), a)
    else:
        function = tuned(jit(scaled.jit.eager.fn))
        kernel = function.compile(N=256)
        torch.testing.assert_close(function(a), a * 2)
    assert kernel.config in SIZES[:2] and checked
    assert kernel.latency is not None and kernel.latency > 0
    assert kernel.ref_latency is None or kernel.ref_latency > 0
    assert kernel.get_tuner_result()["config"] == kernel.config
