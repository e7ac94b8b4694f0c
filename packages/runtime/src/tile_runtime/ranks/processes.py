"""Ranks that are processes of a group of torch.distributed, each of which simulates one device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from types import TracebackType
from typing import Any

import torch
import torch.distributed as dist

from tile_ir import CallError, TileError
from tile_runtime.devices.simulator_device import SimulatorLaunch
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.launcher.kept_words import KeptWords
from tile_runtime.ranks.shared_heap import MOST_RANKS, SharedHeap, mapped, new_file
from tile_runtime.ranks.symmetric_tensor import WORDS_APART, SymmetricTensor

HEAP_BYTES = 256 << 20


@dataclass(eq=False)
class ProcessRanks:
    """This process as one of the ranks of a group.

    Symmetric tensors are made by all ranks together, in one order and of equal sizes. `launch` runs
    a kernel on the device of this rank and returns what it returns. A rank that ends with an error
    inside `with init_ranks() as world:` ends the others, with its message. Races between ranks are
    looked for where one process has all of them: `tile_runtime.Ranks`.
    """

    group: Any
    rank: int
    count: int
    heap: SharedHeap
    made: list[SymmetricTensor] = field(default_factory=list)
    kept: dict[JITKernel, KeptWords] = field(default_factory=dict, repr=False)

    def __enter__(self) -> ProcessRanks:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.heap.give_up(f"{type(error).__name__}: {error}")
        self.made.clear()
        self.heap.close()

    def empty(self, shape: int | Sequence[int], dtype: torch.dtype) -> SymmetricTensor:
        """A symmetric tensor that holds nothing in particular; a collective act. Raises CallError
        `asymmetric` where another rank asks for another one."""
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        self._same_everywhere((len(self.made), sizes, str(dtype)))
        count = prod(sizes)
        offset = self.heap.take(count * dtype.itemsize)
        instances = tuple(
            torch.frombuffer(memory, dtype=dtype, count=count, offset=offset).reshape(sizes)
            if count
            else torch.empty(sizes, dtype=dtype)
            for memory in self.heap.maps
        )
        tensor = SymmetricTensor(f"symmetric_{len(self.made)}", instances)
        self.made.append(tensor)
        return tensor

    def zeros(self, shape: int | Sequence[int], dtype: torch.dtype) -> SymmetricTensor:
        """A symmetric tensor of zeros; a collective act."""
        made = self.empty(shape, dtype)
        made[self.rank].zero_()
        self.barrier()
        return made

    def of(self, value: torch.Tensor) -> SymmetricTensor:
        """A symmetric tensor with this value on this rank; a collective act."""
        made = self.empty(value.shape, value.dtype)
        made[self.rank].copy_(value)
        self.barrier()
        return made

    def signals(self, n: int) -> SymmetricTensor:
        """Words for a parameter `T.Signals(n)`, all 0; a collective act."""
        return self.zeros((n, WORDS_APART), torch.int32)

    def launch(self, kernel: JITKernel, *arguments: Any) -> Any:
        """Run a kernel on this rank; all ranks have to. Raises what a call of the kernel raises,
        and CallError `rank-failed` where another rank has given up."""
        launcher = kernel.launcher
        if not isinstance(launcher, SimulatorLaunch):
            message = f"`{kernel.prim_func.name}` is for an NPU, and ranks are simulated here"
            raise CallError("ranks", message, hint="set TILE_TARGET=sim")
        own = tuple(a[self.rank] if isinstance(a, SymmetricTensor) else a for a in arguments)
        call = kernel.binder.bind(own)
        kept = self.kept.setdefault(kernel, kernel.kept_by(self._own_zeros))
        if kept:
            call = kept.next_call(call)
        rank, *words = self.heap.words
        try:
            launcher.run_process(call, self.made, (self.count, rank, *words))
        except TileError as error:
            other = self.heap.given_up
            if other is not None and other != self.rank:
                message = f"rank {other} failed: {self.heap.message}"
                raise CallError("rank-failed", message) from None
            self.heap.give_up(str(error))
            raise
        return call.outputs[0] if len(call.outputs) == 1 else call.outputs

    def _own_zeros(
        self, shape: int | Sequence[int], dtype: torch.dtype
    ) -> tuple[torch.Tensor, ...]:
        return (self.zeros(shape, dtype)[self.rank],)

    def barrier(self) -> None:
        """Wait for all processes."""
        dist.barrier(group=self.group)

    def _same_everywhere(self, asked: tuple[Any, ...]) -> None:
        found: list[Any] = [None] * self.count
        dist.all_gather_object(found, asked, group=self.group)
        for rank, other in enumerate(found):
            if other != asked:
                message = (
                    f"allocation {asked[0]} is {asked[1:]} here, and {other[1:]} on rank {rank}"
                )
                hint = "all ranks allocate the same tensors in the same order"
                raise CallError("asymmetric", message, hint=hint)


def init_ranks(group: Any = None, heap_bytes: int = HEAP_BYTES) -> ProcessRanks:
    """This process as a rank of a group of torch.distributed, the default one if none is given; a
    collective act. Raises CallError where there is no group."""
    if not (dist.is_available() and dist.is_initialized()):
        message = "there is no process group of torch.distributed"
        hint = "start with `torchrun --nproc-per-node R script.py`, whose script first calls "
        hint += '`torch.distributed.init_process_group("gloo")`'
        raise CallError("ranks", message, hint=hint)
    rank, count = dist.get_rank(group), dist.get_world_size(group)
    if count > MOST_RANKS:
        raise CallError("ranks", f"{count} processes, but at most {MOST_RANKS} are simulated")
    path = new_file(heap_bytes)
    paths: list[Any] = [None] * count
    try:
        dist.all_gather_object(paths, path, group=group)
        maps = [mapped(other, heap_bytes) for other in paths]
        dist.barrier(group=group)
    finally:
        path.unlink()
    return ProcessRanks(group, rank, count, SharedHeap(rank, maps, heap_bytes))
