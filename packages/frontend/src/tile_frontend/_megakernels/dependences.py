"""Which task must come before which, by the tensors they read and write."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from tile_frontend._megakernels.calls import TaskCall
from tile_frontend._tracing.faults import Fault
from tile_ir import Buffer, Func, Memory, walk
from tile_ir.analysis import regions_of


@dataclass(frozen=True, slots=True)
class TaskUse:
    """The tensors of the megakernel that a task reads and writes."""

    reads: frozenset[str]
    writes: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.reads | self.writes


def uses_of(calls: Sequence[TaskCall]) -> list[TaskUse]:
    """The tensors that each task reads and writes."""
    found = []
    for call in calls:
        reads, writes = _used_parameters(call.func)
        names = call.tied()
        found.append(
            TaskUse(
                frozenset(name for param, name in names if param in reads),
                frozenset(name for param, name in names if param in writes),
            )
        )
    return found


def _used_parameters(func: Func) -> tuple[set[Buffer], set[Buffer]]:
    roots = {a.buffer: a.alias_of for a in func.launch.allocs if a.alias_of is not None}
    reads: set[Buffer] = set()
    writes: set[Buffer] = set()
    for stmt in walk(func.launch.body):
        for region, access, _, _ in regions_of(stmt):
            if region.memory is Memory.GM:
                tensor = roots.get(region.buffer) or region.buffer
                reads.update([tensor] if access.reads else [])
                writes.update([tensor] if access.writes else [])
    return reads, writes


def in_order(
    calls: Sequence[TaskCall],
    uses: Sequence[TaskUse],
    passed: Collection[str],
    given: Collection[tuple[int, int]] = (),
) -> tuple[list[int], Mapping[int, frozenset[int]]]:
    """Order the tasks: each comes after its predecessors, near to its place in the script; of the
    pairs `given` too, the second comes after the first. Also returns, for each task, all tasks that
    come before it in any order. Raises `task-cycle` where no
    order exists, and `task-region` for a tensor with a read whose writer is not certain."""
    needs: dict[int, set[int]] = {n: set() for n in range(len(calls))}
    for first, then in given:
        needs[then].add(first)
    late = _readers_of_later_writers(calls, uses, passed)
    for later, use in enumerate(uses):
        for earlier in range(later):
            other = uses[earlier]
            shared = (use.writes & other.all) | (use.reads & other.writes)
            for tensor in shared:
                first, second = (earlier, later)
                if tensor in other.reads and (earlier, tensor) in late:
                    first, second = later, earlier
                needs[second].add(first)
    order = _sorted(calls, needs, bool(given))
    before: dict[int, frozenset[int]] = {}
    for n in order:
        before[n] = frozenset(needs[n]).union(*(before[m] for m in needs[n]))
    return order, before


def _readers_of_later_writers(
    calls: Sequence[TaskCall], uses: Sequence[TaskUse], passed: Collection[str]
) -> set[tuple[int, str]]:
    """Tasks that read a tensor and stand before its only writer."""
    found: set[tuple[int, str]] = set()
    for tensor in {t for use in uses for t in use.writes if t not in passed}:
        writers = [n for n, use in enumerate(uses) if tensor in use.writes]
        for n in range(writers[0]):
            if tensor not in uses[n].reads:
                continue
            if len(writers) > 1:
                message = f"task `{calls[n].name}` reads `{tensor}`, which only later tasks write: "
                message += ", ".join(f"`{calls[w].name}`" for w in writers)
                raise Fault("task-region", message, "put the task behind the one it means")
            found.add((n, tensor))
    return found


def _sorted(calls: Sequence[TaskCall], needs: Mapping[int, set[int]], given: bool) -> list[int]:
    sorter = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError as error:
        names = " -> ".join(f"`{calls[n].name}`" for n in error.args[1])
        hint = "let one of them write another tensor"
        if given:
            hint += ", or list tasks of T.after in its order"
        raise Fault(
            "task-cycle", f"T.megakernel: tasks wait for each other: {names}", hint
        ) from None
    ready: list[int] = []
    order: list[int] = []
    while sorter.is_active():
        for n in sorter.get_ready():
            heapq.heappush(ready, n)
        n = heapq.heappop(ready)
        order.append(n)
        sorter.done(n)
    return order
