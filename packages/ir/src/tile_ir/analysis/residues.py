"""Compute the period after which a loop uses the same on-chip bytes and event ids again.

In each residue of the loop variable modulo the period, slots are constants.

Not here: the residues in which a loop begins and ends, which the callers determine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache

from tile_ir.analysis.intervals import INF, Interval
from tile_ir.analysis.trip_counts import constant_trips
from tile_ir.expr import Binary, Const, Expr, Load, Select, Var, children, walk_expr
from tile_ir.machine import Memory
from tile_ir.nodes import For, Let, Op, Region, Stmt, Store
from tile_ir.opdef import Effect
from tile_ir.scalars.affine import Values, linear_form, resolved
from tile_ir.traversal import breaks, loads
from tile_ir.traversal import walk as walk_statements

# More residues than this are not told apart; where event ids ask for it, more of them are.
MOST_RESIDUES = 8
MOST_RESIDUES_OF_EVENTS = 16
ORDERING = (
    Effect.SET_FLAG,
    Effect.WAIT_FLAG,
    Effect.BARRIER,
    Effect.SYNC_ALL,
    Effect.WAIT_CROSS_FLAG,
    Effect.AWAIT_SIGNAL,
    Effect.AWAIT_ENGINE,
)


@lru_cache(maxsize=32768)
def periods(expr: Expr, var: Var) -> frozenset[int]:
    """After how many steps of the variable the remainders in an expression are the same again."""
    found = [
        _period(part.left, int(part.right.value), var)
        for part in walk_expr(expr)
        if isinstance(part, Binary) and part.op == "%" and isinstance(part.right, Const)
        if part.right.value > 0
    ]
    return frozenset(found) - {1}


def _period(expr: Expr, modulus: int, var: Var) -> int:
    """After how many steps an expression is the same again modulo a number: exactly for sums,
    products and quotients; what else is made of the variable is taken to come back as it does."""
    terms, _ = linear_form(expr)
    found = 1
    for atom, factor in terms.items():
        m = modulus // math.gcd(factor, modulus)
        match atom:
            case Var():
                own = m if atom == var else 1
            case Load():
                own = 1
            case Binary(op="//", left=left, right=Const(value=int(by))) if by > 0:
                own = _period(left, m * by, var)
            case Binary(op="%", left=left, right=Const(value=int(by))) if by > 0:
                own = _period(left, by, var)
            case Select(then=then, orelse=orelse):
                own = math.lcm(_period(then, m, var), _period(orelse, m, var))
            case _:
                own = math.lcm(*(_period(part, m, var) for part in children(atom)))
        found = math.lcm(found, own)
    return found


def joint_period(periods: Iterable[int], limit: int = MOST_RESIDUES, found: int = 1) -> int:
    """The least common multiple; short periods come first, and those that make it too large do not
    count."""
    for period in sorted(periods):
        joined = math.lcm(found, period)
        found = joined if joined <= limit else found
    return found


def modulus_of(loop: For, values: Values) -> int:
    """The joint period with which a loop chooses on-chip bytes and event ids. A loop with a break
    has the period 1: operations in flight at the break must not depend on the residue."""
    if any(breaks(loop.body)):
        return 1
    found = set[int]()
    counted = False
    lets = dict(values)
    for stmt in walk_statements(loop.body):
        for chosen in slots_chosen(stmt):
            found |= periods(resolved(chosen, lets), loop.var)
        if isinstance(stmt, Op) and stmt.opdef.effect in ORDERING:
            for event in events_chosen(stmt):
                whole = resolved(event, lets)
                found |= periods(whole, loop.var)
                counted = counted or bool(linear_form(whole)[0].get(loop.var, 0))
        if isinstance(stmt, Let):
            lets[stmt.var] = stmt.value
    modulus = joint_period(found)
    count = constant_trips(loop) if counted and isinstance(loop.start, Const) else None
    if count is not None:
        # As many residues as iterations, where the flags of all slots are set one after another.
        every = modulus * -(-max(1, count) // modulus)
        modulus = every if every <= MOST_RESIDUES else modulus
    return modulus


def slots_chosen(stmt: Stmt) -> Iterator[Expr]:
    """The expressions by which a statement chooses on-chip bytes."""
    for load in loads(stmt):
        if load.buffer.memory is not Memory.GM:
            yield from load.indices
    match stmt:
        case Store(buffer=buffer, indices=indices) if buffer.memory is not Memory.GM:
            yield from indices
        case Op(operands=operands):
            for operand in operands:
                if isinstance(operand, Region) and operand.memory is not Memory.GM:
                    yield from (s.offset for s in operand.dims)


def events_chosen(op: Op) -> Iterator[Expr]:
    """The expressions by which a flag or barrier is chosen."""
    return (operand for operand in op.operands if isinstance(operand, Expr))


def iterations_of(var: Var) -> Var:
    """The variable k of `var = k * modulus + residue`, which counts iterations in one residue. No
    user's name has its mark."""
    return Var(f"{var.name}#", var.dtype)


def is_iterations(var: Var) -> bool:
    """Whether a variable is such a count."""
    return var.name.endswith("#")


def iterations_in(span: Interval, residue: int, modulus: int) -> Interval:
    """The numbers k for which `k * modulus + residue` lies in a span."""
    low = -INF if span.low == -INF else -((residue - span.low) // modulus)
    high = INF if span.high == INF else (span.high - residue) // modulus
    return Interval(low, max(low, high))
