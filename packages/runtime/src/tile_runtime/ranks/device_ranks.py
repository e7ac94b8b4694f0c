"""Ranks that are processes with an NPU each, over the vendor's SHMEM library (package `shmem`).

Its device functions, which emitted kernels call, find the rank and the memory of the others in what
its `init` has left on the device: kernels get no table of their own. Nothing here has met a device.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch

from tile_ir import CallError
from tile_runtime.devices.simulator_device import SimulatorLaunch
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.launcher.bind_arguments import Bound
from tile_runtime.ranks.group_ranks import GroupRanks, SymmetricSpace
from tile_runtime.ranks.rank_group import RankGroup

# What the library keeps on its heap for itself, and the pages it counts in.
RESERVED = 32 << 20
PAGE = 2 << 20


class DeviceRanks(GroupRanks):
    """This process as one of the ranks of a group, with an NPU. `bases` is where the heap of each
    rank is seen from this one."""

    def __init__(self, group: RankGroup, shmem: Any, heap: torch.Tensor, bases: list[int]) -> None:
        super().__init__(group)
        self.bases = bases
        self._shmem = shmem
        self._heap: torch.Tensor | None = heap
        self._space = SymmetricSpace(heap.numel())

    def __enter__(self) -> DeviceRanks:
        return self

    @property
    def topology(self) -> str:
        return str(_npu().get_device_name())

    def close(self, error: BaseException | None = None) -> None:
        """Give the heap back and end the library, before the process group ends. A rank that ends
        with an error does not wait for the others."""
        heap, self._heap = self._heap, None
        if heap is None:
            return
        if error is None:
            self.barrier()
            self._shmem.aclshmem_free_tensor(heap)
        self._shmem.core.finalize()

    def _instances(self, count: int, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
        if self._heap is None:
            raise CallError("ranks", "these ranks have ended")
        bytes_wanted = count * dtype.itemsize
        begin = self._space.take(bytes_wanted)
        own = self._heap[begin : begin + bytes_wanted].view(dtype)
        return (own,) * self.count

    def wait_for_device(self) -> None:
        _npu().synchronize()

    def give_up(self, message: str) -> None:
        """Nothing: what waits on a device ends by the time limit of the driver."""

    def _check_target(self, kernel: JITKernel) -> None:
        if isinstance(kernel.launcher, SimulatorLaunch):
            message = f"`{kernel.prim_func.name}` is for the simulator, and these ranks are NPUs"
            raise CallError("ranks", message, hint="compile it with TILE_TARGET=npu")

    def run(self, launch: Any, call: Bound) -> None:
        """Put a call into the current stream of this rank, and do not wait."""
        launch(call)


def choose_local_device() -> None:
    """Let this process use the NPU that torchrun's LOCAL_RANK names."""
    npu = _npu()
    local = os.environ.get("LOCAL_RANK", "0")
    if not local.isdigit() or int(local) >= npu.device_count():
        message = f"LOCAL_RANK={local!r}, but {npu.device_count()} devices are visible"
        hint = "start as many processes as there are devices, or set ASCEND_RT_VISIBLE_DEVICES"
        raise CallError("ranks", message, hint=hint)
    npu.set_device(int(local))


def device_ranks(group: RankGroup, heap_bytes: int) -> DeviceRanks:
    """Start the library on this rank and take the heap from it; a collective act."""
    shmem = _library()
    _succeeds(shmem.set_conf_store_tls(False, ""), "set_conf_store_tls")
    unique = group.broadcast(shmem.core.get_unique_id() if group.rank == 0 else None)
    size = -(-heap_bytes // PAGE) * PAGE
    shmem.core.init(
        uid=unique,
        rank=group.rank,
        nranks=group.count,
        initializer_method="uid",
        mem_size=size + RESERVED,
    )
    heap = shmem.aclshmem_create_tensor([size], torch.uint8, _npu().current_device())
    bases = [int(shmem.aclshmem_ptr(heap.data_ptr(), pe)) for pe in range(group.count)]
    for pe, base in enumerate(bases):
        if base == 0:
            message = f"the memory of rank {pe} is not seen from rank {group.rank}"
            hint = "`npu-smi info -t topo` has to show HCCS between all devices"
            raise CallError("ranks", message, hint=hint)
    if shmem.get_ffts_config() == 0:
        message = "the runtime library has no address for barriers in kernels"
        raise CallError("ranks", message, hint="`tile-ascend doctor` looks at the driver and CANN")
    return DeviceRanks(group, shmem, heap, bases)


def _library() -> Any:
    hint = "install the vendor's SHMEM library and source its set_env.sh"
    if find_spec("shmem") is None:
        raise CallError("ranks", "the package shmem is not installed", hint=hint)
    try:
        return import_module("shmem")
    except (ImportError, OSError, RuntimeError) as error:
        message = f"the package shmem can not be imported: {error}"
        raise CallError("ranks", message, hint=hint) from None


def _succeeds(code: int, call: str) -> None:
    if code != 0:
        raise CallError("ranks", f"shmem.{call} returns {code}")


def _npu() -> Any:
    """`torch.npu`, which torch_npu adds."""
    return vars(torch)["npu"]
