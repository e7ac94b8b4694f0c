"""Makes choices that have one outcome for a whole tile once, and not for each element."""

from __future__ import annotations

from collections.abc import Mapping

from tile_ir import (
    ONE,
    OPS,
    ZERO,
    Automatic,
    Binary,
    Body,
    Const,
    Expr,
    For,
    Func,
    If,
    Let,
    Load,
    Memory,
    Op,
    Phase,
    Region,
    Select,
    Slice,
    Stmt,
    Store,
    Target,
    Unary,
    Var,
    binary,
    bodies,
    cast,
    conjunction,
    difference,
    is_constant,
    linear_form,
    reads_memory,
    resolved,
    simplify,
    substitute,
    walk_expr,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import (
    Ranges,
    constant_trips,
    launch_ranges,
    narrow,
    ranges_inside,
    with_ranges,
)
from tile_ir.quick_dataclasses import dataclass
from tile_passes.parallel.boxes import negated
from tile_passes.parallel.nest_form import is_parallel
from tile_passes.passdef import ir_pass

_BOUNDS = ("<", "<=", ">", ">=")
# A number of one of these sizes fills a tile by an instruction.
_FILLED_BITS = (16, 32)


@ir_pass(needs=Phase.BUILT)
def settle_choices(func: Func, target: Target) -> Func:
    """Make choices with one outcome for a whole tile once, not for each element.

    Needs, gives: BUILT, text for GPUs. Idea: a mask selects elements by their places. Linear bounds
    that hold in the corner of a tile hold in all of it, so a branch on the place of the tile
    replaces the mask. If the constant or unchanged side is selected, nothing is computed. A
    `T.Parallel` nest that stores one constant becomes a fill. Limits: nests of one store, of
    constant sizes.
    """
    if Automatic.CORES not in func.automatic:
        return func
    return func.with_body(_body(func.launch.body, launch_ranges(func)))


def _body(body: Body, ranges: Ranges) -> Body:
    result: list[Stmt] = []
    for stmt, known in with_ranges(body, ranges):
        if is_parallel(stmt):
            nest = _nest(stmt)
            result += (stmt,) if nest is None else nest.settled(known)
            continue
        inside = ranges_inside(stmt, known)
        result.append(with_bodies(stmt, tuple(_body(b, inside) for b in bodies(stmt))))
    return with_statements(body, result)


@dataclass(frozen=True, slots=True)
class _Nest:
    """`T.Parallel` of constant sizes around one store to a tile; `choice` has a condition with the
    values where it holds and where it does not, None for what the element held."""

    stmt: For
    loops: Mapping[Var, tuple[Expr, int]]
    store: Store
    value: Expr
    choice: tuple[Expr, Expr | None, Expr | None] | None

    def settled(self, known: Ranges) -> Body:
        """The statements that replace the nest."""
        whole = self._without_elements(self.value) if self.choice is None else None
        if whole is not None:
            return whole
        if self.choice is None:
            return (self.stmt,)
        condition, then, orelse = self.choice
        sides = (then, True), (orelse, False)
        for side, holds in sorted(sides, key=lambda side: not _is_nothing(side[0])):
            plain = self._without_elements(side)
            one = self._everywhere(condition, holds) if plain is not None else None
            if plain is None or one is None:
                continue
            one = narrow(one, known)
            if is_constant(one, False):
                continue
            loc = self.stmt.loc
            if plain:
                return (If(one, plain, (self.stmt,), loc),)
            return (If(negated(one), (self.stmt,), (), loc),)
        return (self.stmt,)

    def _without_elements(self, value: Expr | None) -> Body | None:
        """The statements that give every element the value, if no nest is needed for it."""
        if value is None:
            return ()
        if not isinstance(value, Const) or self.store.buffer.dtype.bits not in _FILLED_BITS:
            return None
        region = self._region()
        if region is None:
            return None
        return (Op(OPS["fill"], (region, value), (), self.store.loc),)

    def _region(self) -> Region | None:
        """The elements that are stored, if they are a box."""
        left = dict(self.loops)
        dims = []
        for index in self.store.indices:
            used = [e for e in walk_expr(index) if isinstance(e, Var) and e in self.loops]
            if not used:
                dims.append(Slice(index, ONE))
                continue
            (var, *more) = used
            start, count = left.pop(var, (ZERO, 0))
            if more or not count or linear_form(index)[0].get(var) != 1:
                return None
            first = simplify(substitute(index, {var: start}))
            dims.append(Slice(first, cast(count, first.dtype)))
        return None if left else Region(self.store.buffer, tuple(dims))

    def _everywhere(self, condition: Expr, holds: bool) -> Expr | None:
        """A condition under which another one holds, or does not, for all elements; None where it
        is no condition on linear bounds."""
        match condition:
            case Unary(op="not", operand=inner):
                return self._everywhere(inner, not holds)
            case Binary(op="and" | "or" as op, left=a, right=b):
                one, other = self._everywhere(a, holds), self._everywhere(b, holds)
                if (op == "and") is holds:
                    return None if one is None or other is None else conjunction((one, other))
                if one is None or other is None:
                    return one if other is None else other
                return binary("or", one, other)
            case Binary(left=a, right=b) if a.dtype.is_integer and b.dtype.is_integer:
                return self._in_corner(condition if holds else negated(condition))
        return None

    def _in_corner(self, condition: Expr) -> Expr | None:
        """A comparison for the element where it is the first to fail."""
        if not isinstance(condition, Binary) or condition.op not in _BOUNDS:
            return None
        apart = difference(condition.left, condition.right)
        terms, _ = linear_form(apart)
        corner: dict[Var, Expr] = {}
        for atom, factor in terms.items():
            if isinstance(atom, Var) and atom in self.loops:
                start, count = self.loops[atom]
                least = (factor > 0) is (condition.op in (">", ">="))
                corner[atom] = start if least else simplify(start + (count - 1))
            elif reads_memory(atom) or any(v in self.loops for v in walk_expr(atom)):
                return None
        return binary(condition.op, simplify(substitute(apart, corner)), cast(ZERO, apart.dtype))


def _nest(stmt: Stmt) -> _Nest | None:
    loops: dict[Var, tuple[Expr, int]] = {}
    body: Body = (stmt,)
    while len(body) == 1 and isinstance(inner := body[0], For) and is_parallel(inner):
        count = constant_trips(inner)
        if not count or reads_memory(inner.start):
            return None
        loops[inner.var] = inner.start, count
        body = inner.body
    if not body:
        return None
    *names, last = body
    values: dict[Var, Expr] = {}
    for name in names:
        if not isinstance(name, Let) or reads_memory(name.value):
            return None
        values[name.var] = resolved(name.value, values)
    condition = None
    if isinstance(last, If) and len(last.then) == 1 and not last.orelse:
        condition, last = resolved(last.condition, values), last.then[0]
    if not isinstance(last, Store) or last.buffer.memory in (Memory.GM, Memory.VAR):
        return None
    value = resolved(last.value, values)
    choice: tuple[Expr, Expr | None, Expr | None] | None = None
    if condition is not None:
        choice = condition, value, None
    elif isinstance(value, Select):
        held = Load(last.buffer, last.indices)
        then, orelse = (None if side == held else side for side in (value.then, value.orelse))
        choice = value.condition, then, orelse
    assert isinstance(stmt, For), "a nest is a loop"
    return _Nest(stmt, loops, last, value, choice)


def _is_nothing(side: Expr | None) -> bool:
    """Whether a side leaves what was there, or zeros, which products begin with."""
    return side is None or is_constant(side, 0)
