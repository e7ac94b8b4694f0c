"""Reductions as the hardware has them, by repeats and blocks, and the sums of one run of elements
(docs/language/rules.md#reductions). Strides count blocks of 32 bytes unless said otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_ir.dtypes import FLOAT32, DType
from tile_ir.expr import Expr, constant_value
from tile_ir.layout.geometry import BLOCK_BYTES, MAX_REPEATS, REPEAT_BYTES, is_contiguous
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Op
from tile_ir.opdef import ArgumentDef, AttrDef, OpDef, OperandDef, Problem, Rule, Scratch
from tile_ir.ops.axes import whole
from tile_ir.ops.extrema import greatest, least
from tile_ir.ops.rules import (
    FLOATS,
    UB,
    VECTOR,
    elements_bound,
    same_dtype,
    scalar,
    scratch_operand,
    shape_text,
    source,
    updated,
)
from tile_ir.target import Target

ORDERS = ("order_value_index", "order_index_value", "order_only_value", "order_only_index")


def _lanes(dtype: DType) -> int:
    return REPEAT_BYTES // dtype.size


def _block(dtype: DType) -> int:
    return BLOCK_BYTES // dtype.size


def in_range(op: Op, limits: dict[str, tuple[int, int]]) -> Problem | None:
    """Attributes within the limits of the instruction."""
    for name, (low, high) in limits.items():
        if not low <= op.attr(name) <= high:
            message = f"{op.opdef.called}: {name} is {op.attr(name)}, expected {low} to {high}"
            return Problem("attribute-value", message, name)
    return None


def long_enough(op: Op, needed: dict[str, int]) -> Problem | None:
    """Operands are one run of at least so many elements."""
    for name, count in needed.items():
        region = op.region(name)
        if not is_contiguous(region):
            hint = "copy the slice to a buffer of its own first"
            return op.problem(name, "strided-operand", "is not contiguous", hint)
        if count > elements_bound(region):
            found = f"has {shape_text(region)}, but {count} are used"
            return op.problem(name, "shape-mismatch", found, "repeat counts groups of 256 bytes")
    return None


def _source_end(op: Op, repeat: int, mask: int, block_stride: int, repeat_stride: int) -> int:
    """Elements of src up to the last one that is read."""
    if repeat == 0:
        return 0
    block = _block(op.region("src").dtype)
    last = mask - 1
    return ((repeat - 1) * repeat_stride + last // block * block_stride) * block + last % block + 1


STRIDES = (
    AttrDef("dst_rep_stride", int),
    AttrDef("src_blk_stride", int),
    AttrDef("src_rep_stride", int),
)
STRIDE_LIMITS = {
    "repeat": (0, MAX_REPEATS),
    "dst_rep_stride": (0, 65535),
    "src_blk_stride": (1, 65535),
    "src_rep_stride": (0, 65535),
}


def _strided(op: Op, result_end: int) -> Problem | None:
    lanes = _lanes(op.region("src").dtype)
    problem = in_range(op, {**STRIDE_LIMITS, "mask": (1, lanes)})
    if problem is not None:
        return problem
    strides = op.attr("src_blk_stride"), op.attr("src_rep_stride")
    end = _source_end(op, op.attr("repeat"), op.attr("mask"), *strides)
    return long_enough(op, {"dst": result_end if op.attr("repeat") else 0, "src": end})


def _row(op: Op, src: Any, repeat: int) -> Any:
    """The active lanes of one repeat."""
    block = _block(op.region("src").dtype)
    lane = np.arange(op.attr("mask"))
    start = repeat * op.attr("src_rep_stride") * block
    places = start + lane // block * op.attr("src_blk_stride") * block + lane % block
    return src.reshape(-1)[places]


def _order(op: Op) -> str:
    return op.attr("order") if any(a.name == "order" for a in op.opdef.attrs) else ORDERS[2]


def _result_bytes(op: Op) -> int:
    """Bytes of the result of a repeat, which are also the unit of its stride."""
    size = op.region("dst").dtype.size
    return {ORDERS[2]: size, ORDERS[3]: 4}.get(_order(op), 2 * size)


def _whole_shape(op: Op, target: Target) -> Problem | None:
    """Strides, mask and repeat are those of the instruction; dst has a result for each repeat."""
    size, unit = op.region("dst").dtype.size, _result_bytes(op)
    last = (op.attr("repeat") - 1) * op.attr("dst_rep_stride") * unit + unit
    return _strided(op, -(-last // size))


def _whole(fn: Callable[[Any], Any], place: Callable[[Any], Any] | None) -> Callable[..., Any]:
    def meaning(op: Op, dst: Any, src: Any) -> Any:
        flat = np.ascontiguousarray(dst).reshape(-1).copy()
        raw, unit, order = flat.view(np.uint8), _result_bytes(op), _order(op)
        word = np.dtype(f"u{4 if order == ORDERS[3] else flat.itemsize}")
        for repeat in range(op.attr("repeat")):
            row = _row(op, src, repeat)
            with np.errstate(all="ignore"):
                value = np.asarray(fn(row)).astype(flat.dtype).tobytes()
            index = b"" if place is None else np.asarray(place(row)).astype(word).tobytes()
            parts = {ORDERS[0]: value + index, ORDERS[1]: index + value, ORDERS[3]: index}
            start = repeat * op.attr("dst_rep_stride") * unit
            raw[start : start + unit] = np.frombuffer(parts.get(order, value), np.uint8)
        return flat.reshape(dst.shape)

    return meaning


def _reduce(
    name: str,
    attrs: tuple[AttrDef, ...],
    meaning: Callable[..., Any],
    shape_rule: Rule,
    doc: str,
    api: str,
) -> OpDef:
    return OpDef(
        name=name,
        family="repeat_reduce",
        doc=doc,
        ascend_c=api,
        operands=(updated("dst", UB, *FLOATS), source("src")),
        attrs=attrs,
        placement=VECTOR,
        axes=whole,
        meaning=meaning,
        dtype_rule=same_dtype,
        shape_rule=shape_rule,
        rate=(128 / 7, 64 / 7),
    )


def _sum(row: Any) -> Any:
    return np.sum(np.asarray(row, np.float64))


MASK_REPEAT = (AttrDef("mask", int), AttrDef("repeat", int), *STRIDES)
WHOLE = (
    _reduce(
        "wholereducemax",
        (*MASK_REPEAT, AttrDef("order", str, ORDERS[0], ORDERS)),
        _whole(greatest, lambda row: np.argmax(row)),
        _whole_shape,
        "maximum of the first mask elements of each repeat, and where it is; dst_rep_stride counts "
        "results",
        "WholeReduceMax",
    ),
    _reduce(
        "wholereducemin",
        (*MASK_REPEAT, AttrDef("order", str, ORDERS[0], ORDERS)),
        _whole(least, lambda row: np.argmin(row)),
        _whole_shape,
        "minimum of the first mask elements of each repeat, and where it is; dst_rep_stride counts "
        "results",
        "WholeReduceMin",
    ),
    _reduce(
        "wholereducesum",
        MASK_REPEAT,
        _whole(_sum, None),
        _whole_shape,
        "sum of the first mask elements of each repeat; halves round after each level of the tree",
        "WholeReduceSum",
    ),
)


def _block_shape(op: Op, target: Target) -> Problem | None:
    """Strides, mask and repeat are those of the instruction; each block of 32 bytes gives one
    element."""
    blocks = -(-op.attr("mask") // _block(op.region("src").dtype))
    return _strided(op, (op.attr("repeat") - 1) * op.attr("dst_rep_stride") * 8 + blocks)


def _block_wise(fn: Callable[[Any], Any]) -> Callable[..., Any]:
    def meaning(op: Op, dst: Any, src: Any) -> Any:
        flat, block = dst.reshape(-1).copy(), _block(op.region("src").dtype)
        for repeat in range(op.attr("repeat")):
            row = _row(op, src, repeat)
            for number, start in enumerate(range(0, len(row), block)):
                with np.errstate(all="ignore"):
                    value = np.asarray(fn(row[start : start + block])).astype(flat.dtype)
                flat[repeat * op.attr("dst_rep_stride") * 8 + number] = value
        return flat.reshape(dst.shape)

    return meaning


def _block_reduce(kind: str, fn: Callable[[Any], Any], word: str) -> OpDef:
    return _reduce(
        f"block_reduce_{kind}",
        (AttrDef("repeat", int), AttrDef("mask", int), *STRIDES),
        _block_wise(fn),
        _block_shape,
        f"{word} of each block of 32 bytes among the first mask elements of each repeat; "
        "dst_rep_stride counts 8 results",
        f"BlockReduce{kind.capitalize()}",
    )


BLOCK = (
    _block_reduce("max", greatest, "maximum"),
    _block_reduce("min", least, "minimum"),
    _block_reduce("sum", _sum, "sum"),
)


# Sums of one run ----------------------------------------------------------------------------------


def _sum_op(
    name: str,
    scalars: tuple[OperandDef, ...],
    meaning: Callable[..., Any],
    shape_rule: Rule,
    doc: str,
    scratch: Callable[[Op], int],
    attrs: tuple[AttrDef, ...] = (),
    parameters: tuple[str | ArgumentDef, ...] = (),
    dtypes: tuple[DType, ...] = FLOATS,
) -> OpDef:
    return OpDef(
        name=name,
        family="repeat_reduce",
        doc=doc,
        ascend_c="WholeReduceSum and binary folds",
        operands=(updated("dst", UB, *dtypes), source("src"), *scalars, scratch_operand()),
        attrs=attrs,
        parameters=parameters,
        placement=VECTOR,
        axes=whole,
        meaning=meaning,
        dtype_rule=same_dtype,
        shape_rule=shape_rule,
        scratch=lambda op: (Scratch(Memory.UB, FLOAT32, scratch(op)),),
        rate=(128 / 7, 64 / 7),
    )


def _number(op: Op, name: str) -> int | None:
    value = op.operand(name)
    return constant_value(value) if isinstance(value, Expr) else None


def _integers(op: Op, *names: str) -> Problem | None:
    for name in names:
        value = op.operand(name)
        if isinstance(value, Expr) and not value.dtype.is_integer:
            hint = "pass an integer"
            return Problem(
                "operand-kind", f"{op.opdef.called}: {name} is {value.dtype}", name, hint
            )
        number = _number(op, name)
        if number is not None and number < 0:
            hint = "write 0 or more"
            return Problem("count-range", f"{op.opdef.called}: {name} is {number}", name, hint)
    return None


def _sum_of_run(op: Op, dst: Any, src: Any, count: Any, _scratch: Any) -> Any:
    flat = dst.reshape(-1).copy()
    with np.errstate(all="ignore"):
        flat[0] = np.sum(np.asarray(src.reshape(-1)[:count], np.float64)).astype(flat.dtype)
    return flat.reshape(dst.shape)


def _run_shape(op: Op, target: Target) -> Problem | None:
    """`count` is an integer that src has; dst has one element."""
    return _integers(op, "count") or long_enough(op, {"dst": 1, "src": _number(op, "count") or 0})


def _row_sums(op: Op, dst: Any, src: Any, inner: Any, n: Any, _scratch: Any) -> Any:
    flat, values = dst.reshape(-1).copy(), np.asarray(src.reshape(-1), np.float64)
    for row in range(op.attr("outer")):
        with np.errstate(all="ignore"):
            total = np.sum(values[row * inner : row * inner + n])
            flat[row] = total.astype(flat.dtype)
    return flat.reshape(dst.shape)


def _rows_shape(op: Op, target: Target) -> Problem | None:
    """`inner` is a multiple of 32 bytes, `n` at most `inner`; src has `outer` rows, dst an
    element each."""
    problem = _integers(op, "inner", "n") or in_range(op, {"outer": (1, 65535)})
    if problem is not None:
        return problem
    outer, inner, n = op.attr("outer"), _number(op, "inner"), _number(op, "n")
    dtype, step = op.region("src").dtype, target.alignment[Memory.UB]
    if inner is not None and outer > 1 and inner * dtype.size % step:
        message = f"{op.opdef.called}: rows are {inner * dtype.size} bytes apart, expected a "
        message += f"multiple of {step}"
        hint = f"pad rows to a multiple of {step // dtype.size} elements"
        return Problem("row-alignment", message, "inner", hint)
    if inner is not None and n is not None and n > inner:
        hint = f"write 0 to {inner}"
        return Problem(
            "count-range", f"{op.opdef.called}: n is {n}, but rows have {inner}", "n", hint
        )
    return long_enough(op, {"dst": outer, "src": (outer - 1) * (inner or 0) + (n or 0)})


def _masked_sum(
    op: Op, dst: Any, src: Any, mask: Any, repeat: Any, stride: Any, _scratch: Any
) -> Any:
    flat, values = dst.reshape(-1).copy(), np.asarray(src.reshape(-1), np.float64)
    block = _block(op.region("src").dtype)
    starts = [r * stride * block for r in range(repeat)]
    with np.errstate(all="ignore"):
        total = np.sum([values[s : s + mask].sum() for s in starts])
        flat[0] = np.asarray(total).astype(flat.dtype)
    return flat.reshape(dst.shape)


def _masked_shape(op: Op, target: Target) -> Problem | None:
    """`mask` is 1 to 256 bytes of elements, `repeat` 0 to 255; src has all elements that they read,
    dst one."""
    problem = _integers(op, "mask", "repeat", "src_rep_stride")
    if problem is not None:
        return problem
    lanes = _lanes(op.region("src").dtype)
    for name, low, high in (("mask", 1, lanes), ("repeat", 0, MAX_REPEATS)):
        number = _number(op, name)
        if number is not None and not low <= number <= high:
            message = f"{op.opdef.called}: {name} is {number}, expected {low} to {high}"
            return Problem("count-range", message, name)
    mask, repeat, stride = (_number(op, n) for n in ("mask", "repeat", "src_rep_stride"))
    if mask is None or stride is None or not repeat:
        return long_enough(op, {"dst": 1, "src": 0})
    return long_enough(op, {"dst": 1, "src": _source_end(op, repeat, mask, 1, stride)})


LANES_32 = REPEAT_BYTES // FLOAT32.size
RUN_SCRATCH = LANES_32 + 16  # a row of partial sums and the results, as reduce_rows wants
SUMS = (
    _sum_op(
        "reduce_sum_experiment",
        (scalar("count"),),
        _sum_of_run,
        _run_shape,
        "dst[0] = sum of the first count elements of src, 0 for none",
        lambda op: RUN_SCRATCH,
    ),
    _sum_op(
        "sum_experiment",
        (scalar("inner"), scalar("n")),
        _row_sums,
        _rows_shape,
        "dst[r] = sum of the first n of the inner elements of row r, for outer rows",
        lambda op: op.attr("outer") * LANES_32 + -(-op.attr("outer") // 16) * 16,
        (AttrDef("outer", int),),
        ("dst", "src", ArgumentDef("sumParams", ("outer", "inner", "n"))),
    ),
    _sum_op(
        "reduce_sum_mask_experiment",
        (scalar("mask"), scalar("repeat"), scalar("src_rep_stride")),
        _masked_sum,
        _masked_shape,
        "dst[0] = sum of the first mask elements of each of repeat repeats, 0 for none",
        lambda op: 256 + RUN_SCRATCH,
        dtypes=(FLOAT32,),
    ),
)

OPS = (*WHOLE, *BLOCK, *SUMS)
