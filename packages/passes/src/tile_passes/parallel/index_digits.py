"""Which loop variables the indices of an element fix: no two iterations touch the same element when
its indices fix them all.

An index fixes the variable that it is a multiple of, and digits fix the number that they are digits
of: `x // 12`, `x // 4 % 3` and `x % 4` are those of `x`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from tile_ir import Binary, Expr, Var, constant_value, linear_form, simplify, walk_expr

# How often each loop runs, where that is known.
Trips = Mapping[Var, int | None]
# A number, and what it is divided by.
_Quotient = tuple[Expr, int]


def fixed_by(indices: Iterable[Expr], variant: Set[Var], trips: Trips) -> set[Var]:
    """The variables with one value for each tuple of values of the indices. A name that is not
    `variant` is the same in all iterations."""
    fixed: set[Var] = set()
    # The modulus that a quotient is known by; None where it is known whole.
    digits: dict[_Quotient, int | None] = {}
    due = [simplify(index) for index in indices]
    while due:
        terms, _ = linear_form(due.pop())
        atoms = {e: f for e, f in terms.items() if any(p in variant for p in walk_expr(e))}
        if all(isinstance(atom, Var) for atom in atoms):
            fixed |= _of_sum({v: f for v, f in atoms.items() if isinstance(v, Var)}, trips)
        elif len(atoms) == 1:
            due += _joined(digits, *atoms)
    return fixed


def _of_sum(factors: Mapping[Var, int], trips: Trips) -> Set[Var]:
    """The variables of a sum, if each has a step longer than all that smaller ones add up to."""
    reach = 0
    for var, factor in sorted(factors.items(), key=lambda each: abs(each[1])):
        count = trips.get(var)
        if abs(factor) <= reach:
            return frozenset()
        if len(factors) > 1:
            if count is None:
                return frozenset()
            reach += abs(factor) * max(count - 1, 0)
    return factors.keys()


def _joined(digits: dict[_Quotient, int | None], atom: Expr) -> list[Expr]:
    """Note a digit; return the number whose digits are now all there."""
    found = _digit(atom)
    if found is None:
        return []
    base, divisor, modulus = found
    digits[base, divisor] = modulus
    divisors = sorted((d for b, d in digits if b == base), reverse=True)
    for each in divisors:
        own = digits[base, each]
        if own is not None and (base, each * own) in digits:
            higher = digits[base, each * own]
            digits[base, each] = None if higher is None else own * higher
    whole = (base, 1) in digits and digits[base, 1] is None
    return [base] if whole else []


def _digit(atom: Expr) -> tuple[Expr, int, int | None] | None:
    """The number, its divisor, and the modulus of the quotient if it has one."""
    modulus: int | None = None
    if isinstance(atom, Binary) and atom.op == "%":
        modulus, atom = constant_value(atom.right), atom.left
        if modulus is None or modulus <= 0:
            return None
    divisor = 1
    while isinstance(atom, Binary) and atom.op == "//":
        by = constant_value(atom.right)
        if by is None or by <= 0:
            break
        divisor, atom = divisor * by, atom.left
    return (atom, divisor, modulus) if divisor > 1 or modulus is not None else None
