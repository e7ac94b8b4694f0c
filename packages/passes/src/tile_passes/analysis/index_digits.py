"""Finds what the indices of an element fix. Iterations touch different elements where these fix all
loop variables.

An index fixes each part of a sum that has a step longer than all that smaller parts add up to, and
digits fix the number that they are digits of: `x // 12`, `x // 4 % 3` and `x % 4` are those of `x`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from tile_ir import Binary, Const, Expr, Var, linear_form, reads_memory, simplify, walk_expr
from tile_ir.analysis import Facts, Ranges, at_least, interval


def fixed_by(
    indices: Iterable[Expr], known: Ranges, variant: Set[Var] | None = None, facts: Facts = ()
) -> set[Expr]:
    """The expressions with one value for each tuple of values of the indices. Names that are not
    `variant` are the same in all iterations; None: every name may vary."""
    facts = (*facts, *(found for fact in facts for found in _of_quotients(fact)))
    fixed: set[Expr] = set()
    sums = {index: _varying(index, variant) for index in indices}
    count = -1
    while count != len(fixed):
        count = len(fixed)
        for terms in sums.values():
            rest = {atom: factor for atom, factor in terms.items() if atom not in fixed}
            if _fixes_parts(rest, known):
                fixed |= rest.keys()
        for atom in [*fixed]:
            number = _number_of(atom, fixed, known, facts, variant)
            if number is not None and number not in sums:
                sums[number] = _varying(number, variant)
    return fixed


def _varying(index: Expr, variant: Set[Var] | None) -> dict[Expr, int]:
    """The parts of a sum that may differ between iterations, with their steps."""
    terms, _ = linear_form(simplify(index))
    return {
        atom: abs(factor)
        for atom, factor in terms.items()
        if variant is None or not variant.isdisjoint(walk_expr(atom))
    }


def _fixes_parts(steps: Mapping[Expr, int], known: Ranges) -> bool:
    """Whether each value of a sum has one value of every part."""
    reach: float = 0
    for atom, step in sorted(steps.items(), key=lambda each: each[1]):
        if step <= reach:
            return False
        reach += step * _width(atom, known)
    return True


def _width(e: Expr, known: Ranges) -> float:
    found = interval(e, known)
    return found.high - found.low


def _is_steady(divisor: Expr, variant: Set[Var] | None) -> bool:
    """Whether a divisor is the same in all iterations."""
    if isinstance(divisor, Const):
        return True
    same = variant is not None and variant.isdisjoint(walk_expr(divisor))
    return same and not reads_memory(divisor)


def _number_of(
    atom: Expr, fixed: Set[Expr], known: Ranges, facts: Facts, variant: Set[Var] | None
) -> Expr | None:
    """The number whose last digit it is, if there are no other ones or they are fixed too; the side
    of a minimum that is never more than the other."""
    match atom:
        case Binary(op="%", left=left, right=right) if _is_steady(right, variant):
            last = isinstance(right, Const) and _width(left, known) < right.value
            return left if last or quotients(left, right) & fixed else None
        case Binary(op="min", left=left, right=right):
            return left if at_least(right - left, known, facts) >= 0 else None
    return None


def quotients(e: Expr, divisor: Expr) -> set[Expr]:
    """The spellings of a quotient."""
    found = {simplify(e // divisor)}
    if isinstance(e, Binary) and e.op == "//":
        found.add(simplify(e.left // (e.right * divisor)))
    return found


def _of_quotients(fact: Expr) -> Iterator[Expr]:
    """Further expressions that are not negative, as `n * (a // n)` is not more than `a`."""
    terms, _ = linear_form(fact)
    for atom, factor in terms.items():
        if factor == 1 and isinstance(atom, Binary) and atom.op == "//":
            yield simplify(atom.left + (fact - atom) * atom.right)
