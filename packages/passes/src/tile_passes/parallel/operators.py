"""The table from scalar operators to operations of the op table, and the routes of conversions."""

from __future__ import annotations

from tile_ir import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    INT8,
    INT16,
    UINT8,
    Binary,
    DType,
    Expr,
    Unary,
)
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BinaryForm:
    """`commutes`: a scalar on the left may go to the right. `negate_left`: `s - x` is `x * -1 + s`.
    `inexact_scalar`: the scalar form rounds twice, so it only serves powers of two. `by_row` and
    `by_column` take a value for each row or column of the left side. `counts_bits`: the right side
    says by how many."""

    operation: str
    commutes: bool = False
    negate_left: bool = False
    inexact_scalar: bool = False
    by_row: str | None = None
    by_column: str | None = None
    counts_bits: bool = False


def _form(operation: str, commutes: bool = False, negate_left: bool = False) -> BinaryForm:
    """An operation that has forms for rows and columns."""
    by_row, by_column = f"row_expand_{operation}", f"column_expand_{operation}"
    return BinaryForm(operation, commutes, negate_left, operation == "div", by_row, by_column)


BINARY: dict[str, BinaryForm] = {
    "+": _form("add", commutes=True),
    "-": _form("sub", negate_left=True),
    "*": _form("mul", commutes=True),
    "/": _form("div"),
    "min": _form("min", commutes=True),
    "max": _form("max", commutes=True),
    "&": BinaryForm("bitwise_and", commutes=True),
    "|": BinaryForm("bitwise_or", commutes=True),
    "^": BinaryForm("bitwise_xor", commutes=True),
    "<<": BinaryForm("bitwise_lshift", counts_bits=True),
    ">>": BinaryForm("bitwise_rshift", counts_bits=True),
    "pow": BinaryForm("pow"),
}

# What the operations are called, for those that start from one.
FORM_OF: dict[str, BinaryForm] = {form.operation: form for form in BINARY.values()}

UNARY: dict[str, str] = {
    "exp": "exp",
    "log": "ln",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "tanh": "tanh",
    "erf": "erf",
    "sin": "sin",
    "cos": "cos",
    "abs": "abs",
    "~": "bitwise_not",
}

# Functions that are a conversion to the type itself with a rounding mode.
ROUNDING: dict[str, str] = {
    "floor": "cast_floor",
    "ceil": "cast_ceil",
    "round": "cast_rint",
    "trunc": "cast_trunc",
}

# What the scalar unit has instructions for. It computes other functions of floats in many steps, so
# they belong on the vector unit where that is possible.
SCALAR_UNARY = frozenset({"-", "~", "not", "abs"})


def is_foreign(e: Expr) -> bool:
    """Whether the scalar unit has no instruction for the outermost operation."""
    match e:
        case Unary(op=op):
            return op not in SCALAR_UNARY
        case Binary(op="pow"):
            return True
    return False


def is_vector_only(e: Expr) -> bool:
    """Whether only the vector unit has the outermost operation."""
    return isinstance(e, Binary) and e.op == "pow" and not e.dtype.is_float


# Comparison mode, and whether its bits are turned round: NE is false for NaN, `!=` is not.
COMPARE: dict[str, tuple[str, bool]] = {
    "==": ("eq", False),
    "!=": ("eq", True),
    ">": ("gt", False),
    ">=": ("ge", False),
    "<": ("lt", False),
    "<=": ("le", False),
}
# The comparison with its operands exchanged.
MIRRORED: dict[str, str] = {"==": "==", "!=": "!=", ">": "<", ">=": "<=", "<": ">", "<=": ">="}
# Integers are only compared for equality: `a <= b` where min(a, b) is a. The extreme of both sides,
# and whether the bits are turned round.
ORDER_BY: dict[str, tuple[str, bool]] = {
    "<=": ("min", False),
    ">=": ("max", False),
    ">": ("min", True),
    "<": ("max", True),
}
# Types the instruction does not compare, as one that holds all their values.
COMPARED_AS: dict[DType, DType] = {
    BFLOAT16: FLOAT32,
    INT8: FLOAT16,
    UINT8: FLOAT16,
    INT16: FLOAT32,
}
MASKS: dict[str, str] = {"and": "bitwise_and", "or": "bitwise_or"}
