"""Prepare the arguments for the ranks of a launch: tensors as storage, the rest as numbers.

The instances of a symmetric tensor are one storage, rank after rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tile_ir.expr import Buffer, Load, Var
from tile_ir.interpreter.scalars import evaluate
from tile_ir.interpreter.storage import Storage, fresh
from tile_ir.layout.geometry import element_count
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Func
from tile_ir.ranks import RANK, RANKS, STEP, is_symmetric
from tile_ir.regions import Region


@dataclass(frozen=True, slots=True)
class RankArguments:
    """The arguments of one rank."""

    tensors: dict[Buffer, Storage]
    constants: dict[Var, Any]


def _room(buffer: Buffer, constants: dict[Var, Any]) -> Storage:
    """The storage of a kernel's own memory in gm, all ones like on-chip memory."""
    count = evaluate(element_count(Region.whole(buffer)), constants, _no_load)
    raw = fresh(-(-count * buffer.dtype.bits // 8))
    return Storage(raw.view(np.dtype(buffer.dtype.storage)), buffer.dtype, buffer.name)


def _no_load(load: Load) -> Any:
    raise AssertionError(f"a size reads no buffer: {load}")


@dataclass(frozen=True, slots=True)
class LaunchArguments:
    """The arguments of all ranks, and the `stacks` that hold the instances of symmetric tensors."""

    given: Sequence[Sequence[Any]]
    ranks: list[RankArguments] = field(default_factory=list)
    stacks: dict[int, Any] = field(default_factory=dict)

    @staticmethod
    def of(func: Func, given: Sequence[Sequence[Any]]) -> LaunchArguments:
        found = LaunchArguments(given)
        for position, param in enumerate(func.params):
            if isinstance(param, Buffer) and is_symmetric(param) and len(given) > 1:
                found.stacks[position] = np.stack([own[position] for own in given])
        found.ranks.extend(found._bound(func, rank) for rank in range(len(given)))
        for room in (a.buffer for a in func.launch.allocs if is_symmetric(a.buffer)):
            shared = _room(room, found.ranks[0].constants)
            shared.elements[...] = 0
            for each in found.ranks:
                each.tensors[room] = shared
        return found

    def _bound(self, func: Func, rank: int) -> RankArguments:
        tensors: dict[Buffer, Storage] = {}
        constants: dict[Var, Any] = {RANK: rank, RANKS: len(self.given), STEP: 1}
        values = zip(func.params, self.given[rank], strict=True)
        for position, (param, value) in enumerate(values):
            if not isinstance(param, Buffer):
                constants[param] = value
                continue
            elements = self.stacks.get(position, value)
            flat = elements.reshape(-1)
            assert flat.base is not None or flat is elements, "tensor arguments are contiguous"
            tensors[param] = Storage(flat, param.dtype, param.name)
            shape = param.shape[1:] if is_symmetric(param) else param.shape
            for dim, size in zip(shape, value.shape, strict=False):
                if isinstance(dim, Var):
                    constants.setdefault(dim, size)
        for alloc in func.launch.allocs:
            if alloc.buffer.memory is Memory.GM and alloc.alias_of is None:
                tensors[alloc.buffer] = _room(alloc.buffer, constants)
        return RankArguments(tensors, constants)

    def write_back(self) -> None:
        """Copy the contents of the instances back to each rank."""
        for position, stack in self.stacks.items():
            for own, elements in zip(self.given, stack, strict=True):
                own[position][...] = elements
