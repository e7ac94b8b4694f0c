"""Compile, cache and run tile kernels: `jit`, `compile`, kernel objects, the simulator.

Each folder is a room, and the docstring of its `__init__.py` describes it. tests/test_layering.py
defines which room may import which. From below: `options`, `simulator`, `cache`, `launcher`,
`devices`; `jit_kernels` and `source_kernels`; `tuning`, `host_npu`, `scripts`; `puzzles` and
`tools`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tile_runtime.cache.kernel_cache import (
        clear_cache,
        disable_cache,
        enable_cache,
        get_cache_dir,
        set_cache_dir,
    )
    from tile_runtime.jit_kernels.jit_compile import compile, jit
    from tile_runtime.jit_kernels.kernel import JITKernel
    from tile_runtime.jit_kernels.profiler import do_bench
    from tile_runtime.options.pass_configs import PassConfigKey
    from tile_runtime.ranks.processes import ProcessRanks, init_ranks
    from tile_runtime.ranks.simulated import Ranks
    from tile_runtime.ranks.symmetric_tensor import SymmetricTensor
    from tile_runtime.simulator.simulation_error import Fault, SimulationError
    from tile_runtime.simulator.task_times import gain_over, task_times
    from tile_runtime.source_kernels.simulate import SimulationResult, simulate
    from tile_runtime.tools.report.perf_report import perf_report
    from tile_runtime.tuning.autotuner import AutoTuner, autotune, set_autotune_inputs
    from tile_runtime.tuning.in_step import tune_ranks

__version__ = "0.1.0"

# Resolved when first used: a script that only clears the cache need not wait for torch.
_HOME = {
    "AutoTuner": "tuning.autotuner",
    "Fault": "simulator.simulation_error",
    "JITKernel": "jit_kernels.kernel",
    "PassConfigKey": "options.pass_configs",
    "ProcessRanks": "ranks.processes",
    "Ranks": "ranks.simulated",
    "SimulationError": "simulator.simulation_error",
    "SimulationResult": "source_kernels.simulate",
    "SymmetricTensor": "ranks.symmetric_tensor",
    "autotune": "tuning.autotuner",
    "clear_cache": "cache.kernel_cache",
    "compile": "jit_kernels.jit_compile",
    "disable_cache": "cache.kernel_cache",
    "do_bench": "jit_kernels.profiler",
    "enable_cache": "cache.kernel_cache",
    "gain_over": "simulator.task_times",
    "init_ranks": "ranks.processes",
    "get_cache_dir": "cache.kernel_cache",
    "jit": "jit_kernels.jit_compile",
    "perf_report": "tools.report.perf_report",
    "set_autotune_inputs": "tuning.autotuner",
    "set_cache_dir": "cache.kernel_cache",
    "simulate": "source_kernels.simulate",
    "tune_ranks": "tuning.in_step",
    "task_times": "simulator.task_times",
}


def __getattr__(name: str) -> Any:
    if name == "cache":  # scripts say `cache.clear_cache()`
        return import_module("tile_runtime.cache")
    if name in _HOME:
        return getattr(import_module(f"tile_runtime.{_HOME[name]}"), name)
    raise AttributeError(f"module 'tile_runtime' has no attribute {name!r}")


__all__ = [
    "AutoTuner",
    "Fault",
    "JITKernel",
    "PassConfigKey",
    "ProcessRanks",
    "Ranks",
    "SimulationError",
    "SimulationResult",
    "SymmetricTensor",
    "autotune",
    "clear_cache",
    "compile",
    "disable_cache",
    "do_bench",
    "enable_cache",
    "gain_over",
    "get_cache_dir",
    "init_ranks",
    "jit",
    "perf_report",
    "set_autotune_inputs",
    "set_cache_dir",
    "simulate",
    "task_times",
    "tune_ranks",
]
