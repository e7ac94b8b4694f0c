"""Reduce the section of a core to the instructions that determine its order.

Each has its pipe and the bytes it touches, and stands in loops and branches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tile_checkers.context import Context, launch_context
from tile_checkers.touched import PIPES, touched_by_pipes
from tile_ir import (
    Break,
    Buffer,
    Const,
    For,
    Func,
    If,
    Let,
    Memory,
    Op,
    Pipe,
    Region,
    Section,
    Stmt,
    Var,
    While,
    constant_value,
)
from tile_ir.analysis import Touch
from tile_ir.analysis.residues import modulus_of
from tile_ir.nodes import Body
from tile_ir.opdef import Effect
from tile_ir.quick_dataclasses import dataclass, replace

# The order that is compared, and what orders cores: both are left out of the outline.
ORDER = frozenset({Effect.SET_FLAG, Effect.WAIT_FLAG, Effect.BARRIER})
BETWEEN_CORES = frozenset({Effect.SET_CROSS_FLAG, Effect.WAIT_CROSS_FLAG, Effect.SYNC_ALL})


class Unsayable(Exception):
    """The section has something that the other compiler has no words for."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Bytes of a buffer that an instruction touches: `size` bytes from an address of its memory, or
    from one of several that take turns with the iterations of `loop`. All of a gm tensor."""

    buffer: Buffer
    addresses: tuple[int, ...] = ()
    size: int = 0
    loop: Var | None = None


@dataclass(frozen=True, slots=True)
class PipeWork:
    """Work of one pipe. `op` is the operation, unless the scalar unit touches single elements."""

    name: str
    pipe: Pipe
    reads: tuple[Spot, ...]
    writes: tuple[Spot, ...]
    op: Op | None = None


@dataclass(frozen=True, slots=True)
class OutlineLoop:
    """A loop over `var` between bounds, None where these are not constant; a `while` has none."""

    var: Var | None
    start: int | None
    stop: int | None
    condition: tuple[PipeWork, ...]
    body: Outline


@dataclass(frozen=True, slots=True)
class OutlineBranch:
    then: Outline
    orelse: Outline


Step = PipeWork | OutlineLoop | OutlineBranch
Outline = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class _OutlinePlace:
    """The place of a body: the facts there, and the loops around it, each with its period."""

    context: Context
    loops: tuple[tuple[For, int], ...] = ()


def outline_of(func: Func, section: Section) -> Outline:
    """Return the outline of a section whose buffers have addresses. Raises Unsayable."""
    addresses = {a.buffer: a.address for a in func.launch.allocs if a.address is not None}
    roots = {a.buffer: a.alias_of for a in func.launch.allocs if a.alias_of is not None}
    place = _OutlinePlace(launch_context(func).inside(section))
    return tuple(_OutlineReader(addresses, roots).body(section.body, place))


def instructions(outline: Outline) -> Iterator[PipeWork]:
    """Every instruction, in the order of the text."""
    for step in outline:
        match step:
            case PipeWork():
                yield step
            case OutlineLoop(condition=condition, body=body):
                yield from condition
                yield from instructions(body)
            case OutlineBranch(then=then, orelse=orelse):
                yield from instructions(then)
                yield from instructions(orelse)


@dataclass(frozen=True, slots=True)
class _OutlineReader:
    """Read statements, given the addresses of all buffers and the buffers behind second names."""

    addresses: Mapping[Buffer, int]
    roots: Mapping[Buffer, Buffer]

    def body(self, body: Body, place: _OutlinePlace) -> Iterator[Step]:
        for stmt in body:
            own = tuple(self._instructions(stmt, place))
            match stmt:
                case Let():
                    yield from own
                    place = replace(place, context=place.context.let(stmt))
                case For():
                    yield from own
                    yield self._loop(stmt, place)
                case While():
                    yield OutlineLoop(None, None, None, own, self._inside(stmt, stmt.body, place))
                case If():
                    yield from own
                    yield OutlineBranch(
                        self._inside(stmt, stmt.then, place),
                        self._inside(stmt, stmt.orelse, place),
                    )
                case Break():
                    raise Unsayable("break")
                case Section():
                    raise Unsayable("a section inside a section")
                case _:
                    yield from own

    def _inside(self, stmt: Stmt, body: Body, place: _OutlinePlace) -> Outline:
        within = replace(place, context=place.context.inside(stmt))
        return tuple(self.body(body, within))

    def _loop(self, loop: For, place: _OutlinePlace) -> OutlineLoop:
        period = modulus_of(loop, place.context.values)
        within = _OutlinePlace(place.context.inside(loop), (*place.loops, (loop, period)))
        start, stop = constant_value(loop.start), constant_value(loop.stop)
        return OutlineLoop(loop.var, start, stop, (), tuple(self.body(loop.body, within)))

    def _instructions(self, stmt: Stmt, place: _OutlinePlace) -> Iterator[PipeWork]:
        """The work of the scalar unit for a statement, then the operation itself."""
        if isinstance(stmt, Op):
            _check(stmt)
        context = place.context
        for pipe, _, found in touched_by_pipes(stmt, self.addresses, context.known, context.values):
            by_op = isinstance(stmt, Op) and any(_is_operand(stmt, t) for t in found)
            spots = [(t, self._spot(stmt, t, place)) for t in found]
            reads = [spot for t, spot in spots if not t.writes or _also_read(stmt, t)]
            writes = [spot for t, spot in spots if t.writes]
            op = stmt if isinstance(stmt, Op) and by_op else None
            name = op.opdef.name if op else "element"
            yield PipeWork(name, PIPES[pipe], tuple(reads), tuple(writes), op)

    def _spot(self, stmt: Stmt, touch: Touch, place: _OutlinePlace) -> Spot:
        """The bytes of a touch: those that it takes turns with in the iterations of one loop around
        it where that is less than all it may touch."""
        buffer = touch.region.buffer
        while buffer in self.roots:
            buffer = self.roots[buffer]
        if buffer.memory is Memory.GM:
            return Spot(buffer)
        low, high = int(touch.low), int(touch.high)
        best = Spot(buffer, (low,), high - low)
        for loop, period in reversed(place.loops):
            turns = self._turns(stmt, touch, place.context, loop, period) if period > 1 else ()
            size = max((last - first for first, last in turns), default=best.size)
            if size < best.size:
                best = Spot(buffer, _shortest(tuple(f for f, _ in turns)), size, loop.var)
        return best

    def _turns(
        self, stmt: Stmt, touch: Touch, context: Context, loop: For, period: int
    ) -> list[tuple[int, int]]:
        """The bytes in each of the first iterations, up to the period of the loop."""
        first, found = constant_value(loop.start) or 0, []
        for residue in range(period):
            values = {**context.values, loop.var: Const(first + residue)}
            turns = touched_by_pipes(stmt, self.addresses, context.known, values)
            same = [t for _, _, part in turns for t in part if t.region == touch.region]
            if not same:
                return []
            found.append((int(same[0].low), int(same[0].high)))
        return found


def _shortest(addresses: tuple[int, ...]) -> tuple[int, ...]:
    """The part of a row of addresses that the whole row repeats."""
    for length in range(1, len(addresses)):
        repeated = addresses[:length] * (len(addresses) // length)
        if repeated == addresses:
            return addresses[:length]
    return addresses


def _is_operand(op: Op, touch: Touch) -> bool:
    return any(o is touch.region for o in op.operands if isinstance(o, Region))


def _also_read(stmt: Stmt, touch: Touch) -> bool:
    """Whether an operation reads the bytes that it writes."""
    if not isinstance(stmt, Op):
        return False
    defined = ((stmt.opdef.operand_def(i), operand) for i, operand in enumerate(stmt.operands))
    return any(d.access.reads for d, o in defined if o is touch.region)


def _check(op: Op) -> None:
    """Whether an operation is work of one pipe, or order."""
    effect = op.opdef.effect
    if effect in ORDER | BETWEEN_CORES or effect is Effect.DATA:
        return
    raise Unsayable(op.opdef.called)


__all__ = [
    "BETWEEN_CORES",
    "Outline",
    "OutlineBranch",
    "OutlineLoop",
    "PipeWork",
    "Spot",
    "Unsayable",
    "instructions",
    "outline_of",
]
