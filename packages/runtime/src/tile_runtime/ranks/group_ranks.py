"""This process as one of the ranks of a group: what simulated devices and NPUs have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod
from types import TracebackType
from typing import Any

import torch

from tile_ir import CallError
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.launcher.bind_arguments import Bound
from tile_runtime.launcher.kept_words import KeptWords
from tile_runtime.launcher.this_rank import as_rank
from tile_runtime.ranks.rank_group import RankGroup
from tile_runtime.ranks.result import RankRun
from tile_runtime.ranks.symmetric_tensor import WORDS_APART, SymmetricTensor

ALIGNED = 256


class SymmetricSpace:
    """Bytes of symmetric memory that are given away from the first to the last, the same ones on
    every rank."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._used = 0

    def take(self, count: int) -> int:
        """Where so many bytes more begin. Raises CallError where there are not so many left."""
        begin = -(-self._used // ALIGNED) * ALIGNED
        if begin + count > self.size:
            message = (
                f"the symmetric heap has {self.size - begin} bytes left, {count} are requested"
            )
            raise CallError("ranks", message, hint="give init_ranks a larger heap_bytes")
        self._used = begin + count
        return begin


class GroupRanks(ABC):
    """This process as rank `rank` of `count`. Symmetric tensors are made by all together, in one
    order and of equal sizes; `launch` runs a kernel on the device of this rank. `result` has the
    findings of the latest launch on this rank, None on an NPU, which reports none."""

    def __init__(self, group: RankGroup) -> None:
        self.group = group
        self.result: RankRun | None = None
        self._kept: dict[KeptWords, KeptWords] = {}
        self.made: list[SymmetricTensor] = []
        self._words: list[SymmetricTensor] = []

    @property
    def rank(self) -> int:
        """The number of this process."""
        return self.group.rank

    @property
    def count(self) -> int:
        """How many there are."""
        return self.group.count

    def __enter__(self) -> GroupRanks:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(error)
        self.made.clear()

    @abstractmethod
    def close(self, error: BaseException | None = None) -> None:
        """End it, with the error that ends this rank if there is one."""

    @abstractmethod
    def _instances(self, count: int, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
        """New memory of so many elements, by rank; of those that are not reached, any."""

    def launch(self, kernel: JITKernel, *arguments: Any) -> Any:
        """Run a kernel on this rank; all ranks have to. An NPU gets it in the current stream, and
        nothing waits for it. Raises what a call of the kernel raises, and CallError `rank-failed`
        where another simulated rank has given up."""
        self._check_target(kernel)
        with as_rank(self):
            return kernel(*map(self.own, arguments))

    @abstractmethod
    def _check_target(self, kernel: JITKernel) -> None:
        """Raise CallError for a kernel that is not compiled for the device of this rank."""

    @abstractmethod
    def run(self, launch: Any, call: Bound) -> None:
        """Run a call of a kernel that the device of this rank has loaded."""

    def kept(self, alone: KeptWords) -> KeptWords:
        """Return the kept memory of a kernel on these ranks, from that of one device."""
        return self._kept.setdefault(alone, alone.on_ranks(self._own_zeros))

    def _own_zeros(
        self, shape: int | Sequence[int], dtype: torch.dtype
    ) -> tuple[torch.Tensor, ...]:
        return (self.zeros(shape, dtype)[self.rank],)

    @property
    def _alone(self) -> int | None:
        """This rank, where it does not reach the tensors of others."""
        return self.rank

    @property
    @abstractmethod
    def topology(self) -> str:
        """How the ranks reach each other, as far as times depend on it."""

    @abstractmethod
    def wait_for_device(self) -> None:
        """Wait for all work that this process has queued on its device."""

    @abstractmethod
    def give_up(self, message: str) -> None:
        """Let all others end that wait for this rank in a kernel."""

    def recover(self) -> None:
        """Go on after launches that failed, once all ranks know; a collective act. Words of
        `signals` are 0 again, and what kernels keep between calls begins anew."""
        self.barrier()
        for kept in self._kept.values():
            kept.begin_anew()
        self.reset_signals()

    def settled_vote(self, own: Any) -> list[Any]:
        """Gather a value of each rank, even after failures; a collective act."""
        failure, self.group.failure = self.group.failure, lambda: None
        try:
            return self.group.gathered(own)
        finally:
            self.group.failure = failure

    def empty(self, shape: int | Sequence[int], dtype: torch.dtype) -> SymmetricTensor:
        """A symmetric tensor of arbitrary values; a collective act. Raises CallError `asymmetric`
        where another rank allocates a different one."""
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        same_everywhere(self.group, f"allocation {len(self.made)}", (sizes, str(dtype)))
        instances = tuple(t.reshape(sizes) for t in self._instances(prod(sizes), dtype))
        tensor = SymmetricTensor(f"symmetric_{len(self.made)}", instances, self._alone)
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
        made = self.zeros((n, WORDS_APART), torch.int32)
        self._words.append(made)
        return made

    def reset_signals(self) -> None:
        """Set all words of `signals` back to 0, between two launches; a collective act."""
        self.barrier()
        for words in self._words:
            words[self.rank].zero_()
        self.barrier()

    def barrier(self) -> None:
        """Wait for all processes, and for what they have launched."""
        self.wait_for_device()
        self.group.barrier()

    def own(self, argument: Any) -> Any:
        """An argument as a kernel takes it here. Raises CallError for a tensor of others."""
        if not isinstance(argument, SymmetricTensor):
            return argument
        if argument not in self.made:
            message = f"`{argument.name}` was made by others than these ranks"
            raise CallError("ranks", message, hint="make it by the `empty` of what init_ranks gave")
        return argument[self.rank]


def same_everywhere(group: RankGroup, what: str, asked: tuple[Any, ...]) -> None:
    """Raises CallError `asymmetric` where the calls of the ranks differ; a collective act."""
    found = group.gathered((what, asked))
    for rank, (other, other_asked) in enumerate(found):
        if (other, other_asked) != (what, asked):
            message = f"{what} is {asked} here, and {other} is {other_asked} on rank {rank}"
            hint = "all ranks do the same in the same order"
            raise CallError("asymmetric", message, hint=hint)
