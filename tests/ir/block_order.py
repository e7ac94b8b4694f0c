"""The order rules of a block as a graph, for one concrete run of its cores: a second opinion on
what `check_sync` says of the order between them.

Nodes are moments: an instruction is issued, it starts, its work is complete, a signal is out. Two
accesses are in order if the end of one reaches the start of the other.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from tile_ir import Core, Effect, Func, Memory, Op, Section
from tile_ir.analysis.accesses import element
from tile_ir.expr import Expr, Load, Var
from tile_ir.interpreter.scalars import evaluate
from tile_ir.machine import Pipe
from tile_ir.nodes import Body, Break, For, If, Let, Region, Stmt, Store
from tile_ir.opdef import pipe_of
from tile_ir.traversal import loads

PIPES = [p for p in Pipe if p is not Pipe.ALL]
LIMIT = 15


class _Left(Exception):
    pass


@dataclass(frozen=True)
class Event:
    """An operation or scalar access as it runs: what it touches, byte by byte, and the id it names."""

    stmt: Stmt
    kind: Effect
    pipe: Pipe
    touched: tuple[tuple[Any, str], ...] = ()
    number: int = 0
    at: tuple[int, ...] = ()


class Trace:
    """What one core does, in the order of its text."""

    def __init__(self, values: Mapping[Var, Any]) -> None:
        self.values: dict[Var, Any] = dict(values)
        self.events: list[Event] = []
        self.at: tuple[int, ...] = ()

    def value(self, expr: Expr) -> Any:
        def load(e: Load) -> Any:
            return 0

        return evaluate(expr, self.values, load)

    def body(self, body: Body) -> None:
        for stmt in body:
            self.stmt(stmt)

    def stmt(self, stmt: Stmt) -> None:
        touched = [(element(x.buffer, x.indices), "r") for x in loads(stmt)]
        if isinstance(stmt, Store):
            touched.append((element(stmt.buffer, stmt.indices), "w"))
        self.work(stmt, Pipe.S, touched)
        match stmt:
            case Op():
                self.op(stmt)
            case Let(var=var, value=value):
                self.values[var] = self.value(value)
            case If():
                self.body(stmt.then if self.value(stmt.condition) else stmt.orelse)
            case For():
                outside = self.at
                for i in range(self.value(stmt.start), self.value(stmt.stop)):
                    self.values[stmt.var], self.at = i, (*outside, i)
                    try:
                        self.body(stmt.body)
                    except _Left:
                        break
                self.at = outside
            case Break():
                raise _Left

    def work(self, stmt: Stmt, pipe: Pipe, touched: list[tuple[Region, str]]) -> None:
        found = tuple(
            (byte, kind)
            for region, kind in touched
            if region.memory is Memory.GM
            for byte in self.bytes(region)
        )
        if found:
            self.events.append(Event(stmt, Effect.DATA, pipe, found, at=self.at))

    def op(self, op: Op) -> None:
        effect = op.opdef.effect
        if effect is Effect.DATA:
            touched = []
            for i, operand in enumerate(op.operands):
                if isinstance(operand, Region):
                    atomic = op.opdef.atomic and operand.memory is Memory.GM
                    writes = op.opdef.operand_def(i).access.writes
                    touched.append((operand, "a" if atomic else "w" if writes else "r"))
            self.work(op, pipe_of(op), touched)
            return
        number = self.value(op.operands[0]) if op.operands else 0  # type: ignore[arg-type]
        pipe = Pipe(op.attr("pipe")) if effect is Effect.SET_CROSS_FLAG else pipe_of(op)
        self.events.append(Event(op, effect, pipe, number=number, at=self.at))

    def bytes(self, region: Region) -> Iterator[Any]:
        shape = region.buffer.static_shape()
        assert shape is not None
        along = []
        for s in region.dims:
            start = self.value(s.offset)
            along.append(range(start, start + self.value(s.extent) * s.stride, s.stride))
        for at in itertools.product(*along):
            offset = 0
            for i, n in zip(at, shape, strict=True):
                offset = offset * n + i
            yield region.buffer, offset


class Graph:
    """All moments of all cores."""

    def __init__(self) -> None:
        self.after: dict[int, set[int]] = {}
        self.works: list[tuple[int, Event, int, int]] = []
        self.problems: set[str] = set()
        self.fired: dict[Any, list[int]] = defaultdict(list)
        self.waited: dict[Any, list[int]] = defaultdict(list)
        self.meetings: dict[int, list[tuple[int, int]]] = defaultdict(list)

    def node(self, *before: int) -> int:
        self.after[len(self.after)] = set(before)
        return len(self.after) - 1

    def core(self, core: int, events: list[Event]) -> None:
        """The queues of a core: what is issued starts behind what was issued to its pipe before."""
        issued = self.node()
        queue = {p: self.node(issued) for p in PIPES}
        ends: dict[Pipe, list[int]] = {p: [] for p in PIPES}
        flags: dict[Any, int] = {}
        for e in events:
            issued = self.node(issued)
            match e.kind:
                case Effect.DATA:
                    queue[e.pipe] = start = self.node(queue[e.pipe], issued)
                    end = self.node(start)
                    ends[e.pipe].append(end)
                    self.works.append((core, e, start, end))
                case Effect.SET_FLAG | Effect.WAIT_FLAG:
                    assert isinstance(e.stmt, Op)
                    one, two = Pipe(e.stmt.attr("src_pipe")), Pipe(e.stmt.attr("dst_pipe"))
                    flag = one, two, e.number
                    if e.kind is Effect.SET_FLAG:
                        queue[one] = self.node(queue[one], issued)
                        flags[flag] = self.node(queue[one], *ends[one])
                    elif flag in flags:
                        queue[two] = self.node(queue[two], issued, flags.pop(flag))
                        if two is Pipe.S:
                            issued = self.node(issued, queue[two])
                case Effect.BARRIER:
                    if e.pipe is Pipe.ALL:
                        issued = self.everything(issued, queue, ends)
                    else:
                        queue[e.pipe] = self.node(queue[e.pipe], issued, *ends[e.pipe])
                case Effect.SYNC_ALL:
                    here = self.everything(issued, queue, ends)
                    issued = self.node(here)
                    self.meetings[core].append((here, issued))
                case Effect.SET_CROSS_FLAG:
                    assert isinstance(e.stmt, Op)
                    queue[e.pipe] = self.node(queue[e.pipe], issued)
                    out = self.node(queue[e.pipe], *ends[e.pipe])
                    self.fired[core, e.stmt.attr("mode"), e.number].append(out)
                case Effect.WAIT_CROSS_FLAG:
                    issued = self.node(issued)
                    self.waited[core, e.number].append(issued)
            queue[Pipe.S] = (
                self.node(queue[Pipe.S], issued) if e.kind is not Effect.DATA else queue[Pipe.S]
            )

    def everything(self, issued: int, queue: dict[Pipe, int], ends: dict[Pipe, list[int]]) -> int:
        return self.node(issued, *queue.values(), *itertools.chain(*ends.values()))

    def signals(self, cores: list[int]) -> None:
        """Each wait comes after the set it takes; sets of both vector cores count together."""
        lanes = [c for c in cores if c]
        raised: dict[Any, list[int]] = defaultdict(list)
        for number in {n for _, _, n in self.fired}:
            for lane in lanes:
                raised[lane, number] += self.fired[0, 2, number]
            for mode in (1, 2):
                sets = [self.fired[lane, mode, number] for lane in lanes]
                together = [self.node(*pair) for pair in zip(*sets, strict=False)]
                if len({len(s) for s in sets}) > 1:
                    self.problems.add("cross-flag-one-lane")
                for target in [0] if mode == 2 else lanes:
                    if target in cores:
                        raised[target, number] += together
        for counter in {*raised, *self.waited}:
            sets, waits = raised[counter], self.waited[counter]
            if len(waits) > len(sets):
                self.problems.add("cross-flag-not-set")
            if len(waits) < len(sets):
                self.problems.add("cross-flag-left-set")
            for out, wait in zip(sets, waits, strict=False):
                self.after[wait].add(out)
        self.raised = raised
        lists = [self.meetings[c] for c in cores if c in self.meetings]
        if len({len(m) for m in lists}) > 1:
            self.problems.add("cross-flag-not-set")
        for group in zip(*lists, strict=False):
            for _, over in group:
                self.after[over] |= {here for here, _ in group}

    def judge(self) -> set[str]:
        try:
            order = list(TopologicalSorter(self.after).static_order())
        except CycleError:
            return {*self.problems, "cross-flag-not-set"}
        reached: dict[int, int] = {}
        for n in order:
            bits = 1 << n
            for before in self.after[n]:
                bits |= reached[before]
            reached[n] = bits
        for counter, sets in self.raised.items():
            waits = self.waited[counter]
            for k, out in enumerate(sets):
                if k >= LIMIT and not (
                    k - LIMIT < len(waits) and reached[out] >> waits[k - LIMIT] & 1
                ):
                    self.problems.add("cross-flag-overflow")
        self.conflicts(reached)
        return self.problems

    def conflicts(self, reached: dict[int, int]) -> None:
        for (c, e, start, end), (d, f, begin, over) in itertools.combinations(self.works, 2):
            if c == d or reached[begin] >> end & 1 or reached[start] >> over & 1:
                continue
            mine = dict(e.touched)
            meet = [(mine[b], kind) for b, kind in f.touched if b in mine]
            if any("w" in pair or set(pair) == {"a", "r"} for pair in meet):
                same = e.stmt is f.stmt and e.at == f.at and e.touched == f.touched
                same = same and all(pair == ("w", "w") for pair in meet)
                self.problems.add("redundant-store" if same else "cross-sync-missing")


def problems_of(func: Func, values: Mapping[Var, Any]) -> set[str]:
    """What is wrong in one run of a block with these parameters."""
    launch, graph, cores = func.launch, Graph(), []
    sections = [s for s in launch.body if isinstance(s, Section)]
    for core in (0, 1, 2)[: 2 if launch.threads == 1 else 3]:
        mine = [s for s in sections if (s.core is Core.CUBE) == (core == 0)]
        if not mine:
            continue
        trace = Trace({launch.block: 1, **values, launch.lane: max(0, core - 1)})
        for s in mine:
            trace.body(s.body)
        cores.append(core)
        graph.core(core, trace.events)
    graph.signals(cores)
    return graph.judge()


__all__ = ["problems_of"]
