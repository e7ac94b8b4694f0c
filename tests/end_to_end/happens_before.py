"""What a run leaves unordered, decided from its list of instructions alone.

An opinion of its own on every synchronisation: a graph of begins and completions instead of the
simulator's vector clocks, with the rules of strict level (nothing is ordered that no instruction
orders). Only whole operands are compared, by their first and last byte.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

S = 0
WORK, SET, WAIT, BARRIER, BARRIER_ALL, CROSS_SET, CROSS_WAIT = range(7)
Node = tuple[str, int]


class _Block:
    """The graph of one block: ("begin", i) and ("complete", i) for every event i."""

    def __init__(self, events: Any) -> None:
        self.events = events
        self.graph = nx.DiGraph()
        self.problems: list[str] = []
        self.sets: dict[tuple[int, int, int, int], list[int]] = defaultdict(list)
        self.cross: dict[tuple[int, int], list[list[int]]] = defaultdict(list)
        self.halves: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._find_cross_sets()
        for core in range(3):
            self._add_core(core)
        for key, left in self.sets.items():
            if left:
                self.problems.append(f"flag {key} is left set")

    def _of(self, core: int) -> list[int]:
        return [i for i, e in enumerate(self.events) if e["core"] == core]

    def _find_cross_sets(self) -> None:
        """Tokens of every counter in program order: mode 2 between the AIC and both AIVs."""
        for core in range(3):
            for i in self._of(core):
                event = self.events[i]
                if event["kind"] != CROSS_SET:
                    continue
                flag = int(event["flag"])
                if core == 0:
                    self.cross[1, flag].append([i])
                    self.cross[2, flag].append([i])
                else:
                    self.halves[core, flag].append(i)
        for (core, flag), first in list(self.halves.items()):
            if core == 1:
                second = self.halves.get((2, flag), [])
                self.cross[0, flag] = [list(pair) for pair in zip(first, second, strict=False)]

    def _add_core(self, core: int) -> None:  # noqa: C901
        edge = self.graph.add_edge
        control: Node | None = None  # the last event the scalar unit waited for
        begun: dict[int, Node] = {}  # the last begin on each pipe
        completed: dict[int, list[Node]] = defaultdict(list)  # completions of each pipe
        waits: dict[int, int] = defaultdict(int)
        for i in self._of(core):
            event = self.events[i]
            pipe, kind = int(event["pipe"]), int(event["kind"])
            begin, complete = ("begin", i), ("complete", i)
            edge(begin, complete)
            if control is not None:
                edge(control, begin)
            if kind == BARRIER_ALL:
                for nodes in completed.values():
                    for node in nodes:
                        edge(node, begin)
                control = complete
            elif kind == CROSS_WAIT:
                flag = int(event["flag"])
                tokens = self.cross[core, flag]
                if waits[flag] < len(tokens):
                    for source in tokens[waits[flag]]:
                        edge(("complete", source), begin)
                else:
                    self.problems.append(f"cross-core flag {flag} is never set")
                waits[flag] += 1
                control = complete
            elif kind in (SET, CROSS_SET):
                for node in completed[pipe]:
                    edge(node, begin)
                if kind == SET:
                    key = (core, pipe, int(event["source"]), int(event["flag"]))
                    if self.sets[key]:
                        self.problems.append(f"flag {key} is set twice")
                    self.sets[key].append(i)
            else:
                if pipe in begun:
                    edge(begun[pipe], begin)
                begun[pipe] = begin
                if kind == WAIT:
                    key = (core, int(event["source"]), pipe, int(event["flag"]))
                    if self.sets[key]:
                        edge(("complete", self.sets[key].pop()), begin)
                    else:
                        self.problems.append(f"flag {key} is not set")
                    if pipe == S:
                        control = complete
                elif kind == BARRIER:
                    for node in completed[pipe]:
                        edge(node, begin)
                else:
                    if pipe == S:  # the scalar unit does one thing after the other
                        for node in completed[S][-1:]:
                            edge(node, begin)
                    completed[pipe].append(complete)
        for flag, tokens in ((f, t) for (c, f), t in self.cross.items() if c == core):
            if len(tokens) > waits[flag]:
                self.problems.append(f"cross-core flag {flag} is left set")

    def before(self) -> dict[int, int]:
        """For every event, the set of events that are complete when it begins, as bits."""
        reached: dict[Node, int] = {}
        for node in nx.topological_sort(self.graph):
            bits = 0
            for earlier in self.graph.predecessors(node):
                bits |= reached[earlier]
                if earlier[0] == "complete":
                    bits |= 1 << earlier[1]
            reached[node] = bits
        return {i: reached[kind, i] for kind, i in reached if kind == "begin"}


def first_problem(timeline: Any) -> str | None:
    """What is wrong with the order of a run's instructions, or None."""
    return next(problems(timeline), None)


def problems(timeline: Any) -> Iterator[str]:
    """Everything that is wrong with the order of a run's instructions."""
    for block in sorted(set(timeline.events["block"].tolist())):
        chosen = [i for i, e in enumerate(timeline.events) if e["block"] == block]
        number = {event: i for i, event in enumerate(chosen)}
        events = timeline.events[chosen]
        graph = _Block(events)
        yield from graph.problems
        if not nx.is_directed_acyclic_graph(graph.graph):
            yield "cores wait for each other"
            continue
        before = graph.before()
        chosen_accesses = timeline.accesses[np.isin(timeline.accesses["event"], chosen)]
        by_memory: dict[tuple[int, int], list[tuple[int, int, int, int]]] = defaultdict(list)
        for a in chosen_accesses:
            i = number[int(a["event"])]
            memory = int(a["memory"])
            core = int(events[i]["core"]) if memory else 0
            by_memory[memory, core].append((int(a["begin"]), int(a["end"]), i, int(a["kind"])))
        for entries in by_memory.values():
            entries.sort()
            for at, (_, end, i, kind) in enumerate(entries):
                for begin, _, j, other in entries[at + 1 :]:
                    if begin >= end:
                        break
                    harmless = kind == other and kind != 1
                    if (
                        i != j
                        and not harmless
                        and not before[i] >> j & 1
                        and not before[j] >> i & 1
                    ):
                        yield f"lines {events[i]['line']} and {events[j]['line']}"
