"""What is known at a place of a section: of variables, in each residue of the loops around it, and
from the conditions and bounds of what stands around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from tile_ir import Expr, Stmt, Var
from tile_ir.analysis import Bounds, Facts, Interval, Ranges, facts_of
from tile_passes.order.tree import Residues

# One combination of residues, and what is known of expressions in it.
InResidue: TypeAlias = tuple[Residues, Bounds]

# A loop looked at by residue: its variable, that which counts its rounds of all residues, and for
# each residue that it comes to, in which rounds, and the variable in terms of these.
Counted: TypeAlias = tuple[Var, Var, list[tuple[int, Interval, Expr]]]


@dataclass(frozen=True)
class Sight:
    """What is known where a statement stands: intervals and values of variables, the loops around
    it that are looked at by residue, all that stands around and before it, and what the loops and
    branches around it say."""

    known: Ranges
    values: Mapping[Var, Expr]
    counted: list[Counted]
    path: tuple[Stmt, ...]
    facts: Facts = ()

    def where(self, condition: Expr, value: bool) -> Sight:
        """What is known where a condition has a value."""
        return replace(self, facts=(*self.facts, *facts_of(condition, value, self.values)))

    @cached_property
    def each_residue(self) -> list[InResidue]:
        """Every combination of residues, with what is known of variables in it."""
        found: list[tuple[Residues, Ranges, Mapping[Var, Expr]]] = [((), self.known, self.values)]
        for var, rounds, turns in self.counted:
            found = [
                ((*residues, residue), {**ranges, rounds: span}, {**chosen, var: value})
                for residues, ranges, chosen in found
                for residue, span, value in turns
            ]
        return [(residues, Bounds(ranges, chosen)) for residues, ranges, chosen in found]
