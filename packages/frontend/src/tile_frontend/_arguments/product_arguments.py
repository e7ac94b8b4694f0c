"""Build `T.gemm_v0` and `T.mma`, with a bias and for a part of the columns."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.build_op import build_op, cut, whole_region
from tile_frontend._arguments.cluster_products import part_of_member, product_of_tensors
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._arguments.turned_matrices import turned
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import (
    Scalar,
    describe,
    integer_expr,
    known_integer,
    python_number,
    unexpected,
)
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending
from tile_ir import (
    OPS,
    Body,
    Const,
    Expr,
    For,
    If,
    LoopKind,
    Memory,
    Op,
    binary,
    constant_value,
    k0_elements,
)  # fmt: skip
from tile_ir.ops.cube import matrix_sizes

# Products are computed in fractals of so many columns.
FRACTAL = 16


class ProductFunction(OpFunction):
    """A product. With `bias` C starts from that where `init` holds, which then is its default."""

    def product(self, given: dict[str, Any]) -> tuple[Pending, Op]:
        """The whole product, to be cut."""
        name = self.opdef.name
        if given.get("bias") is None:
            operands = {"init": False, **given}
        else:
            name, operands = f"{name}_bias", {"init": True, **given}
            if known_integer(operands["init"]) == 0 or operands["init"] is False:
                message = "init is False, so that C is added to, but bias is what C starts from"
                hint = "leave init out, or make it the condition of the first product: "
                where, hint = self.opdef.name, f"{hint}init=(k == 0)"
                raise Fault("attribute-value", f"{where}: {message}", hint, "init")
        for a in self.arguments:
            self.check_without_effect(a, given.get(a.name))
        whole = build_op(OPS[name], operands, self.__name__)
        assert isinstance(whole.stmt, Op), "made as one"
        return whole, whole.stmt


class GemmFunction(ProductFunction):
    """`n_actual` is the number of columns to compute; the others keep the contents of C. It may be
    a run-time value."""

    def build(self, given: dict[str, Any]) -> Pending:
        shared = product_of_tensors(given, given.get("init", False))
        if shared is not None:
            return shared
        whole, op = self.product(given)
        columns = given.get("n_actual")
        if columns is None:
            whole.stmt = part_of_member(op)
            return whole
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
            hint = "pass the number of columns of C that count"
            raise unexpected("gemm_v0: n_actual", columns, hint=hint)
        if n % FRACTAL:
            found = f"{describe(columns)}, but C has {n} columns, no multiple of 16"
            hint = "give C columns by the sixteen, or a number from outside the kernel as n_actual"
            raise Fault("attribute-value", f"gemm_v0: n_actual is {found}", hint, "n_actual")
        whole.stmt = _runtime_columns(op, columns.expr, n)
        return whole


def _check_columns(what: str, number: int, n: int) -> None:
    if 0 <= number <= n and (number % FRACTAL == 0 or number == n):
        return
    wrong = f"but C has {n} columns" if number > n else "expected a multiple of 16"
    hint = "results are computed in columns by the sixteen"
    raise Fault("attribute-value", f"{what}: n_actual is {number}, {wrong}", hint, "n_actual")


def _runtime_columns(op: Op, columns: Expr, n: int) -> If:
    """Compute all columns at once where the count includes them all, else in strips as wide as the
    blocks of l1."""
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
    return _part(op, parts, start, Const(size))


def _part(op: Op, parts: dict[str, int], start: Expr, size: Expr) -> Op:
    """The operation on `size` indices from `start` on of one dimension of each of some operands."""
    operands = tuple(
        cut(op.region(o.name), parts[o.name], size, start) if o.name in parts else operand
        for o, operand in zip(op.opdef.operands, op.operands, strict=True)
    )
    return Op(op.opdef, operands, op.attrs, op.loc)


# Which dimensions of A, B and C an argument of `mma` is about, and where its size stands.
_PARTS = {"n_actual": {"C": -1, "B": -1, "bias": -1}, "k_actual": {"A": -1, "B": -2}}


class MmaFunction(ProductFunction):
    """Build products whose registers `n_actual` and `k_actual` cut. The loads of both registers
    must have the same size, since the order of elements in a register depends on it. Sizes that are
    known only at run time are compared as expressions: they must be written alike."""

    def build(self, given: dict[str, Any]) -> Pending:
        whole, op = self.product(given)
        for name, parts in _PARTS.items():
            if given.get(name) is None:
                continue
            size = integer_expr(f"mma: {name}", given[name])
            operand, dim = next(iter(parts.items()))
            have, number = (
                constant_value(op.region(operand).extents[dim]),
                known_integer(given[name]),
            )
            if have is not None and number is not None:
                if not 0 < number <= have:
                    message = f"mma: {name} is {number}, but there are {have}"
                    hint = f"write 1 to {have}"
                    raise Fault("attribute-value", message, hint, argument=name)
                if name == "n_actual":
                    _check_columns("mma", number, have)
            op = _part(op, parts, Const(0), size)
        whole.stmt = op
        return whole


class TileProductFunction(OpFunction):
    """A product of tiles wherever they lie. Of operands in registers it is one instruction."""

    def build(self, given: dict[str, Any]) -> Pending:
        filled = self.filled(given)
        number = python_number(filled["clear_accum"])
        if number in (0, 1):
            filled["clear_accum"] = bool(number)
        sides = [whole_region(filled[name]) for name in ("A", "B")]
        if not any(side is not None and side.memory in (Memory.L0A, Memory.L0B) for side in sides):
            shared = product_of_tensors(filled, filled["clear_accum"])
            if shared is not None:
                return shared
            whole = build_op(OPS["gemm"], self.parts(filled), "gemm")
            assert isinstance(whole.stmt, Op), "made as one"
            whole.stmt = part_of_member(whole.stmt)
            return whole
        operands = {name: filled[name] for name in ("A", "B", "C")}
        for name, side in zip(("A", "B"), sides, strict=True):
            if filled[f"transpose_{name}"] and side is not None:
                operands[name] = turned(side)
        parts = {**operands, "init": filled["clear_accum"]}
        return build_op(OPS["mma"], parts, "gemm")


FUNCTIONS = {
    "gemm_v0": GemmFunction(OPS["gemm_v0"]),
    "gemm": TileProductFunction(OPS["gemm"]),
    "mma": MmaFunction(OPS["mma"]),
}
