"""Vector operations element by element: binary, vector with scalar, unary
(docs/hardware/units.md#types)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_ir.costs.timing import FULL_RATE
from tile_ir.dtypes import BOOL, FLOAT16, FLOAT32, INT4, INT8, INT32, INT64, UINT8, UINT64, DType
from tile_ir.expr import Const, Expr, constant_value, is_constant
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Op, Region
from tile_ir.opdef import Access, Composite, OpDef, OperandDef, Problem, Scratch
from tile_ir.ops.axes import elements
from tile_ir.ops.extrema import maximum, minimum
from tile_ir.ops.rules import (
    ARITHMETIC,
    FILLABLE,
    FLOATS,
    SHIFTABLE,
    UB,
    VECTOR,
    all_rules,
    destination,
    elements_bound,
    same_dtype,
    same_size,
    scalar,
    scratch_operand,
    source,
    updated,
)
from tile_ir.quick_dataclasses import replace
from tile_ir.target import Target


def _rounded(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function in double precision, so that storing rounds once."""

    def meaning(op: Op, *values: Any) -> Any:
        with np.errstate(all="ignore"):
            return fn(*(np.asarray(v, dtype=np.float64) for v in values))

    return meaning


def _direct(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function in the element type itself; a scalar is rounded to it first."""

    def meaning(op: Op, *values: Any) -> Any:
        dtype = next(v.dtype for v in values if isinstance(v, np.ndarray))
        with np.errstate(all="ignore"):
            return fn(*(np.asarray(v).astype(dtype) for v in values))

    return meaning


def _inputs_after_destination(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Drop the value of a destination that is not read."""

    def meaning(op: Op, _destination: Any, *values: Any) -> Any:
        return fn(op, *values)

    return meaning


def scalar_type(op: Op, target: Target) -> Problem | None:
    """An integer vector takes an integer scalar: a fraction would be lost in silence."""
    dst = op.region("dst")
    for i, operand in enumerate(op.operands):
        definition = op.opdef.operand_def(i)
        takes_scalar = definition.scalar or not definition.memories
        fraction = isinstance(operand, Expr) and operand.dtype.is_float
        if takes_scalar and fraction and dst.dtype.is_integer:
            message = f"{op.opdef.called}: {definition.name} is a float, but dst "
            message += f"`{dst.buffer.name}` is {dst.dtype}"
            hint = "write an integer, or T.cast(value, ...) to say how it rounds"
            return Problem("dtype-mismatch", message, definition.name, hint)
    return None


_VECTOR_OR_SCALAR = OperandDef("src1", Access.READ, UB, scalar=True)


# What the records of operations over elements of one type have in common.
ELEMENTWISE = OpDef(
    name="",
    family="elementwise",
    doc="",
    ascend_c="",
    operands=(),
    placement=VECTOR,
    axes=elements,
    elementwise=True,
    may_alias=True,
    dtype_rule=same_dtype,
    shape_rule=same_size,
)


def _vector_op(
    name: str, operands: tuple[OperandDef, ...], meaning: Callable[..., Any], doc: str, api: str,
    rate: tuple[float, float] = FULL_RATE, may_alias: bool = True, by_rows: bool = True,
) -> OpDef:  # fmt: skip
    """One instruction over elements of one type; `rate` is elements a cycle, 16 and 32 bit."""
    return replace(
        ELEMENTWISE,
        name=name,
        doc=doc,
        ascend_c=api,
        operands=operands,
        meaning=meaning,
        by_rows=lambda op: by_rows,
        may_alias=may_alias,
        dtype_rule=all_rules(same_dtype, scalar_type),
        rate=rate,
        # Those that read their destination add to it.
        overwrites=lambda op: Const(False, BOOL),
    )


def _binary(name: str, fn: Callable[[Any, Any], Any], doc: str, api: str) -> OpDef:
    operands = (destination("dst", UB, *ARITHMETIC), source("src0"), _VECTOR_OR_SCALAR)
    return _vector_op(name, operands, _inputs_after_destination(_direct(fn)), doc, api)


def _divide(op: Op, _dst: Any, a: Any, b: Any) -> Any:
    """A scalar divisor is a multiplication with its reciprocal
    (docs/language/rules.md#elementwise)."""
    with np.errstate(all="ignore"):
        if isinstance(b, np.ndarray) and b.ndim:
            return a / b
        return a * (np.float32(1.0) / np.float32(b)).astype(a.dtype)


BINARY = (
    _binary("add", lambda a, b: a + b, "dst = src0 + src1", "Add / Adds"),
    _binary("sub", lambda a, b: a - b, "dst = src0 - src1", "Sub / Adds(-s)"),
    _binary("mul", lambda a, b: a * b, "dst = src0 * src1", "Mul / Muls"),
    _vector_op(
        "div",
        (destination("dst", UB, *FLOATS), source("src0"), _VECTOR_OR_SCALAR),
        _divide,
        "dst = src0 / src1; a scalar divisor multiplies by its reciprocal",
        "Div / Muls(1/s)",
        (32, 32),
    ),
    _binary("max", maximum, "dst = max(src0, src1); NaN wins, max(0, -0) is 0", "Max / Maxs"),
    _binary("min", minimum, "dst = min(src0, src1); NaN wins, min(0, -0) is -0", "Min / Mins"),
)


def _multiply_add(op: Op, dst: Any, a: Any, b: Any) -> Any:
    """The sum in double precision; where it is not exact, the one of its two neighbours whose last
    bit is set, so that storing it rounds the exact sum."""
    with np.errstate(all="ignore"):
        old = np.asarray(dst, np.float64)
        product = np.asarray(a, np.float64) * np.asarray(b, np.float64)
        total = np.asarray(old + product)
        from_old = total - product
        lost = (product - (total - from_old)) + (old - from_old)
        moves = np.isfinite(total) & (lost != 0) & (total.view(np.int64) & 1 == 0)
        return np.where(moves, np.nextafter(total, np.copysign(np.inf, lost)), total)


ACCUMULATING = (
    _vector_op(
        "mul_add_dst",
        (updated("dst", UB, *FLOATS), source("src0"), source("src1")),
        _multiply_add,
        "dst = dst + src0 * src1, rounded once",
        "MulAddDst",
        (64, 32),
        may_alias=False,
    ),
    _vector_op(
        "axpy",
        (updated("dst", UB, *FLOATS), source("src"), scalar("scalar")),
        lambda op, dst, a, s: _multiply_add(op, dst, a, np.asarray(s).astype(a.dtype)),
        "dst = dst + src * scalar, rounded once",
        "Axpy",
        may_alias=False,
    ),
)


def _vector_scalar(
    name: str, meaning: Callable[..., Any], dtypes: tuple[DType, ...], doc: str, api: str
) -> OpDef:
    operands = (destination("dst", UB, *dtypes), source("src"), scalar("scalar"))
    return _vector_op(name, operands, _inputs_after_destination(meaning), doc, api)


def _shift_left(op: Op, a: Any, n: Any) -> Any:
    return a << np.asarray(n).astype(a.dtype)


def _shift_right(op: Op, a: Any, n: Any) -> Any:
    return a >> np.asarray(n).astype(a.dtype)


def _leaky_relu(op: Op, a: Any, s: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.where(np.signbit(a), a * np.asarray(s).astype(a.dtype), a)


WITH_SCALAR = (
    _vector_scalar(
        "leaky_relu",
        _leaky_relu,
        FLOATS,
        "dst = src * scalar where the sign of src is set, as that of -0 is, else src",
        "LeakyRelu",
    ),
    _vector_scalar("bitwise_lshift", _shift_left, SHIFTABLE, "dst = src << n", "ShiftLeft"),
    _vector_scalar(
        "bitwise_rshift",
        _shift_right,
        SHIFTABLE,
        "dst = src >> n, arithmetic for signed types",
        "ShiftRight",
    ),
)


def _unary(
    name: str, meaning: Callable[..., Any], doc: str, api: str,
    rate: tuple[float, float] = FULL_RATE, dtypes: tuple[DType, ...] = FLOATS,
    by_rows: bool = True,
) -> OpDef:  # fmt: skip
    operands = (destination("dst", UB, *dtypes), source("src"))
    meaning = _inputs_after_destination(meaning)
    return _vector_op(name, operands, meaning, doc, api, rate, by_rows=by_rows)


def _relu(op: Op, a: Any) -> Any:
    zero = np.zeros_like(a)
    return (
        np.where(np.isnan(a), a, np.where(a > 0, a, zero))
        if a.dtype.kind == "f"
        else (np.maximum(a, zero))
    )


UNARY = (
    _unary("exp", _rounded(lambda x: np.exp(x)), "dst = e ** src", "Exp", (32, 32)),
    _unary("ln", _rounded(lambda x: np.log(x)), "dst = natural logarithm of src", "Ln", (32, 32)),
    _unary("sqrt", _rounded(lambda x: np.sqrt(x)), "dst = square root of src", "Sqrt", (32, 32)),
    _unary(
        "rsqrt",
        _rounded(lambda x: 1.0 / np.sqrt(x)),
        "dst = 1 / square root of src; an approximation on the device",
        "Rsqrt",
    ),
    _unary(
        "reciprocal",
        _rounded(lambda x: 1.0 / x),
        "dst = 1 / src; an approximation on the device",
        "Reciprocal",
    ),
    _unary("abs", _direct(lambda x: np.abs(x)), "dst = |src|", "Abs"),
    _unary(
        "relu", _relu, "dst = max(src, 0); relu(-0) is 0", "Relu", dtypes=(FLOAT16, INT32, FLOAT32)
    ),
)


def _sigmoid_meaning(op: Op, x: Any) -> Any:
    with np.errstate(all="ignore"):
        e = np.exp(np.asarray(-x, np.float64)).astype(x.dtype)
        one = np.ones_like(x)
        return one / (e + one)


def _silu_meaning(op: Op, x: Any) -> Any:
    with np.errstate(all="ignore"):
        return x * _sigmoid_meaning(op, x)


def half_of_scratch(src: Region) -> int:
    """Elements of one of the two scratch halves: whole blocks of 16-bit and 32-bit types."""
    return -(-elements_bound(src) // 16) * 16


def _same_size_scratch(op: Op) -> tuple[Scratch, ...]:
    src = op.region("src")
    return (Scratch(Memory.UB, src.dtype, 2 * half_of_scratch(src)),)


def _composed_unary(name: str, meaning: Callable[..., Any], doc: str, api: str) -> OpDef:
    return replace(
        ELEMENTWISE,
        name=name,
        doc=doc,
        ascend_c=api,
        operands=(destination("dst", UB, *FLOATS), source("src"), scratch_operand()),
        meaning=lambda op, _dst, src, _scratch: meaning(op, src),
        composite=Composite.YES,
        scratch=_same_size_scratch,
        rate=(12, 12),
    )


COMPOSED = (
    _composed_unary(
        "sigmoid", _sigmoid_meaning, "dst = 1 / (1 + e ** -src)", "Muls, Exp, Adds, Duplicate, Div"
    ),
    _composed_unary(
        "silu",
        _silu_meaning,
        "dst = src * sigmoid(src)",
        "Muls, Exp, Adds, Duplicate, Div, Mul",
    ),
)


# Types the fill instruction reaches in pairs or halves only.
PAIRED = (BOOL, INT8, UINT8, INT64, UINT64)


def _fill_type(op: Op, target: Target) -> Problem | None:
    """As `clear` has it; a fraction goes into no integer."""
    value = op.operand("value")
    dst = op.region("dst")
    problem = _fill_width(op, target)
    if problem:
        return problem
    if isinstance(value, Expr) and dst.dtype.is_integer and value.dtype.is_float:
        message = f"{op.opdef.called}: value is a float, but dst `{dst.buffer.name}` is {dst.dtype}"
        return Problem("dtype-mismatch", message, "value", "write an integer")
    return None


def _fill_width(op: Op, target: Target) -> Problem | None:
    """The instruction writes 16 or 32 bits: 64 bits are filled with zero only. Bytes go in pairs,
    and a single last one through the scalar unit."""
    dst = op.region("dst")
    value = op.operand("value") if op.opdef.operands[-1].name == "value" else None
    if dst.dtype.bits == 64 and isinstance(value, Expr) and not is_constant(value, 0):
        message = f"{op.opdef.called}: {dst.dtype} can only be filled with 0"
        hint = "fill an int32 tile and cast it"
        return Problem("fill-width", message, "value", hint)
    return None


def _whole_pairs(op: Op, target: Target) -> Problem | None:
    """Elements that share a byte are cleared two bytes at a time."""
    dst = op.region("dst")
    count = constant_value(dst.extents[-1])
    if dst.dtype.whole_bytes or count is None or count * dst.dtype.bits % 16 == 0:
        return None
    per_pair = 16 // dst.dtype.bits
    message = f"{op.opdef.called}: rows of dst `{dst.buffer.name}` have {count} elements of "
    message += f"{dst.dtype}, expected a multiple of {per_pair}"
    hint = f"allocate rows of a multiple of {per_pair}: {per_pair} elements share two bytes, the "
    hint += "least that is set at once"
    return Problem("fill-width", message, "dst", hint)


def _fills_directly(op: Op) -> bool:
    """Whether the instruction has the element type itself."""
    return op.region("dst").dtype not in (*PAIRED, INT4)


def _fill(op: Op, dst: Any, value: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.full(dst.shape, np.asarray(value).astype(dst.dtype))


_FILL = OpDef(
    name="fill",
    family="elementwise",
    doc="every element of dst = value",
    ascend_c="Duplicate",
    operands=(destination("dst", UB, *FILLABLE, *PAIRED), scalar("value")),
    placement=VECTOR,
    axes=elements,
    meaning=_fill,
    elementwise=True,
    by_rows=_fills_directly,
    may_alias=True,
    dtype_rule=_fill_type,
)
FILL = (
    _FILL,
    replace(
        _FILL,
        name="clear",
        doc="every element of dst = 0",
        operands=(destination("dst", UB, *FILLABLE, *PAIRED, INT4),),
        dtype_rule=all_rules(_fill_width, _whole_pairs),
        meaning=lambda op, dst: np.zeros_like(dst),
    ),
)


def fills_bytes(op: Op) -> bool:
    """Whether the operation fills elements of one byte, which the instruction writes in pairs."""
    return any(op.opdef is fill for fill in FILL) and op.region("dst").dtype.bits == 8


OPS = (*BINARY, *ACCUMULATING, *WITH_SCALAR, *UNARY, *COMPOSED, *FILL)
