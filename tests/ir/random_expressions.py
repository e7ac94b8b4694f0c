"""Random scalar expressions, as texts: what hypothesis prints of a failing one can be pasted above the
test with @example. Integers of several types, in which sums are exact or wrap."""

from __future__ import annotations

import operator
from typing import Any

from hypothesis import strategies as st

import tile_ir
from tile_ir import DTYPES, Let
from tile_ir.dtypes import INT8, INT32, INT64, DType
from tile_ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    ExprError,
    Unary,
    Var,
    as_expr,
    binary,
    cast,
    select,
    unary,
    walk_expr,
)
from tile_ir.interpreter.scalars import evaluate
from tile_ir.text.printer import print_expr

I_, J, K = Var("i"), Var("j"), Var("k")
UINT8 = DTYPES["uint8"]
# Variables of other types: what is computed in them wraps, or not where they are beside int32.
BYTE, SMALL, LONG = Var("byte", UINT8), Var("small", INT8), Var("long", INT64)
VARIABLES = (I_, J, K, BYTE, SMALL, LONG)
VALUES = st.integers(-40, 40)
BYTES = st.integers(0, 255)

_TEXT = """file 0 "k.py"
func "f" phase built @0:1:1 {{
{scalars}
  launch blocks(1) %cid %vid threads any @0:1:1 {{
    let %read: {dtype} = {text} @0:2:1
  }}
}}
"""
_SCALARS = "\n".join(f"  scalar %{v.name}: {v.dtype}" for v in VARIABLES)


def read(text: str, dtype: DType = INT32) -> Expr:
    """The expression that a text stands for."""
    func = tile_ir.parse(_TEXT.format(scalars=_SCALARS, dtype=dtype, text=text))
    (let,) = func.launch.body
    assert isinstance(let, Let)
    return let.value


def value(expr: Expr, *numbers: int) -> Any:
    """The value, for numbers of the variables in their order."""
    return evaluate(expr, dict(zip(VARIABLES, numbers, strict=False)), lambda load: 0)


def does_not_wrap(expr: Expr, *numbers: int) -> bool:
    """Whether what is computed in int32 and int64 is what integers give: indices are taken to be so."""
    for part in walk_expr(expr):
        if part.dtype not in (INT32, INT64):
            continue
        low, high = part.dtype.limits()
        if isinstance(part, Binary) and part.op in _EXACT:
            a, b = value(part.left, *numbers), value(part.right, *numbers)
            if not low <= _EXACT[part.op](a, b) <= high:
                return False
        if isinstance(part, Unary | Cast):
            number = value(part.operand, *numbers)
            if not low <= (-number if isinstance(part, Unary) else number) <= high:
                return False
    return True


_EXACT = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def _operation(op: str, left: Expr, right: Expr) -> Expr:
    """As it is built while tracing; without the operation where it has no meaning."""
    try:
        return binary(op, left, right)
    except ExprError:
        return left


@st.composite
def expressions(
    draw: st.DrawFn, variables: tuple[Var, ...] = (I_, J, K), nonzero: bool = True
) -> str:
    """Texts of expressions; divisors are positive constants, unless any are asked for."""
    mixed = variables == VARIABLES

    def leaf() -> Expr:
        match draw(st.integers(0, 2 if mixed else 1)):
            case 0:
                return draw(st.sampled_from(variables))
            case 1:
                return as_expr(draw(st.integers(-9, 9)))
        return Const(draw(st.sampled_from([0, 1, 2, 100])), draw(st.sampled_from(_TYPES)))

    def test() -> Expr:
        return binary(draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="])), leaf(), leaf())

    def tree(leaves: int) -> Expr:
        if leaves < 2:
            return leaf()
        form = draw(st.sampled_from(_FORMS if mixed else _FORMS[:-1]))
        if form == "-x":
            return -tree(leaves - 1)
        if form == "cast":
            return cast(tree(leaves - 1), draw(st.sampled_from(_TYPES)))
        if form in ("//", "%") and nonzero:
            return binary(form, tree(leaves - 1), draw(st.integers(1, 9)))
        here = draw(st.integers(1, leaves - 1))
        left, right = tree(here), tree(leaves - here)
        match form:
            case "not":
                return select(unary("not", binary("==", leaf(), leaf())), left, right)
            case "test":
                return select(test(), left, right)
            case "and" | "or":
                return select(binary(form, test(), test()), left, right)
        return _operation(form, left, right)

    return print_expr(tree(draw(st.integers(1, 8))))


_TYPES = [INT32, INT64, UINT8, INT8]
_FORMS = ["+", "-", "*", "//", "%", "min", "max", "-x", "test", "and", "or", "not", "cast"]
