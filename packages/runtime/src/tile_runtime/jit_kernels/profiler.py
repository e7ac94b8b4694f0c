"""Timing a function and checking a kernel against a reference: `do_bench` and `Profiler`.

Where there is no NPU the time of a kernel is the modelled one, not the time the simulator takes.
The model gives the same number at every run, so one run is enough, whatever `warmup` and `rep` say.
A function that launches no kernel, such as a reference in torch, is timed by the clock of the host
a few times and not for long.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tile_ir import KernelError
from tile_ir.switches import override
from tile_runtime.devices.choose_device import current_device
from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType, supply_tensors
from tile_runtime.launcher.run_watchers import watch_runs
from tile_runtime.launcher.scalar_arguments import article

if TYPE_CHECKING:
    import torch

# Timing a function on the host: at most so many runs, and no new one after so many seconds.
_HOST_RUNS = 5
_HOST_SECONDS = 0.5
# As upstream flushes it: larger than any L2.
_FLUSHED_BYTES = 256 << 20


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    _n_warmup: int = 0,
    _n_repeat: int = 0,
    grad_to_none: Iterable[torch.Tensor] | None = None,
    quantiles: Sequence[float] | None = None,
    fast_flush: bool = True,
    return_mode: str = "mean",
    **ignored: Any,
) -> Any:
    """Milliseconds one call of `fn` takes; `warmup` and `rep` are milliseconds to spend.

    `quantiles` give a list of times, otherwise `return_mode` names the one time: mean, median, min
    or max. With `backend="msprof_detail"` that has other units too.
    """
    if not callable(fn):
        raise KernelError(
            "bench-function", f"do_bench times a function, found {article(fn)}",
            hint="write do_bench(lambda: kernel(x)); a profiler takes do_bench(input_tensors=[x])",
        )  # fmt: skip
    if current_device().name == "npu":
        times = _device_times(fn, warmup, rep, _n_warmup, _n_repeat, tuple(grad_to_none or ()))
    else:
        started = time.perf_counter()
        modelled = modelled_microseconds(fn)
        first = time.perf_counter() - started
        times = _host_times(fn, first) if modelled is None else [modelled / 1e3]
    if quantiles is not None:
        found = [_quantile(sorted(times), q) for q in quantiles]
        return found[0] if len(found) == 1 else found
    summaries: dict[str, Callable[[list[float]], float]] = {
        "mean": statistics.fmean, "median": statistics.median, "min": min, "max": max,
    }  # fmt: skip
    if return_mode not in summaries:
        raise ValueError(f"return_mode is {return_mode!r}, expected one of {', '.join(summaries)}")
    found_time = summaries[return_mode](times)
    detailed = ignored.get("backend") == "msprof_detail"
    return DetailedTime(found_time) if detailed else found_time


class DetailedTime(float):
    """Milliseconds, and the other units that scripts for the next chip read."""

    @property
    def dur_us(self) -> float:
        return self * 1e3

    @property
    def dur_ns(self) -> float:
        return self * 1e6

    def tflops(self, operations: float) -> float:
        """How many million million of them a second has."""
        return operations / (self / 1e3) / 1e12


def modelled_microseconds(fn: Callable[[], Any]) -> float | None:
    """Run `fn` once with the clock of the simulator on: the time of its launches with that of the
    launching itself. None if it launched no kernel."""
    times: list[float] = []

    def ran(kernel: Any) -> None:
        timeline = kernel.timeline()
        if timeline is not None:
            times.append(timeline.task_microseconds)

    with override(time=True), watch_runs(ran):
        fn()
    return sum(times) if times else None


class Profiler:
    """Runs a kernel with inputs of its own making."""

    def __init__(self, kernel: Any, supply: TensorSupplyType = TensorSupplyType.Auto) -> None:
        self.kernel = kernel
        self.supply = supply

    @property
    def func(self) -> Any:
        """The kernel, which scripts call with inputs of their own."""
        return self.kernel

    def inputs(self) -> list[torch.Tensor]:
        """The tensors of every run."""
        return supply_tensors(self.kernel, self.supply)

    # Scripts take them under this name.
    _get_inputs = inputs

    def run_once(self, func: Callable[..., Any] | None = None) -> Any:
        """Run the kernel, or `func` in its place, and return the results."""
        return (func or self.kernel)(*self.inputs())

    def assert_allclose(
        self,
        reference: Callable[..., Any],
        input_tensors: Sequence[torch.Tensor] | None = None,
        atol: float = 1e-2,
        rtol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
        **ignored: Any,
    ) -> None:
        """AssertionError if more than that share of an output differs from the reference."""
        inputs = list(input_tensors) if input_tensors is not None else self.inputs()
        expected = reference(*_copied(inputs))
        found = self.kernel(*inputs)
        assert_mostly_close(found, expected, rtol, atol, max_mismatched_ratio)

    def manual_assert_close(
        self,
        reference: Callable[..., Any] | None,
        input_tensors: Sequence[torch.Tensor] | None = None,
        manual_check_prog: Callable[..., Any] | None = None,
    ) -> None:
        """Run the author's own check on the lists of the kernel's and the reference's results."""
        if manual_check_prog is None:
            raise ValueError("manual_assert_close has no manual_check_prog to check with")
        inputs = list(input_tensors) if input_tensors is not None else self.inputs()
        expected = [] if reference is None else _as_list(reference(*_copied(inputs)))
        manual_check_prog(_as_list(self.kernel(*inputs)), expected)

    def assert_consistent(self, repeat: int = 10) -> None:
        """AssertionError if the kernel gives other results when it runs again."""
        inputs = self.inputs()
        first = _as_list(self.kernel(*_copied(inputs)))
        for _ in range(repeat):
            again = _as_list(self.kernel(*_copied(inputs)))
            assert_mostly_close(again, first, rtol=0.0, atol=0.0, max_mismatched_ratio=0.0)

    def do_bench(
        self,
        func: Callable[..., Any] | None = None,
        warmup: float = 25,
        rep: float = 100,
        input_tensors: Sequence[torch.Tensor] | None = None,
        n_warmup: int = 0,
        n_repeat: int = 0,
        **options: Any,
    ) -> Any:
        """`do_bench` of the kernel, or of `func`, with these inputs."""
        if func is not None and not callable(func):
            return do_bench(func)  # which reports it
        inputs = list(input_tensors) if input_tensors is not None else self.inputs()
        accepted = {k: v for k, v in options.items() if k in ("quantiles", "return_mode")}
        timed = func if func is not None else self.kernel
        return do_bench(lambda: timed(*inputs), warmup, rep, n_warmup, n_repeat, **accepted)


def _copied(inputs: Iterable[Any]) -> Iterator[Any]:
    """Arguments that a call may change; numbers and None are what they are."""
    return (t.clone() if hasattr(t, "clone") else t for t in inputs)


def assert_mostly_close(
    found: Any, expected: Any, rtol: float, atol: float, max_mismatched_ratio: float
) -> None:
    """AssertionError that names the output, how much of it differs, and by how much at most."""
    ours, theirs = _as_list(found), _as_list(expected)
    if len(ours) != len(theirs):
        raise AssertionError(f"{len(ours)} outputs, but the reference has {len(theirs)}")
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a.shape != b.shape:
            raise AssertionError(
                f"output {number} has shape {tuple(a.shape)}, the reference {tuple(b.shape)}"
            )
        left, right = a.double(), b.to(a.device).double()
        near = left.isclose(right, rtol=rtol, atol=atol, equal_nan=True)
        wrong = 1 - near.double().mean().item() if near.numel() else 0.0
        if wrong > max_mismatched_ratio:
            most = (left - right).abs()[~near].max().item()
            raise AssertionError(
                f"output {number}: {wrong:.2%} of it differs by up to {most:.4g}, "
                f"allowed are {max_mismatched_ratio:.2%} (rtol {rtol}, atol {atol})"
            )


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _host_times(fn: Callable[[], Any], first: float) -> list[float]:
    """Milliseconds by the host's clock; the first run took so many seconds."""
    if first > _HOST_SECONDS:
        return [first * 1e3]
    times: list[float] = []
    end = time.perf_counter() + _HOST_SECONDS
    while not times or (len(times) < _HOST_RUNS and time.perf_counter() < end):
        started = time.perf_counter()
        fn()
        times.append((time.perf_counter() - started) * 1e3)
    return times


def _device_times(
    fn: Callable[[], Any],
    warmup: float,
    rep: float,
    n_warmup: int,
    n_repeat: int,
    gradients: Sequence[torch.Tensor],
) -> list[float]:
    """Milliseconds by events of the NPU, with its L2 emptied before every run."""
    import torch

    npu: Any = vars(torch)["npu"]  # torch_npu adds it

    def measured(runs: int, flushed: bool) -> list[float]:
        pairs = []
        for _ in range(runs):
            for tensor in gradients:
                tensor.grad = None
            if flushed:
                cache.zero_()
            pair = (npu.Event(enable_timing=True), npu.Event(enable_timing=True))
            pair[0].record()
            fn()
            pair[1].record()
            pairs.append(pair)
        npu.synchronize()
        return [start.elapsed_time(end) for start, end in pairs]

    cache = torch.empty(_FLUSHED_BYTES, dtype=torch.int8, device=current_device().device_type)
    fn()
    estimate = statistics.fmean(measured(5, flushed=False))
    measured(n_warmup or max(1, int(warmup / estimate)), flushed=False)
    return measured(n_repeat or max(1, int(rep / estimate)), flushed=True)


def _quantile(ordered: list[float], q: float) -> float:
    position = q * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)
