"""What is visible at a statement, in one residue of every loop around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tile_checkers.section.conditions import IterationPlace
from tile_checkers.section.loops import LoopPlan, Node
from tile_ir import Expr, For, Let, Var, While, reads_memory
from tile_ir import walk as walk_statements
from tile_ir.analysis import Ranges, interval, loop_range, rounds_in, rounds_of
from tile_ir.analysis.branch_feasibility import Facts, facts_in


@dataclass(frozen=True, slots=True)
class Context:
    """What is visible at a statement, in one residue of every loop around it.

    `values` has lets and the residues of loop variables, `plain` lets and unrolled variables only.
    `places` says in which part of its loop an iteration is, `facts` what branches and loops imply.
    `frames` names the loops around, `key`
    the residues and unrolled iterations."""

    known: Ranges
    values: Mapping[Var, Expr]
    plain: Mapping[Var, Expr]
    path: tuple[Any, ...] = ()
    frames: tuple[Any, ...] = ()
    key: tuple[Any, ...] = ()
    places: tuple[tuple[For, IterationPlace], ...] = ()
    facts: Facts = ()

    def let(self, stmt: Let) -> Context:
        known = self.known
        if stmt.var.dtype.is_integer:
            known = {**known, stmt.var: interval(stmt.value, known)}
        found = replace(self, known=known, path=(*self.path, stmt))
        if reads_memory(stmt.value):
            return found
        return replace(
            found,
            values={**self.values, stmt.var: stmt.value},
            plain={**self.plain, stmt.var: stmt.value},
        )


def iteration(
    loop: For | While, plan: LoopPlan, node: Node, frame: Any, context: Context
) -> Context:
    """What an iteration of one kind sees."""
    residue, place = node
    frames, path = (*context.frames, frame), (*context.path, loop)
    key = (*context.key, (id(loop), residue)) if plan.modulus > 1 else context.key
    if isinstance(loop, While):
        return replace(context, frames=frames, path=path, key=key)
    values, known = context.values, {**context.known, loop.var: loop_range(loop, context.known)}
    if plan.modulus > 1:
        step = rounds_of(loop.var)
        known[step] = rounds_in(known[loop.var], residue, plan.modulus)
        values = {**values, loop.var: step * plan.modulus + residue}
    places = context.places if plan.peeled == 0 else (*context.places, (loop, place))
    facts = (*context.facts, *facts_in(loop, context.plain))
    return replace(
        context,
        known=known,
        values=values,
        path=path,
        frames=frames,
        key=key,
        places=places,
        facts=facts,
    )


def defined_inside(loop: For | While) -> frozenset[Var]:
    found = {s.var for s in walk_statements(loop.body) if isinstance(s, (For, Let))}
    if isinstance(loop, For):
        found.add(loop.var)
    return frozenset(found)


__all__ = ["Context", "defined_inside", "iteration"]
