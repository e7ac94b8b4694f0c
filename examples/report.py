"""What every example prints: shape, error against torch, compile and run time, the verdict."""

import statistics
import sys
import time
from collections.abc import Callable, Sequence

import torch

import tile_frontend as T


def run_and_report(
    title: str, build: Callable[..., T.JITKernel], inputs: Sequence[torch.Tensor],
    expected: torch.Tensor, tolerance: float, repeats: int = 3,
    call: Callable[..., torch.Tensor] | None = None,
) -> T.JITKernel:  # fmt: skip
    """Build a kernel, run it, compare; leaves the process with status 1 on a mismatch.

    `tolerance` is the largest allowed error, relative to the largest expected value; 0 asks for
    equality. `call(kernel, *inputs)` gives the result of a kernel that does not return it.
    """
    call = call or (lambda kernel, *inputs: kernel(*inputs))
    start = time.perf_counter()
    kernel = build()
    compile_seconds = time.perf_counter() - start
    result = call(kernel, *inputs)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call(kernel, *inputs)
        times.append(time.perf_counter() - start)
    error = (result.double() - expected.double()).abs().max().item()
    scale = expected.double().abs().max().item()
    how = "cached" if kernel.cached else "cold"
    print(
        f"{title}: max error {error:.3g} (largest value {scale:.3g}), "
        f"{how} compile {compile_seconds:.2f} s, run {statistics.median(times) * 1e3:.2f} ms"
    )
    if not torch.isfinite(result.double()).all() or error > tolerance * scale:
        print(f"MISMATCH: {title}: allowed {tolerance * scale:.3g}")
        sys.exit(1)
    print("Kernel Output Match!")
    return kernel


def report_ranks(
    title: str,
    results: Sequence[torch.Tensor],
    expected: Sequence[torch.Tensor],
    tolerance: float = 0.0,
) -> None:
    """Compare what each rank has with what it ought to have, and print one line; leaves the process
    with status 1 on a mismatch. `tolerance` is as for `run_and_report`."""
    error = max(
        (r.double() - e.double()).abs().max().item() for r, e in zip(results, expected, strict=True)
    )
    scale = max(e.double().abs().max().item() for e in expected)
    if not error <= tolerance * scale:
        print(f"MISMATCH: {title}: error {error:.3g}, allowed {tolerance * scale:.3g}")
        sys.exit(1)
    print(f"{title} on {len(expected)} ranks: max error {error:.3g}: match")
