"""Ranks that are processes of a group of torch.distributed, each of which simulates one device."""

from __future__ import annotations

import mmap
import os
import socket
from typing import Any

import torch

from tile_ir import CallError, TileError
from tile_ir.switches import SWITCHES, switch
from tile_runtime.devices.choose_device import current_device
from tile_runtime.devices.simulator_device import SimulatorLaunch
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.launcher.bind_arguments import Bound
from tile_runtime.ranks.group_ranks import GroupRanks, same_everywhere
from tile_runtime.ranks.living_ranks import locked
from tile_runtime.ranks.rank_group import RankGroup, rank_group
from tile_runtime.ranks.result import findings_of, result_of
from tile_runtime.ranks.shared_heap import MOST_RANKS, PAGE, SharedHeap, mapped, new_file
from tile_runtime.simulator.simulation_error import SimulationError

HEAP_BYTES = 256 << 20


class ProcessRanks(GroupRanks):
    """This process as one of the ranks of a group, with a simulated device.

    A rank that ends with an error inside `with init_ranks() as world:` ends the others, with its
    message. Races between ranks are looked for where one process has all of them:
    `tile_runtime.Ranks`.
    """

    def __init__(self, group: RankGroup, heap: SharedHeap) -> None:
        super().__init__(group)
        self.heap = heap
        group.failure = lambda: heap.failure

    def __enter__(self) -> ProcessRanks:
        return self

    @property
    def transport(self) -> str:
        """How stores get to other ranks: by "shared" memory, or by "messages"."""
        return "shared" if self.heap.messages is None else "messages"

    @property
    def _alone(self) -> int | None:
        return None if self.heap.messages is None else self.rank

    @property
    def topology(self) -> str:
        return f"simulated, {self.transport}"

    def wait_for_device(self) -> None:
        """Nothing: a launch returns when it has ended."""

    def give_up(self, message: str) -> None:
        self.heap.give_up(message)

    def close(self, error: BaseException | None = None) -> None:
        if error is not None:
            self.heap.give_up(f"{type(error).__name__}: {error}")
        self.heap.close()

    def _instances(self, count: int, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
        offset = self.heap.take(count * dtype.itemsize)
        return tuple(
            torch.frombuffer(memory, dtype=dtype, count=count, offset=offset)
            if count
            else torch.empty(0, dtype=dtype)
            for memory in self.heap.maps
        )

    def _check_target(self, kernel: JITKernel) -> None:
        if not isinstance(kernel.launcher, SimulatorLaunch):
            message = f"`{kernel.prim_func.name}` is for an NPU, and ranks are simulated here"
            raise CallError("ranks", message, hint="set TILE_TARGET=sim")

    def run(self, launch: SimulatorLaunch, call: Bound) -> None:
        """Run a call on this rank; raises as `launch`."""
        rank, *words = self.heap.words
        self.result = None
        try:
            launch.run_process(call, self.made, (self.count, rank, *words))
        except TileError as error:
            self._raise_failure()
            if isinstance(error, SimulationError):
                self.result = result_of(self.count, findings_of(error), own=rank)
            self.heap.give_up(str(error))
            raise
        if self.heap.messages is not None and self.heap.given_up is not None:
            self._raise_failure()
            raise CallError("rank-failed", f"rank {self.rank} failed: {self.heap.message}")
        self.result = result_of(self.count, launch.warnings(), own=rank)

    def recover(self) -> None:
        failure, self.group.failure = self.group.failure, lambda: None
        try:
            self.heap.settle()
            self.group.barrier()
            self.heap.forget_failure()
            self.group.barrier()
        finally:
            self.group.failure = failure
        super().recover()

    def _raise_failure(self) -> None:
        text = self.heap.failure
        if text is not None:
            raise CallError("rank-failed", text) from None


def init_ranks(
    group: Any = None,
    heap_bytes: int = HEAP_BYTES,
    transport: str | None = None,
    backend: str | None = None,
) -> GroupRanks:
    """This process as a rank of a group of torch.distributed, the default one if none is given; a
    collective act. Where there is no group yet, torchrun's processes form one with `backend`:
    "gloo", or on NPUs "hccl".

    `transport`, of simulated devices, is "shared" for memory that all processes map, "messages"
    where they share none, and "auto" for the best that their hosts allow; if none is given, the
    switch `transport` decides. Raises CallError where there is no group, and where the arguments of
    the ranks differ.
    """
    wanted = transport if transport is not None else str(switch("transport"))
    if wanted not in SWITCHES["transport"].choices:
        choices = ", ".join(SWITCHES["transport"].choices)
        raise CallError("ranks", f"init_ranks(transport={wanted!r}): expected one of {choices}")
    simulated = current_device().name == "simulator"
    if not simulated:
        # Needs packages that only machines with an NPU have.
        from tile_runtime.ranks.device_ranks import choose_local_device, device_ranks

        choose_local_device()
    members = rank_group(group, backend)
    same_everywhere(members, "init_ranks", (heap_bytes, wanted, simulated))
    return (
        _simulated(members, heap_bytes, wanted) if simulated else device_ranks(members, heap_bytes)
    )


def _simulated(members: RankGroup, heap_bytes: int, wanted: str) -> ProcessRanks:
    if members.count > MOST_RANKS:
        raise CallError(
            "ranks", f"{members.count} processes, but at most {MOST_RANKS} are simulated"
        )
    hosts = members.gathered(socket.gethostname())
    one_host = len(set(hosts)) == 1
    if wanted == "shared" and not one_host:
        message = (
            f"ranks on {len(set(hosts))} hosts share no memory: {', '.join(sorted(set(hosts)))}"
        )
        raise CallError("ranks", message, hint='leave out transport="shared"')
    if wanted == "messages" or not one_host:
        maps = [mmap.mmap(-1, heap_bytes + PAGE) for _ in range(members.count)]
        heap = SharedHeap(members.rank, maps, heap_bytes)
        heap.connect(members, one_host)
        return ProcessRanks(members, heap)
    return ProcessRanks(members, _mapped_heap(members, heap_bytes))


def _mapped_heap(members: RankGroup, size: int) -> SharedHeap:
    path = new_file(size)
    try:
        own = locked(path)
        paths = members.gathered(path)
        files = [
            own if rank == members.rank else os.open(other, os.O_RDWR | os.O_CLOEXEC)
            for rank, other in enumerate(paths)
        ]
        maps = [mapped(file, size) for file in files]
        members.barrier()
    finally:
        path.unlink()
    heap = SharedHeap(members.rank, maps, size)
    heap.watch(files)
    return heap
