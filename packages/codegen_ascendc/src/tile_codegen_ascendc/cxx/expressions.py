"""Scalar expressions as C++. Division that could see a negative number goes through the device
header, since C++ truncates where the language rounds down."""

from __future__ import annotations

import math

from tile_codegen_ascendc.cxx.names import cxx_name
from tile_codegen_ascendc.cxx.tensors import tensor_on
from tile_ir import (
    BFLOAT16,
    BINARY_FUNCTIONS,
    BOOL,
    COMPARISONS,
    FLOAT16,
    FLOAT32,
    INT32,
    INT64,
    LOGICAL,
    Binary,
    Buffer,
    Cast,
    Const,
    DType,
    Expr,
    KernelError,
    Kind,
    Load,
    Loc,
    Memory,
    Select,
    Unary,
    Var,
    buffer_elements,
    cast,
    computed_in,
    held,
    simplify,
    strides,
)
from tile_ir.analysis import Ranges, interval
from tile_ir.quick_dataclasses import dataclass
from tile_ir.ranks import instance, is_symmetric, rank_of
from tile_ir.scalars.arithmetic import wrap

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


_FUNCTIONS = {
    "abs": "absolute",
    "exp": "exponential",
    "log": "logarithm",
    "sqrt": "square_root",
    "rsqrt": "inverse_square_root",
    "sin": "sine",
    "cos": "cosine",
    "tanh": "hyperbolic_tangent",
    "erf": "error_function",
    "floor": "round_down",
    "ceil": "round_up",
    "round": "round_nearest",
    "trunc": "round_to_zero",
}
_SMALL = (FLOAT16, BFLOAT16)  # what the scalar unit computes in float


def _is_narrow(dtype: DType) -> bool:
    return dtype.is_integer and dtype.bits < 32


def _in_type(expr: Expr, common: DType, op: str) -> Expr:
    """An operand in the type that C++ needs: integers of another sign, or a sign of another width,
    get an explicit cast. Where C++ converts as the language does, there is no cast."""
    dtype = expr.dtype
    if common in _SMALL and not dtype.is_float:
        return cast(expr, common)
    if op in LOGICAL or not (dtype.is_integer and common.is_integer) or dtype == common:
        return expr
    if isinstance(expr, Const):
        plain = common is INT64 and dtype is INT32  # as wide as the other side
        return expr if plain else Const(wrap(expr.value, common), common)
    # Narrow unsigned integers become int, which is compared with unsigned ones by warning.
    implicit = dtype.kind is common.kind and not (dtype.kind is Kind.UINT and dtype.bits < 32)
    return expr if implicit else Cast(expr, common)


@dataclass(frozen=True, slots=True)
class Known:
    """Facts about the variables at a program point: their ranges, and the int32 variables that C++
    holds in 64 bits, as it holds symbols."""

    ranges: Ranges
    wide: frozenset[Var] = frozenset()


def cxx_expr(expr: Expr, known: Known, loc: Loc, context: int = 0) -> str:
    """The expression as C++; ranges prove divisions free of negative operands.

    Raises KernelError for functions the scalar unit does not have.
    """
    text, level = _ExpressionWriter(known, loc).spell(expr)
    return f"({text})" if level < context else text


def cxx_constant(const: Const) -> str:
    """A literal of the constant's type."""
    value, dtype = const.value, const.dtype
    if dtype is INT32:  # nearly always
        return str(value) if value != -(1 << 31) else "(-2147483647 - 1)"
    if dtype is BOOL:
        return "true" if value else "false"
    if dtype.is_float:
        text = _float(_written(float(value), dtype))
        return f"static_cast<{dtype.c_name}>({text})" if dtype in _SMALL else text
    return f"static_cast<{dtype.c_name}>({value})"


def _written(value: float, dtype: DType) -> float:
    """The literal to write for a value: the value itself, or the value rounded to its type if C++,
    which rounds a literal to float first, would get another number."""
    kept, single = held(value, dtype), held(value, FLOAT32)
    return value if math.isfinite(single) and held(single, dtype) == kept else kept


def _float(value: float) -> str:
    if math.isfinite(value):
        return f"{value!r}f"
    if value != value:
        return "tile::float_from_bits(0x7FC00000u)"
    return f"tile::float_from_bits(0x{'7F' if value > 0 else 'FF'}800000u)"


# Operators that mean something else in C++ for some operands.
_GUARDED = ("//", "%", "<<", ">>")


class _ExpressionWriter:
    def __init__(self, known: Known, loc: Loc) -> None:
        self.known = known
        self.ranges = known.ranges
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
            case Cast():
                return self.cast(expr), _ATOM
            case Load():
                return self.load(expr), _ATOM
        raise AssertionError(f"no C++ for {type(expr).__name__}")

    def cast(self, expr: Cast) -> str:
        operand, dtype = expr.operand, expr.dtype
        if expr.bits:
            return f"tile::bit_cast<{dtype.c_name}>({self.text(operand, 0)})"
        source = operand.dtype
        if source.is_float and dtype.is_integer:
            text = self.widened(operand) if source in _SMALL else self.text(operand, 0)
            return f"tile::to_integer<{dtype.c_name}>({text})"
        # Integers reach 16-bit floats by way of float.
        small = dtype in _SMALL and source.is_integer
        text = self.widened(operand) if small else self.text(operand, 0)
        return f"static_cast<{dtype.c_name}>({text})"

    def narrowed(self, expr: Binary | Unary, spelled: tuple[str, int]) -> tuple[str, int]:
        """C++ computes narrow integers as int; the language wraps every result."""
        if not _is_narrow(expr.dtype):
            return spelled
        return f"static_cast<{expr.dtype.c_name}>({spelled[0]})", _ATOM

    def binary(self, expr: Binary) -> tuple[str, int]:
        """Spell both operands in their common type."""
        a, b = expr.left, expr.right
        if not (a.dtype is INT32 and b.dtype is INT32):
            common = computed_in(expr.op, a.dtype, b.dtype)
            a, b = _in_type(a, common, expr.op), _in_type(b, common, expr.op)
        return self.operation(expr, a, b)

    def operation(self, expr: Binary, a: Expr, b: Expr) -> tuple[str, int]:
        op = expr.op
        if op in ("min", "max"):
            name = "tile::minimum" if op == "min" else "tile::maximum"
            if expr.dtype in _SMALL:
                text = f"{name}({self.widened(a)}, {self.widened(b)})"
                return f"static_cast<{expr.dtype.c_name}>({text})", _ATOM
            return f"{name}({self.text(a, 0)}, {self.text(b, 0)})", _ATOM
        if op == "pow" and expr.dtype.is_float:
            text = f"tile::raised({self.widened(a)}, {self.widened(b)})"
            return (
                f"static_cast<{expr.dtype.c_name}>({text})" if expr.dtype in _SMALL else text
            ), _ATOM
        if op in BINARY_FUNCTIONS:
            raise self.no_function(op)
        if (guarded := self.guarded(expr, a, b)) is not None:
            return f"tile::{guarded}({self.text(a, 0)}, {self.text(b, 0)})", _ATOM
        if expr.dtype in _SMALL:
            spelled = f"{self.widened(a)} {op} {self.widened(b)}"
            return f"static_cast<{expr.dtype.c_name}>({spelled})", _ATOM
        level = _LEVEL[op]
        # Compilers warn of operators whose order few remember: those get parentheses.
        inner = _UNARY if op in ("|", "^", "&", "<<", ">>") else level
        if op == "or":
            inner = _LEVEL["|"]
        if op in COMPARISONS:
            inner = _LEVEL["<<"]
        left, right = self.text(a, max(inner, level)), self.text(b, max(inner, level + 1))
        return f"{left} {_SPELLING.get(op, op)} {right}", level

    def widened(self, expr: Expr) -> str:
        return f"static_cast<float>({self.text(expr, 0)})"

    def guarded(self, expr: Binary, a: Expr, b: Expr) -> str | None:
        """The function for an operator that has the meaning of C++ for some operands only; None if
        these operands are among them."""
        if expr.op not in _GUARDED:
            return None
        known = interval(b, self.ranges)
        match expr.op:
            case "//" | "%":
                unsigned = a.dtype.kind is Kind.UINT and b.dtype.kind is Kind.UINT
                if known.low > 0 and (unsigned or interval(a, self.ranges).low >= 0):
                    return None
                return "floor_div" if expr.op == "//" else "floor_mod"
            case "<<" | ">>":
                if known.low >= 0 and known.high < expr.dtype.bits:
                    return None
                return "shift_left" if expr.op == "<<" else "shift_right"
        return None

    def unary(self, expr: Unary) -> tuple[str, int]:
        op, a = expr.op, expr.operand
        match op:
            case "-" | "~":
                return f"{op}{self.text(a, _ATOM)}", _UNARY
            case "not":
                return f"!{self.text(a, _ATOM)}", _UNARY
        if expr.dtype.is_integer:
            # Rounding keeps an integer as it is.
            return (f"tile::absolute({self.text(a, 0)})", _ATOM) if op == "abs" else self.spell(a)
        return self.function(expr)

    def function(self, expr: Unary) -> tuple[str, int]:
        """A function of a float, computed in float."""
        name, a, dtype = _FUNCTIONS[expr.op], expr.operand, expr.dtype
        if dtype in _SMALL:
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
        buffer, indices = load.buffer, load.indices
        name = cxx_name(buffer.name)
        if buffer.memory is Memory.VAR:
            return name
        if is_symmetric(buffer):
            name = tensor_on(buffer, rank_of(load), lambda e: self.text(e, 0))
            buffer, indices = instance(buffer), indices[1:]
        place = linear_index(buffer, indices)
        if buffer.memory is Memory.GM:
            place = gm_offset(place, buffer, self.known)
        return f"{name}.GetValue({self.text(place, 0)})"


def linear_index(buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
    """Row-major element offset of an element."""
    total: Expr = Const(0)
    for index, step in zip(indices, strides(buffer), strict=True):
        total = total + index * step
    return simplify(total)


def gm_offset(offset: Expr, buffer: Buffer, known: Known) -> Expr:
    """Elements before a place of gm, computed in 64 bits where the tensor may have more elements
    than int32 counts and the offset may be as large."""
    elements = buffer_elements(buffer)
    if elements is not None and elements <= INT32.limits()[1]:
        return offset
    return _widened(offset, known)


def _widened(expr: Expr, known: Known) -> Expr:
    """Widen to 64 bits every sum, difference and product that may leave int32. Loads and variables
    stay unchanged."""
    if isinstance(expr, Unary) and expr.op == "-":
        operand = _widened(expr.operand, known)
        return expr if operand is expr.operand else Unary("-", operand, INT64)
    if not isinstance(expr, Binary) or expr.dtype is not INT32:
        return expr
    left, right = _widened(expr.left, known), _widened(expr.right, known)
    found = interval(expr, known.ranges)
    low, high = INT32.limits()
    fits = low <= found.low and found.high <= high
    if (
        expr.op in ("+", "-", "*")
        and not fits
        and not (_is_wide(left, known) or _is_wide(right, known))
    ):
        if isinstance(left, Const):
            right = Cast(right, INT64)
        else:
            left = Cast(left, INT64)
    if left is expr.left and right is expr.right:
        return expr
    return Binary(expr.op, left, right, INT64)


def _is_wide(expr: Expr, known: Known) -> bool:
    """Whether C++ has the value in 64 bits."""
    match expr:
        case Var():
            return expr.dtype.bits == 64 or expr in known.wide
        case Binary(op=op, left=left, right=right):
            if expr.dtype.kind is Kind.BOOL or expr.dtype.is_float:
                return False
            shifts = op in ("<<", ">>")
            return _is_wide(left, known) or (not shifts and _is_wide(right, known))
        case Unary(op="-" | "~" | "abs", operand=operand):
            return _is_wide(operand, known)
        case Select(then=then, orelse=orelse):
            return _is_wide(then, known) or _is_wide(orelse, known)
    return expr.dtype.is_integer and expr.dtype.bits == 64


def scalar_as(expr: Expr, dtype: DType, known: Known, loc: Loc) -> str:
    """The expression as a C++ value of exactly the given type."""
    if isinstance(expr, Const):
        folded = cast(expr, dtype)
        number = folded.value if isinstance(folded, Const) else expr.value
        value = float(number) if dtype.is_float else int(number)
        if dtype is INT32:  # a literal of the smallest number would be one of a wider type
            return f"{value}" if abs(value) < 1 << 31 else f"static_cast<int32_t>({value})"
        return cxx_constant(Const(value, dtype))
    if expr.dtype is not dtype:
        return cxx_expr(Cast(expr, dtype), known, loc)
    text = cxx_expr(expr, known, loc)
    # C++ chooses between narrower operands as int.
    promoted = _is_narrow(dtype) and isinstance(expr, Select)
    too_wide = dtype.is_integer and dtype.bits < INT64.bits and _is_wide(expr, known)
    return f"static_cast<{dtype.c_name}>({text})" if promoted or too_wide else text


def assigned(expr: Expr, dtype: DType, known: Known, loc: Loc) -> str:
    """The value of an assignment to a variable of the type: C++ narrows symbols by itself."""
    return scalar_as(expr, dtype, Known(known.ranges), loc)
