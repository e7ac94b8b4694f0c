"""Define the loops of `for ... in`, and run a body in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NoReturn

from tile_frontend._arguments.atomic_nests import behind_the_nest
from tile_frontend._tracing.faults import CURRENT, Fault, outside_kernel
from tile_frontend._tracing.scalars import (
    Scalar,
    known_integer,
    python_number,
    scalar_expr,
    unexpected,
)
from tile_frontend._tracing.trace import Trace, current, traced_number
from tile_frontend._tracing.values import Pending
from tile_ir import (
    INT32,
    INT64,
    Body,
    Break,
    Const,
    Expr,
    For,
    Given,
    Kind,
    Let,
    Loc,
    LoopKind,
    Stmt,
    Var,
    cast,
    ceildiv,
    constant_value,
    is_narrow,
    maximum,
    minimum,
    promote,
)
from tile_ir.quick_dataclasses import dataclass, replace

# Evaluates the body of a loop, with the values of its variables.
Run = Callable[[tuple[Scalar, ...]], None]


class AnyLoop:
    """An iterable of `for ... in`. `name` is its spelling in the script."""

    __slots__ = ()
    name: str

    @property
    def rank(self) -> int:
        """How many variables it has."""
        raise NotImplementedError

    def __iter__(self) -> NoReturn:
        """Raise an error: Python itself iterates only outside of a kernel."""
        outside_kernel(f"for ... in T.{self.name}(...)")

    def emit(self, trace: Trace, names: tuple[str, ...], loc: Loc, run: Run) -> None:
        """Evaluate the body in the loop and emit the loop."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class PersistentLoop(AnyLoop):
    domain: tuple[Expr, ...]
    wave_size: Expr
    index: Expr
    group: int
    name: str = "Persistent"

    @property
    def rank(self) -> int:
        return len(self.domain)

    def emit(self, trace: Trace, names: tuple[str, ...], loc: Loc, run: Run) -> None:
        """One loop over the waves in which the block has a tile. Where the last wave has fewer
        tiles than blocks, a minimum gives interval analyses the range of the tile numbers."""
        total = product(self.domain)
        count, size = constant_value(total), constant_value(self.wave_size)
        even = count is not None and size is not None and count % size == 0
        wave = trace.loop_variable("wave")
        number = wave * self.wave_size + self.index
        with trace.block() as body:
            tile = trace.let("tile", number if even else minimum(number, total - 1), loc).expr
            coordinates = tile_coordinates(self.domain, self.group, tile)
            run(tuple(
                trace.let("i" if name == "_" else name, value, loc)
                for name, value in zip(names, coordinates, strict=True)
            ))  # fmt: skip
        waves = total // self.wave_size if even else ceildiv(total - self.index, self.wave_size)
        trace.emit(For(wave, Const(0), waves, LoopKind.SERIAL, tuple(body), loc))


def Persistent(
    domain: Sequence[Any], wave_size: Any, index: Any, group_size: int = 8
) -> PersistentLoop:
    """Block `index` of `wave_size` visits its share of the tiles of `domain`."""
    if not isinstance(domain, (list, tuple)) or not domain:
        raise unexpected("the domain", domain, "a list of extents", slug="loop-bound")
    group = known_integer(group_size)
    if group is None or group < 1:
        wanted = "a Python int of at least 1"
        raise unexpected("group_size", group_size, wanted, slug="loop-bound")
    extents = tuple(scalar_expr(d) for d in domain)
    size, position = scalar_expr(wave_size), scalar_expr(index)
    named = [*((e, "domain") for e in extents), (size, "wave_size"), (position, "index")]
    for expr, name in named:
        if not expr.dtype.is_integer:
            hint = "cast it to int32"
            raise Fault(
                "loop-bound", f"{name} is {expr.dtype}, expected integers", hint, argument=name
            )
    return PersistentLoop(extents, size, position, group)


def product(extents: Sequence[Expr]) -> Expr:
    total: Expr = Const(1)
    for e in extents:
        total = total * e
    return total


def tile_coordinates(domain: Sequence[Expr], group: int, tile: Expr) -> tuple[Expr, ...]:
    """The tile with a linear number: panels of `group` columns of the last dimension, and inside a
    panel the column fastest, then the other dimensions from the last to the first."""
    *others, last = domain
    width = constant_value(last)
    if width is not None and group >= width:
        panel_start: Expr = Const(0)
        inside, columns = tile, last
    else:
        panel_size = product(others) * group
        panel = tile // panel_size
        inside, panel_start = tile % panel_size, panel * group
        exact = width is not None and width % group == 0
        columns = Const(group) if exact else minimum(Const(group), last - panel_start)
    result = [panel_start + inside % columns]
    rest = inside // columns
    for extent in reversed(others[1:]):
        result.append(rest % extent)
        rest = rest // extent
    if others:
        result.append(rest)
    return tuple(reversed(result))


Bounds = tuple[Expr, Expr]


@dataclass(frozen=True, slots=True)
class Loop(AnyLoop):
    """Nested loops of one kind, one per dimension."""

    name: str
    kind: LoopKind
    bounds: tuple[Bounds, ...]
    stages: int = 0
    order: tuple[int, ...] = ()
    stage: tuple[int, ...] = ()
    # How far one iteration is from the next: from 0 on the loop counts them then.
    step: int = 1

    @property
    def __name__(self) -> str:
        """The name for messages."""
        return f"T.{self.name}(...)"

    @property
    def rank(self) -> int:
        return len(self.bounds)

    def emit(self, trace: Trace, names: tuple[str, ...], loc: Loc, run: Run) -> None:
        if self.step != 1:
            self._emit_steps(trace, names[0], loc, run)
            return
        if self.kind is LoopKind.PARALLEL and trace.thread is not None:
            message = (
                "the threads of the block divide a T.Parallel, but one thread reaches it alone"
            )
            raise Fault("thread-program", message, "put it outside of what differs between threads")
        variables = tuple(_variable(trace, n, b) for n, b in zip(names, self.bounds, strict=True))
        parallel = self.kind is LoopKind.PARALLEL
        trace.parallel_depth += parallel
        with trace.block() as body:
            run(tuple(Scalar(v) for v in variables))
        trace.parallel_depth -= parallel
        statements = tuple(body)
        given = _given(self, statements)
        loops = [
            For(var, cast(start, var.dtype), cast(stop, var.dtype), self.kind, (), loc,
                self.stages, given)
            for var, (start, stop) in zip(variables, self.bounds, strict=True)
        ]  # fmt: skip
        behind: tuple[Stmt, ...] = ()
        if parallel:
            statements, behind = behind_the_nest(trace, loops, statements)
        for around in reversed(loops):
            statements = (replace(around, body=statements),)
        for stmt in statements:
            if parallel and not trace.parallel_depth:
                trace.emit_nest(stmt)
            else:
                trace.emit(stmt)
        for stmt in behind:
            trace.emit(stmt)

    def _emit_steps(self, trace: Trace, name: str, loc: Loc, run: Run) -> None:
        """Count the iterations, and compute the variable from that."""
        ((start, stop),) = self.bounds
        way = stop - start if self.step > 0 else start - stop
        count = maximum(ceildiv(way, Const(abs(self.step))), Const(0))
        turn = trace.loop_variable("turn")
        with trace.block() as body:
            run((trace.let("i" if name == "_" else name, start + turn * self.step, loc),))
        trace.emit(For(turn, Const(0), cast(count, turn.dtype), self.kind, tuple(body), loc))


def _bounds(name: str, start: Any, stop: Any) -> Bounds:
    """[start, stop), or [0, start) when there is one bound only."""
    low, high = (0, start) if stop is None else (start, stop)
    return _integer(name, low, "start"), _integer(name, high, "start" if stop is None else "stop")


def _integer(name: str, value: Any, argument: str) -> Expr:
    number = python_number(value)
    if number is None and not isinstance(value, Scalar):
        what = f"a bound of T.{name}"
        raise unexpected(what, value, "an integer", None, argument, "loop-bound")
    expr = scalar_expr(value if number is None else number)
    if not expr.dtype.is_integer:
        hint = "divide integers with `//`, or convert with T.cast"
        raise unexpected(f"a bound of T.{name}", value, "an integer", hint, argument, "loop-bound")
    return expr


def serial(
    start: Any, stop: Any = None, step: Any = None, *, dtype: Any = None, annotations: Any = None
) -> Loop:
    """A sequential loop over [0, start) or [start, stop), in steps of a Python int, which may be
    negative."""
    distance = 1 if step is None else traced_number(step)
    if not isinstance(distance, int) or distance == 0:
        raise unexpected("a step of T.serial", step, "a Python int", None, "step", "loop-step")
    bounds = (_bounds("serial", start, stop),)
    return Loop("serial", LoopKind.SERIAL, bounds, step=distance)


def unroll(
    start: Any, stop: Any = None, step: Any = None, *, dtype: Any = None, explicit: Any = None,
    unroll_factor: Any = None, annotations: Any = None,
) -> Loop:  # fmt: skip
    """A loop the emitter unrolls, or the tracer, where its body picks elements of a Python list."""
    if step is not None and traced_number(step) != 1:
        return serial(start, stop, step)
    return Loop("unroll", LoopKind.UNROLL, (_bounds("unroll", start, stop),))


def Parallel(
    *extents: Any, coalesced_width: Any = None, loop_layout: Any = None, prefer_async: Any = None,
    annotations: Any = None,
) -> Loop:  # fmt: skip
    """Independent iterations, run as vector operations. Options for the threads and registers
    of a GPU have no effect: `coalesced_width`, `loop_layout`, `prefer_async`, `annotations`."""
    if not extents:
        hint = "write the sizes of the tile: T.Parallel(rows, columns)"
        raise Fault("arity", "T.Parallel has no extents, expected one or two", hint)
    return Loop("Parallel", LoopKind.PARALLEL, tuple(_bounds("Parallel", e, None) for e in extents))


def vectorized(start: Any, stop: Any = None, *, annotations: Any = None) -> Loop:
    """A loop whose iterations are one vector operation; what one thread does, it does in turn."""
    trace = CURRENT.get()
    alone = isinstance(trace, Trace) and trace.thread is not None
    kind = LoopKind.SERIAL if alone else LoopKind.PARALLEL
    return Loop("vectorized", kind, (_bounds("vectorized", start, stop),))


def grid(*extents: Any) -> Loop:
    """Nested sequential loops."""
    if not extents:
        hint = "write the extents: T.grid(m, n)"
        raise Fault("arity", "T.grid has no extents, expected at least one", hint)
    return Loop("grid", LoopKind.SERIAL, tuple(_bounds("grid", e, None) for e in extents))


def Pipelined(
    start: Any, stop: Any = None, num_stages: Any = 0, order: list[int] | None = None,
    stage: list[int] | None = None, sync: Any = None, group: Any = None, cross_interval: int = 1,
    annotations: Any = None,
) -> Loop:  # fmt: skip
    """A loop whose iterations overlap, with the result of a serial one. Tiles that are loaded, or
    handed between pipes or cores, have `num_stages` versions, at least two. Statements that would
    wait run an iteration later (docs/language/developer_style.md#pipelined-loops).
    `num_stages="auto"` takes the number that fits and is fastest in the time model.

    `order` and `stage` have a number for each statement of the body, names aside: its place in the
    new order, and the iterations by which it is late. They must preserve every dependence. The loop
    is serial where the author sets flags, or where `num_stages` is 0 and both lists are empty.
    `sync`, `group` and `cross_interval` tune flags and threads of other implementations and change
    no result: they have no effect here. With `group`, or a number of -1, the lists are for groups
    of threads of a GPU, and have none either.
    """
    automatic = isinstance(num_stages, str) and num_stages == "auto"
    stages = 0 if automatic else _static("num_stages", num_stages, 0)
    _static("cross_interval", cross_interval, 1)
    bounds = (_bounds("Pipelined", start, stop),)
    if group or _has_no_place(order) or _has_no_place(stage):
        stages = stages if automatic else max(stages, 1)
    else:
        said = _places("order", order), _places("stage", stage)
        if any(said):
            stages = max(stages, 1, *(behind + 1 for behind in said[1]))
            return Loop("Pipelined", LoopKind.PIPELINED, bounds, stages, *said)
    if stages < 1 and not automatic:
        return Loop("Pipelined", LoopKind.SERIAL, bounds)
    return Loop("Pipelined", LoopKind.PIPELINED, bounds, stages)


def _has_no_place(given: Any) -> bool:
    """Whether a list leaves the place of a statement to threads that load: by -1."""
    return isinstance(given, (list, tuple)) and -1 in map(known_integer, given)


def _places(name: str, given: Any) -> tuple[int, ...]:
    """The numbers of a list that has one for each statement; none for no list."""
    if given is None or (isinstance(given, (list, tuple)) and not given):
        return ()
    if not isinstance(given, (list, tuple)):
        raise unexpected(name, given, "a list of Python ints", slug="loop-schedule")
    numbers = tuple(_static(name, number, 0) for number in given)
    if name == "order" and sorted(numbers) != list(range(len(numbers))):
        found, last = ", ".join(map(str, numbers)), len(numbers) - 1
        message = f"order has {found}, expected each of 0 to {last} once"
        hint = "give every statement its place in the new order"
        raise Fault("loop-schedule", message, hint, name)
    return numbers


def _static(name: str, value: Any, least: int) -> int:
    number = int(value) if isinstance(value, bool) else known_integer(value)
    if number is None or number < least:
        or_auto = ' or "auto"' if name == "num_stages" else ""
        wanted = f"a Python int of at least {least}{or_auto}"
        hint = "write a number such as 2, or take it from the function around the kernel"
        raise unexpected(name, value, wanted, hint, slug="loop-stages")
    return number


def _given(loop: Loop, body: Body) -> tuple[Given, ...]:
    """The numbers of `order` and `stage` for each statement; statements of one call share theirs.
    By default the order is that of the text, and all statements have one stage."""
    if not loop.order and not loop.stage:
        return ()
    locs = [at for at, _ in groupby(s.loc for s in body if not isinstance(s, Let))]
    for name, numbers in (("order", loop.order), ("stage", loop.stage)):
        if numbers and len(numbers) != len(locs):
            message = f"{name} has {len(numbers)} numbers, and the loop {len(locs)} statements"
            hint = "give one for each statement of the body, and none for names"
            raise Fault("loop-schedule", message, hint)
    orders = loop.order or range(len(locs))
    stages = loop.stage or (0,) * len(locs)
    return tuple(Given(at, o, s) for at, o, s in zip(locs, orders, stages, strict=True))


def _variable(trace: Trace, name: str, bounds: Bounds) -> Var:
    """A loop variable of a type whose differences do not wrap, and that holds its bounds: int64 for
    a bound of uint32."""
    start, stop = bounds
    constant = isinstance(start, Const) and start.dtype == INT32
    dtype = stop.dtype if constant else promote(start.dtype, stop.dtype)
    wide = INT64 if dtype.kind is Kind.UINT else dtype
    return trace.loop_variable(name, INT32 if is_narrow(dtype) else wide)


def loop_break() -> Pending:
    """Leave the innermost loop."""
    trace = current("loop_break")
    pending = Pending(Break(trace.here), "loop_break", trace.here)
    trace.pending.append(pending)
    return pending
