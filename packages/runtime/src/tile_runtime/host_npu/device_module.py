"""`torch.npu`: one device, whose properties are those of the chip kernels are simulated for."""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import torch

from tile_ir import Memory, Target, did_you_mean
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.host_npu.graphs import NPUGraph, graph
from tile_runtime.host_npu.streams import Event, HostStream, current_stream, stream


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """The properties of a device that `get_device_properties` returns."""

    name: str
    cube_core_num: int
    vector_core_num: int
    total_memory: int
    L2_cache_size: int
    multi_processor_count: int
    # The compute capability of a GPU that scripts ask for: that of the plainest path.
    major: int = 8
    minor: int = 0
    # What a block may hold of a GPU's shared memory: here ub.
    shared_memory_per_block: int = 0
    shared_memory_per_block_optin: int = 0
    shared_memory_per_multiprocessor: int = 0


class StandIn(ModuleType):
    """A module of which only what scripts use exists; anything else is an error by name."""

    def __init__(self, name: str, doc: str) -> None:
        super().__init__(name, doc)
        self.__spec__ = ModuleSpec(name, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        hint = did_you_mean(name, vars(self))
        raise AttributeError(
            f"{self.__name__}.{name} is not provided where there is no NPU"
            f"{f'; {hint}' if hint else ''}"
        )


def npu_module(target: Target) -> ModuleType:
    """The module `torch.npu` for a chip."""
    gigabytes, shared = target.hbm_gigabytes or 64, target.capacity[Memory.UB]
    properties = DeviceProperties(
        target.name, target.cube_cores, target.vector_cores, gigabytes << 30, target.l2_bytes,
        target.cube_cores, shared_memory_per_block=shared, shared_memory_per_block_optin=shared,
        shared_memory_per_multiprocessor=shared,
    )  # fmt: skip
    module = StandIn("torch.npu", "The NPU of a machine that has none.")
    vars(module).update(
        Event=Event,
        NPUGraph=NPUGraph,
        Stream=HostStream,
        config=_settings(),
        current_device=lambda: 0,
        current_stream=current_stream,
        default_stream=current_stream,
        device=_Device,
        device_count=lambda: 1,
        empty_cache=_nothing,
        get_device_name=lambda device=None: target.name,
        get_device_properties=lambda device=None: properties,
        get_rng_state=lambda device=None: torch.get_rng_state(),
        graph=graph,
        init=_nothing,
        is_available=lambda: True,
        is_bf16_supported=lambda: True,
        is_initialized=lambda: True,
        manual_seed=torch.manual_seed,
        manual_seed_all=_nothing,
        max_memory_allocated=_no_bytes,
        max_memory_reserved=_no_bytes,
        mem_get_info=lambda device=None: (gigabytes << 30, gigabytes << 30),
        memory_allocated=_no_bytes,
        memory_reserved=_no_bytes,
        memory_summary=lambda device=None, abbreviated=False: "",
        reset_peak_memory_stats=_nothing,
        seed_all=_nothing,
        set_device=_nothing,
        set_rng_state=lambda state, device=None: torch.set_rng_state(state),
        set_stream=_nothing,
        stream=stream,
        synchronize=_nothing,
        # torch asks these when it seeds all devices.
        _is_in_bad_fork=lambda: False,
    )
    return module


def _settings() -> ModuleType:
    """`torch.npu.config`: what scripts set there is about formats of the device, and kept."""
    module = StandIn("torch.npu.config", "Settings of an NPU; they change nothing on the host.")
    vars(module).update(allow_internal_format=False)
    return module


class _Device:
    """`with torch.npu.device(0):` changes nothing."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def __enter__(self) -> None: ...

    def __exit__(self, *error: Any) -> None: ...


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing: a call returns after all its work, and memory is the host's."""


def _no_bytes(device: Any = None) -> int:
    return 0
