"""Accept operations between ranks as other libraries spell them.

The libraries are TileScale, NVSHMEM, and SHMEM as tilelang-ascend has it. Some put the destination
first, and some count bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_frontend._arguments.build_op import build_op, side_of, whole_region
from tile_frontend._arguments.rank_arguments import (
    get,
    moved_here,
    put,
    put_signal,
    signal,
    wait_function,
)
from tile_frontend._tracing.addresses import address_of, at_address
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import (
    Scalar,
    integer_expr,
    python_number,
    scalar_expr,
    unexpected,
)
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending, View
from tile_ir import OPS, Diagnostic, Load, Memory, simplify
from tile_ir.ops.ranks import COMPARISONS_OF_WAITS


def _memory(value: Any) -> Memory | None:
    value = at_address(value)
    if isinstance(value, Scalar) and isinstance(value.expr, Load):
        return value.expr.buffer.memory
    region = whole_region(value)
    return None if region is None else region.memory


def _in_order(name: str, src: Any, dst: Any, far: str) -> tuple[Any, Any]:
    """Source and destination, swapped where only the other order is possible: the side on another
    rank is a tensor, and never a tile on chip."""
    there, here = (dst, src) if far == "dst" else (src, dst)
    if _memory(there) is Memory.GM or _memory(here) is not Memory.GM:
        return src, dst
    trace = current(f"T.{name}")
    message = f"{name}: the tensor of the other rank stands where the tile on chip is expected"
    hint = "the two were exchanged: write T.put(src, dst, pe) or T.get(src, dst, pe)"
    trace.remark(Diagnostic("copy-order", message, trace.here, hint, severity="note"))
    return dst, src


def _of_one_type(name: str, src: Any, dst: Any) -> None:
    """Raise a Fault for sides of two types: other libraries move bytes and convert nothing."""
    a, b = (side_of(at_address(value), "src", name) for value in (src, dst))
    if a.buffer.dtype is not b.buffer.dtype:
        message = f"{name}: `{a.buffer.name}` is of {a.buffer.dtype}, but `{b.buffer.name}` is of "
        hint = "T.put and T.get convert elements on the way"
        raise Fault("dtype-mismatch", f"{message}{b.buffer.dtype}", hint, "src")


def _put(name: str, src: Any, dst: Any, pe: Any, n: Any = None) -> Pending:
    src, dst = _in_order(name, src, dst, "dst")
    _of_one_type(name, src, dst)
    return put(src, dst, pe, n)


def _get(name: str, src: Any, dst: Any, pe: Any, n: Any = None) -> Pending:
    src, dst = _in_order(name, src, dst, "src")
    _of_one_type(name, src, dst)
    return get(src, dst, pe, n)


def _elements(name: str, value: Any, nbytes: Any) -> Any:
    """How many elements of a tensor or tile so many bytes are."""
    value = at_address(value)
    region = whole_region(value)
    if region is None and isinstance(value, Scalar) and isinstance(value.expr, Load):
        size = value.expr.buffer.dtype.size
    elif region is not None:
        size = region.dtype.size
    else:
        raise unexpected(f"{name}: src", value, "a buffer or a slice")
    number = python_number(nbytes)
    if number is None:
        return nbytes // size
    if number % size:
        message = f"{name}: {number} bytes are no whole elements of {size} bytes"
        raise Fault("copy-extent", message, "give a multiple", "nbytes")
    return int(number) // size


def _by_elements(name: str, move: Callable[..., Pending]) -> Callable[..., Pending]:
    """As TileScale has it: source first, so many elements; -1 is the own rank."""

    def function(
        src: Any, dst: Any, size: Any, dst_pe: Any = -1, *, src_pe: Any = None, **how: Any
    ) -> Pending:
        pe = dst_pe if src_pe is None else src_pe
        if python_number(pe) == -1:
            return moved_here(name, src, dst, size)
        return move(name, src, dst, pe, size)

    return _named(function, name, f"`T.{name[:3]}` of `size` elements; -1 is the own rank.")


def _by_bytes(name: str, move: Callable[..., Pending]) -> Callable[..., Pending]:
    """As NVSHMEM has it: destination first, so many bytes."""

    def function(dst: Any, src: Any, nbytes: Any, pe: Any) -> Pending:
        return move(name, src, dst, pe, _elements(name, src, nbytes))

    return _named(function, name, f"`T.{name[:3]}`, destination first, of `nbytes` bytes.")


def _named(function: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def putmem_signal(
    dst: Any, src: Any, nbytes: Any, word: Any, value: Any, op: Any, pe: Any
) -> Pending:
    """`T.put_signal`, destination first, of `nbytes` bytes."""
    _of_one_type("putmem_signal", src, dst)
    count = _elements("putmem_signal", src, nbytes)
    return put_signal(src, dst, word, value, pe, _how(op), count)


def signal_op(word: Any, value: Any, op: Any, pe: Any) -> Pending:
    """`T.signal` with the operation as an argument before the rank."""
    return signal(word, value, pe, _how(op))


# The numbers that libraries give: SHMEM counts from 0, NVSHMEM from 9.
_HOW = {0: "set", 1: "add", 9: "set", 10: "add"}


def _how(op: Any) -> str:
    """`set` or `add`, from the number or the name that another library gives."""
    number = python_number(op)
    text = _HOW.get(int(number), "") if number is not None else str(op).lower()
    for known in ("set", "add"):
        if text.rpartition("_")[2] == known:
            return known
    raise unexpected("signal_op: op", op, '"set" or "add"', argument="op")


_SAME_NUMBERS: dict[int | float, str] = {0: "eq", 1: "ne"}


def signal_wait_until(word: Any, cmp: Any, value: Any) -> Pending:
    """`T.wait_ge` and its like, by the name of the comparison. Of numbers only those of "eq" and
    "ne" are the same in all libraries."""
    number = python_number(cmp)
    text = _SAME_NUMBERS.get(number, "") if number is not None else str(cmp)
    text = text.lower().rpartition("_")[2]
    if text not in COMPARISONS_OF_WAITS:
        wanted = ", ".join(f'"{name}"' for name in COMPARISONS_OF_WAITS)
        raise unexpected("signal_wait_until: cmp", cmp, wanted, argument="cmp")
    pending: Pending = wait_function(text, COMPARISONS_OF_WAITS[text])(word, value)
    return pending


class CmpType:
    """The comparisons of `T.signal_wait_until` by the names of another library."""

    EQ, NE, GE, GT, LE, LT = "eq", "ne", "ge", "gt", "le", "lt"


class Amo:
    """The operations of `T.signal_op` on a word, by the names of another library."""

    SIGNAL_SET, SIGNAL_ADD = "set", "add"


def barrier_blocks(*words: Any) -> Pending:
    """`T.barrier`, which needs no words of the kernel."""
    return build_op(OPS["barrier"], {}, "barrier_blocks")


def st(
    dst: Any, value: Any, scope: Any = "gpu", sem: Any = "weak", na: Any = None, dst_pe: Any = None
) -> Pending:
    """A store that others wait for: `T.signal` where `sem` is "release"."""
    if str(sem) != "release":
        message = f"st: sem is {sem!r}: a store that says nothing orders nothing"
        own = dst_pe is None or python_number(dst_pe) == -1
        data = "`x[i] = v`" if own else "T.put(tile, x[i : i + n], pe) for data"
        hint = f"write {data}, or T.signal(word, v, pe) for a word"
        raise Fault("gpu-name", message, hint, "sem")
    return signal(dst, value, None if python_number(dst_pe) == -1 else dst_pe)


def atom_add(target: Any, value: Any, scope: Any = "gpu", sem: Any = "relaxed") -> Pending:
    """`T.signal` that adds. The previous value of the word stays unknown: other ranks do not return
    it."""
    pending = signal(target, value, None, "add")
    message = "atom_add: atomic operations do not return the previous value"
    hint = "add on a line of its own, and wait for the total with T.wait_ge"
    pending.without_value = Fault("atomic-no-fetch", message, hint)
    return pending


def shmem_put_nbi(dst: Any, src: Any, nelems: Any, newPe: Any) -> Pending:
    """`T.put` of `nelems` elements, destination first."""
    return _put("shmem_put_nbi", src, dst, newPe, nelems)


def shmem_get_nbi(dst: Any, src: Any, nelems: Any, newPe: Any) -> Pending:
    """`T.get` of `nelems` elements, destination first."""
    return _get("shmem_get_nbi", src, dst, newPe, nelems)


def shmem_ub_put_nbi(ub: Any, dst: Any, nelems: Any, newPe: Any, strelem: Any = 0) -> Pending:
    """`T.put` of the first `nelems` elements of a tile, `strelem` elements behind `dst`."""
    return _put("shmem_ub_put_nbi", ub, _behind(dst, strelem), newPe, nelems)


def shmem_ub_get_nbi(dst: Any, src: Any, nelems: Any, newPe: Any) -> Pending:
    """`T.get` of the first `nelems` elements of a tile, destination first."""
    return _get("shmem_ub_get_nbi", src, dst, newPe, nelems)


def _behind(tensor: Any, elements: Any) -> Any:
    """The element that lies so many elements behind the start of a tensor, in order of memory."""
    if python_number(elements) == 0:
        return tensor
    if isinstance(tensor, View):
        message = "shmem_ub_put_nbi: strelem counts elements of a whole tensor, not of a slice"
        raise Fault("copy-extent", message, "let the slice begin there", "strelem")
    left, indices = integer_expr("shmem_ub_put_nbi: strelem", elements), []
    for size in tensor.shape[:0:-1]:
        indices.append(Scalar(simplify(left % scalar_expr(size))))
        left = simplify(left // scalar_expr(size))
    place = (Scalar(left), *reversed(indices))
    return tensor[place]


_WIDTHS = ("", "_block", "_warp", "_nbi", "_nbi_block", "_nbi_warp")
SPELLINGS: dict[str, Any] = {
    **{f"{move}_{who}": _by_elements(f"{move}_{who}", how)
       for move, how in (("put", _put), ("get", _get)) for who in ("block", "warp")},
    **{f"{move}mem{width}": _by_bytes(f"{move}mem{width}", how)
       for move, how in (("put", _put), ("get", _get)) for width in _WIDTHS},
    **{f"putmem_signal{width}": putmem_signal for width in ("", "_nbi", "_block", "_nbi_block")},
    **dict.fromkeys(
        ("barrier_blocks", "sync_blocks", "barrier_all_block", "barrier_all_warp"), barrier_blocks
    ),
    "address_of": address_of, "CmpType": CmpType, "Amo": Amo,
    "signal_op": signal_op, "signal_wait_until": signal_wait_until, "st": st, "atom_add": atom_add,
    **{f"{function.__name__}{version}": function for version in ("", "_new")
       for function in (shmem_put_nbi, shmem_get_nbi, shmem_ub_put_nbi, shmem_ub_get_nbi)},
}  # fmt: skip
