"""Bind `T.transpose`, whose tiles stand in the order of the dialect of the kernel."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.build_op import whole_region
from tile_frontend._arguments.element_nests import as_one, element, for_each, stored
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.trace import current
from tile_ir import OPS, Cast, Expr, Memory, Region, Stmt, constant_value, is_constant, simplify

_SIDE = 16


class TransposeFunction(OpFunction):
    """A matrix turned: `T.transpose(dst, src)`; in kernels for GPUs `T.transpose(src, dst)`, of any
    type and size, and of several matrices one behind the other."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        by_place = dict(zip(("src", "dst"), args, strict=False))
        if not current("transpose").python_names or by_place.keys() & kwargs.keys():
            return super().__call__(*args, **kwargs)
        given = {**by_place, **kwargs}
        if len(args) <= len(by_place) and given.keys() == {"src", "dst"}:
            src, dst = whole_region(given["src"]), whole_region(given["dst"])
            if src is not None and dst is not None:
                _check(src, dst)
                if not _is_one_operation(src, dst):
                    return as_one([_turned(src, dst)], "transpose")
        return super().__call__(*args[2:], **by_place, **kwargs)


def _check(src: Region, dst: Region) -> None:
    rows, columns = (tuple(simplify(e) for e in side.extents) for side in (src, dst))
    turned = (*rows[:-2], *reversed(rows[-2:]))
    if len(rows) < 2 or turned != columns:
        words = [f"[{', '.join(map(str, map(constant_value, e)))}]" for e in (rows, columns)]
        message = f"transpose: src `{src.buffer.name}` is {words[0]}, "
        message += f"but dst `{dst.buffer.name}` is {words[1]}"
        hint = "the last two dimensions are exchanged, and those before them are equal"
        raise Fault("shape-mismatch", message, hint, "dst")


def _is_one_operation(src: Region, dst: Region) -> bool:
    """Whether the vector unit has an operation for it: whole squares of one matrix on chip."""
    sizes = [constant_value(e) for e in src.extents[-2:]]
    return (
        src.dtype == dst.dtype
        and src.dtype.bits in (16, 32)
        and Memory.GM not in (src.memory, dst.memory)
        and all(is_constant(e, 1) for e in src.extents[:-2])
        and all(isinstance(n, int) and n % _SIDE == 0 for n in sizes)
    )


def _turned(src: Region, dst: Region) -> Stmt:
    def one(places: tuple[Expr, ...]) -> Stmt:
        value: Expr = element(src, (*places[:-2], places[-1], places[-2]))
        if src.dtype != dst.dtype:
            value = Cast(value, dst.dtype)
        return stored(dst, places, value)

    return for_each(dst.extents, one)


FUNCTIONS = {"transpose": TransposeFunction(OPS["transpose"])}
