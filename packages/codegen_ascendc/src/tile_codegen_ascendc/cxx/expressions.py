"""Scalar expressions as C++. Division that could see a negative number goes through the device
header, since C++ truncates where the language rounds down."""

from __future__ import annotations

import math

from tile_codegen_ascendc.cxx.names import cxx_name
from tile_ir import Buffer, DType, KernelError, Loc, Memory
from tile_ir.analysis.affine import simplify
from tile_ir.analysis.intervals import Ranges, interval
from tile_ir.dtypes import BFLOAT16, BOOL, FLOAT16, INT32, Kind
from tile_ir.expr import (
    BINARY_FUNCTIONS,
    LOGICAL,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    cast,
    computed_in,
    wrap,
)
from tile_ir.geometry import strides

# Binding strength as in C++, weakest first.
_LEVELS = (
    ("or",),
    ("and",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "//", "%"),
)
_LEVEL = {op: i for i, ops in enumerate(_LEVELS) for op in ops}
_SPELLING = {"or": "||", "and": "&&", "//": "/"}
_UNARY = len(_LEVELS)
_ATOM = _UNARY + 1


# Operations whose result may not fit the type of the operands.
_LEAVES_TYPE = frozenset({"+", "-", "*", "//", "<<"})
_FUNCTIONS = {
    "abs": "absolute",
    "exp": "exponential",
    "log": "logarithm",
    "sqrt": "square_root",
    "rsqrt": "inverse_square_root",
    "floor": "round_down",
    "ceil": "round_up",
}


def _is_narrow(dtype: DType) -> bool:
    return dtype.is_integer and dtype.bits < 32


def _in_type(expr: Expr, common: DType, op: str) -> Expr:
    """An operand as C++ has to see it: integers of another sign, or a sign of another width, are
    converted by name; where C++ does it as the language does, nothing is said."""
    dtype = expr.dtype
    if op in LOGICAL or not (dtype.is_integer and common.is_integer) or dtype == common:
        return expr
    if isinstance(expr, Const):
        return Const(wrap(expr.value, common), common)
    # Narrow unsigned integers become int, which is compared with unsigned ones by warning.
    implicit = dtype.kind is common.kind and not (dtype.kind is Kind.UINT and dtype.bits < 32)
    return expr if implicit else Cast(expr, common)


def cxx_expr(expr: Expr, ranges: Ranges, loc: Loc, context: int = 0) -> str:
    """The expression as C++; `ranges` prove divisions free of negative operands.

    Raises KernelError for functions the scalar unit does not have.
    """
    text, level = _Writer(ranges, loc).spell(expr)
    return f"({text})" if level < context else text


def cxx_constant(const: Const) -> str:
    """A literal of the constant's type."""
    value, dtype = const.value, const.dtype
    if dtype is BOOL:
        return "true" if value else "false"
    if dtype.is_float:
        text = _float(float(value))
        return f"static_cast<{dtype.c_name}>({text})" if dtype in (FLOAT16, BFLOAT16) else text
    if dtype is INT32:
        return str(value) if value != -(1 << 31) else "(-2147483647 - 1)"
    return f"static_cast<{dtype.c_name}>({value})"


def _float(value: float) -> str:
    if math.isfinite(value):
        return f"{value!r}f"
    if value != value:
        return "tile::float_from_bits(0x7FC00000u)"
    return f"tile::float_from_bits(0x{'7F' if value > 0 else 'FF'}800000u)"


class _Writer:
    def __init__(self, ranges: Ranges, loc: Loc) -> None:
        self.ranges = ranges
        self.loc = loc

    def text(self, expr: Expr, context: int) -> str:
        spelled, level = self.spell(expr)
        return f"({spelled})" if level < context else spelled

    def spell(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Const():
                text = cxx_constant(expr)
                return text, _UNARY if text.startswith("-") else _ATOM
            case Var(name=name):
                return cxx_name(name), _ATOM
            case Binary():
                return self.narrowed(expr, self.binary(expr))
            case Unary():
                return self.narrowed(expr, self.unary(expr))
            case Select(condition=c, then=a, orelse=b):
                return f"{self.text(c, 1)} ? {self.text(a, 0)} : {self.text(b, 0)}", -1
            case Cast(operand=a, dtype=dtype, bits=bits):
                how = "tile::bit_cast" if bits else "static_cast"
                return f"{how}<{dtype.c_name}>({self.text(a, 0)})", _ATOM
            case Load():
                return self.load(expr), _ATOM
        raise AssertionError(f"no C++ for {type(expr).__name__}")

    def narrowed(self, expr: Binary | Unary, spelled: tuple[str, int]) -> tuple[str, int]:
        """C++ computes narrow integers as int; the language wraps every result."""
        if not expr.dtype.is_integer or expr.dtype.bits >= INT32.bits:
            return spelled
        return f"static_cast<{expr.dtype.c_name}>({spelled[0]})", _ATOM

    def binary(self, expr: Binary) -> tuple[str, int]:
        """Both operands in their common type. C++ computes narrow integers as int, so that results
        which may have left their type are brought back."""
        common = computed_in(expr.op, expr.left.dtype, expr.right.dtype)
        a, b = (_in_type(x, common, expr.op) for x in (expr.left, expr.right))
        spelled, level = self.operation(expr, a, b)
        if expr.op in _LEAVES_TYPE and _is_narrow(expr.dtype):
            return f"static_cast<{expr.dtype.c_name}>({spelled})", _ATOM
        return spelled, level

    def operation(self, expr: Binary, a: Expr, b: Expr) -> tuple[str, int]:
        op = expr.op
        if op in ("min", "max"):
            name = "tile::minimum" if op == "min" else "tile::maximum"
            return f"{name}({self.text(a, 0)}, {self.text(b, 0)})", _ATOM
        if op in BINARY_FUNCTIONS:
            raise self.no_function(op)
        if op in ("//", "%") and not self.never_negative(a, b):
            name = "tile::floor_div" if op == "//" else "tile::floor_mod"
            return f"{name}({self.text(a, 0)}, {self.text(b, 0)})", _ATOM
        if expr.dtype in (FLOAT16, BFLOAT16):  # the scalar unit computes these in float
            spelled = f"{self.widened(a)} {op} {self.widened(b)}"
            return f"static_cast<{expr.dtype.c_name}>({spelled})", _ATOM
        level = _LEVEL[op]
        # Compilers warn of operators whose order few remember: those get parentheses.
        inner = _UNARY if op in ("|", "^", "&", "<<", ">>") else level
        if op == "or":
            inner = _LEVEL["|"]
        left, right = self.text(a, max(inner, level)), self.text(b, max(inner, level + 1))
        return f"{left} {_SPELLING.get(op, op)} {right}", level

    def widened(self, expr: Expr) -> str:
        return f"static_cast<float>({self.text(expr, 0)})"

    def never_negative(self, a: Expr, b: Expr) -> bool:
        if a.dtype.kind is Kind.UINT and b.dtype.kind is Kind.UINT:
            return True
        return interval(a, self.ranges).low >= 0 and interval(b, self.ranges).low > 0

    def unary(self, expr: Unary) -> tuple[str, int]:
        op, a = expr.op, expr.operand
        match op:
            case "-" | "~":
                spelled = f"{op}{self.text(a, _ATOM)}"
                if _is_narrow(expr.dtype):
                    return f"static_cast<{expr.dtype.c_name}>({spelled})", _ATOM
                return spelled, _UNARY
            case "not":
                return f"!{self.text(a, _ATOM)}", _UNARY
        if expr.dtype.is_integer:
            # Rounding keeps an integer as it is.
            return (f"tile::absolute({self.text(a, 0)})", _ATOM) if op == "abs" else self.spell(a)
        return self.function(expr)

    def function(self, expr: Unary) -> tuple[str, int]:
        """A function of a float, computed in float."""
        name, a, dtype = _FUNCTIONS.get(expr.op), expr.operand, expr.dtype
        if name is None:
            raise self.no_function(expr.op)
        if dtype in (FLOAT16, BFLOAT16):
            return f"static_cast<{dtype.c_name}>(tile::{name}({self.widened(a)}))", _ATOM
        return f"tile::{name}({self.text(a, 0)})", _ATOM

    def no_function(self, name: str) -> KernelError:
        return KernelError(
            "scalar-function",
            f"the scalar unit has no {name}",
            self.loc,
            "compute it on a ub buffer with T.tile, or in Python if the argument is known",
        )

    def load(self, load: Load) -> str:
        name = cxx_name(load.buffer.name)
        if load.buffer.memory is Memory.VAR:
            return name
        return f"{name}.GetValue({self.text(linear_index(load.buffer, load.indices), 0)})"


def linear_index(buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
    """Row-major element offset of an element."""
    total: Expr = Const(0)
    for index, step in zip(indices, strides(buffer), strict=True):
        total = total + index * step
    return simplify(total)


def scalar_as(expr: Expr, dtype: DType, ranges: Ranges, loc: Loc) -> str:
    """The expression as a C++ value of exactly the given type."""
    if isinstance(expr, Const):
        folded = cast(expr, dtype)
        number = folded.value if isinstance(folded, Const) else expr.value
        value = float(number) if dtype.is_float else int(number)
        if dtype is INT32:  # a literal of the smallest number would be one of a wider type
            return f"{value}" if abs(value) < 1 << 31 else f"static_cast<int32_t>({value})"
        return cxx_constant(Const(value, dtype))
    # C++ computes with int where the operands are narrower.
    promoted = dtype.is_integer and dtype.bits < 32 and not isinstance(expr, (Var, Load))
    if expr.dtype is dtype and not promoted:
        return cxx_expr(expr, ranges, loc)
    return f"static_cast<{dtype.c_name}>({cxx_expr(expr, ranges, loc)})"
