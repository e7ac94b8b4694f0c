"""Matrix multiplication: the tile-level `gemm_v0` and the single instruction `mma`."""

from __future__ import annotations

from typing import Any

from tile_ir.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, INT4, INT8, INT32, DType
from tile_ir.expr import Expr, constant_value, is_constant
from tile_ir.layout.footprint import BIAS_UNIT, is_run
from tile_ir.layout.geometry import element_count, element_offset, is_contiguous
from tile_ir.lazy import np
from tile_ir.machine import Core, Memory, Pipe
from tile_ir.nodes import Op, Region
from tile_ir.opdef import Access, ArgumentDef, AttrDef, Axes, Composite, OpDef, OperandDef, Problem
from tile_ir.ops.axes import all_dims, labelled, whole
from tile_ir.ops.rules import (
    BT,
    L0A,
    L0B,
    L0C,
    L1,
    all_rules,
    destination,
    on,
    packed,
    shape_text,
    source,
    static_matrix,
    text,
    updated,
)
from tile_ir.quick_dataclasses import replace
from tile_ir.scalars.affine import simplify
from tile_ir.target import Target

# What the cube unit of some chip takes; `Target.accumulators` says which of them.
INPUTS = (FLOAT16, BFLOAT16, FLOAT32, INT4, INT8)


def matrix_sizes(op: Op) -> tuple[int, int, int] | None:
    """(m, n, k) of a multiplication, or None where a size is not static."""
    a, b, c = (static_matrix(op.region(name)) for name in ("A", "B", "C"))
    if a is None or b is None or c is None:
        return None
    return c[0], c[1], a[0] if transposes(op)[0] else a[1]


def transposes(op: Op) -> tuple[bool, bool]:
    """Whether A and B are stored transposed; an operation without the attributes has neither."""
    given = {a.name: v for a, v in zip(op.opdef.attrs, op.attrs, strict=True)}
    return bool(given.get("transpose_A")), bool(given.get("transpose_B"))


def is_tile_product(op: Op) -> bool:
    """Whether the operation is a product of tiles, which lowering takes apart."""
    return op.opdef in (GEMM, PRODUCT, GEMM_BIAS)


def takes_bias(op: Op) -> bool:
    """Whether C starts from a bias."""
    return op.opdef in (GEMM_BIAS, MMA_BIAS)


def _dtypes(op: Op, target: Target) -> Problem | None:
    a, b, c = op.region("A"), op.region("B"), op.region("C")
    if b.dtype != a.dtype:
        found = f"is {b.dtype}, but A `{a.buffer.name}` is {a.dtype}"
        hint = "give both one element type, before the call or with T.tile.cast"
        return op.problem("B", "dtype-mismatch", found, hint)
    if transposes(op)[0] and not a.dtype.whole_bytes:
        found = f"is {a.dtype}, which the load to l0a does not turn"
        return op.problem("A", "operand-dtype", found, "store A as [m, k]")
    expected = target.accumulators.get(a.dtype)
    if expected is None:
        found = f"is {a.dtype}, of which the cube unit of {target.name} makes no products"
        hint = "cast it to a type it takes: " + ", ".join(d.name for d in target.accumulators)
        return op.problem("A", "operand-dtype", found, hint)
    if c.dtype != expected:
        found = f"is {c.dtype}, but {a.dtype} inputs accumulate in {expected}"
        hint = f"allocate `{c.buffer.name}` as {expected} and convert in the copy to gm"
        return op.problem("C", "dtype-mismatch", found, hint)
    return None


def accumulator_type(op: Op, target: Target) -> DType | None:
    """The type in which the cube unit of a chip adds up such a product."""
    return target.accumulators.get(op.region("A").dtype)


def _any_accumulator(op: Op, target: Target) -> Problem | None:
    """A and B have one type of which the chip makes products; C is the type of their sums, or one
    that these are rounded to."""
    c, expected = op.region("C"), accumulator_type(op, target)
    if expected is FLOAT32 and c.dtype in (FLOAT16, BFLOAT16):
        summed = Region(replace(c.buffer, dtype=expected), c.dims)
        op = replace(op, operands=(*op.operands[:2], summed, *op.operands[3:]))
    return _dtypes(op, target)


def _leading_ones(op: Op, target: Target) -> Problem | None:
    for name in ("A", "B", "C"):
        region = op.region(name)
        extents = region.extents
        if len(extents) < 2 or any(constant_value(e) != 1 for e in extents[:-2]):
            found = f"has {shape_text(region)}, expected one matrix (leading dimensions of 1)"
            return op.problem(name, "shape-mismatch", found, "choose a slot: buf[i, :, :]")
    return None


def _shapes(op: Op, target: Target) -> Problem | None:
    """A is [m, k], B is [k, n] and C is [m, n], once transposed as said; leading dimensions are
    1."""
    problem = _leading_ones(op, target)
    if problem:
        return problem
    a, b, c = (_matrix(op.region(name)) for name in ("A", "B", "C"))
    transpose_a, transpose_b = transposes(op)
    m, k = a[::-1] if transpose_a else a
    k2, n = b[::-1] if transpose_b else b
    if k != k2:
        message = f"{op.opdef.called}: A `{op.region('A').buffer.name}` gives k = {text(k)}, but B "
        message += f"`{op.region('B').buffer.name}` gives k = {text(k2)}"
        hint = "A is [m, k] and B is [k, n], unless they are said to be transposed"
        return Problem("shape-mismatch", message, "B", hint)
    if (m, n) != c:
        found = f"is [{text(c[0])}, {text(c[1])}], but A and B give [{text(m)}, {text(n)}]"
        hint = f"allocate C as [{text(m)}, {text(n)}]"
        return op.problem("C", "shape-mismatch", found, hint)
    return None


def _matrix(region: Region) -> tuple[Expr, Expr]:
    """Rows and columns in canonical form."""
    rows, columns = region.extents[-2:]
    return simplify(rows), simplify(columns)


def _static_shapes(op: Op, target: Target) -> Problem | None:
    """The sizes are known while compiling: k is cut into tiles then."""
    for name in ("A", "B", "C"):
        region = op.region(name)
        if region.static_extents() is None:
            found = f"has {shape_text(region)}, expected sizes known while compiling"
            hint = "n_actual takes a number of columns known at run time"
            return op.problem(name, "shape-mismatch", found, hint)
    return None


def _multiply(op: Op, a: Any, b: Any, c: Any, init: Any) -> Any:
    if 0 in a.shape[-2:]:
        return c  # the unit does nothing where a size is zero, whatever init says
    wide = np.int64 if op.region("A").dtype.is_integer else np.float64
    x = np.asarray(a, wide).reshape(a.shape[-2:])
    y = np.asarray(b, wide).reshape(b.shape[-2:])
    transpose_a, transpose_b = transposes(op)
    x = x.T if transpose_a else x
    y = y.T if transpose_b else y
    with np.errstate(all="ignore"):
        product = (x @ y).reshape(c.shape)
        return product if init else product + np.asarray(c, wide)


def _from_bias(op: Op, a: Any, b: Any, c: Any, init: Any, bias: Any) -> Any:
    if 0 in a.shape[-2:] or 0 in b.shape[-2:]:
        return c
    start = np.broadcast_to(np.reshape(bias, -1), c.shape[-2:]).reshape(c.shape)
    return _multiply(op, a, b, start if init else c, False)


def _bias(op: Op, target: Target) -> Problem | None:
    """The bias has a value for each column of C; in a bias table it starts at a multiple of 64
    bytes, in l1 where it can be copied into one."""
    bias, c = op.region("bias"), op.region("C")
    columns, found = simplify(c.extents[-1]), element_count(bias)
    where = f"{op.opdef.called}: bias `{bias.buffer.name}`"
    if columns != found or not is_contiguous(bias):
        return Problem(
            "shape-mismatch",
            f"{where} has {shape_text(bias)}, but C `{c.buffer.name}` has {text(columns)} columns",
            "bias",
            "a bias has one value for each column",
        )
    if bias.memory is Memory.L1 and not is_run(bias.buffer):
        return Problem(
            "shape-mismatch",
            f"{where} is a matrix, whose rows lie in fractals, but a bias is a run of elements",
            "bias",
            f"allocate `{bias.buffer.name}` with one dimension",
        )
    start = constant_value(element_offset(bias))
    size = BIAS_UNIT if bias.memory is Memory.L1 else target.alignment[Memory.BT]
    unit = bias.dtype.elements_in(size)
    if start is not None and start % unit:
        message = f"{where} starts at element {start}, expected a multiple of {unit}"
        hint = f"biases in {bias.memory.value} are read in blocks of {size} bytes"
        return Problem("row-alignment", message, "bias", hint)
    return None


def _bias_dtype(op: Op, target: Target) -> Problem | None:
    """The bias has the type of C; float16 becomes float32 on the way from l1."""
    bias, c = op.region("bias"), op.region("C")
    on_the_way = bias.memory is not Memory.BT and (bias.dtype, c.dtype) == (FLOAT16, FLOAT32)
    if bias.dtype == c.dtype or on_the_way:
        return None
    found = f"is {bias.dtype}, but C `{c.buffer.name}` is {c.dtype}"
    hint = f"allocate `{bias.buffer.name}` as {c.dtype}; T.copy converts float16 on the way from l1"
    return op.problem("bias", "dtype-mismatch", found, hint)


def _init_is_bool(op: Op, target: Target) -> Problem | None:
    """init is a condition."""
    init = op.operand("init")
    if isinstance(init, Expr) and init.dtype != BOOL:
        message = f"{op.opdef.called}: init is {init.dtype}, expected a condition"
        return Problem("dtype-mismatch", message, "init", "write init=(k == 0)")
    return None


def _starts(op: Op) -> Expr:
    """C is overwritten where `init` holds."""
    init = op.operand("init")
    assert isinstance(init, Expr), "checked by the record"
    return init


def _problems(op: Op, target: Target) -> Problem | None:
    """A and B have one type; C is float32, or int32 for int8; init is a bool."""
    return _dtypes(op, target) or _init_is_bool(op, target)


def _whole_accumulator(op: Op, target: Target) -> Problem | None:
    """The accumulator is zeroed whole."""
    dst = op.region("dst")
    if static_matrix(dst) is not None and all(
        is_constant(s.offset, 0) and s.extent == size
        for s, size in zip(dst.dims[-2:], dst.buffer.shape[-2:], strict=True)
    ):
        return None
    message = f"{op.opdef.called}: only a whole matrix of `{dst.buffer.name}` can be zeroed"
    return Problem("shape-mismatch", message, "dst", "zero all of it, or begin with init=True")


def _init() -> OperandDef:
    return OperandDef("init", Access.READ)


_INIT = ArgumentDef("init", ("init",), False)


_GEMM_ARGUMENTS = (
    "A",
    "B",
    "C",
    "transpose_A",
    "transpose_B",
    _INIT,
    ArgumentDef(
        "kL0Size",
        default=None,
        choices=range(16, 4096, 16),
        expected="a multiple of 16, at most 4095",
        hint="leave it out: the compiler chooses it",
    ),
    ArgumentDef("n_actual", default=None),
    ArgumentDef("bias", default=None),
)  # fmt: skip


def _product_axes(op: Op) -> Axes:
    """Rows and columns of the result, and the dimension of the sum."""
    rows, inner, columns = range(3)
    a, b = (rows, inner), (inner, columns)
    sides = {
        "A": a[::-1] if op.attr("transpose_A") else a,
        "B": b[::-1] if op.attr("transpose_B") else b,
        "C": (rows, columns),
    }
    ranks = {name: len(op.region(name).dims) for name in sides}
    labels = {
        name: {ranks[name] - 2: first, ranks[name] - 1: second}
        for name, (first, second) in sides.items()
    }
    if op.opdef is GEMM_BIAS:
        labels["bias"] = dict.fromkeys(all_dims(op.region("bias")), columns)
    return labelled(op, labels)


GEMM = OpDef(
    name="gemm_v0",
    family="cube",
    doc="C (+)= op(A) @ op(B) on l1 tiles; init overwrites C instead of adding to it",
    ascend_c="LoadData, Mmad",
    namespace="",
    operands=(source("A", L1, *INPUTS), packed(source("B", L1)), updated("C", L0C), _init()),
    attrs=(AttrDef("transpose_A", bool, False), AttrDef("transpose_B", bool, False)),
    parameters=_GEMM_ARGUMENTS,
    placement=on(Core.CUBE, Pipe.M),
    axes=_product_axes,
    meaning=_multiply,
    composite=Composite.YES,
    dtype_rule=_problems,
    shape_rule=all_rules(_shapes, _static_shapes),
    overwrites=_starts,
)

# What stands in registers of a GPU or is shared by its threads: `place_buffers` finds the memories.
_ANY_OPERAND = L1 | frozenset({Memory.SHARED, Memory.FRAGMENT})
_PRODUCT_ARGUMENTS: tuple[str | ArgumentDef, ...] = (
    "A",
    "B",
    "C",
    "transpose_A",
    "transpose_B",
    ArgumentDef("policy", default=None),
    ArgumentDef("clear_accum", ("init",), False),
    *(ArgumentDef(name, default=None) for name in ("k_pack", "mbar", "annotations", "unit_flag")),
)

PRODUCT = replace(
    GEMM,
    name="gemm",
    doc="C += op(A) @ op(B) on tiles in any memory; clear_accum overwrites C instead of adding to "
    "it; how a GPU divides the work has no effect",
    operands=(
        source("A", _ANY_OPERAND, *INPUTS),
        packed(source("B", _ANY_OPERAND)),
        updated("C", L0C | frozenset({Memory.SHARED, Memory.FRAGMENT})),
        _init(),
    ),
    parameters=_PRODUCT_ARGUMENTS,
    dtype_rule=all_rules(_any_accumulator, _init_is_bool),
)

GEMM_BIAS = replace(
    GEMM,
    name="gemm_v0_bias",
    spelling="gemm_v0",
    doc="C (+)= op(A) @ op(B), but C starts from a bias for each column where init holds",
    ascend_c="DataCopy, LoadData, Mmad",
    namespace=None,
    operands=(*GEMM.operands, source("bias", L1 | BT, FLOAT16, FLOAT32, INT32)),
    parameters=(),
    meaning=_from_bias,
    dtype_rule=all_rules(_problems, _bias_dtype),
    shape_rule=all_rules(_shapes, _static_shapes, _bias),
)

_MMA_ARGUMENTS: tuple[str | ArgumentDef, ...] = (
    "A",
    "B",
    "C",
    _INIT,
    *(ArgumentDef(n, default=None) for n in ("n_actual", "unit_flag", "k_actual", "bias")),
)  # fmt: skip

MMA = OpDef(
    name="mma",
    family="cube",
    doc="C (+)= A @ B on l0 tiles, one instruction; init overwrites C instead of adding to it",
    ascend_c="Mmad",
    namespace="",
    operands=(source("A", L0A, *INPUTS), packed(source("B", L0B)), updated("C", L0C), _init()),
    parameters=_MMA_ARGUMENTS,
    placement=on(Core.CUBE, Pipe.M),
    axes=whole,
    meaning=_multiply,
    dtype_rule=_problems,
    shape_rule=_shapes,
    overwrites=_starts,
    in_order=True,
)

MMA_BIAS = replace(
    MMA,
    name="mma_bias",
    spelling="mma",
    doc="C (+)= A @ B as mma, but C starts from a bias for each column where init holds",
    namespace=None,
    operands=(*MMA.operands, source("bias", BT, FLOAT32, INT32)),
    parameters=(),
    meaning=_from_bias,
    dtype_rule=all_rules(_problems, _bias_dtype),
    shape_rule=all_rules(_shapes, _bias),
)

CLEAR = OpDef(
    name="clear_l0c",
    family="cube",
    doc="zero an accumulator: the product of zeroed registers, since nothing else writes l0c",
    ascend_c="InitConstValue, Mmad",
    namespace=None,
    operands=(destination("dst", L0C, FLOAT32, INT32),),
    placement=on(Core.CUBE, Pipe.M),
    axes=whole,
    meaning=lambda op, dst: np.zeros_like(dst),
    composite=Composite.YES,
    shape_rule=_whole_accumulator,
)

ZERO = OpDef(
    name="zero_l0",
    family="cube",
    doc="zero a whole operand register of a product",
    ascend_c="InitConstValue",
    namespace=None,
    operands=(destination("dst", L0A | L0B, *INPUTS),),
    placement=on(Core.CUBE, Pipe.MTE1),
    axes=whole,
    meaning=lambda op, dst: np.zeros_like(dst),
)

OPS = (GEMM, PRODUCT, GEMM_BIAS, MMA, MMA_BIAS, CLEAR, ZERO)
