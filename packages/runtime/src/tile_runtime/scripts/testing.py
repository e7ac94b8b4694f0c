"""`tilelang.testing` and the comparisons of `tilelang.utils.tensor`."""

from __future__ import annotations

import random
import runpy
import sys
from typing import Any, NoReturn


def main() -> NoReturn:
    """Run the tests of the calling script with pytest, and exit as it does."""
    sys.argv = ["pytest", sys._getframe(1).f_code.co_filename, *sys.argv[1:]]
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)
    raise SystemExit("pytest ended without an exit code")


def set_random_seed(seed: int = 42) -> None:
    """Seed Python, NumPy and torch."""
    import numpy
    import torch

    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


def torch_assert_close(
    tensor_a: Any,
    tensor_b: Any,
    rtol: float = 1e-2,
    atol: float = 1e-3,
    max_mismatched_ratio: float = 0.001,
    verbose: bool = False,
    equal_nan: bool = True,
    **ignored: Any,
) -> bool:
    """Whether all elements but a share of `max_mismatched_ratio` are close; AssertionError if
    not, and if shapes, devices or types differ."""
    import torch

    for what in ("shape", "device", "dtype"):
        ours, theirs = getattr(tensor_a, what), getattr(tensor_b, what)
        if ours != theirs:
            raise AssertionError(f"the {what}s differ: {ours}, {theirs}")
    close = torch.isclose(tensor_a, tensor_b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    wrong = int((~close).sum())
    allowed = int(close.numel() * max_mismatched_ratio)
    if wrong > allowed:
        raise AssertionError(
            f"{wrong} of {close.numel()} elements differ by more than rtol={rtol}, atol={atol}; "
            f"{allowed} may"
        )
    if verbose:
        print(f"{wrong} of {close.numel()} elements differ")
    return True


def _runs_anyhow(*arguments: Any, **named: Any) -> Any:
    """Run a test that requires a GPU or a package as it is: kernels of GPUs run here."""
    if len(arguments) == 1 and callable(arguments[0]) and not named:
        return arguments[0]
    return lambda function: function


requires_cuda = requires_rocm = requires_package = _runs_anyhow
requires_cuda_compute_version = requires_cuda_compute_version_eq = _runs_anyhow
requires_cuda_compute_version_ge = requires_cuda_compute_version_gt = _runs_anyhow
requires_cuda_compute_version_le = requires_cuda_compute_version_lt = _runs_anyhow


def process_func(function: Any, *arguments: Any, **named: Any) -> Any:
    """Call a function of a test for performance, once."""
    return function(*arguments, **named)


def regression(*arguments: Any, **named: Any) -> None:
    """Accepted: timings of a regression test concern a GPU."""
