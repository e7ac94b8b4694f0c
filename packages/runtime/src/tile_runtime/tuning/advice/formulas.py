"""Rewrite formulas of floating-point values into equal ones with fewer vector instructions.

A formula is a sum of products with constants collected: `0.5 * x * (1 + tanh(z))` is read as
`x / (1 + exp(-2 * z))`, constants move into sums, and common factors are taken out. Results differ
by roundings. Anything else is an atom, which stays as it is written.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tile_ir.quick_dataclasses import dataclass, replace

# Vector instructions of a call, roughly, in additions: quotients and powers take two
# (device header rational.h for the long ones).
_CALLS = {"tanh": 30, "erf": 32, "sigmoid": 7, "exp": 2, "log": 2, "sqrt": 2, "rsqrt": 2}
_USUAL_CALL = 1
# Calls whose first argument is a formula of its own.
_OF_ONE_VALUE = (*_CALLS, "abs", "round", "cast")
_DIVISION = 2
# What `tanh` takes to be `erf` to within 0.0005: the slope at 0, and the factor of the cube.
_ERF_SLOPE, _ERF_CUBE = 2 / math.sqrt(math.pi), 0.08943


@dataclass(frozen=True, slots=True)
class FormulaAtom:
    """A piece of text that stays as it is; `row` says that it is the same for a whole row."""

    text: str
    row: bool


@dataclass(frozen=True, slots=True)
class FormulaCall:
    """A function of one value, with the prefix it is written with, and its other arguments."""

    prefix: str
    name: str
    value: Formula
    more: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FormulaProduct:
    """A number times factors, divided by others."""

    number: float
    over: tuple[Formula, ...] = ()
    under: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True)
class FormulaSum:
    """A number and products."""

    number: float
    terms: tuple[FormulaProduct, ...]


Formula: TypeAlias = "FormulaAtom | FormulaCall | FormulaProduct | FormulaSum"
IsRow = Callable[[ast.expr], bool]


def shorter_formula(node: ast.expr, is_row: IsRow, fewer_digits: bool = False) -> str | None:
    """The text of an equal formula with fewer instructions; None where there is none.

    With `fewer_digits`, `tanh` may become a difference, whose relative error grows near 0, and
    `erf` a `tanh` that differs by up to 0.0005.
    """
    before = instructions(node, is_row)
    read = _read(node, is_row)
    formula = _factored(_without_erf(read) if fewer_digits else read)
    text = _text(_with_differences(formula) if fewer_digits else formula)
    try:
        after = instructions(ast.parse(text, mode="eval").body, is_row)
    except SyntaxError:
        return None
    return text if after < before else None


def instructions(node: ast.expr, is_row: IsRow) -> int:
    """The vector instructions that an expression takes, counted roughly; values of whole rows take
    none."""
    if is_row(node):
        return 0
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            own = 1
            if isinstance(op, ast.Div) and not (_number(right) or _is_scalar(right, is_row)):
                own = _DIVISION + (_number(left) is not None)
            return own + instructions(left, is_row) + instructions(right, is_row)
        case ast.UnaryOp(operand=ast.Constant()):
            return 0
        case ast.UnaryOp(operand=operand):
            return 1 + instructions(operand, is_row)
        case ast.Call(func=func, args=args):
            name = func.attr if isinstance(func, ast.Attribute) else ""
            return _CALLS.get(name, _USUAL_CALL) + sum(instructions(a, is_row) for a in args)
    return 0


def _read(node: ast.expr, is_row: IsRow) -> Formula:
    number = _number(node)
    if number is not None:
        return FormulaProduct(number)
    if is_row(node):
        return FormulaAtom(ast.unparse(node), not _is_scalar(node, is_row))
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _times(FormulaProduct(-1.0), _read(operand, is_row))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _times(_read(left, is_row), _read(right, is_row))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _times(_read(left, is_row), _inverse(_read(right, is_row)))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _plus(_read(left, is_row), _read(right, is_row))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _plus(_read(left, is_row), _times(FormulaProduct(-1.0), _read(right, is_row)))
        case ast.Call(func=ast.Attribute(value=p, attr=name), args=[value, *more], keywords=[]):
            prefix, inner = f"{ast.unparse(p)}.", _read(value, is_row)
            if name == "sigmoid" and not more:
                return _sigmoid(prefix, inner)
            if name in _OF_ONE_VALUE:
                return FormulaCall(prefix, name, inner, tuple(map(ast.unparse, more)))
    return FormulaAtom(ast.unparse(node), False)


def _is_scalar(node: ast.expr, is_row: IsRow) -> bool:
    """Whether an expression is one value for all rows."""
    return is_row(node) and not any(isinstance(n, ast.Subscript) for n in ast.walk(node))


def _number(node: ast.expr) -> float | None:
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -float(value)
    return None


def _sigmoid(prefix: str, z: Formula) -> FormulaProduct:
    """1 / (1 + exp(-z))."""
    power = FormulaCall(prefix, "exp", _times(FormulaProduct(-1.0), z))
    return FormulaProduct(1.0, (), (FormulaSum(1.0, (FormulaProduct(1.0, (power,)),)),))


def _product(f: Formula) -> FormulaProduct:
    return f if isinstance(f, FormulaProduct) else FormulaProduct(1.0, (f,))


def _times(a: Formula, b: Formula) -> Formula:
    """The product; a number alone goes into the terms of a sum."""
    for one, other in ((a, b), (b, a)):
        if (
            isinstance(one, FormulaProduct)
            and not one.over
            and not one.under
            and isinstance(other, FormulaSum)
        ):
            terms = tuple(replace(t, number=t.number * one.number) for t in other.terms)
            return FormulaSum(other.number * one.number, terms)
    p, q = _product(a), _product(b)
    return FormulaProduct(p.number * q.number, (*p.over, *q.over), (*p.under, *q.under))


def _inverse(f: Formula) -> FormulaProduct:
    p = _product(f)
    if p.number == 0:
        return FormulaProduct(1.0, (), (p,))
    return FormulaProduct(1 / p.number, p.under, p.over)


def _plus(a: Formula, b: Formula) -> Formula:
    number = 0.0
    terms: list[FormulaProduct] = []
    for f in (a, b):
        match f:
            case FormulaSum(number=n, terms=more):
                number += n
                terms += more
            case FormulaProduct(number=n, over=(), under=()):
                number += n
            case _:
                terms.append(_product(f))
    return _without_tanh(FormulaSum(number, tuple(terms))) if terms else FormulaProduct(number)


def _without_tanh(f: FormulaSum) -> Formula:
    """`c + c * tanh(z)` is `2 * c * sigmoid(2 * z)`."""
    match f.terms:
        case (
            FormulaProduct(
                number=n, over=(FormulaCall(prefix=prefix, name="tanh", value=z),), under=()
            ),
        ):
            if n and abs(n) == abs(f.number):
                sign = 2.0 if n * f.number > 0 else -2.0
                part = _sigmoid(prefix, _times(FormulaProduct(sign), z))
                return _times(FormulaProduct(2 * f.number), part)
    return f


def _factored(f: Formula) -> Formula:
    """Common factors of sums taken out, all the way down."""
    match f:
        case FormulaCall(value=value):
            return replace(f, value=_factored(value))
        case FormulaProduct(number=number, over=over, under=under):
            over = tuple(map(_factored, over))
            return FormulaProduct(number, over, tuple(map(_factored, under)))
        case FormulaSum(number=0.0, terms=terms) if len(terms) > 1:
            common = Counter(terms[0].over)
            for t in terms[1:]:
                common &= Counter(t.over)
            if not common:
                return f
            rest: Formula = FormulaProduct(0.0)
            for t in terms:
                left = Counter(t.over) - common
                rest = _plus(rest, FormulaProduct(t.number, tuple(left.elements()), t.under))
            return FormulaProduct(1.0, (*common.elements(), _factored(rest)))
        case FormulaSum(number=number, terms=terms):
            return FormulaSum(number, tuple(_product(_factored(t)) for t in terms))
    return f


def _without_erf(f: Formula) -> Formula:
    """`erf(z)` as `tanh(2 / sqrt(pi) * (z + 0.08943 * z ** 3))`, all the way down."""
    match f:
        case FormulaCall(name=name, value=value):
            inner = _without_erf(value)
            if name != "erf":
                return replace(f, value=inner)
            square = _times(FormulaProduct(_ERF_CUBE), _times(inner, inner))
            odd = _times(inner, _plus(FormulaProduct(1.0), square))
            return replace(f, name="tanh", value=_times(FormulaProduct(_ERF_SLOPE), odd))
        case FormulaProduct(number=number, over=over, under=under):
            found: Formula = FormulaProduct(number)
            for factor in map(_without_erf, over):
                found = _times(found, factor)
            return _times(found, FormulaProduct(1.0, (), tuple(map(_without_erf, under))))
        case FormulaSum(number=number, terms=terms):
            found = FormulaProduct(number)
            for term in terms:
                found = _plus(found, _without_erf(term))
            return found
    return f


def _with_differences(f: Formula) -> Formula:
    """`tanh(z)` as `1 - 2 / (1 + exp(2 * z))`, all the way down."""
    match f:
        case FormulaCall(name="tanh", value=value):
            inner = _with_differences(value)
            part = _sigmoid(f.prefix, _times(FormulaProduct(-2.0), inner))
            return FormulaSum(1.0, (replace(part, number=-2.0),))
        case FormulaCall(value=value):
            return replace(f, value=_with_differences(value))
        case FormulaProduct(number=number, over=over, under=under):
            over = tuple(map(_with_differences, over))
            return FormulaProduct(number, over, tuple(map(_with_differences, under)))
        case FormulaSum(number=number, terms=terms):
            return FormulaSum(number, tuple(_product(_with_differences(t)) for t in terms))
    return f


def _text(f: Formula) -> str:
    return ast.unparse(_tree(f))


def _tree(f: Formula) -> ast.expr:
    match f:
        case FormulaAtom(text=text):
            return ast.parse(text, mode="eval").body
        case FormulaCall(value=value):
            function = ast.parse(f"{f.prefix}{f.name}", mode="eval").body
            more = [ast.parse(text, mode="eval").body for text in f.more]
            return ast.Call(function, [_tree(value), *more], [])
        case FormulaProduct():
            return _product_tree(f)
        case FormulaSum(number=number, terms=terms):
            return _sum_tree(number, terms)
    raise AssertionError("a formula is one of these")


def _product_tree(p: FormulaProduct) -> ast.expr:
    rows = [u for u in p.under if _is_row(u)]
    under = [u for u in p.under if not _is_row(u)]
    over = [*map(_tree, p.over)]
    if p.number == -1.0 and over:
        over[0] = ast.UnaryOp(ast.USub(), over[0])
    elif p.number != 1.0 or not over:
        over.insert(0, _constant(p.number))
    over += [ast.BinOp(_constant(1.0), ast.Div(), _joined([_tree(r)])) for r in rows]
    if len(over) > 1 and _is_number(over[0], 1.0):
        del over[0]
    found = _joined(over)
    return ast.BinOp(found, ast.Div(), _joined([*map(_tree, under)])) if under else found


def _joined(factors: Sequence[ast.expr]) -> ast.expr:
    found = factors[0]
    for factor in factors[1:]:
        found = ast.BinOp(found, ast.Mult(), factor)
    return found


def _sum_tree(number: float, terms: Sequence[FormulaProduct]) -> ast.expr:
    found: ast.expr | None = _constant(number) if number else None
    for term in terms:
        if found is None:
            found = _tree(term)
        elif term.number < 0:
            found = ast.BinOp(found, ast.Sub(), _tree(replace(term, number=-term.number)))
        else:
            found = ast.BinOp(found, ast.Add(), _tree(term))
    return found or _constant(0.0)


def _is_row(f: Formula) -> bool:
    match f:
        case FormulaAtom(row=row):
            return row
        case FormulaCall(value=value):
            return _is_row(value)
        case FormulaProduct(over=over, under=under):
            return bool(over or under) and all(map(_is_row, (*over, *under)))
        case FormulaSum(terms=terms):
            return all(map(_is_row, terms))
    return False


def _constant(number: float) -> ast.expr:
    value = float(f"{number:.10g}")
    if value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def _is_number(node: ast.expr, number: float) -> bool:
    return isinstance(node, ast.Constant) and node.value == number
