"""Other spellings of the operators and functions of elements, as scripts for GPUs have them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tile_frontend._language import element_mathematics as mathematics
from tile_frontend._language import scalar_functions as functions
from tile_frontend._language.conversions import DTYPE_NAMES, cast
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar

Function = Callable[..., Any]


def _operator(name: str, apply: Function) -> Function:
    def operate(*values: Any) -> Any:
        return apply(*values)

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = "An operator as a function."
    return operate


def _rounded(name: str, apply: Function) -> Function:
    """An operation whose rounding a script may name: the chip has the one to the nearest."""

    def operate(*values: Any, rounding_mode: str = "rn") -> Any:
        numbers = values
        if values and isinstance(values[-1], str):
            numbers, rounding_mode = values[:-1], values[-1]
        if rounding_mode != "rn":
            message = f"{name}: results round to the nearest number, not {rounding_mode!r}"
            raise Fault("attribute-value", message, 'write rounding_mode="rn"', "rounding_mode")
        return apply(*numbers)

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = "An operation rounded to the nearest number."
    return operate


def align_up(value: Any, alignment: Any) -> Any:
    """The smallest multiple of `alignment` that is not below `value`."""
    return functions.ceildiv(value, alignment) * alignment


def likely(condition: Any) -> Any:
    """The condition itself: its probability is a hint for GPUs."""
    return condition


def index_to_coordinates(index: Any, shape: Any) -> list[Any]:
    """The coordinates of an element of this number in a tensor of this shape, counted by rows."""
    found = list[Any]()
    for size in reversed(shape):
        found.insert(0, functions.floormod(index, size))
        index = functions.floordiv(index, size)
    return found


class TypedNumber(type):
    """The metaclass of types that cast a number. Integers with a `value` are `IntImm`s."""

    def __call__(cls, dtype: Any, value: Any, span: Any = None) -> Any:
        return cast(value, dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, functions.KnownInteger) and cls is IntImm


class IntImm(metaclass=TypedNumber):
    """`T.IntImm(dtype, value)`: an integer of this type."""


class FloatImm(metaclass=TypedNumber):
    """`T.FloatImm(dtype, value)`: a float of this type."""


_OPERATORS: dict[str, Function] = {
    "EQ": operator.eq, "NE": operator.ne, "LT": operator.lt, "LE": operator.le,
    "GT": operator.gt, "GE": operator.ge, "Add": operator.add, "Sub": operator.sub,
    "Mul": operator.mul, "Div": operator.truediv, "Mod": functions.truncmod,
    "FloorDiv": functions.floordiv, "FloorMod": functions.floormod,
}  # fmt: skip
_ROUNDED: dict[str, Function] = {
    "ieee_add": operator.add, "ieee_sub": operator.sub, "ieee_mul": operator.mul,
    "ieee_fdiv": operator.truediv, "ieee_fmaf": lambda x, y, z: x * y + z,
    "ieee_frcp": lambda x: 1.0 / x, "ieee_fsqrt": functions.FUNCTIONS["sqrt"],
    "ieee_frsqrt": functions.FUNCTIONS["rsqrt"],
}  # fmt: skip
SPELLINGS: dict[str, Any] = {
    **{name: _operator(name, apply) for name, apply in _OPERATORS.items()},
    **{name: _rounded(name, apply) for name, apply in _ROUNDED.items()},
    **{f.__name__: f for f in (align_up, likely, index_to_coordinates)},
    "IntImm": IntImm, "FloatImm": FloatImm,
    "fabs": functions.FUNCTIONS["abs"], "PrimExpr": Scalar,
    "fast_rcp": _operator("fast_rcp", lambda x: 1.0 / x),
    **{f"__{n}": functions.FUNCTIONS[n] for n in ("exp", "log", "log2", "log10", "sin", "cos")},
    **mathematics.FUNCTIONS, "nearbyint": functions.FUNCTIONS["round"],
    "__exp10": mathematics.FUNCTIONS["exp10"], "__tan": mathematics.FUNCTIONS["tan"],
    "short": DTYPE_NAMES["int16"], "long": DTYPE_NAMES["int64"],
    "ulong": DTYPE_NAMES["uint64"], "tfloat32": DTYPE_NAMES["float32"],
}  # fmt: skip
