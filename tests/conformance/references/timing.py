"""Timing as scripts ask for it. Nothing here depends on what it finds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tile_runtime.jit_kernels.profiler import do_bench

_OPTIONS = (
    "warmup", "rep", "grad_to_none", "quantiles", "fast_flush", "return_mode", "backend",
    "_n_warmup", "_n_repeat", "device", "cache_size", "early_stop_baseline",
)  # fmt: skip


def timed(function: Callable[..., object], *arguments: Any, **named: Any) -> Any:
    """`do_bench`; some scripts give it the arguments of the function behind it."""
    options = {name: named.pop(name) for name in _OPTIONS if name in named}
    if named or not all(isinstance(x, int | float) for x in arguments):
        function, arguments = partial(function, *arguments, **named), ()
    return do_bench(function, *arguments, **options)
