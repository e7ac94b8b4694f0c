"""Represent numbers of a traced kernel: run-time values beside numbers of Python.

They wrap the IR so that kernel text and native helpers can apply Python's operators to it; IR
values themselves compare structurally, which is not what `==` means here.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, ClassVar

from tile_frontend._tracing.declared_types import operated
from tile_frontend._tracing.dtype_names import DataType, element_type
from tile_frontend._tracing.faults import CURRENT, Fault
from tile_ir import (
    BOOL,
    FLOAT32,
    INT32,
    INT64,
    UINT64,
    Const,
    DType,
    Expr,
    ExprError,
    Load,
    as_expr,
    binary,
    cast,
    constant_value,
    equal,
    not_equal,
    print_expr,
    unary,
)  # fmt: skip

# Integers up to this power are products; the square root of a number is its power of a half.
MOST_FACTORS = 16


class Value:
    """A value of names in a traced kernel that is no object of Python's own."""

    __slots__ = ()
    # What to write where a scalar is wanted.
    a_scalar_of_it: ClassVar[str | None] = None

    def in_words(self) -> str:
        """The words for it in an error message."""
        raise NotImplementedError

    def refusal(self) -> Fault | None:
        """The Fault of every use; None where each use reports its own expectation."""
        return None


class Scalar(Value):
    """A value known only when the kernel runs."""

    __slots__ = ("_expr",)

    def __init__(self, expr: Expr) -> None:
        self._expr = expr

    @property
    def expr(self) -> Expr:
        return self._expr

    @property
    def number(self) -> int | float | bool | None:
        """The number it stands for, if that is known now."""
        return self._expr.value if isinstance(self._expr, Const) else None

    @property
    def dtype(self) -> DataType:
        return DataType(self.expr.dtype.name)

    def astype(self, dtype: Any) -> Scalar:
        """The value as another type."""
        return staged(lambda e: cast(e, element_type(dtype)), self)

    def in_words(self) -> str:
        return f"a runtime {self.dtype}"

    def __bool__(self) -> bool:
        message = "a runtime value has no truth value while the kernel is traced"
        hint = "choose with T.if_then_else, T.max, T.min, T.And or T.Or"
        raise Fault("runtime-condition", message, hint)

    def _no_number(self) -> Any:
        message = "a runtime value is used where a Python number is needed"
        hint = "only values known outside the kernel can size or choose things; convert with T.cast"
        raise Fault("runtime-value", message, hint)

    __int__ = __float__ = __index__ = __complex__ = __len__ = __iter__ = _no_number

    def __hash__(self) -> int:
        return hash(self.expr)

    def __repr__(self) -> str:
        return f"Scalar({print_expr(self.expr)}: {self.expr.dtype})"

    def __eq__(self, other: object) -> Any:
        return staged(equal, self, other)

    def __ne__(self, other: object) -> Any:
        return staged(not_equal, self, other)

    def __neg__(self) -> Scalar:
        return Scalar(unary("-", self.expr))

    def __pos__(self) -> Scalar:
        return self

    def __invert__(self) -> Scalar:
        return staged(lambda x: unary("~", x), self)

    def __abs__(self) -> Scalar:
        return Scalar(unary("abs", self.expr))

    def __round__(self, digits: int | None = None) -> Scalar:
        if digits is not None:
            hint = "scale the value, round it and scale it back"
            raise Fault("operand-type", "a runtime value is rounded to whole numbers only", hint)
        return Scalar(unary("round", self.expr))

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            hint = "write `x**y % m`"
            raise Fault("operand-type", "pow of a runtime value takes no modulus", hint)
        return power_scalar(self, other) if is_scalar(other) else NotImplemented

    def __rpow__(self, other: Any) -> Any:
        return power_scalar(other, self) if is_scalar(other) else NotImplemented


def _operator(op: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    def build(left: Any, right: Any) -> Scalar:
        return binary_scalar(op, left, right)

    def forward(self: Scalar, other: Any) -> Any:
        return build(self, other) if is_scalar(other) else NotImplemented

    def backward(self: Scalar, other: Any) -> Any:
        return build(other, self) if is_scalar(other) else NotImplemented

    return forward, backward


for _name, _op in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^",
}.items():  # fmt: skip
    _forward, _backward = _operator(_op)
    setattr(Scalar, f"__{_name}__", _forward)
    setattr(Scalar, f"__r{_name}__", _backward)
for _name, _op in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(Scalar, f"__{_name}__", _operator(_op)[0])


def is_scalar(value: object) -> bool:
    """Whether an operator can take it: a runtime scalar or a Python number."""
    return isinstance(value, (Scalar, Expr, numbers.Real))


def binary_scalar(op: str, left: Any, right: Any) -> Scalar:
    """`left op right`, where at least one is a runtime value."""
    return staged(lambda a, b: operated(op, a, b), left, right)


def power_scalar(x: Any, y: Any) -> Scalar:
    """`x ** y`, where at least one is a runtime value."""
    base, exponent = (None if isinstance(v, Scalar) else python_number(v) for v in (x, y))
    return staged(lambda a, b: power(a, b, exponent, base), x, y)


def as_float(x: Expr) -> Expr:
    """The value itself, or an integer as float32."""
    return x if x.dtype.is_float else cast(x, FLOAT32)


def exp2(x: Expr) -> Expr:
    """2 ** x, as the exponential of x ln 2."""
    return unary("exp", as_float(x) * math.log(2.0))


def power(x: Expr, y: Expr, exponent: float | None, base: float | None) -> Expr:
    """`x ** y`, where `exponent` and `base` are the numbers that they are, if that is known."""
    if exponent is not None and x.dtype.is_float and float(exponent).is_integer():
        exponent = int(exponent)
    if isinstance(exponent, int) and 0 <= exponent <= MOST_FACTORS:
        return _product(x, exponent)
    if isinstance(exponent, int) and x.dtype.is_float and -MOST_FACTORS <= exponent < 0:
        return 1.0 / _product(x, -exponent)
    if exponent is not None and x.dtype.is_integer:
        x = cast(x, FLOAT32) if isinstance(exponent, float) else x
        y = as_expr(exponent, x.dtype)
    if exponent == 0.5 and x.dtype.is_float:
        return unary("sqrt", x)
    if base == 2 and y.dtype.is_float:
        return exp2(y)
    return binary("pow", x, y)


def _product(x: Expr, factors: int) -> Expr:
    """x * x * ..., by squaring."""
    if factors == 0:
        return as_expr(1, x.dtype)
    if factors == 1:
        return x
    half = _product(x, factors // 2)
    square = half * half
    return square * x if factors % 2 else square


def staged(fn: Callable[..., Expr], *values: Any) -> Scalar:
    """`fn` of the expressions of some values. Numbers take the type of the runtime operand. For a
    GPU a float is a float32, and so is its result with a shorter one."""
    like = next((v.expr.dtype for v in values if isinstance(v, Scalar)), None)
    trace = CURRENT.get()
    wide = FLOAT32 if trace is not None and trace.python_names else None
    try:
        return Scalar(fn(*(_staged(v, like, wide) for v in values)))
    except ExprError as error:
        raise Fault(error.slug, str(error), error.hint) from None


def _staged(value: Any, like: DType | None, floats: DType | None) -> Expr:
    """The expression of a value: a number in a type that is like another one, but a float at least
    in that of floats."""
    if floats is not None and like is not None and like.is_float and like.bits < floats.bits:
        number = None if isinstance(value, Scalar) else python_number(value)
        like = floats if isinstance(number, float) else like
    return scalar_expr(value, like)


def integer_hint(value: Any) -> str | None:
    """The hint for a float in place of a size or an index."""
    if isinstance(python_number(value), float):
        return "`/` makes a float: divide sizes with `//`"
    known = isinstance(value, Scalar) and value.expr.dtype.is_float
    return 'convert it with T.cast(x, "int32")' if known else None


def python_number(value: Any) -> int | float | bool | None:
    """A Python number (or a NumPy one) as bool, int or float; None if it is not a number."""
    if type(value) in (int, float, bool):
        return value  # type: ignore[no-any-return]
    if isinstance(value, int):
        return int(value)  # not the member of an IntEnum
    if isinstance(value, Scalar):
        return value.number
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if type(value).__name__ == "bool_":  # NumPy's bool is registered as no kind of number
        return bool(value)
    return None


def scalar_expr(value: Any, like: DType | None = None) -> Expr:
    """The IR expression of a scalar; a Fault if the value is none."""
    if isinstance(value, Scalar):
        expr = value.expr
        return _read(expr) if isinstance(expr, Load) else expr
    if isinstance(value, Expr):
        return value
    number = python_number(value)
    if number is None:
        hint = value.a_scalar_of_it if isinstance(value, Value) else None
        message = f"found {describe(value)}, expected a scalar"
        refusal = value.refusal() if isinstance(value, Value) else None
        raise refusal or Fault("not-a-scalar", message, hint)
    if isinstance(number, int) and not isinstance(number, bool):
        return _integer(number, like)
    return as_expr(number, like)


def _integer(number: int, like: DType | None) -> Expr:
    """An integer constant in a type that holds it."""
    if like is not None and (like.is_float or (like.is_integer and _fits(number, like))):
        return as_expr(number, like)
    if not _fits(number, UINT64) and not _fits(number, INT64):
        hint = "write a number from -2**63 to 2**64 - 1"
        raise Fault("number-range", f"{number} does not fit in 64 bits", hint)
    wide = INT64 if _fits(number, INT64) else UINT64
    return Const(number, INT32 if _fits(number, INT32) else wide)


def _fits(number: int, dtype: DType) -> bool:
    low, high = dtype.limits()
    return low <= number <= high


def no_packed_scalar(dtype: DType) -> None:
    """A Fault for elements that share bytes: the scalar unit addresses whole ones."""
    if not dtype.whole_bytes:
        hint = "convert the tile with T.tile.cast, or take the bytes that T.reinterpretcast names"
        raise Fault("packed-scalar", f"an element of {dtype} has no address of its own", hint)


def _read(load: Load) -> Expr:
    """The value of an element. A tile may extend past the edge of a tensor. An element may not,
    unless the author gave the tensor a safe value."""
    trace = CURRENT.get()
    value: Expr = load if trace is None else trace.element(load)
    no_packed_scalar(load.dtype)
    if value is not load:
        return value
    for position, (index, size) in enumerate(zip(load.indices, load.buffer.shape, strict=True)):
        number, limit = constant_value(index), constant_value(size)
        if number is not None and limit is not None and number >= limit:
            message = f"index {position} of `{load.buffer.name}` is {number}, but the dimension "
            message += f"has {limit} elements"
            hint = f"indices begin at 0: the last one is {limit - 1}"
            raise Fault("index-range", message, hint)
    return load


def as_python(expr: Expr) -> Any:
    """A constant integer as int, anything else as a scalar."""
    value = constant_value(expr)
    return Scalar(expr) if value is None else value


def describe(value: Any) -> str:
    """A value in an error message."""
    match value:
        case Value():
            return value.in_words()
        case None:
            return "None"
        case str():
            return f"the string {value!r}"
        case bool() | int() | float():
            return f"the Python number {value!r}"
    name = getattr(value, "__name__", None)
    return f"`{name}`" if isinstance(name, str) else f"a Python {type(value).__name__}"


def unexpected(
    what: str, value: Any, expected: str = "", hint: str | None = None,
    argument: str | int | None = None, slug: str | None = None,
) -> Fault:  # fmt: skip
    """A Fault for a value of the wrong kind. `what` says which value it is; its last word is the
    argument to blame unless another is given."""
    refusal = value.refusal() if isinstance(value, Value) else None
    if refusal is not None:
        return refusal
    message = f"{what} is {describe(value)}{f', expected {expected}' if expected else ''}"
    blamed = what.rpartition(" ")[2] if argument is None else argument
    if hint is None and hasattr(value, "data_ptr"):
        hint = "a kernel allocates its tiles with T.alloc_shared; tensors are passed at the call"
    return Fault(slug or "operand-kind", message, hint, blamed)


def known_integer(value: Any) -> int | None:
    """A Python integer that is known without asking the kernel; None for anything else."""
    number = None if isinstance(value, Scalar) else python_number(value)
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def integer_expr(what: str, value: Any, expected: str = "a number") -> Expr:
    """The expression of an integer, known now or when the kernel runs; a Fault for all others."""
    number = known_integer(value)
    if number is not None:
        return Const(number)
    if not isinstance(value, Scalar) or not value.expr.dtype.is_integer:
        raise unexpected(what, value, expected)
    return value.expr


def stored_value(value: Any, dtype: DType) -> Expr:
    """The expression that is stored in an element of type `dtype`."""
    number = python_number(value)
    if isinstance(number, float) and dtype.is_integer and not number.is_integer():
        hint = "write an integer, or T.cast(value, ...) to say how it rounds"
        raise Fault("dtype-mismatch", f"{number!r} is stored in an element of type {dtype}", hint)
    return cast(scalar_expr(value, dtype), dtype)


def condition(value: Any) -> Expr:
    """A runtime condition; numbers hold where they are not zero."""
    expr = scalar_expr(value)
    return expr if expr.dtype == BOOL else binary("!=", expr, 0)
