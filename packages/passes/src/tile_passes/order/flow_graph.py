"""A section as a control-flow graph: basic blocks in one combination of residues each, and what may
follow what. Says nothing about order; what holds in it is found by `completion`."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tile_passes.order.tree import (
    Block,
    Branch,
    Instance,
    Leave,
    Order,
    Plain,
    Repeat,
    Residues,
    Tree,
    Work,
)


class Gap(NamedTuple):
    """A place where sync ops may stand: behind an item or before it, in the round that takes slot
    `turn` of what is buffered several times."""

    block: Block
    position: int
    behind: bool
    turn: int


class Existing(NamedTuple):
    """A flag or barrier of the user's."""

    order: Order
    residues: Residues


class Passed(NamedTuple):
    """An item that may touch memory or order it has been run, with all inside it."""

    block: Block
    position: int
    residues: Residues


class Enter(NamedTuple):
    """A loop begins, with a round of this residue."""

    loop: Repeat
    residue: int


@dataclass(frozen=True, slots=True)
class Exit:
    """A loop has ended; the next round would have had this residue."""

    loop: Repeat
    residue: int


class NextRound(NamedTuple):
    """The end of a round of a symmetric loop: from here on it is the round before."""

    loop: Repeat


@dataclass(frozen=True, slots=True)
class Break:
    """A loop is left from inside."""

    leave: Leave
    turn: int


Step: TypeAlias = "Gap | Instance | Existing | Passed | Enter | Exit | NextRound | Break"


@dataclass(eq=False, slots=True)
class BasicBlock:
    """Steps that are run one after another, and the blocks that may be next, by number."""

    number: int
    steps: list[Step] = field(default_factory=list)
    successors: list[int] = field(default_factory=list)


def control_flow(tree: Tree, symmetric: Container[Repeat]) -> list[BasicBlock]:
    """The basic blocks of a section in reverse postorder, the entry first. Of a symmetric loop one
    round stands for all."""
    builder = _Builder(symmetric)
    builder.block(tree.root, builder.new(), ())
    return builder.blocks


@dataclass(slots=True)
class _Builder:
    symmetric: Container[Repeat]
    blocks: list[BasicBlock] = field(default_factory=list)
    breaks: dict[Repeat, list[BasicBlock]] = field(default_factory=dict)

    def new(self, *before: BasicBlock) -> BasicBlock:
        found = BasicBlock(len(self.blocks))
        self.blocks.append(found)
        for each in before:
            each.successors.append(found.number)
        return found

    def block(self, block: Block, at: BasicBlock, residues: Residues) -> BasicBlock | None:
        """Where the control is behind the items of a block; None if it always breaks."""
        turn = residues[-1] if residues else 0
        for item in block.items:
            at.steps.append(Gap(block, item.position, False, turn))
            after: BasicBlock | None = at
            match item:
                case Work():
                    if (instance := item.instances.get(residues)) is not None:
                        at.steps.append(instance)
                case Order():
                    at.steps.append(Existing(item, residues))
                case Branch(taken=None):
                    sides = [
                        self.block(side, self.new(at), residues)
                        for side in (item.then, item.orelse)
                    ]
                    ends = [end for end in sides if end is not None]
                    after = self.new(*ends) if ends else None
                case Branch(taken=taken):
                    after = self.block(item.then if taken else item.orelse, at, residues)
                case Repeat(most=0):
                    pass
                case Repeat():
                    after = self.loop(item, at, residues)
                case Leave():
                    at.steps.append(Break(item, turn))
                    self.breaks.setdefault(item.loop, []).append(at)
                    after = None
            if after is None:
                return None
            at = after
            if not isinstance(item, Plain):
                at.steps.append(Passed(block, item.position, residues))
            at.steps.append(Gap(block, item.position, True, turn))
        at.steps.append(Gap(block, len(block.items), False, turn))
        return at

    def loop(self, loop: Repeat, before: BasicBlock, residues: Residues) -> BasicBlock:
        """Every residue has a copy of the body; the copies follow each other in turn."""
        if loop in self.symmetric:
            return self.one_round(loop, before, residues)
        entries: dict[int, BasicBlock] = {}
        exits: list[BasicBlock] = []
        for j in loop.entries:
            entries[j] = self.new(before)
            entries[j].steps.append(Enter(loop, j))
            if not loop.runs:
                exits.append(self.leaving(loop, j, entries[j]))
        heads: dict[int, BasicBlock] = {}
        ends: dict[int, BasicBlock | None] = {}
        for j in loop.turns:
            heads[j] = self.new(*[entries[j]] if j in entries else [])
            inside = (*residues, j) if loop.modulus > 1 else residues
            ends[j] = self.block(loop.body, heads[j], inside)
        for j, head in heads.items():
            last = ends.get((j - 1) % loop.modulus)
            if last is not None and (loop.wraps or j != loop.entries[0]):
                last.successors.append(head.number)
        for j, end in sorted(ends.items()):
            if end is not None and j in loop.ends:
                exits.append(self.leaving(loop, j + 1, end))
        return self.new(*exits, *self.breaks.pop(loop, []))

    def one_round(self, loop: Repeat, before: BasicBlock, residues: Residues) -> BasicBlock:
        entry = self.new(before)
        entry.steps.append(Enter(loop, 0))
        exits = [] if loop.runs else [self.leaving(loop, 0, entry)]
        head = self.new(entry)
        end = self.block(loop.body, head, (*residues, 0))
        if end is not None:
            end.steps.append(NextRound(loop))
            end.successors.append(head.number)
            exits.append(self.leaving(loop, 0, end))
        return self.new(*exits, *self.breaks.pop(loop, []))

    def leaving(self, loop: Repeat, residue: int, before: BasicBlock) -> BasicBlock:
        found = self.new(before)
        found.steps.append(Exit(loop, residue))
        return found
