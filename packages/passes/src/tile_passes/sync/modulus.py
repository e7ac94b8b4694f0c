"""In how many residues of its variable a loop is looked at: the period of what chooses on-chip
bytes or event ids there. What is done with them is in `build_tree`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from tile_ir import Effect, For, If, Let, Memory, Op, Store
from tile_ir.analysis.affine import linear_form, resolved
from tile_ir.expr import Binary, Const, Expr, Var, constant_value, walk
from tile_ir.nodes import Body, Break, Region
from tile_ir.walk import loads
from tile_ir.walk import walk as walk_statements

# More residues than this are not told apart.
MOST_PHASES = 8
ORDERING = (
    Effect.SET_FLAG,
    Effect.WAIT_FLAG,
    Effect.BARRIER,
    Effect.SYNC_ALL,
    Effect.WAIT_CROSS_FLAG,
)


def modulus_of(loop: For, values: Mapping[Var, Expr]) -> int:
    """The least common multiple of the periods with which the loop chooses on-chip bytes and event
    ids; short periods come first, and those that make it too large do not count. A loop that a
    break leaves is looked at as a whole: what is in flight then must not depend on the residue."""
    if _has_break(loop.body):
        return 1
    periods: set[int] = set()
    counted = False
    lets = dict(values)
    for expr, event in _choices(loop.body, lets):
        whole = resolved(expr, lets)
        counted = counted or (event and bool(linear_form(whole)[0].get(loop.var, 0)))
        for part in walk(whole):
            if not (isinstance(part, Binary) and part.op == "%" and isinstance(part.right, Const)):
                continue
            factor = linear_form(part.left)[0].get(loop.var, 0)
            period = int(part.right.value)
            if factor and period > 0:
                periods.add(period // math.gcd(factor, period))
    found = 1
    for period in sorted(periods):
        joined = math.lcm(found, period)
        found = joined if joined <= MOST_PHASES else found
    if counted and (rounds := _rounds(loop)) is not None:
        # As many residues as rounds, as where the flags of all slots are set one after another.
        every = found * -(-rounds // found)
        found = every if every <= MOST_PHASES else found
    return found


def _rounds(loop: For) -> int | None:
    """How often the loop runs, where that is a constant."""
    start, stop = constant_value(loop.start), constant_value(loop.stop)
    return None if start is None or stop is None else max(1, int(stop) - int(start))


def _has_break(body: Body) -> bool:
    return any(
        isinstance(s, Break) or (isinstance(s, If) and any(map(_has_break, (s.then, s.orelse))))
        for s in body
    )


def _choices(body: Body, lets: dict[Var, Expr]) -> Iterator[tuple[Expr, bool]]:
    """The expressions that choose on-chip bytes, or event ids; notes lets on the way."""
    for stmt in walk_statements(body):
        for load in loads(stmt):
            if load.buffer.memory not in (Memory.GM, Memory.VAR):
                yield from ((i, False) for i in load.indices)
        match stmt:
            case Let(var=var, value=value):
                lets[var] = value
            case Store(buffer=buffer, indices=indices) if buffer.memory is not Memory.GM:
                yield from ((i, False) for i in indices)
            case Op(operands=operands):
                for operand in operands:
                    if isinstance(operand, Region) and operand.memory is not Memory.GM:
                        yield from ((s.offset, False) for s in operand.dims)
                    elif isinstance(operand, Expr) and stmt.opdef.effect in ORDERING:
                        yield operand, True
