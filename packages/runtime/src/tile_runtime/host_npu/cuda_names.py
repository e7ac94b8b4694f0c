"""`torch.cuda` for scripts of GPUs, where torch has none: it answers as `torch.npu` does, with the
capability of the plainest path."""

from __future__ import annotations

import functools
from types import FunctionType, ModuleType
from typing import Any

import torch

# Scripts choose by it between forms of a kernel; this one has no TMA, clusters or 8-bit floats.
_CAPABILITY = (8, 0)
# What scripts mark for tools that are not here.
_MARKS = {
    torch.cuda.profiler: ("start", "stop"),
    torch.cuda.nvtx: ("range_push", "range_pop", "range_start", "range_end", "mark"),
}


def _of_its_own(value: Any) -> Any:
    """A function that is no other one: torch.compile keeps a rule for each."""
    if not isinstance(value, FunctionType):
        return value
    return functools.wraps(value)(lambda *arguments, **named: value(*arguments, **named))


def lead_cuda_to(npu: ModuleType) -> None:
    """Let the names of `torch.cuda` be those of `torch.npu`, for good."""
    for name, value in vars(npu).items():
        if not name.startswith("_") and name not in ("config", "NPUGraph", "graph"):
            setattr(torch.cuda, name, _of_its_own(value))
    torch.cuda.CUDAGraph = npu.NPUGraph  # type: ignore[misc]
    torch.cuda.graph = npu.graph  # type: ignore[misc]
    torch.cuda.get_device_capability = lambda device=None: _CAPABILITY
    torch.cuda.is_current_stream_capturing = lambda: False
    torch.cuda.reset_max_memory_allocated = lambda device=None: None
    for module, names in _MARKS.items():
        for name in names:
            setattr(module, name, _mark)


def _mark(*arguments: Any, **named: Any) -> int:
    return 0
