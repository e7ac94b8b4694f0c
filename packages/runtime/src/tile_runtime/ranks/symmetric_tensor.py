"""Tensors that every rank has an instance of, all of one shape, which the others reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from tile_ir import CallError

# Elements between two words of `signals`: each has a cache line of 64 bytes to itself.
WORDS_APART = 16


@dataclass(frozen=True, slots=True, eq=False)
class SymmetricTensor:
    """The instances of all ranks that this process reaches. `t[r]` is that of rank `r`; where ranks
    are processes that share no memory, that of rank `alone` and no other."""

    name: str
    instances: tuple[torch.Tensor, ...]
    alone: int | None = None

    def __getitem__(self, rank: int) -> torch.Tensor:
        if self.alone not in (None, rank):
            message = f"`{self.name}` of rank {rank} lies in another process, and rank {self.alone}"
            message += " has only its own: these ranks share no memory"
            raise CallError("ranks", message, hint="let that rank send it: torch.distributed")
        return self.instances[rank]

    def __len__(self) -> int:
        return len(self.instances)

    def __iter__(self) -> Iterator[torch.Tensor]:
        return (self[rank] for rank in range(len(self)))

    @property
    def shape(self) -> torch.Size:
        """Of one instance."""
        return self.instances[0].shape

    @property
    def dtype(self) -> torch.dtype:
        return self.instances[0].dtype

    @property
    def bytes(self) -> int:
        """Of one instance."""
        return self.instances[0].numel() * self.instances[0].element_size()

    def all(self) -> torch.Tensor:
        """A copy of all instances, stacked by rank."""
        return torch.stack(tuple(self))

    def fill(self, values: torch.Tensor) -> SymmetricTensor:
        """Give each instance its part of `values`, stacked by rank. Raises CallError where the
        shapes differ."""
        expected = (len(self.instances), *self.shape)
        if tuple(values.shape) != expected:
            found = tuple(values.shape)
            message = f"`{self.name}` takes values of shape {expected}, found {found}"
            raise CallError("call-shape", message, hint="give each rank its part, stacked")
        for instance, part in zip(self, values, strict=True):
            instance.copy_(part)
        return self
