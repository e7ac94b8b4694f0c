"""Build `T.reduce_*`: find the part that is reduced and the place of the result
(docs/language/rules.md#reductions)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tile_frontend._arguments.build_op import build_op, cut, region_argument
from tile_frontend._arguments.element_nests import as_one, new_tile
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._arguments.reduction_nests import (
    KINDS,
    ReductionKind,
    dimension,
    is_matrix,
    reduce_by_parts,
    without_signs,
)
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import (
    describe,
    known_integer,
    python_number,
    scalar_expr,
    unexpected,
)
from tile_frontend._tracing.trace import current, traced_number
from tile_frontend._tracing.values import Cell, Pending, Tile
from tile_ir import (
    BLOCK_BYTES,
    OPS,
    ArgumentDef,
    Const,
    Expr,
    Load,
    Memory,
    Region,
    Store,
    constant_value,
    did_you_mean,
    is_constant,
    simplify,
)  # fmt: skip

NAMES = tuple(n for n, d in OPS.items() if d.family == "reduce" and d.namespace == "")
# Without an operation of their own.
_MORE = {f"reduce_{kind}": k for kind, k in KINDS.items() if f"reduce_{kind}" not in NAMES}


class ReductionFunction(OpFunction):
    """The reductions of one name, or of the name in `reduce_type`."""

    returns = "Any"

    def build(self, given: dict[str, Any]) -> Pending | Tile:
        a = self.filled(given)
        name = _called(a.get("reduce_type", self.__name__))
        _check_kept(name, a["keepdim"], a["buffer"], a["out"])
        clear, real_shape = a["clear"], a["real_shape"]
        if isinstance(real_shape, bool) and "clear" not in given and "reduce_type" in a:
            clear, real_shape = real_shape, None  # TileLang has it behind dim
        clear, real_shape = _by_kind(name, clear, real_shape)
        src, axis = region_argument(f"{name}: buffer", a["buffer"]), known_integer(a["dim"])
        if axis is None:
            raise unexpected(f"{name}: dim", a["dim"], "a Python int", slug="attribute-type")
        if isinstance(a["out"], Cell):
            return _into_variable(self, a)
        if a["out"] is not None:
            dst = region_argument(f"{name}: out", a["out"])
            for_gpus = current(f"T.{name}").python_names and real_shape is None
            if for_gpus or name in _MORE or (real_shape is None and _is_of_all(src, dst, axis)):
                return _for_gpus(name, src, dst, dimension(name, a["buffer"], src, axis), clear)
            return _reduction(name, src, dst, axis, clear, real_shape)
        if src.static_extents() is None or clear is not True or real_shape is not None:
            message = f"{name}: without `out` the whole of a buffer of fixed size is reduced"
            raise Fault("arity", message, "give it the buffer for the result")
        return _result(name, src, axis)


def _into_variable(function: ReductionFunction, given: Mapping[str, Any]) -> Pending:
    """The reduction to one element, whose value a scalar variable takes."""
    trace, cell = current("T.reduce"), given["out"]
    tile = new_tile(cell.tile.element, (Const(1),), "reduced")
    place = Load(tile.buffer, (Const(0),))
    if given["clear"] is not True:
        trace.emit(Store(tile.buffer, place.indices, cell.expr, trace.here))
    made = function.build({**given, "out": tile})
    assert isinstance(made, Pending), "it has a buffer for its result"
    trace.emit_pending(made)
    return as_one([Store(cell.tile.buffer, cell.indices, place, trace.here)], function.__name__)


def _called(kind: Any) -> str:
    """The name of a reduction, which `reduce_type` may have without its beginning."""
    names = (*NAMES, *_MORE)
    name = f"reduce_{kind}" if f"reduce_{kind}" in names else kind
    if name in names:
        return str(name)
    raise unexpected(
        "reduce: reduce_type", kind, f"one of {', '.join(NAMES)}",
        did_you_mean(str(kind), NAMES), slug="attribute-value",
    )  # fmt: skip


def _by_kind(name: str, clear: Any, real_shape: Any) -> tuple[Any, Any]:
    """Older scripts pass `clear` and `real_shape` by position, in any order."""
    if isinstance(clear, (list, tuple)):
        if len(clear) != 2:
            message = f"{name}: {describe(clear)} follows dim, expected clear or real_shape"
            raise Fault("arity", message, "write clear=... or real_shape=[rows, columns]")
        clear, real_shape = True if real_shape is None else real_shape, clear
    for key, value, twice in (("real_shape", clear, (list, tuple)), ("clear", real_shape, bool)):
        if isinstance(value, twice):
            hint = "leave one of them out"
            raise Fault("arity", f"{name} got `{key}` twice", hint)
    return clear, real_shape


def _check_kept(name: str, keepdim: Any, source: Any, out: Any) -> None:
    """Raise a Fault where the shape of the result contradicts `keepdim`, the argument of torch."""
    if keepdim is None:
        return
    if not isinstance(keepdim, bool):
        raise unexpected(f"{name}: keepdim", keepdim, "True or False", slug="attribute-type")
    before, after = (getattr(b, "shape", None) for b in (source, out))
    if before is None or (after is None and not keepdim):
        return
    kept = after is not None and len(after) == len(before)
    if kept is not keepdim and len(before) > 1:
        what = "out has no other shape" if after is None else f"out has shape {tuple(after)}"
        hint = "leave keepdim out: the shape of `out` says it, such as (rows, 1) or (rows,)"
        raise Fault("reduce-shape", f"{name}: keepdim is {keepdim}, but {what}", hint, "keepdim")


def _result(name: str, src: Region, axis: int) -> Tile:
    """The reduction into a new buffer, which is the value of the call."""
    trace, kept = current(f"T.{name}"), list(src.static_extents() or ())
    if len(kept) > 1 and -len(kept) <= axis < len(kept):
        del kept[axis]
    shape = tuple(kept) if len(src.dims) > 1 else (1,)
    tile = Tile(src.memory, src.dtype, tuple(Const(n) for n in shape), trace.here)
    trace.allocate(tile)
    trace.name_tile(tile, f"{src.buffer.name}_{name.removeprefix('reduce_')}", trace.ANONYMOUS)
    out = Region.whole(tile.buffer)
    made = (
        _for_gpus(name, src, out, axis, True)
        if trace.python_names or name in _MORE
        else _reduction(name, src, out, axis, True, None)
    )
    trace.emit_pending(made)
    return tile


def _reduction(
    name: str, src: Region, dst: Region, axis: int, clear: Any, real_shape: Any
) -> Pending:
    # The first versions of the language have the result first.
    if not current(f"T.{name}").python_names and _is_result(src, dst, axis):
        src, dst = dst, src
    real = src if real_shape is None else _real(name, src, real_shape)
    dst = _fitting(src, real, dst, axis)
    if len(src.dims) == 3:  # only the first slot of a three-dimensional buffer is reduced
        real = cut(real, 0, Const(1))
    return build_op(OPS[name], {"src": real, "dst": dst, "dim": axis, "clear": clear}, name)


def _for_gpus(name: str, src: Region, dst: Region, dim: int, clear: Any) -> Pending:
    """Reduce as text for GPUs expects: along any dimension of a tile of any rank, in the type of
    the result."""
    cleared = traced_number(clear)
    if not isinstance(cleared, bool):
        raise unexpected(f"{name}: clear", clear, "True or False", slug="attribute-type")
    known = OPS["reduce_sum_composed"].operands[0].dtypes
    kind = KINDS[name.removeprefix("reduce_")]
    if kind.absolute and dst.dtype in known and is_matrix(src, dim):
        src, name = without_signs(src, dst.dtype), kind.operation
    direct = name in NAMES and src.dtype in known and dst.dtype in known
    if not direct or not is_matrix(src, dim):
        return reduce_by_parts(name.removeprefix("reduce_"), name, src, dst, dim, cleared)
    src = _in_its_type(src, dst)
    rank = len(src.dims)
    axis = 0 if rank == 1 else dim - rank + 2
    return _reduction(name, src, dst, axis, cleared, None)


def _in_its_type(src: Region, dst: Region) -> Region:
    """The region, or a copy of it in the type of the result."""
    if src.dtype is dst.dtype or src.static_extents() is None or src.memory is Memory.GM:
        return src
    trace = current("T.reduce")
    tile = Tile(src.memory, dst.dtype, src.extents, trace.here)
    trace.allocate(tile)
    trace.name_tile(tile, f"{src.buffer.name}_{dst.dtype.name}", trace.ANONYMOUS)
    sides = {"src": src, "dst": Region.whole(tile.buffer)}
    trace.emit_pending(build_op(OPS["copy"], sides, "copy"))
    return Region.whole(tile.buffer)


def _is_of_all(src: Region, dst: Region, axis: int) -> bool:
    """Whether `out` has a place for every result of several matrices, so that `dim` counts all
    dimensions. With an `out` for one matrix the first matrix is reduced."""
    sizes, results = src.static_extents(), dst.static_extents()
    if sizes is None or results is None or not -len(sizes) <= axis < len(sizes):
        return False
    without = (*sizes[: axis % len(sizes)], *sizes[axis % len(sizes) + 1 :])
    with_one = tuple(1 if d == axis % len(sizes) else n for d, n in enumerate(sizes))
    return any(n != 1 for n in sizes[:-2]) and results in (without, with_one)


def _is_result(a: Region, b: Region, axis: int) -> bool:
    """Whether a is the result of reducing b, and surely not the reverse."""
    small, large = a.static_extents(), b.static_extents()
    if small is None or large is None or len(large) < 2 or axis not in (0, 1, -1, -2):
        return False
    kept, given = large[-2 if axis in (1, -1) else -1], math.prod(small)
    return given in (kept, _whole_blocks(kept, a)) and given < math.prod(large)


def _whole_blocks(count: int, region: Region) -> int:
    """So many elements and those behind them in their last block of UB."""
    block = BLOCK_BYTES * 8 // region.dtype.bits
    return -(-count // block) * block


def _real(name: str, src: Region, real_shape: Any) -> Region:
    """The region cut to the real rows and columns, at the pitch of its buffer; 0 keeps a size."""
    if not isinstance(real_shape, (list, tuple)) or len(real_shape) != 2:
        raise unexpected(f"{name}: real_shape", real_shape, "[rows, columns]", slug="reduce-shape")
    real = src
    sizes = real_shape[-len(src.dims) :] if len(src.dims) < 2 else real_shape
    for position, size in zip(range(-len(sizes), 0), sizes, strict=True):
        number, have = python_number(size), constant_value(src.dims[position].extent)
        if isinstance(number, int) and not 0 <= number <= (number if have is None else have):
            message = f"{name}: real_shape holds {number}, but `{src.buffer.name}` has {have} there"
            hint = "0 stands for the size of the buffer"
            raise Fault("reduce-shape", message, hint, "real_shape")
        if number != 0:
            expr = scalar_expr(size)
            if not expr.dtype.is_integer:
                found = f"{name}: real_shape holds a {expr.dtype}"
                hint = "write [rows, columns] as integers"
                raise Fault("reduce-shape", found, hint, argument="real_shape")
            real = cut(real, position, expr)
    return real


def _fitting(src: Region, real: Region, dst: Region, dim: int) -> Region:
    """Cut `out` to its first elements where it is longer than the kept dimension. It may be as long
    as that dimension with the rest of its last block. Where a part of a buffer is reduced, it may
    also be as long as the buffer's rows or columns. A length that would be right for the other
    dimension is not cut: it more likely means that one."""
    if len(src.dims) == 1:
        return dst
    wanted = simplify(real.dims[-1 if dim in (0, -2) else -2].extent)
    longer: set[Expr] = set()
    if real is not src:
        longer |= {simplify(src.dims[-2].extent), simplify(src.dims[-1].extent)}
    count = constant_value(wanted)
    if isinstance(count, int):
        other = simplify(real.dims[-2 if dim in (0, -2) else -1].extent)
        longer |= {Const(_whole_blocks(count, dst))} - {other}
    long = [i for i, s in enumerate(dst.dims) if not is_constant(s.extent, 1)]
    if len(long) != 1 or simplify(dst.dims[long[0]].extent) not in longer - {wanted}:
        return dst
    return cut(dst, long[0], wanted)


def _any() -> ReductionFunction:
    """`T.reduce`, whose name of the reduction stands behind the buffers."""
    own = {a.name: a for a in ReductionFunction(OPS[NAMES[0]]).arguments}
    arguments = (
        own["buffer"], ArgumentDef("out", ("dst",)), ArgumentDef("reduce_type"),
        ArgumentDef("dim", ("dim",)), own["real_shape"], own["clear"], own["keepdim"],
        *(own[n] for n in ("batch", "nan_propagate", "annotations")),
    )  # fmt: skip
    doc = "The reduction named by `reduce_type`."
    return ReductionFunction(OPS[NAMES[0]], None, arguments, "reduce", doc)


def _more(name: str, kind: ReductionKind) -> ReductionFunction:
    """A reduction that no operation does."""
    own = ReductionFunction(OPS[NAMES[0]]).arguments
    values = "absolute values" if kind.absolute else "integers"
    arguments = tuple(ArgumentDef(a.name, (), a.default) for a in own)
    doc = f"The {_RESULTS[name]} of {values} along dim."
    return ReductionFunction(OPS[NAMES[0]], None, arguments, name, doc)


_RESULTS = {
    "reduce_abssum": "sum", "reduce_absmax": "maximum", "reduce_bitand": "common bits",
    "reduce_bitor": "bits of any", "reduce_bitxor": "exclusive or",
}  # fmt: skip
FUNCTIONS = {**{name: ReductionFunction(OPS[name]) for name in NAMES}, "reduce": _any()}
MORE_FUNCTIONS = {name: _more(name, kind) for name, kind in _MORE.items()}
