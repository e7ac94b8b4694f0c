"""Compile, cache and run tile kernels: `jit`, `compile`, kernel objects, the simulator."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tile_runtime.cache import (
        clear_cache,
        disable_cache,
        enable_cache,
        get_cache_dir,
        set_cache_dir,
    )
    from tile_runtime.jit_compile import compile, jit
    from tile_runtime.kernel import JITKernel
    from tile_runtime.pass_configs import PassConfigKey
    from tile_runtime.simulation_error import Fault, SimulationError
    from tile_runtime.source_kernel.simulate import SimulationResult, simulate

__version__ = "0.1.0"

# Resolved when first used: a script that only clears the cache need not wait for torch.
_HOME = {
    "Fault": "simulation_error",
    "JITKernel": "kernel",
    "PassConfigKey": "pass_configs",
    "SimulationError": "simulation_error",
    "SimulationResult": "source_kernel.simulate",
    "clear_cache": "cache",
    "compile": "jit_compile",
    "disable_cache": "cache",
    "enable_cache": "cache",
    "get_cache_dir": "cache",
    "jit": "jit_compile",
    "set_cache_dir": "cache",
    "simulate": "source_kernel.simulate",
}


def __getattr__(name: str) -> Any:
    if name == "cache":  # scripts say `cache.clear_cache()`
        return import_module("tile_runtime.cache")
    if name in _HOME:
        return getattr(import_module(f"tile_runtime.{_HOME[name]}"), name)
    raise AttributeError(f"module 'tile_runtime' has no attribute {name!r}")


__all__ = [
    "Fault",
    "JITKernel",
    "PassConfigKey",
    "SimulationError",
    "SimulationResult",
    "clear_cache",
    "compile",
    "disable_cache",
    "enable_cache",
    "get_cache_dir",
    "jit",
    "set_cache_dir",
    "simulate",
]
