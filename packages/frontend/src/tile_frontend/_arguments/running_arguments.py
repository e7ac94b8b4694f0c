"""Build `T.cumsum` and `T.cummax`: running sums and maxima along a dimension."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.build_op import build_op, region_argument
from tile_frontend._arguments.element_nests import (
    as_one,
    element,
    for_each,
    new_tile,
    one_after_another,
    stored,
    taken,
)
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._arguments.reduction_nests import KINDS, dimension
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import known_integer, unexpected
from tile_frontend._tracing.trace import current, traced_number
from tile_frontend._tracing.values import Pending
from tile_ir import (
    BFLOAT16,
    BLOCK_BYTES,
    FLOAT16,
    FLOAT32,
    INT32,
    OPS,
    ArgumentDef,
    Const,
    DType,
    Expr,
    Memory,
    Region,
    Stmt,
    call_arguments,
    cast,
    simplify,
)


class RunningFunction(OpFunction):
    """Running values of one kind."""

    kind = "sum"

    def build(self, given: dict[str, Any]) -> Pending:
        a, name = self.filled(given), self.__name__
        if self.kind == "sum" and not current(f"T.{name}").python_names:
            return build_op(self.opdef, self.parts(a), name)
        src = region_argument(f"{name}: src", a["src"])
        dst = src if a["dst"] is None else region_argument(f"{name}: dst", a["dst"])
        axis, reverse = known_integer(a["dim"]), traced_number(a["reverse"])
        if axis is None:
            raise unexpected(f"{name}: dim", a["dim"], "a Python int", slug="attribute-type")
        if not isinstance(reverse, bool):
            expected = "True or False"
            raise unexpected(f"{name}: reverse", a["reverse"], expected, slug="attribute-type")
        dim = dimension(name, a["src"], src, axis)
        if self.kind == "sum" and src.dtype is dst.dtype and _takes(src, dst.dtype, dim):
            given = {"src": src, "dst": dst, "dim": dim - len(src.dims), "reverse": reverse}
            return build_op(self.opdef, given, name)
        _check(name, src, dst)
        wide = FLOAT32 if dst.dtype.is_float else INT32
        if self.kind == "sum" and _takes(dst, wide, dim):
            attrs = {"dim": dim - len(src.dims), "reverse": reverse}
            return as_one(_widened(src, dst, wide, attrs), name)
        return as_one(_one_by_one(self.kind, src, dst, dim, reverse), name)


class RunningMaximum(RunningFunction):
    """`T.cummax`, which no operation is."""

    kind = "max"


def _takes(region: Region, dtype: DType, dim: int) -> bool:
    """Whether the operation takes such regions of a type: matrices of whole blocks."""
    if dtype not in OPS["cumsum"].operands[0].dtypes:
        return False
    front = len(region.dims) - 2
    sizes = region.static_extents()
    if sizes is None:
        return dim >= front
    if dim < front or any(n != 1 for n in sizes[: max(front, 0)]):
        return False
    whole = sizes[-1] * dtype.size % BLOCK_BYTES == 0
    return whole or all(n == 1 for n in sizes[:-1])


def _check(name: str, src: Region, dst: Region) -> None:
    for region, argument in ((src, "src"), (dst, "dst")):
        if region.memory is Memory.GM:
            message = f"{name}: {argument} `{region.buffer.name}` is in gm, expected a tile"
            raise Fault("operand-memory", message, "copy it to a tile with T.copy first", argument)
    sizes, found = (tuple(simplify(e) for e in r.extents) for r in (src, dst))
    if sizes != found:
        message = f"{name}: dst `{dst.buffer.name}` has not the shape of src `{src.buffer.name}`"
        raise Fault("shape-mismatch", message, "give both the same shape", "dst")


def _widened(src: Region, dst: Region, wide: DType, attrs: dict[str, Any]) -> list[Stmt]:
    """The running sums in a type that the operation takes."""
    tile = Region.whole(new_tile(wide, dst.extents, f"{dst.buffer.name}_sums").buffer)
    return [
        taken(build_op(OPS["copy"], {"src": src, "dst": tile}, "copy")),
        taken(build_op(OPS["cumsum"], {"src": tile, "dst": tile, **attrs}, "cumsum")),
        taken(build_op(OPS["copy"], {"src": tile, "dst": dst}, "copy")),
    ]


def _one_by_one(kind: str, src: Region, dst: Region, dim: int, reverse: bool) -> list[Stmt]:
    """The elements along the dimension one after the other, for all others at once."""
    wide = kind == "sum" and dst.dtype in (FLOAT16, BFLOAT16)
    to = dst
    if wide:
        to = Region.whole(new_tile(FLOAT32, dst.extents, f"{dst.buffer.name}_sums").buffer)
    extents = list(src.extents)
    count, extents[dim] = extents[dim], Const(1)

    def step(number: Expr) -> Stmt:
        place = simplify(count - 1 - number) if reverse else number
        before = simplify(place + (1 if reverse else -1))

        def one(places: tuple[Expr, ...]) -> Stmt:
            here, there = list(places), list(places)
            here[dim], there[dim] = place, before
            value = KINDS[kind].combine(element(to, there), element(to, here))
            return stored(to, here, value)

        return for_each(extents, one)

    def taken_over(places: tuple[Expr, ...]) -> Stmt:
        return stored(to, places, cast(element(src, places), to.dtype))

    statements = []
    if to != src:
        statements.append(for_each(src.extents, taken_over))
    statements.append(one_after_another(1, count, step))
    if wide:
        statements.append(taken(build_op(OPS["copy"], {"src": to, "dst": dst}, "copy")))
    return statements


_ARGUMENTS = (*call_arguments(OPS["cumsum"]), ArgumentDef("annotations", (), None))
CUMSUM = RunningFunction(OPS["cumsum"], None, _ARGUMENTS)
CUMMAX = RunningMaximum(
    OPS["cumsum"], None, _ARGUMENTS, "cummax",
    "Running maxima of src along dim, from the end on with reverse.",
)  # fmt: skip
