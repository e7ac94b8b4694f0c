"""Which side of a branch is feasible, by what loops around it say of their variables and bounds.

Whether a loop runs at all is in `trips`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tile_ir import For
from tile_ir.analysis.affine import resolved, simplify
from tile_ir.analysis.intervals import Interval, Ranges, decide, interval, narrow
from tile_ir.dtypes import INT32, INT64
from tile_ir.expr import Binary, Const, Expr, Unary, Var, promote, reads_memory

COMPARISONS = frozenset({"<", "<=", ">", ">=", "=="})


def surely_taken(
    condition: Expr, around: Iterable[For], values: Mapping[Var, Expr], known: Ranges
) -> bool | None:
    """Whether a condition holds in every round of the loops around it, or in none; else None."""
    facts = tuple(fact for loop in around for fact in _facts(loop, values))
    return _Facts(facts, known).truth(narrow(simplify(resolved(condition, values)), known))


def _facts(loop: For, values: Mapping[Var, Expr]) -> Iterator[Expr]:
    """What is at least 0 in its rounds, of what cannot change meanwhile."""
    start, stop = (resolved(e, values) for e in (loop.start, loop.stop))
    for fact in (loop.var - start, stop - 1 - loop.var, stop - 1 - start):
        if not reads_memory(fact):
            yield simplify(fact)


@dataclass(frozen=True, slots=True)
class _Facts:
    facts: tuple[Expr, ...]
    known: Ranges

    def truth(self, expr: Expr) -> bool | None:
        match expr:
            case Const(value=value):
                return bool(value)
            case Unary(op="not", operand=operand):
                inner = self.truth(operand)
                return None if inner is None else not inner
            case Binary(op=("and" | "or") as op, left=left, right=right):
                decisive = op == "or"
                sides = (self.truth(left), self.truth(right))
                if decisive in sides:
                    return decisive
                return None if None in sides else not decisive
            case Binary(op=op, left=a, right=b) if op in COMPARISONS:
                # Unsigned and narrow operands may wrap when they are compared.
                if promote(a.dtype, b.dtype) in (INT32, INT64):
                    return decide(op, Interval(self.least(a - b), -self.least(b - a)))
        return None

    def least(self, expr: Expr) -> float:
        """What the number is at least."""
        lows = (interval(simplify(expr - fact), self.known).low for fact in self.facts)
        return max((interval(simplify(expr), self.known).low, *lows))
