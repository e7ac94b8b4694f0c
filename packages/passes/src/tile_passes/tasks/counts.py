"""Write signals between the blocks of a launch, and waits for them, by words in gm.

The blocks of a group add 1 to one word, by stores from ub; a wait for the group polls that word
alone. If tasks leave no 32 bytes of ub for the 1, each block sets a word of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

from tile_ir import (
    INT32,
    OPS,
    Alloc,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Loc,
    LoopKind,
    Memory,
    Op,
    Operand,
    Region,
    Slice,
    Stmt,
    Target,
    Var,
    binary,
    buffer_bytes,
    ceildiv,
    simplify,
)
from tile_passes.tasks.edges import TaskEdge

# Elements of a line of gm: no two words lie in one, as cores write back whole lines.
LINE = 16
# The smallest part of ub, in elements and in bytes.
_ELEMENTS, _BYTES = 8, 32


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """The words of a launch: a row for each task and size of its groups, with the blocks of the
    task that others wait for. Additions go through `line`; None if there is no room for it."""

    words: Buffer
    rows: Mapping[tuple[int, int], range]
    line: Alloc | None
    loc: Loc

    @staticmethod
    def of(
        edges: Sequence[TaskEdge], wide: Sequence[int], blocks: int, names: tuple[str, str],
        allocs: Sequence[Alloc], target: Target, loc: Loc,
    ) -> TaskCounts:  # fmt: skip
        """The words that these edges need, of so many blocks; `wide` has those of each task."""
        line = _line_of(names[1], allocs, target, loc)
        heard: dict[tuple[int, int], set[int]] = {}
        for edge in edges:
            row = edge.first, 1 if line is None else edge.window.size
            heard.setdefault(row, set()).update(_heard(edge, row[1], wide))
        rows = {row: range(min(of), max(of) + 1) for row, of in sorted(heard.items())}
        shape = (Const(len(rows)), Const(blocks), Const(LINE))
        return TaskCounts(Buffer(names[0], Memory.GM, INT32, shape, loc), rows, line, loc)

    def tell(self, task: int, block: Expr, wide: int, number: Expr) -> Iterator[Stmt]:
        """Say that a block, of so many, is done with a task, by its place there, in a step with a
        number."""
        for (first, size), heard in self.rows.items():
            if first != task:
                continue
            word = self._word((first, size), simplify(block // size))
            if self.line is None:
                told = operation("signal", self.loc, word, number, "set")
            else:
                through = Region(self.line.buffer, (Slice(Const(0), Const(_ELEMENTS)),))
                told = operation("signal", self.loc, word, Const(1), through, "add")
            asked = [block >= heard.start] if heard.start > 0 else []
            asked += [block < heard.stop] if heard.stop < wide else []
            if asked:
                yield If(reduce(partial(binary, "and"), asked), (told,), (), self.loc)
            else:
                yield told

    def look(
        self, edge: TaskEdge, wide: tuple[int, int], block: Expr, number: Expr,
        share: tuple[Expr, int], turn: Var,
    ) -> Stmt:  # fmt: skip
        """Wait for the blocks in the window of a block, by its place in the later task, up to the
        number of a step. `wide` are the two tasks, in blocks of the launch. The cores of a block
        share the words: `share` is the number of this core, and of all."""
        window = edge.window if self.line is not None else replace(edge.window, size=1)
        tellers, numbers = wide
        first, behind = window.groups(block, numbers, tellers)
        own, cores = share
        group = simplify(first + turn * cores + own)
        word = self._word((edge.first, window.size), group)
        told = simplify(window.count(group, tellers) * number)
        iterations = simplify(ceildiv(behind - first - own, Const(cores)))
        look = operation("wait_signal", self.loc, word, told, "ge")
        return For(turn, Const(0), iterations, LoopKind.SERIAL, (look,), self.loc)

    def _word(self, row: tuple[int, int], group: Expr) -> Region:
        places = (Const(list(self.rows).index(row)), group, Const(0))
        return Region(self.words, tuple(Slice(place, Const(1)) for place in places))


def _heard(edge: TaskEdge, size: int, wide: Sequence[int]) -> Iterator[int]:
    """The blocks of a task in the groups that blocks of a later one look at."""
    tellers = wide[edge.first]
    for number in range(wide[edge.then]):
        for group in {block // size for block in edge.window.blocks(number, tellers)}:
            yield from range(group * size, min(tellers, (group + 1) * size))


def _line_of(name: str, allocs: Sequence[Alloc], target: Target, loc: Loc) -> Alloc | None:
    """A line of ub behind all that tasks have there."""
    address = target.capacity[Memory.UB] - _BYTES
    taken = (a for a in allocs if a.buffer.memory is Memory.UB and a.address is not None)
    if any((a.address or 0) + buffer_bytes(a) > address for a in taken):
        return None
    return Alloc(Buffer(name, Memory.UB, INT32, (Const(_ELEMENTS),), loc), loc, address)


def operation(name: str, loc: Loc, *given: Expr | Region | str) -> Op:
    """The operation; parts that are not given have their defaults."""
    opdef = OPS[name]
    operands: list[Operand] = [g for g in given if not isinstance(g, str)]
    operands += [None] * (len(opdef.operands) - len(operands))
    attrs: list[Any] = [g for g in given if isinstance(g, str)]
    attrs += [a.default for a in opdef.attrs[len(attrs) :]]
    return Op(opdef, tuple(operands), tuple(attrs), loc)
