"""Rows about planning memory and ordering pipes: what they are worth, and how long they take."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from bench.order_quality import example_times, left_to_compiler
from bench.row import RUNS, Examples, Row, exactly, summary
from bench.straight_kernel import loop_nest, straight_kernel
from tile_ir import DEFAULT_TARGET, Func, KernelError, Memory, Target
from tile_passes import PASSES, PIPELINE, apply_passes, run_passes
from tile_passes.analysis.memory_use import memory_bound, memory_max_live, memory_peak


def order_quality(examples: Examples) -> list[Row]:
    """Modelled times of the examples ordered by hand, automatically, and by set and wait back to
    back before each consumer."""
    rows: list[Row] = []
    found = example_times(examples.folder)
    for name, times in found.items():
        by_hand = times.by_hand
        if by_hand is not None:
            rows.append(exactly(f"{name}: by hand", by_hand, "us"))
        rows.append(exactly(f"{name}: automatic", times.automatic, "us"))
        rows.append(exactly(f"{name}: back to back", times.back_to_back, "us"))
        if by_hand is not None:
            limit = 1.03 if name == "03_gemm_intrinsic" else None
            ratio = times.automatic / by_hand
            rows.append(exactly(f"{name}: automatic against by hand", ratio, "times", limit))
        name = f"{name}: automatic against back to back"
        rows.append(exactly(name, times.ratio, "times", 1.0))
    ratios = [times.ratio for times in found.values()]
    median, low, high = statistics.median(ratios), min(ratios), max(ratios)
    name = "automatic against back to back, all examples"
    return [*rows, Row(name, median, low, high, "times", len(ratios), 0.8)]


def order_scale(examples: Examples) -> list[Row]:
    """Time of the processor for `plan_memory` and `insert_sync` together: straight lines of
    operations, and flash attention with its flags taken out."""
    rows = []
    seconds, doubled = _in_turns(
        [partial(_both, f) for f in (straight_kernel(2000), straight_kernel(4000))]
    )
    name = "plan_memory and insert_sync"
    rows.append(summary(f"{name}, 2000 operations in a row", seconds, "s", 0.6))
    ratios = [b / a for a, b in zip(seconds, doubled, strict=True)]
    ratio = min(doubled) / min(seconds)
    rows.append(
        Row(
            f"{name}, 4000 operations against 2000",
            ratio, min(ratios), max(ratios), "times", len(ratios), 2.4,
        )
    )  # fmt: skip
    for example, kernel in examples.kernels():
        planned = _before_planning(left_to_compiler(kernel.prim_func), kernel.target)
        limit = 25 if example.startswith("05_") else None
        (seconds,) = _in_turns([partial(_both, planned)])
        rows.append(summary(f"{example}: {name}", seconds, "ms", limit))
    return rows


def order_of_slots(examples: Examples) -> list[Row]:
    """The same for 500 operations in two loops that take eight slots in turn: 4,000 instances,
    as each slot has dependences of its own."""
    (seconds,) = _in_turns([partial(_both, loop_nest(500, 8))], RUNS)
    name = "plan_memory and insert_sync, loop nest of 4000 instances with 8 slots"
    return [summary(name, seconds, "s", 2)]


def memory_peaks(examples: Examples) -> list[Row]:
    """Bytes the examples take where memory is as small as what is alive at one time asks for,
    against those bytes; and side by side, where there is room."""
    rows = []
    for name, kernel in examples.kernels():
        func = _before_planning(left_to_compiler(kernel.prim_func), kernel.target)
        for memory, ratio in peaks_to_bounds(func, kernel.target).items():
            rows.append(
                exactly(f"{name}: {memory.value} against what is alive", ratio, "times", 1.0)
            )
    return rows


def peaks_to_bounds(func: Func, target: Target) -> dict[Memory, float]:
    """The bytes a function takes of each memory it uses where there is as little as possible, as a
    multiple of those alive at one time. Less than one where buffers share bytes while both are
    needed; how far that can go, `memory_bound` says, but there may be no plan of just that size."""
    most = memory_max_live(func, target)
    try:
        plan = apply_passes(func, ["plan_memory"], _limited(target, memory_bound(func, target)))
    except KernelError:
        plan = apply_passes(func, ["plan_memory"], _limited(target, most))
    peaks = memory_peak(plan)
    return {memory: peaks[memory] / alive for memory, alive in most.items() if alive}


def _limited(target: Target, capacity: dict[Memory, int]) -> Target:
    return replace(target, capacity={**target.capacity, **capacity})


def _in_turns(runs: Sequence[Callable[[], object]], rounds: int = 2 * RUNS) -> list[list[float]]:
    """Seconds of the processor for each of several runs, taken in turns."""
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for run, taken in zip(runs, seconds, strict=True):
            start = time.process_time()
            run()
            taken.append(time.process_time() - start)
    return seconds


def _before_planning(func: Func, target: Target) -> Func:
    names = [p.name for p in PIPELINE]
    return run_passes(func, PIPELINE[: names.index("plan_memory")], target).func


def _both(func: Func) -> Func:
    """The passes themselves, without the checks of the driver."""
    plan, order = PASSES["plan_memory"], PASSES["insert_sync"]
    assert plan.gives is not None, "it gives addresses"
    return order.run(plan.run(func, DEFAULT_TARGET).at_phase(plan.gives), DEFAULT_TARGET)
