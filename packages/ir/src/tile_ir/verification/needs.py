"""Compute the names and the context that a correct statement requires around it.

A pass leaves most statements unchanged. The verifier computes the requirements of a statement once;
in a place that fulfils them the statement is correct again. Where one is missing, the verifier
checks the statements in full to report their errors.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tile_ir.expr import Const
from tile_ir.layout.row_form import machine_form
from tile_ir.location import Loc
from tile_ir.machine import Core
from tile_ir.nodes import (
    AttrValue,
    Body,
    Break,
    Buffer,
    For,
    If,
    Let,
    LoopKind,
    Op,
    Operand,
    Section,
    Stmt,
    While,
)
from tile_ir.opdef import Composite, Effect, OpDef, check_op
from tile_ir.quick_dataclasses import dataclass
from tile_ir.target import Target
from tile_ir.verification.own_parts import Named, Scope, in_section, named
from tile_ir.verification.phases import PhaseRule


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """The facts, besides names, that decide whether statements are correct: the chip, whether
    operations are to be those of the hardware, and the core of the section around. `place_for` has
    one of each."""

    target: Target
    lowered: bool
    core: Core | None


@lru_cache(maxsize=256)
def place_for(target: Target, lowered: bool, core: Core | None) -> Place:
    return Place(target, lowered, core)


class Needs(NamedTuple):
    """The requirements of statements on their context: declared buffers, defined scalars, and no
    scalar that they define themselves. The rest depends on the phase: the kinds of their loops, a
    composite operation, and an operation outside of sections. A break requires a loop around it."""

    buffers: frozenset[Buffer]
    scalars: frozenset[str]
    defined: frozenset[str] = frozenset()
    loops: frozenset[LoopKind] = frozenset()
    composite: bool = False
    unsectioned: bool = False
    leaves: bool = False

    def met_in(self, scope: Scope, rule: PhaseRule) -> bool:
        """Whether a scope has it all, and the phase allows it."""
        return (
            self.buffers <= scope.buffers
            and self.scalars <= scope.scalars
            and self.defined.isdisjoint(scope.scalars)
            and self.loops <= rule.loop_kinds
            and (rule.composites or not self.composite)
            and (rule.unsectioned or not self.unsectioned)
            and (scope.in_loop or not self.leaves)
        )


NOTHING = Needs(frozenset(), frozenset())


@lru_cache(maxsize=32768)
def needs_of(body: Body, where: Place) -> Needs | None:
    """The requirements of the statements of a body; None if some statement may be wrong in any
    context."""
    if not body:
        return NOTHING
    buffers, scalars, defined, loops = set[Buffer](), set[str](), set[str](), set[LoopKind]()
    visible = set[str]()
    composite = unsectioned = leaves = False
    for stmt in body:
        found = _needs(stmt, where)
        if found is None or visible & found.defined:
            return None
        buffers |= found.buffers
        scalars |= found.scalars - visible
        defined |= found.defined
        loops |= found.loops
        composite |= found.composite
        unsectioned |= found.unsectioned
        leaves |= found.leaves
        if isinstance(stmt, Let):
            visible |= found.defined
    names = frozenset(buffers), frozenset(scalars), frozenset(defined)
    return Needs(*names, frozenset(loops), composite, unsectioned, leaves)


@lru_cache(maxsize=32768)
def _needs(stmt: Stmt, where: Place) -> Needs | None:
    if isinstance(stmt, Op) and _only_orders(stmt):
        attrs = tuple([(type(value), value) for value in stmt.attrs])
        return _of_ordering(stmt.opdef, stmt.operands, attrs, where)
    own = named(stmt)
    if own is None:
        return None
    match stmt:
        case Op():
            return _of_op(stmt, own, where)
        case Let(var=var):
            return Needs(*own, frozenset((var.name,)))
        case For(var=var, kind=kind, body=body):
            inside = needs_of(body, where)
            if inside is None or var.name in inside.defined:
                return None
            name = frozenset((var.name,))
            return _around(own, inside)._replace(
                scalars=own.scalars | (inside.scalars - name),
                defined=inside.defined | name,
                loops=inside.loops | {kind},
                leaves=False,
            )
        case While(body=body):
            inside = needs_of(body, where)
            return inside and _around(own, inside)._replace(leaves=False)
        case If(then=then, orelse=orelse):
            a, b = needs_of(then, where), needs_of(orelse, where)
            return a and b and _around(own, _either(a, b))
        case Section(core=core, body=body):
            if where.core is not None or core is Core.EITHER:
                return None
            return needs_of(body, place_for(where.target, where.lowered, core))
    return Needs(*own, leaves=isinstance(stmt, Break))


_ORDERING = (Effect.SET_FLAG, Effect.WAIT_FLAG, Effect.BARRIER)


def _only_orders(op: Op) -> bool:
    """Whether it orders the work of pipes, by numbers: few of these differ in more than their
    places, so that one result serves all that are alike."""
    orders = op.opdef.effect in _ORDERING
    return orders and all(isinstance(operand, Const) for operand in op.operands)


@lru_cache(maxsize=4096)
def _of_ordering(
    opdef: OpDef,
    operands: tuple[Operand, ...],
    attrs: tuple[tuple[type, AttrValue], ...],
    where: Place,
) -> Needs | None:
    op = Op(opdef, operands, tuple([value for _, value in attrs]), Loc("", 0, 0))
    own = named(op)
    return own and _of_op(op, own, where)


def _of_op(op: Op, own: Named, where: Place) -> Needs | None:
    target, core = where.target, where.core
    wrong = (
        check_op(op, target) is not None
        or (core is not None and in_section(op, core, target))
        or (where.lowered and op.opdef.effect is Effect.DATA and machine_form(op, target))
    )
    if wrong:
        return None
    composite = op.opdef.composite is Composite.YES
    return Needs(*own, composite=composite, unsectioned=core is None)


def _around(own: Named, inside: Needs) -> Needs:
    """The requirements of a statement: of its own expressions, and of the statements inside it."""
    return inside._replace(
        buffers=own.buffers | inside.buffers, scalars=own.scalars | inside.scalars
    )


def _either(a: Needs, b: Needs) -> Needs:
    return Needs(
        a.buffers | b.buffers,
        a.scalars | b.scalars,
        a.defined | b.defined,
        a.loops | b.loops,
        a.composite or b.composite,
        a.unsectioned or b.unsectioned,
        a.leaves or b.leaves,
    )
