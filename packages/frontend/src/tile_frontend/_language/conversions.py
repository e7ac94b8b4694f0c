"""Convert elements, and name the element types, which convert their argument."""

from __future__ import annotations

from typing import Any

from tile_frontend._tracing.declared_types import in_declared_type
from tile_frontend._tracing.dtype_names import PYTHON_TYPES, DataType, element_type
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, describe, is_scalar, scalar_expr, staged
from tile_ir import ALIASES, DTYPES, DType, Expr
from tile_ir import expr as ir

# What each rounding of `cast` makes of a float before it becomes an integer.
_ROUNDINGS = {"rn": "round", "rz": "trunc", "rm": "floor", "rp": "ceil"}


def cast(value: Any, dtype: Any, round: str = "", sat: bool = True, rbits: Any = None) -> Scalar:
    """The value as another type: `round` is "rn" (nearest), "rz" (towards 0, the default of
    integers), "rp" (up) or "rm" (down)."""
    target = element_type(dtype)
    if round not in ("", *_ROUNDINGS) or rbits is not None:
        message = f"cast: round is {describe(round)}: no conversion here rounds so"
        raise Fault("attribute-value", message, f"one of {', '.join(_ROUNDINGS)}", "round")
    if sat is not True:
        raise Fault("attribute-value", "cast: sat is not True", "leave sat out", "sat")

    def converted(e: Expr) -> Expr:
        if not round or not e.dtype.is_float:
            return ir.cast(e, target)
        if target.is_integer:
            return ir.cast(ir.unary(_ROUNDINGS[round], e), target)
        if round != "rn" and target.bits < e.dtype.bits:
            message = f"cast: floats round to the nearest one, not {round!r}"
            raise Fault("attribute-value", message, 'write round="rn"', "round")
        return ir.cast(e, target)

    return staged(converted, value)


def Cast(dtype: Any, value: Any) -> Scalar:
    """`cast` with the type first."""
    return cast(value, dtype)


def reinterpret(value: Any, dtype: Any) -> Scalar:
    """The bits of the value as another type of the same width; the type may also come first. An
    expression of narrow integers has their type here, as if it were stored."""
    type_first = isinstance(value, (str, DataType)) or is_scalar(dtype)
    if type_first:
        value, dtype = dtype, value
    target = element_type(dtype)
    expr = in_declared_type(scalar_expr(value), target.bits)
    if expr.dtype.bits != target.bits:
        message = f"{expr.dtype} has {expr.dtype.bits} bits, {target} has {target.bits}"
        hint = "reinterpret keeps the width: T.cast converts"
        raise Fault("operand-type", message, hint, "dtype" if type_first else "value")
    if target.is_integer and expr.dtype.is_integer and ir.is_narrow(target):
        return Scalar(ir.cast(expr, target))  # keeps the low bits, which are all there are
    return Scalar(expr if expr.dtype == target else ir.Cast(expr, target, True))


class DTypeName(DataType):
    """`T.float32`: a string, the annotation of a scalar parameter, and a cast when called."""

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        return element_type(self, packed=True)

    def __call__(self, value: Any = None) -> Any:
        # `T.int32()` without a value is another spelling of the annotation.
        if value is None:
            return self
        return cast(value, self)

    def __repr__(self) -> str:
        return f"T.{self}"


def dtype(value: Any) -> DTypeName:
    """The element type that a string, a type of torch or NumPy, or one of Python's stands for."""
    if isinstance(value, type) and value in PYTHON_TYPES:
        value = PYTHON_TYPES[value]
    return DTypeName(element_type(value, packed=True).name)


DTYPE_NAMES = {name: DTypeName(name) for name in DTYPES}
DTYPE_NAMES.update({alias: DTYPE_NAMES[name] for alias, name in ALIASES.items()})
