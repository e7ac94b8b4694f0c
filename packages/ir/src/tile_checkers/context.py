"""Describe the facts at a statement: intervals, definitions and the loops around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tile_checkers.conditions import IterationPlace
from tile_ir import Expr, For, Func, Let, Stmt, Var, reads_memory
from tile_ir.analysis import EVERYTHING, Ranges, interval, launch_ranges, ranges_inside
from tile_ir.analysis.branch_feasibility import Facts
from tile_ir.quick_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Context:
    """Facts at a statement, in one residue of every loop around it.

    `values` has lets and the residues of loop variables, `plain` lets and unrolled variables only.
    `places` says in which part of its loop an iteration is, `facts` what branches and loops imply.
    `frames` names the loops around, `key` the residues and unrolled iterations.
    """

    known: Ranges
    values: Mapping[Var, Expr]
    plain: Mapping[Var, Expr]
    path: tuple[Any, ...] = ()
    frames: tuple[Any, ...] = ()
    key: tuple[Any, ...] = ()
    places: tuple[tuple[For, IterationPlace], ...] = ()
    facts: Facts = ()

    def let(self, stmt: Let) -> Context:
        """Behind a definition."""
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

    def inside(self, stmt: Stmt) -> Context:
        """In the body of a statement, in any iteration."""
        known = ranges_inside(stmt, self.known)
        return replace(self, known=known, path=(*self.path, stmt))


def launch_context(func: Func) -> Context:
    """Return the facts where a launch begins."""
    scalars: Ranges = {p: EVERYTHING for p in func.params if isinstance(p, Var)}
    return Context(scalars | launch_ranges(func), {}, {})


__all__ = ["Context", "launch_context"]
