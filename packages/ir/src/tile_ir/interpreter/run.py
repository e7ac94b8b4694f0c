"""Execution: every block as a cube core and its vector cores, co-routines that stop at waits.

Within a core statements run in textual order, which is one valid schedule of a correct program;
flags are honoured as assertions (a wait must find its set) and cross-core flags as counters.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from operator import mul
from typing import Any

from tile_ir.diagnostics.errors import OutOfBounds, TileError
from tile_ir.expr import Expr, Load
from tile_ir.interpreter.arguments import LaunchArguments
from tile_ir.interpreter.cores import CoreState, CounterOverflow, Meeting, Steps
from tile_ir.interpreter.scalars import Unavailable, evaluate
from tile_ir.interpreter.storage import Storage, check_inside, on_chip_storage, views_of_arguments
from tile_ir.interpreter.text_order import alone_in
from tile_ir.layout.geometry import strides
from tile_ir.lazy import np
from tile_ir.machine import CORE_OF_MEMORY, Core, Memory
from tile_ir.nodes import (
    Body,
    Break,
    Buffer,
    For,
    Func,
    If,
    Let,
    Op,
    Region,
    Section,
    Stmt,
    Store,
    While,
)
from tile_ir.opdef import TOLD, Effect, core_of, element_limit
from tile_ir.ops.debug import printed_format
from tile_ir.scalars.arithmetic import DivisionError
from tile_ir.target import Target
from tile_ir.traversal import walk_ops

MAX_WHILE_STEPS = 10_000_000
# Turns in which nobody did anything, until cores that go through a text together are stuck.
MOST_STALLED = 3


class InterpretError(TileError):
    """The program did something undefined: an access out of bounds, a wait without a signal, …"""


class _Stop(Exception):
    """`break` unwinds to the innermost loop."""


class Machine:
    """One launch, of all its ranks."""

    def __init__(
        self,
        func: Func,
        arguments: Sequence[Sequence[Any]],
        target: Target,
        while_iterations: int,
        in_text_order: bool,
    ) -> None:
        self.func, self.target, self.while_iterations = func, target, while_iterations
        self.alone = alone_in(func) if in_text_order else None
        self.text: list[str] = []
        self.given = LaunchArguments.of(func, arguments)
        self.meeting = Meeting([], func.launch.body, target)

    def run(self) -> str:
        launch = self.func.launch
        places = [
            (rank, block)
            for rank, own in enumerate(self.given.ranks)
            for block in range(evaluate(launch.blocks, own.constants, self.no_load))
        ]
        together = len(self.given.ranks) > 1 or any(
            op.opdef.effect in (Effect.SYNC_ALL, Effect.AWAIT_SIGNAL)
            or (op.opdef.effect is Effect.SET_CROSS_FLAG and op.attr("mode") == 0)
            for op in walk_ops(launch.body)
        )
        for group in [places] if together else [[place] for place in places]:
            cores = [core for place in group for core in self.make_cores(*place)]
            self.meeting = Meeting(cores, launch.body, self.target)
            self.schedule(cores)
        self.given.write_back()
        return "".join(self.text)

    def make_cores(self, rank: int, block: int) -> Iterator[CoreState]:
        launch, own = self.func.launch, self.given.ranks[rank]
        lanes = 2 if launch.threads is None else 1
        for kind, lane in [(Core.CUBE, 0), *((Core.VECTOR, lane) for lane in range(lanes))]:
            allocs = [a for a in launch.allocs if CORE_OF_MEMORY.get(a.buffer.memory, kind) is kind]
            variables = {**own.constants, launch.block: block, launch.lane: lane}
            views = views_of_arguments(allocs, own.tensors)
            storage = {**own.tensors, **views, **on_chip_storage(allocs, self.target)}
            counters = [0] * self.target.cross_flags
            yield CoreState(kind, rank, block, lane, storage, variables, counters)

    def schedule(self, cores: list[CoreState]) -> None:
        running = [(core, self.top(core)) for core in cores]
        stalled = 0
        while running:
            still: list[tuple[CoreState, Steps]] = []
            progressed = False
            for core, steps in running:
                before = core.progress
                try:
                    next(steps)
                    still.append((core, steps))
                    progressed = progressed or core.progress != before
                except StopIteration:
                    progressed = core.ended = True
            stalled = 0 if progressed else stalled + 1
            if stalled > (0 if self.alone is None else MOST_STALLED):
                waits = "; ".join(f"{core.name} waits for {core.waiting}" for core, _ in still)
                raise self.error("deadlock", f"no core can go on: {waits}", still[0][0])
            running = still
            self.meeting.round += 1

    def top(self, core: CoreState) -> Steps:
        yield from self.body(self.func.launch.body, core)
        if core.flags:
            src, dst, event = sorted(core.flags)[0]
            raise self.error(
                "flag-left-set", f"{core.name}: flag {src} to {dst} {event} is still set", core
            )

    def error(self, slug: str, message: str, core: CoreState) -> InterpretError:
        return InterpretError(slug, message, core.loc, sources=self.func.sources)

    # Scalars ------------------------------------------------------------------------------------

    def no_load(self, load: Load) -> Any:
        raise AssertionError("the launch size reads no buffer")

    def value(self, expr: Expr, core: CoreState) -> Any:
        return evaluate(expr, core.variables, lambda load: self.load(load, core))

    def load(self, load: Load, core: CoreState) -> Any:
        if load.buffer not in core.storage:
            raise Unavailable(load.buffer.name)
        storage, offset = self.element(load.buffer, load.indices, core)
        return storage.read(offset, (), ())[()].item()

    def element(
        self, buffer: Buffer, indices: tuple[Expr, ...], core: CoreState
    ) -> tuple[Storage, int]:
        offset = 0
        for index, step in zip(indices, strides(buffer), strict=True):
            offset += self.value(index, core) * self.value(step, core)
        return core.storage[buffer], offset

    # Statements ---------------------------------------------------------------------------------

    def body(self, body: Body, core: CoreState) -> Steps:
        for stmt in body:
            core.loc = stmt.loc
            try:
                if self.alone is not None and id(stmt) in self.alone:
                    core.alone += 1
                    yield from self.stmt(stmt, core)
                    core.alone -= 1
                else:
                    yield from self.stmt(stmt, core)
            except OutOfBounds as problem:
                raise self.error("out-of-bounds", f"{core.name}: {problem}", core) from None
            except DivisionError as problem:
                raise self.error("division-by-zero", f"{core.name}: {problem}", core) from None
            if self.alone is not None and not core.alone:
                core.progress += 1
                yield  # the other cores of the block do this statement too

    def stmt(self, stmt: Stmt, core: CoreState) -> Steps:
        match stmt:
            case Op():
                if core_of(stmt) in (core.kind, Core.EITHER):
                    yield from self.op(stmt, core)
            case Let(var=var, value=value):
                try:
                    core.variables[var] = self.value(value, core)
                except Unavailable:
                    core.variables[var] = None
            case Store(buffer=buffer, indices=indices, value=value):
                if buffer in core.storage:
                    self.store(buffer, indices, value, core)
            case For():
                yield from self.for_(stmt, core)
            case While(condition=condition, body=body):
                yield from self.while_(condition, body, core)
            case If():
                yield from self.body(self.branch(stmt, core), core)
            case Section():
                yield from self.section(stmt, core)
            case Break():
                raise _Stop

    def store(
        self, buffer: Buffer, indices: tuple[Expr, ...], value: Expr, core: CoreState
    ) -> None:
        try:
            new = self.value(value, core)
            storage, offset = self.element(buffer, indices, core)
        except Unavailable:
            return  # the other kind of core has what it takes, and stores it
        storage.write(offset, (), (), new)

    def for_(self, loop: For, core: CoreState) -> Steps:
        # The first vector core does what a task leaves to the compiler to divide; both meet behind.
        alone = loop.task is not None and loop.task.threads is not None
        own = () if alone and core.lane > 0 else loop.body[:-1]
        parts = ((True, own), (False, loop.body[-1:])) if alone else ((core.undivided, loop.body),)
        try:
            iterations = range(self.value(loop.start, core), self.value(loop.stop, core))
        except Unavailable:
            return  # the other core's memory says how often: its work only
        for i in iterations:
            core.variables[loop.var] = i
            try:
                for core.undivided, body in parts:
                    yield from self.body(body, core)
            except _Stop:
                return

    def branch(self, stmt: If, core: CoreState) -> Body:
        try:
            return stmt.then if self.value(stmt.condition, core) else stmt.orelse
        except Unavailable:
            return ()  # a condition on the other core's memory guards its work only

    def section(self, section: Section, core: CoreState) -> Steps:
        together = self.alone is not None and not core.alone and not core.sections
        core.sections += 1
        try:
            if section.core is core.kind:
                yield from self.body(section.body, core)
        finally:  # a break may leave it
            core.sections -= 1
        if together:
            yield from self.meeting.leave_section(core)

    def while_(self, condition: Expr, body: Body, core: CoreState) -> Steps:
        for _ in range(self.while_iterations):
            try:
                if not self.value(condition, core):
                    return
            except Unavailable:
                return
            try:
                yield from self.body(body, core)
            except _Stop:
                return
            core.progress += 1
            yield  # another core may have to change what the condition reads
        raise self.error("endless-loop", f"{core.name}: this loop does not end", core)

    # Operations ---------------------------------------------------------------------------------

    def op(self, op: Op, core: CoreState) -> Steps:
        # Barriers and caches change nothing: a core runs in order, and memory is coherent.
        match op.opdef.effect:
            case Effect.DATA | Effect.ENGINE:  # the engine is done at once
                self.data(op, core)
            case Effect.SET_DEQ_SCALE:
                core.deq_scale = np.float16(self.scalar(op, "scale", core))
            case Effect.SET_FLAG:
                if (flag := self.flag(op, core)) in core.flags:
                    raise self.error("flag-set-twice", f"{core.name}: {flag} is set twice", core)
                core.flags.add(flag)
            case Effect.WAIT_FLAG:
                flag = self.flag(op, core)
                if flag not in core.flags:
                    raise self.error(
                        "flag-wait-without-set", f"{core.name}: flag {flag} is not set", core
                    )
                core.flags.remove(flag)
            case Effect.SET_CROSS_FLAG:
                try:
                    self.meeting.signal(core, self.scalar(op, "flag", core), op.attr("mode"))
                except CounterOverflow as problem:
                    raise self.error("flag-overflow", str(problem), core) from None
            case Effect.WAIT_CROSS_FLAG:
                yield from self.meeting.await_signal(core, self.scalar(op, "flag", core))
            case Effect.SYNC_ALL:
                yield from self.meeting.sync_all(core, op)
            case Effect.SIGNAL:
                self.signal(op, core)
            case Effect.AWAIT_SIGNAL:
                yield from self.await_signal(op, core)
            case effect if effect in TOLD:
                self.tell(op, core)

    def signal(self, op: Op, core: CoreState) -> None:
        word, value = op.region("word"), self.scalar(op, "value", core)
        if op.attr("op") == "add":
            value = self.read(word, core) + np.asarray(value, np.int32)
        self.write(word, np.asarray(value), core)
        core.progress += 1

    def await_signal(self, op: Op, core: CoreState) -> Steps:
        word, until = op.region("word"), getattr(operator, op.attr("until"))
        value = self.scalar(op, "value", core)
        while not until(found := int(self.read(word, core).reshape(-1)[0]), value):
            core.waiting = f"`{word.buffer.name}`, which is {found}, at {core.loc}"
            yield
        core.progress += 1

    def tell(self, op: Op, core: CoreState) -> None:
        """Perform an operation with visible output: text, elements of a buffer, or an error."""
        match op.opdef.effect:
            case Effect.PRINT:
                self.print(op, core)
            case Effect.ASSERT:
                if not self.scalar(op, "condition", core):
                    told = f": {op.attr('msg')}" if op.attr("msg") else ""
                    message = f"{core.name}: the condition does not hold{told}"
                    raise self.error(op.attr("slug"), message, core)
            case Effect.DUMP:
                count = self.scalar(op, "size", core)
                values = self.read(op.region("buffer"), core).reshape(-1)[:count]
                self.text.append(f"dump {op.attr('desc')}: {values.tolist()}\n")

    def scalar(self, op: Op, name: str, core: CoreState) -> Any:
        operand = op.operand(name)
        assert isinstance(operand, Expr), f"{name} is a scalar"
        return self.value(operand, core)

    def flag(self, op: Op, core: CoreState) -> tuple[str, str, int]:
        return op.attr("src_pipe"), op.attr("dst_pipe"), self.scalar(op, "event_id", core)

    def window(self, region: Region, core: CoreState) -> tuple[int, list[int], list[int]]:
        starts = [self.value(s.offset, core) for s in region.dims]
        extents = [max(self.value(s.extent, core), 0) for s in region.dims]
        if region.memory is not Memory.GM:
            check_inside(region, starts, extents)
        units = [self.value(step, core) for step in strides(region.buffer)]
        steps = [unit * s.stride for unit, s in zip(units, region.dims, strict=True)]
        return sum(map(mul, starts, units)), extents, steps

    def read(self, region: Region, core: CoreState) -> Any:
        return core.storage[region.buffer].read(*self.window(region, core))

    def write(self, region: Region, values: Any, core: CoreState) -> None:
        core.storage[region.buffer].write(*self.window(region, core), values)

    def data(self, op: Op, core: CoreState) -> None:
        operands = list(op.operands)
        if op.opdef.clip is not None:
            clipped = op.opdef.clip(op)
            if clipped.fill is not None and not self.value(clipped.complete, core):
                self.write(clipped.fill, np.asarray(clipped.value), core)
            if not self.value(clipped.exists, core):
                return
            if clipped.spill is not None:
                self.write(clipped.spill, np.asarray(clipped.value), core)
            operands[:2] = [clipped.src, clipped.dst]
        values = [self.operand_value(o, core) for o in operands]
        if op.opdef.reads_deq_scale(op):
            if core.deq_scale is None:
                raise self.error("deq-scale-unset", f"{core.name}: no scale has been set", core)
            values.append(core.deq_scale)
        written = next(
            i
            for i, o in enumerate(operands)
            if isinstance(o, Region) and op.opdef.operand_def(i).access.writes
        )
        target = operands[written]
        assert isinstance(target, Region), "found above"
        shape = values[written].shape
        if op.opdef.elementwise:
            limit = element_limit(op)
            count = None if limit is None else int(self.value(limit, core))
            values = [v.reshape(-1)[:count] if isinstance(v, np.ndarray) else v for v in values]
            result = np.asarray(op.opdef.meaning(op, *values)).reshape(-1)
            whole = self.read(target, core).reshape(-1)
            with np.errstate(all="ignore"):
                whole[: result.size] = result.astype(whole.dtype)
            self.write(target, whole.reshape(shape), core)
            return
        self.write(target, op.opdef.meaning(op, *values), core)

    def operand_value(self, operand: Any, core: CoreState) -> Any:
        if isinstance(operand, Region):
            return self.read(operand, core)
        return None if operand is None else self.value(operand, core)

    def print(self, op: Op, core: CoreState) -> None:
        # Addresses are not known here: a buffer prints its name.
        values = tuple(
            f"<{o.buffer.name}>" if isinstance(o, Region) else self.operand_value(o, core)
            for o in op.operands
        )
        fmt = re.sub(r"%([-+ 0#]*[\d.]*)l+", r"%\1", printed_format(op)).replace("%p", "%s")
        self.text.append(fmt % values)
