"""Configurations of a kernel that is tuned: compiled side by side, checked and timed one by one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from tile_ir import KernelError, TileError
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.profiler import assert_mostly_close, do_bench
from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType

Config: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """How candidates are checked and timed; names and defaults are those of
    docs/rules/calls.md#tuning."""

    warmup: float = 25
    rep: float = 100
    supply_type: TensorSupplyType = TensorSupplyType.Auto
    ref_prog: Callable[..., Any] | None = None
    supply_prog: Callable[..., Any] | None = None
    rtol: float = 1e-2
    atol: float = 1e-2
    max_mismatched_ratio: float = 0.01
    skip_check: bool = False
    manual_check_prog: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration that was tried: its kernel and time, or why there is none."""

    config: Config
    kernel: JITKernel | None = None
    latency: float | None = None
    problem: Exception | None = None


def compile_all(
    factory: Callable[..., JITKernel],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    configs: list[Config],
) -> list[Candidate]:
    """Every configuration compiled, several at a time; in the order given."""

    def compiled(config: Config) -> Candidate:
        try:
            return Candidate(config, factory(*args, **kwargs, **config))
        except (TileError, AssertionError) as error:  # the factory may refuse sizes by asserting
            return Candidate(config, problem=error)

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        # Switches are held by the context of a thread.
        jobs = [pool.submit(copy_context().run, compiled, config) for config in configs]
        return [job.result() for job in jobs]


def measure(candidate: Candidate, inputs: list[Any], options: TuneOptions) -> Candidate:
    """Check and time one kernel."""
    kernel = candidate.kernel
    assert kernel is not None, "only compiled ones are measured"
    try:
        if options.ref_prog is not None and not options.skip_check:
            found, expected = kernel(*copies(inputs)), options.ref_prog(*copies(inputs))
            if options.manual_check_prog is not None:
                options.manual_check_prog(found, expected)
            else:
                assert_mostly_close(
                    found, expected, options.rtol, options.atol, options.max_mismatched_ratio
                )
        ours = copies(inputs)
        latency = do_bench(lambda: kernel(*ours), warmup=options.warmup, rep=options.rep)
    except (TileError, AssertionError) as error:
        return replace(candidate, problem=error)
    return replace(candidate, latency=latency)


def nothing_usable(factory: Callable[..., JITKernel], tried: list[Candidate]) -> TileError:
    """Why there is no best kernel: the reason all configurations share, or that of each."""
    first = tried[0].problem
    if isinstance(first, TileError) and {getattr(c.problem, "slug", "") for c in tried} == {
        first.slug
    }:
        return first
    reasons = (
        f"  {c.config}: {(str(c.problem) or 'refused by an assertion').splitlines()[0]}"
        for c in tried
    )
    return KernelError(
        "autotune-failed",
        f"no configuration of `{getattr(factory, '__name__', 'the factory')}` can be used:\n"
        + "\n".join(reasons),
    )


def copies(inputs: Sequence[Any]) -> list[Any]:
    """The same values in new memory: a kernel may write its arguments."""
    return [x.clone() if hasattr(x, "clone") else x for x in inputs]
