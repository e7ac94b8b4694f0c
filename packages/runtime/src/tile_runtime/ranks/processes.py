"""Ranks that are processes of a group of torch.distributed, each of which simulates one device."""

from __future__ import annotations

import mmap
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from types import TracebackType
from typing import Any

import torch

from tile_ir import CallError, TileError
from tile_ir.switches import SWITCHES, switch
from tile_runtime.devices.simulator_device import SimulatorLaunch
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.launcher.bind_arguments import Bound
from tile_runtime.ranks.rank_group import RankGroup, rank_group
from tile_runtime.ranks.shared_heap import MOST_RANKS, PAGE, SharedHeap, mapped, new_file
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

    group: RankGroup
    heap: SharedHeap
    made: list[SymmetricTensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.group.failure = lambda: self.heap.failure

    @property
    def rank(self) -> int:
        """The number of this process."""
        return self.group.rank

    @property
    def count(self) -> int:
        """How many there are."""
        return self.group.count

    @property
    def transport(self) -> str:
        """How stores get to other ranks: by "shared" memory, or by "messages"."""
        return "shared" if self.heap.messages is None else "messages"

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
        _same_everywhere(self.group, f"allocation {len(self.made)}", (sizes, str(dtype)))
        count = prod(sizes)
        offset = self.heap.take(count * dtype.itemsize)
        instances = tuple(
            torch.frombuffer(memory, dtype=dtype, count=count, offset=offset).reshape(sizes)
            if count
            else torch.empty(sizes, dtype=dtype)
            for memory in self.heap.maps
        )
        alone = None if self.heap.messages is None else self.rank
        tensor = SymmetricTensor(f"symmetric_{len(self.made)}", instances, alone)
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
        call = kernel.binder.bind(tuple(self._own(a) for a in arguments))
        self.run(launcher, call)
        return call.outputs[0] if len(call.outputs) == 1 else call.outputs

    def run(self, launch: SimulatorLaunch, call: Bound) -> None:
        """Run a call on this rank; raises as `launch`."""
        rank, *words = self.heap.words
        try:
            launch.run_process(call, self.made, (self.count, rank, *words))
        except TileError as error:
            self._raise_failure()
            self.heap.give_up(str(error))
            raise
        if self.heap.messages is not None and self.heap.given_up is not None:
            self._raise_failure()
            raise CallError("rank-failed", f"rank {self.rank} failed: {self.heap.message}")

    def barrier(self) -> None:
        """Wait for all processes."""
        self.group.barrier()

    def _own(self, argument: Any) -> Any:
        if not isinstance(argument, SymmetricTensor):
            return argument
        if argument not in self.made:
            message = f"`{argument.name}` was made by others than these ranks"
            raise CallError("ranks", message, hint="make it by the `empty` of what init_ranks gave")
        return argument[self.rank]

    def _raise_failure(self) -> None:
        text = self.heap.failure
        if text is not None:
            raise CallError("rank-failed", text) from None


def _same_everywhere(group: RankGroup, what: str, asked: tuple[Any, ...]) -> None:
    """Raises CallError `asymmetric` where another rank asks for something else."""
    found = group.gathered((what, asked))
    for rank, (other, other_asked) in enumerate(found):
        if (other, other_asked) != (what, asked):
            message = f"{what} is {asked} here, and {other} is {other_asked} on rank {rank}"
            hint = "all ranks allocate the same tensors in the same order"
            raise CallError("asymmetric", message, hint=hint)


def init_ranks(
    group: Any = None,
    heap_bytes: int = HEAP_BYTES,
    transport: str | None = None,
    backend: str | None = None,
) -> ProcessRanks:
    """This process as a rank of a group of torch.distributed, the default one if none is given; a
    collective act. Where there is no group yet, `backend` makes one of what torchrun has started.

    `transport` is "shared" for memory that all processes map, "messages" where they share none, and
    "auto" for what their hosts allow; if none is given, the switch `transport` decides. Raises
    CallError where there is no group, and where ranks ask for different things.
    """
    wanted = transport if transport is not None else str(switch("transport"))
    if wanted not in SWITCHES["transport"].choices:
        choices = ", ".join(SWITCHES["transport"].choices)
        raise CallError("ranks", f"init_ranks(transport={wanted!r}): expected one of {choices}")
    members = rank_group(group, backend)
    if members.count > MOST_RANKS:
        raise CallError(
            "ranks", f"{members.count} processes, but at most {MOST_RANKS} are simulated"
        )
    _same_everywhere(members, "init_ranks", (heap_bytes, wanted))
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
        maps = [mapped(other, size) for other in members.gathered(path)]
        members.barrier()
    finally:
        path.unlink()
    return SharedHeap(members.rank, maps, size)
