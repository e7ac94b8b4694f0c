"""A section as `completion` needs it, whatever the plan: its control flow, what its statements
change, and where the ops of a plan would stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TypeAlias

from tile_ir import Effect, Op, Pipe, pipe_of
from tile_passes.order.channels import Do, PlanGap
from tile_passes.order.flow_graph import (
    BasicBlock,
    Break,
    Enter,
    Existing,
    Exit,
    Gap,
    NextRound,
    Passed,
    control_flow,
)
from tile_passes.order.relations import Relations
from tile_passes.order.symmetric_loops import Successors, symmetric_loops
from tile_passes.order.transfer import (
    ACCESS,
    BARRIER,
    ENTER,
    NEXT_ROUND,
    PASSED,
    SET,
    WAIT,
    Change,
)
from tile_passes.order.tree import EarlierRun, Instance, Repeat, Tree

# The number of a basic block, and that of a step in it.
Place: TypeAlias = tuple[int, int]
# Changes of one basic block, each with the number of its step.
Changes: TypeAlias = list[tuple[int, Change]]


@dataclass(frozen=True, slots=True)
class Flow:
    """`index` numbers the pipes, `own` has the instances of each, `relations` those of instances.

    `watched` are the changes of each basic block under any plan, `changes` the same without those
    behind items, which few need. What a plan adds stands at the places of its `gaps`, with the turn
    there; at the `ends` of loops, with the residue of the round that is first or would be next; and
    at `breaks`. Of the loops in `symmetric` there is one round.
    """

    tree: Tree
    conflicts: Sequence[int]
    blocks: Sequence[BasicBlock]
    index: Mapping[Pipe, int]
    own: Sequence[int]
    changes: Sequence[Changes]
    watched: Sequence[Changes]
    gaps: Mapping[PlanGap, Sequence[tuple[Place, int]]]
    ends: Mapping[Repeat, Sequence[tuple[Place, int, Do]]]
    breaks: Sequence[tuple[Place, Break]]
    relations: Relations
    symmetric: Mapping[Repeat, Successors]


def flow_of(tree: Tree, conflicts: Sequence[int]) -> Flow:
    """The flow of a section in which each instance must come after those of `conflicts`."""
    index = {pipe: i for i, pipe in enumerate(tree.pipes)}
    own = [tree.masks[pipe] for pipe in tree.pipes]
    awaited = _awaited(tree, conflicts)
    runs: dict[Repeat, list[EarlierRun]] = {}
    for run in tree.runs:
        runs.setdefault(run.loop, []).append(run)
    symmetric = symmetric_loops(tree, conflicts)
    blocks = control_flow(tree, symmetric)
    watched: list[Changes] = [[] for _ in blocks]
    gaps: dict[PlanGap, list[tuple[Place, int]]] = defaultdict(list)
    ends: dict[Repeat, list[tuple[Place, int, Do]]] = defaultdict(list)
    breaks: list[tuple[Place, Break]] = []
    existing = _Existing(index)
    for block in blocks:
        found = watched[block.number]
        for number, step in enumerate(block.steps):
            place = block.number, number
            match step:
                case Instance(bit=bit):
                    pipe, must = index[step.item.pipe], conflicts[bit]
                    if step.item.in_order or step.item.pipe is Pipe.S:
                        must &= ~own[pipe]
                    if must or awaited >> bit & 1:
                        found.append((number, (ACCESS, step, pipe, must, 1 << bit)))
                case Gap(block=around, position=position, behind=behind, turn=turn):
                    gaps[around, position, behind].append((place, turn))
                case Existing():
                    found.extend((number, change) for change in existing.changes(step))
                case Passed() | NextRound():
                    found.append((number, _passed(step)))
                case Enter(loop=loop, residue=first):
                    if loop in runs:
                        found.append((number, (ENTER, runs[loop], 0, 0, 0)))
                    ends[loop].append((place, first, Do.SET))
                case Exit(loop=loop, residue=first):
                    ends[loop].append((place, first, Do.WAIT))
                case Break():
                    breaks.append((place, step))
    changes = [[c for c in found if c[1][0] != PASSED] for found in watched]
    places = gaps, ends, breaks
    relations = Relations(tree)
    return Flow(
        tree, conflicts, blocks, index, own, changes, watched, *places, relations, symmetric
    )


def _passed(step: Passed | NextRound) -> Change:
    match step:
        case Passed(block=block, position=position, residues=residues):
            return PASSED, (block, position, residues), 0, 0, 0
        case NextRound(loop=loop):
            return NEXT_ROUND, loop, 0, 0, 0


def _awaited(tree: Tree, conflicts: Sequence[int]) -> int:
    """What somebody waits for: of the rest nobody needs to know whether it is complete."""
    awaited = reduce(or_, conflicts, 0)
    for run in tree.runs:
        awaited |= (awaited >> run.bit & 1) << run.instance.bit
    return awaited


class _Existing:
    """Changes by flags and barriers of the user, whose flags are numbered by pipes and event id."""

    def __init__(self, index: Mapping[Pipe, int]) -> None:
        self.index = index
        self.flags: dict[tuple[int, int, int], int] = {}

    def changes(self, step: Existing) -> Iterator[Change]:
        op = step.order.stmt
        assert isinstance(op, Op), "flags and barriers are operations"
        match op.opdef.effect:
            case Effect.BARRIER | Effect.SYNC_ALL:
                pipe = pipe_of(op)
                if pipe is Pipe.ALL:
                    yield BARRIER, None, -1, 0, 0
                elif pipe in self.index:
                    yield BARRIER, None, self.index[pipe], 0, 0
            case Effect.SET_FLAG | Effect.WAIT_FLAG as effect:
                event = step.order.ids[step.residues]
                if event is None:
                    return
                source, target = (self.index[Pipe(op.attr(e))] for e in ("src_pipe", "dst_pipe"))
                key = self.flags.setdefault((source, target, event), ~len(self.flags))
                if effect is Effect.SET_FLAG:
                    yield SET, None, source, key, 0
                else:
                    yield WAIT, None, target, key, 0
