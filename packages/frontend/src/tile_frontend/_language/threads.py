"""Represent the threads of a GPU's block, as far as one program for the block allows.

Branches on the number of a thread select a part of the threads.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from tile_frontend._dialects.gpu_names import GROUP_OF
from tile_frontend._language.gpu_hints import GpuName
from tile_frontend._language.warp_exchanges import REDUCTIONS, SHUFFLES
from tile_frontend._tracing.faults import CURRENT, Fault
from tile_frontend._tracing.scalars import Scalar, Value, python_number
from tile_frontend._tracing.trace import Trace, current
from tile_ir import (
    Automatic,
    Buffer,
    For,
    Load,
    LoopKind,
    Memory,
    Op,
    Stmt,
    Store,
    accesses,
    bodies,
    expressions,
    walk_expr,
)

_WARP = 32


class ThreadNumber(Value):
    """A number, or the truth of a condition, for each thread: `values` has one per thread. A branch
    may test it; every other use raises a Fault."""

    __slots__ = ("name", "values")

    def __init__(self, name: str, values: Sequence[int]) -> None:
        self.name, self.values = name, tuple(values)

    def in_words(self) -> str:
        return "the number of a thread"

    def refusal(self) -> Fault:
        group, count = GROUP_OF[self.name], len(self.values)
        write = group.write.replace("(threads)", f"({count})") if count else group.write
        return Fault("gpu-name", f"T.{self.name}: {group.says}", write)

    def combined(self, fn: Callable[[Any, Any], Any], other: Any) -> ThreadNumber:
        """The same of each thread, with a number or with another one of the threads."""
        if isinstance(other, ThreadNumber):
            return ThreadNumber(self.name, list(map(fn, self.values, other.values)))
        number = python_number(other)
        if number is None:
            raise self.refusal()
        return ThreadNumber(self.name, [fn(value, number) for value in self.values])

    def __bool__(self) -> bool:
        raise self.refusal()

    def __hash__(self) -> int:
        return hash(self.values)

    def __floordiv__(self, other: Any) -> ThreadNumber:
        return self.combined(operator.floordiv, _positive(self, other))

    def __mod__(self, other: Any) -> ThreadNumber:
        return self.combined(operator.mod, _positive(self, other))

    def __eq__(self, other: object) -> Any:
        return self.combined(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self.combined(operator.ne, other)

    def __lt__(self, other: Any) -> ThreadNumber:
        return self.combined(operator.lt, other)

    def __le__(self, other: Any) -> ThreadNumber:
        return self.combined(operator.le, other)

    def __gt__(self, other: Any) -> ThreadNumber:
        return self.combined(operator.gt, other)

    def __ge__(self, other: Any) -> ThreadNumber:
        return self.combined(operator.ge, other)

    def _none(self, *others: Any) -> Any:
        raise self.refusal()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _none
    __truediv__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __pow__ = __rpow__ = _none
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _none
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _none
    __neg__ = __pos__ = __invert__ = __abs__ = __int__ = __float__ = __index__ = _none
    __getitem__ = __len__ = __iter__ = _none


def _positive(number: ThreadNumber, divisor: Any) -> int:
    known = python_number(divisor)
    if not isinstance(known, int) or known < 1:
        raise number.refusal()
    return known


def _of_threads(name: str, dim: Any = 0, **others: Any) -> ThreadNumber | Scalar | int:
    """The number of a thread in a dimension of the block; inside a loop over the threads, of the
    thread of the iteration."""
    trace, number = current(f"T.{name}"), python_number(dim)
    found = ThreadNumber(name, ())
    counts = trace.threads
    answers = Automatic.TILES in trace.automatic and trace.in_launch and not others
    if not answers or not isinstance(number, int) or not 0 <= number < 3:
        raise found.refusal()
    before = _product(counts[:number])
    if trace.thread is not None:
        if number >= len(counts) or counts[number] == 1:
            return 0
        here = trace.thread.number
        quotient = here if before == 1 else here // before
        return Scalar(quotient if number == len(counts) - 1 else quotient % counts[number])
    if number >= len(counts):
        return ThreadNumber(name, [0] * _product(counts))
    return ThreadNumber(name, [t // before % counts[number] for t in range(_product(counts))])


_AXES = {f"threadIdx.{axis}": dim for dim, axis in enumerate("xyz")}


def _bound(
    name: str, start: Any = None, stop: Any = None, thread: Any = None, **others: Any
) -> ThreadNumber | Scalar | int:
    """The number of a thread in a dimension that has so many: `(count, thread)`, or from 0 on
    `(0, count, thread)`."""
    extent = start
    if str(stop) in _AXES:
        thread = stop
    elif stop is not None:
        extent = stop if python_number(start) == 0 else -1
    dim = _AXES.get(str(thread or "threadIdx.x"), -1)
    found = _of_threads(name, dim, **others)
    counts = current(f"T.{name}").threads
    count = counts[dim] if dim < len(counts) else 1
    if extent is not None and count != python_number(extent):
        raise ThreadNumber(name, range(_product(counts))).refusal()
    return found


def _in_line(name: str, *arguments: Any, **named: Any) -> ThreadNumber | Scalar:
    """The number of a thread in its warp, or of that warp."""
    _of_threads(name, *arguments, **named)
    warp, trace = name.startswith("get_warp"), current(f"T.{name}")
    if trace.thread is not None:
        here = trace.thread.number
        return Scalar(here // _WARP if warp else here % _WARP)
    count = range(_product(trace.threads))
    return ThreadNumber(name, [t // _WARP if warp else t % _WARP for t in count])


def _product(counts: Sequence[int]) -> int:
    product = 1
    for count in counts:
        product *= count
    return product


def both(a: Any, b: Any, wants_all: bool) -> ThreadNumber:
    """`a and b`, or `a or b`, of which one differs from thread to thread."""
    first, second = (a, b) if isinstance(a, ThreadNumber) else (b, a)
    return first.combined(lambda x, y: bool(x and y if wants_all else x or y), second)


def parts(test: ThreadNumber, active: Sequence[bool]) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """Of the active threads those for which a condition holds, and the others."""
    among = active or [True] * len(test.values)
    pairs = list(zip(among, test.values, strict=True))
    return tuple(a and bool(v) for a, v in pairs), tuple(a and not v for a, v in pairs)


def check_part(
    trace: Trace, body: Sequence[Stmt], threads: int, outside: Sequence[Buffer], test: ThreadNumber
) -> None:
    """Raise a Fault where a part of the threads writes a buffer of which each thread has one, and
    where each of several threads would repeat an addition."""
    kept = {buffer for buffer in outside if _each_has_one(buffer)}
    for stmt, divided in _with_nests(body, False):
        repeated = threads > 1 and not divided and id(stmt) not in trace.of_parts
        if _written(stmt) & kept or (repeated and _adds(stmt)):
            raise test.refusal()
        trace.of_parts[id(stmt)] = stmt


def _each_has_one(buffer: Buffer) -> bool:
    """Whether threads have a buffer each, or a part of it, and not one together."""
    return buffer.memory not in (Memory.GM, Memory.SHARED)


def _with_nests(body: Sequence[Stmt], divided: bool) -> Any:
    """All statements, and whether the threads divide them."""
    for stmt in body:
        yield stmt, divided
        inside = divided or (isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL)
        for inner in bodies(stmt):
            yield from _with_nests(inner, inside)


def _written(stmt: Stmt) -> set[Buffer]:
    if isinstance(stmt, Store):
        return {stmt.buffer}
    if isinstance(stmt, Op):
        return {region.buffer for region, access in accesses(stmt) if access.writes}
    return set()


def _adds(stmt: Stmt) -> bool:
    """Whether a second execution would change memory that threads share."""
    if isinstance(stmt, Op):
        return stmt.opdef.atomic
    return (
        isinstance(stmt, Store)
        and not _each_has_one(stmt.buffer)
        and any(
            isinstance(part, Load) and part.buffer is stmt.buffer
            for e in expressions(stmt)
            for part in walk_expr(e)
        )
    )


class ThreadQuestion(GpuName):
    """A function that gives the number of the thread, in a block that is one program."""

    def __init__(self, name: str, ask: Callable[..., Any]) -> None:
        super().__init__(name, GROUP_OF[name])
        self._ask = ask

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._ask(self.__name__, *arguments, **named)


class ThreadExchange(GpuName):
    """A function by which threads of a warp exchange values, where the text does not become one of
    tiles: a Fault. Elsewhere see `warp_exchanges`."""


class ThreadBarrier:
    """A barrier of threads: without effect, as the loops over the threads end at each."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.__doc__ = "A hint for another chip, without effect here."

    def __call__(self, *arguments: Any, **named: Any) -> None:
        trace = CURRENT.get()
        if isinstance(trace, Trace) and trace.thread is not None:
            message = f"T.{self.__name__} is for all threads of the block, but stands in what each "
            message += "thread does on its own"
            hint = "pass no thread number to a macro that waits, and ask for it inside"
            raise Fault("thread-program", message, hint)


QUESTIONS: dict[str, ThreadQuestion] = {
    "get_thread_binding": ThreadQuestion("get_thread_binding", _of_threads),
    "thread_binding": ThreadQuestion("thread_binding", _bound),
    **{
        name: ThreadQuestion(name, _in_line)
        for name in ("get_lane_idx", "get_warp_idx", "get_warp_idx_sync")
    },
}
OF_THREADS = frozenset(QUESTIONS)
FUNCTIONS: dict[str, Any] = {
    **QUESTIONS,
    **{name: ThreadExchange(name, GROUP_OF[name]) for name in (*SHUFFLES, *REDUCTIONS)},
    **{name: ThreadBarrier(name) for name in ("sync_threads", "sync_warp", "sync_global")},
}
