"""`T.gemm_v0` and `T.mma` with the arguments newer versions of the language add to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tile_frontend.arguments.op_functions import OpFunction, build_op
from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import Scalar, describe, python_number
from tile_frontend.tracing.trace import current
from tile_frontend.tracing.values import Pending
from tile_ir import (
    OPS,
    Body,
    Const,
    Expr,
    For,
    If,
    LoopKind,
    Op,
    OpDef,
    Region,
    Slice,
    binary,
    constant_value,
    k0_elements,
    simplify,
)
from tile_ir.ops.cube import matrix_sizes

LONGEST_STEP = 4095
# Products are computed in fractals of so many columns.
FRACTAL = 16


class GemmFunction(OpFunction):
    """`kL0Size` is how far the product goes at once, which the compiler chooses. `n_actual` says
    how many columns are computed; the others keep what C holds. With `bias` C starts from that
    where `init` holds if it is given."""

    def __init__(self) -> None:
        super().__init__(OPS["gemm_v0"])
        self.parameters = (*self.parameters, "kL0Size", "n_actual", "bias")

    def build(self, given: dict[str, Any]) -> Pending:
        step = given.pop("kL0Size", None)
        number = python_number(step)
        if step is not None and not (
            isinstance(number, int) and 0 < number <= LONGEST_STEP and number % FRACTAL == 0
        ):
            raise Fault(
                "attribute-value",
                f"gemm_v0: kL0Size is {describe(step)}, expected a multiple of 16, at most "
                f"{LONGEST_STEP}",
                "leave it out: the compiler chooses it",
                "kL0Size",
            )
        columns = given.pop("n_actual", None)
        opdef = _from_bias(given, self.opdef, OPS["gemm_v0_bias"])
        whole = build_op(opdef, given, self.__name__)
        return whole if columns is None else _first_columns(whole, columns)


def _first_columns(whole: Pending, columns: Any) -> Pending:
    """The product cut to its first columns, which may be known only when the kernel runs."""
    op = whole.stmt
    assert isinstance(op, Op), "made as one"
    sizes = matrix_sizes(op)
    assert sizes is not None, "checked by the record"
    n, number = sizes[1], python_number(columns)
    if isinstance(number, int):
        _check_columns("gemm_v0", number, n)
        if number:
            whole.stmt = _columns(op, Const(0), number)
            return whole
        columns = Scalar(Const(0))
    if not isinstance(columns, Scalar) or not columns.expr.dtype.is_integer:
        raise Fault(
            "operand-kind", f"gemm_v0: n_actual is {describe(columns)}", argument="n_actual"
        )
    if n % FRACTAL:
        raise Fault(
            "attribute-value",
            f"gemm_v0: n_actual is {describe(columns)}, but C has {n} columns, no multiple of 16",
            "give C columns by the sixteen, or a number from outside the kernel as n_actual",
            "n_actual",
        )
    whole.stmt = _runtime_columns(op, columns.expr, n)
    return whole


def _check_columns(what: str, number: int, n: int) -> None:
    if 0 <= number <= n and (number % FRACTAL == 0 or number == n):
        return
    wrong = f"but C has {n} columns" if number > n else "expected a multiple of 16"
    raise Fault(
        "attribute-value",
        f"{what}: n_actual is {number}, {wrong}",
        "results are computed in columns by the sixteen",
        "n_actual",
    )


def _runtime_columns(op: Op, columns: Expr, n: int) -> If:
    """All columns at once where all are asked for, else strips as wide as l1 is cut."""
    trace, loc = current("T.gemm_v0"), op.loc
    count = trace.let("columns", columns, loc).expr
    strip = max(FRACTAL, k0_elements(op.region("A").dtype))
    turn = trace.loop_variable("strip")
    body: Body = ()
    if n > strip:
        inside = (_columns(op, turn * strip, strip),)
        body = (For(turn, Const(0), count // strip, LoopKind.SERIAL, inside, loc),)
    if strip > FRACTAL:
        # Of a last strip half may be asked for.
        half = _columns(op, count // strip * strip, FRACTAL)
        odd = binary(">", count % strip, Const(0))
        body = (*body, If(odd, (half,), (), loc))
    return If(binary(">=", count, Const(n)), (op,), body, loc)


def _columns(op: Op, start: Expr, size: int) -> Op:
    """The part of a product that gives `size` columns of C from `start` on."""
    parts = {"B": -2 if op.attr("transpose_B") else -1, "C": -1, "bias": -1}
    return _cut(op, parts, start, Const(size))


def _cut(op: Op, parts: Mapping[str, int], start: Expr, size: Expr) -> Op:
    """The operation on `size` indices from `start` on of one dimension of each of some operands."""
    operands = list(op.operands)
    for name, dim in parts.items():
        if name not in (o.name for o in op.opdef.operands):
            continue
        region = op.region(name)
        dims = list(region.dims)
        dims[dim] = Slice(simplify(dims[dim].offset + start), size)
        operands[op.opdef.operand_index(name)] = Region(region.buffer, tuple(dims))
    return replace(op, operands=tuple(operands))


class MmaFunction(OpFunction):
    """`unit_flag` is about time and changes nothing. `n_actual` and `k_actual` cut the registers,
    whose loads have to be as large: the order of their elements depends on their size. With `bias`
    C starts from a bias table, where `init` holds if it is given."""

    def __init__(self) -> None:
        super().__init__(OPS["mma"])
        self.parameters = (*self.parameters, "n_actual", "unit_flag", "k_actual", "bias")

    def build(self, given: dict[str, Any]) -> Pending:
        given.pop("unit_flag", None)
        parts = {
            "n_actual": given.pop("n_actual", None),
            "k_actual": given.pop("k_actual", None),
        }
        opdef = _from_bias(given, self.opdef, OPS["mma_bias"])
        whole = build_op(opdef, given, self.__name__)
        for name, asked in parts.items():
            if asked is not None:
                whole.stmt = _part(whole.stmt, name, asked)
        return whole


def _from_bias(given: dict[str, Any], plain: OpDef, with_bias: OpDef) -> OpDef:
    """The operation: where C is to start from a bias, it can not be added to."""
    if given.get("bias") is None:
        given.pop("bias", None)
        return plain
    init = given.setdefault("init", True)
    if python_number(init) == 0 and not isinstance(init, Scalar):
        raise Fault(
            "attribute-value",
            f"{plain.name}: init is False, so that C is added to, but bias is what C starts from",
            "leave init out, or make it the condition of the first product: init=(k == 0)",
            "init",
        )
    return with_bias


# Which dimensions of A, B and C an argument of `mma` is about.
_PARTS = {"n_actual": {"B": -1, "C": -1, "bias": -1}, "k_actual": {"A": -1, "B": -2}}
_WHERE = {"n_actual": ("C", -1), "k_actual": ("A", -1)}


def _part(op: Any, name: str, asked: Any) -> Op:
    """The product cut in n or k. What is known when the kernel runs stands in the text as it is
    written: the loads of both registers are as large if they say the same."""
    assert isinstance(op, Op), "made as one"
    number = python_number(asked)
    if isinstance(asked, Scalar) and asked.expr.dtype.is_integer:
        return _cut(op, _PARTS[name], Const(0), asked.expr)
    if not isinstance(number, int) or isinstance(number, bool):
        raise Fault(
            "operand-kind", f"mma: {name} is {describe(asked)}, expected a number", argument=name
        )
    operand, dim = _WHERE[name]
    have = constant_value(op.region(operand).extents[dim])
    if have is not None:
        if not 0 < number <= have:
            raise Fault(
                "attribute-value", f"mma: {name} is {number}, but there are {have}", argument=name
            )
        if name == "n_actual":
            _check_columns("mma", number, have)
    return _cut(op, _PARTS[name], Const(0), Const(number))


FUNCTIONS = {"gemm_v0": GemmFunction(), "mma": MmaFunction()}
