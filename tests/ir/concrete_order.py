"""The order rules applied to one concrete run of a section, element by element: a second opinion on
everything `check_sync` says for all runs at once."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from tile_ir import Buffer, Effect, Func, Memory, Op, Section
from tile_ir.analysis.accesses import element
from tile_ir.expr import Expr, Load, Var
from tile_ir.interpreter.scalars import evaluate
from tile_ir.machine import Pipe
from tile_ir.nodes import Body, Break, For, If, Let, Region, Stmt, Store, While
from tile_ir.opdef import pipe_of
from tile_ir.traversal import loads

PIPES = [p for p in Pipe if p is not Pipe.ALL]
MOST_ROUNDS = 3


class _Left(Exception):
    pass


class Run:
    """One core. Values of loads are `loaded`; a while loop ends after a few rounds."""

    def __init__(self, func: Func, values: Mapping[Var, int], loaded: int = 0) -> None:
        self.addresses = {a.buffer: a.address for a in func.launch.allocs}
        self.values: dict[Var, Any] = dict(values)
        self.loaded = loaded
        self.known = {p: dict.fromkeys(PIPES, 0) for p in PIPES}
        self.issued = dict.fromkeys(PIPES, 0)
        self.flags: dict[Any, dict[Pipe, int]] = {}
        self.waited: dict[Any, tuple[Pipe, int]] = {}
        self.accesses: dict[Any, list[tuple[Pipe, int, str]]] = defaultdict(list)
        self.problems: set[str] = set()

    def section(self, section: Section) -> set[str]:
        self.body(section.body)
        if self.flags:
            self.problems.add("flag-left-set")
        return self.problems

    def value(self, expr: Expr) -> Any:
        def load(e: Load) -> Any:
            return self.loaded

        return evaluate(expr, self.values, load)

    def body(self, body: Body) -> None:
        for stmt in body:
            self.stmt(stmt)

    def stmt(self, stmt: Stmt) -> None:
        if not isinstance(stmt, While):
            self.scalar(stmt)
        match stmt:
            case Op():
                self.op(stmt)
            case Let(var=var, value=value):
                self.values[var] = self.value(value)
            case If():
                self.body(stmt.then if self.value(stmt.condition) else stmt.orelse)
            case For():
                for i in range(self.value(stmt.start), self.value(stmt.stop)):
                    self.values[stmt.var] = i
                    try:
                        self.body(stmt.body)
                    except _Left:
                        break
            case While():
                for _ in range(MOST_ROUNDS):
                    self.scalar(stmt)
                    if not self.value(stmt.condition):
                        break
                    try:
                        self.body(stmt.body)
                    except _Left:
                        break
            case Break():
                raise _Left

    def scalar(self, stmt: Stmt) -> None:
        touched = [(element(x.buffer, x.indices), "r") for x in loads(stmt)]
        if isinstance(stmt, Store):
            touched.append((element(stmt.buffer, stmt.indices), "w"))
        touched = [t for t in touched if t[0].memory is not Memory.VAR]
        if touched:
            self.work(Pipe.S, True, touched)

    def op(self, op: Op) -> None:
        effect = op.opdef.effect
        if effect in (Effect.SET_FLAG, Effect.WAIT_FLAG):
            source, target = Pipe(op.attr("src_pipe")), Pipe(op.attr("dst_pipe"))
            flag = (source, target, self.value(op.operands[0]))  # type: ignore[arg-type]
            if effect is Effect.SET_FLAG:
                self.set(flag, source)
            else:
                self.wait(flag, target)
        elif effect in (Effect.BARRIER, Effect.SYNC_ALL):
            pipe = pipe_of(op)
            if pipe is Pipe.ALL:
                for p in PIPES:
                    self.known[p] = dict(self.issued)
            else:
                self.known[pipe][pipe] = self.issued[pipe]
        elif effect is Effect.DATA:
            touched = []
            for i, operand in enumerate(op.operands):
                if isinstance(operand, Region):
                    atomic = op.opdef.atomic and operand.memory is Memory.GM
                    writes = op.opdef.operand_def(i).access.writes
                    touched.append((operand, "a" if atomic else "w" if writes else "r"))
            self.work(pipe_of(op), op.opdef.in_order, touched)

    def clock(self, pipe: Pipe, own: bool) -> dict[Pipe, int]:
        found = {p: max(self.known[pipe][p], self.known[Pipe.S][p]) for p in PIPES}
        if own:
            found[pipe] = self.issued[pipe]
        return found

    def work(self, pipe: Pipe, in_order: bool, touched: list[tuple[Region, str]]) -> None:
        clock = self.clock(pipe, in_order or pipe is Pipe.S)
        self.issued[pipe] += 1
        number = self.issued[pipe]
        for region, kind in touched:
            for byte in self.bytes(region):
                for q, n, other in self.accesses[byte]:
                    harmless = (kind == other and kind != "w") or (q is pipe and n == number)
                    if not harmless and clock[q] < n:
                        self.problems.add("sync-missing")
                self.accesses[byte].append((pipe, number, kind))

    def bytes(self, region: Region) -> Iterator[Any]:
        shape = region.buffer.static_shape()
        assert shape is not None
        along = []
        for s in region.dims:
            start = self.value(s.offset)
            along.append(range(start, start + self.value(s.extent) * s.stride, s.stride))
        size = region.dtype.size
        base: Any = 0 if region.memory is Memory.GM else self.addresses[region.buffer]
        place: Any = region.buffer if isinstance(region.buffer, Buffer) else None
        for at in itertools.product(*along):
            offset = 0
            for i, n in zip(at, shape, strict=True):
                offset = offset * n + i
            if region.memory is Memory.GM:
                yield place, offset * size
            else:
                yield region.memory, base + offset * size

    def set(self, flag: Any, source: Pipe) -> None:
        clock = self.clock(source, True)
        if flag in self.flags:
            self.problems.add("flag-set-twice")
        elif flag in self.waited:
            target, number = self.waited[flag]
            if clock[target] < number:
                self.problems.add("flag-set-early")
        self.flags[flag] = clock

    def wait(self, flag: Any, target: Pipe) -> None:
        if flag not in self.flags:
            self.problems.add("flag-not-set")
            return
        carried = self.flags.pop(flag)
        known = self.known[target]
        for p in PIPES:
            known[p] = max(known[p], carried[p], self.known[Pipe.S][p])
        self.waited.pop(flag, None)
        if target is not Pipe.S:  # what is issued later comes after what the scalar unit waits for
            self.issued[target] += 1
            self.waited[flag] = (target, self.issued[target])


__all__ = ["Run"]
