"""One configuration to be built, checked and timed, as data that pickles, and what came of it.

Not here: in which process that happens.
"""

from __future__ import annotations

import fcntl
import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

from tile_ir import TileError
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import override
from tile_runtime.cache.kernel_cache import get_cache_dir

if TYPE_CHECKING:
    from tile_runtime.jit_kernels.kernel import JITKernel

Config: TypeAlias = "dict[str, Any]"

# What became of a configuration: it has a time; its result is not that of the reference; the
# factory, the compiler or the simulator refuses it; its time was up; its process died; none of
# those, as the executor lost it.
RIGHT, WRONG, REFUSED, TIMED_OUT, DIED, LOST = (
    "right", "wrong", "refused", "timed out", "died", "lost",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measuring:
    """The settings of checking and timing: on a device or on the model. `warmup` and `rep` are
    milliseconds; `rtol`, `atol` and `max_mismatched_ratio` bound the difference from the reference;
    `results_wanted` sends the results back to the caller."""

    device: bool
    warmup: float
    rep: float
    rtol: float
    atol: float
    max_mismatched_ratio: float
    results_wanted: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """`kernel` makes the kernel; `data` is the pickled pair of its inputs and of the reference's
    results, or None for that; `switches` hold while it is tried."""

    kernel: Callable[[], JITKernel]
    data: bytes
    measuring: Measuring
    switches: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """The outcome of a trial: its state and milliseconds, or the problem, with the slug if it is an
    error of ours. `seconds` is the duration of the trial; `results` are pickled."""

    state: str
    milliseconds: float | None = None
    problem: str | None = None
    slug: str = ""
    seconds: float = 0.0
    results: bytes | None = None


def run_trial(trial: Trial) -> TrialOutcome:
    """Build, check and time, in this process."""
    started = time.perf_counter()
    with override(**trial.switches):
        try:
            kernel = trial.kernel()
        except TileError as error:
            return failed(REFUSED, error, started)
        try:
            milliseconds, results = _measured(kernel, trial)
        except (TileError, AssertionError) as error:
            return failed(WRONG, error, started)
    seconds = time.perf_counter() - started
    return TrialOutcome(RIGHT, milliseconds, seconds=seconds, results=results)


def failed(state: str, error: Exception, started: float | None = None) -> TrialOutcome:
    """The outcome for an error, or for an assertion, which may say nothing."""
    slug = error.slug if isinstance(error, TileError) else ""
    seconds = 0.0 if started is None else time.perf_counter() - started
    return TrialOutcome(state, None, str(error) or "refused by an assertion", slug, seconds)


def pack(inputs: list[Any], expected: Any) -> bytes:
    """Inputs and reference as `Trial` has them, off the device they are on."""
    return pickle.dumps((_moved(inputs, "cpu"), _moved(expected, "cpu")))


def unpack(data: bytes, device: str) -> tuple[list[Any], Any]:
    """New ones at every call, as a kernel may write its arguments."""
    inputs, expected = pickle.loads(data)
    return _moved(inputs, device), _moved(expected, device)


def _measured(kernel: JITKernel, trial: Trial) -> tuple[float, bytes | None]:
    """Milliseconds, and the pickled results if they are wanted. The model's time is that of the
    checked run: it is the same at every one."""
    from tile_runtime.jit_kernels.profiler import (
        assert_mostly_close,
        do_bench,
        modelled_microseconds,
    )

    how = trial.measuring
    inputs, expected = unpack(trial.data, kernel.device_type)
    found: list[Any] = []
    modelled = None
    if how.device:
        found.append(kernel(*inputs))
    else:
        modelled = modelled_microseconds(lambda: found.append(kernel(*inputs)))
    if expected is not None and not how.results_wanted:
        assert_mostly_close(found[0], expected, how.rtol, how.atol, how.max_mismatched_ratio)
    results = pack(found, None) if how.results_wanted else None
    if modelled is not None:
        return modelled / 1e3, results
    ours, _ = unpack(trial.data, kernel.device_type)
    with _alone() if how.device else nullcontext():
        return do_bench(lambda: kernel(*ours), warmup=how.warmup, rep=how.rep), results


@contextmanager
def _alone() -> Iterator[None]:
    """No other process of this machine times anything meanwhile."""
    folder = get_cache_dir()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "timing.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ends with the process, however that ends
        yield


def _moved(value: Any, device: str) -> Any:
    """Tensors, alone or in a list, to a device; the rest stays as it is."""
    if isinstance(value, (list, tuple)):
        return [_moved(v, device) for v in value]
    return value.detach().to(device) if hasattr(value, "detach") else value
