"""A reference that a script computes in a half type, found again in float32 before it condemns.

torch rounds to the type of its operands after each operation, and so does the reference of a script
whose inputs are halves; a kernel that sums in float32 may be nearer to the truth than such a
reference, and further from it than its tolerance. So where the two are not close, the reference gets
the same inputs in float32, and the kernel has to be close to that, by the script's own tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tile_runtime.jit_kernels.profiler import Profiler

_HALVES = (torch.float16, torch.bfloat16)


def judge_in_float32() -> None:
    """Let `assert_allclose` of profilers do so in this process for good."""
    as_written = Profiler.assert_allclose

    def assert_allclose(
        profiler: Profiler,
        reference: Callable[..., Any],
        input_tensors: Sequence[torch.Tensor] | None = None,
        *tolerances: Any,
        **options: Any,
    ) -> None:
        inputs = list(input_tensors) if input_tensors is not None else profiler.inputs()
        kept = [x.clone() for x in inputs]
        try:
            as_written(profiler, reference, inputs, *tolerances, **options)
        except AssertionError as differs:
            if not any(x.dtype in _HALVES for x in kept):
                raise
            try:
                as_written(profiler, in_float32(reference), kept, *tolerances, **options)
            except AssertionError:
                raise differs from None
            print(f"close to the reference in float32; in the type of its inputs: {differs}")

    Profiler.assert_allclose = assert_allclose


def in_float32(reference: Callable[..., Any]) -> Callable[..., Any]:
    """The same, of inputs without halves."""

    def wide(*tensors: torch.Tensor) -> Any:
        return reference(*(x.float() if x.dtype in _HALVES else x for x in tensors))

    return wide
