"""The memory of every open buffer, from all demands on it: a fixpoint over the graph of buffers and
the demands that join them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import field

from tile_ir import Buffer, Func, Memory, Target
from tile_ir.quick_dataclasses import dataclass
from tile_passes.analysis.memory_demands import Demand, choices, demands, is_open
from tile_passes.graphs import nx

Memories = frozenset[Memory]


@dataclass(frozen=True, slots=True)
class Choice:
    """Where a buffer lies and the demand that left no other memory, if one did."""

    buffer: Buffer
    memory: Memory
    reason: Demand | None


@dataclass(frozen=True, slots=True)
class Clash:
    """A demand that what came before it can not meet: the memories each of its buffers had left,
    and the earlier demands that had taken the others away."""

    demand: Demand
    left: tuple[Memories, ...]
    earlier: tuple[Demand, ...]


@dataclass(slots=True)
class _State:
    """The choices left to each buffer, and the demands that took the others away."""

    left: dict[Buffer, Memories]
    because: dict[tuple[Buffer, Memory], Demand] = field(default_factory=dict)
    reason: dict[Buffer, Demand] = field(default_factory=dict)

    def copy(self) -> _State:
        return _State(dict(self.left), dict(self.because), dict(self.reason))


def demand_graph(found: Iterable[Demand]) -> nx.Graph:
    """Buffers and demands as nodes; an edge says in which role a buffer stands in a demand."""
    graph = nx.Graph()
    for demand in found:
        for buffer, role in zip(demand.buffers, demand.roles, strict=True):
            graph.add_edge(buffer, demand, role=role)
    return graph


def choose_memories(func: Func, target: Target) -> tuple[Choice, ...] | Clash:
    """The memory of each open buffer, in the order of their allocation, or why there is none.

    Demands take memories away until nothing changes; operands of operations come first, copies
    carry on from there. Where several memories are left, `_preference` says which is tried first.
    """
    found = demands(func, target)
    graph = demand_graph(found)
    opened = [a.buffer for a in func.launch.allocs if is_open(a.buffer)]
    state = _State({n: choices(n) for n in graph if isinstance(n, Buffer)})
    state.left.update((b, choices(b)) for b in opened)
    clash = _propagate(graph, state, sorted(found, key=lambda d: len(d.buffers)))
    if clash is not None:
        return clash
    for buffer in opened:
        if len(state.left[buffer]) > 1:
            state = _decided(graph, state, buffer)
    return tuple(Choice(b, next(iter(state.left[b])), state.reason.get(b)) for b in opened)


def _propagate(graph: nx.Graph, state: _State, due: Iterable[Demand]) -> Clash | None:
    """Take away what the demands rule out, and what that rules out in turn."""
    waiting = deque(due)
    while waiting:
        demand = waiting.popleft()
        before = tuple(state.left[b] for b in demand.buffers)
        met = [m for m in demand.allowed if all(a in b for a, b in zip(m, before, strict=True))]
        if not met:
            return _clash(state, demand, before)
        for position, buffer in enumerate(demand.buffers):
            left = frozenset(memories[position] for memories in met)
            if left == before[position]:
                continue
            for memory in before[position] - left:
                state.because[buffer, memory] = demand
            state.left[buffer] = left
            if len(left) == 1:
                state.reason[buffer] = demand
            waiting.extend(d for d in graph[buffer] if d is not demand and len(d.buffers) > 1)
    return None


def _clash(state: _State, demand: Demand, before: tuple[Memories, ...]) -> Clash:
    """The demands to name: for each buffer the one that took away what this one needs."""
    earlier: list[Demand] = []
    for buffer in demand.buffers:
        wanted = sorted(demand.of(buffer) & choices(buffer), key=lambda m: m.value)
        takers = [state.because[buffer, m] for m in wanted if (buffer, m) in state.because]
        earlier.extend([d for d in takers if d is not demand][:1])
    return Clash(demand, before, tuple(dict.fromkeys(earlier)))


def _decided(graph: nx.Graph, state: _State, buffer: Buffer) -> _State:
    """The state with one memory for the buffer: the first preferred one that clashes with
    nothing."""
    for memory in sorted(state.left[buffer], key=_preference(graph, buffer).__getitem__):
        trial = state.copy()
        trial.left[buffer] = frozenset({memory})
        if buffer not in graph or _propagate(graph, trial, graph[buffer]) is None:
            return trial
    raise AssertionError("some memory is left for every buffer")


def _preference(graph: nx.Graph, buffer: Buffer) -> Mapping[Memory, int]:
    """docs/language/rules.md#open-memories: a buffer that is only copied lies in ub, except that a
    fragment is an accumulator unless T.Parallel computes it."""
    computed = buffer in graph and any(d.computes for d in graph[buffer])
    accumulates = buffer.memory is Memory.FRAGMENT and not computed
    first = (Memory.L0C, Memory.UB) if accumulates else (Memory.UB,)
    order = dict.fromkeys((*first, *Memory))
    return {memory: rank for rank, memory in enumerate(order)}
