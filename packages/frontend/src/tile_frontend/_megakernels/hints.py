"""`T.after` and `T.prefetch`: what a list of tasks says besides its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile_frontend._megakernels.calls import LoadAhead, OrderedTasks, Part, TaskCall
from tile_frontend._tracing.faults import CURRENT, Fault, place_of_caller
from tile_ir import Loc

Indices = int | slice | Sequence[int | slice] | None


def after(first: Any, then: Any) -> OrderedTasks:
    """Let a task begin once all blocks of another one are done. Both are tasks of the list of
    T.megakernel in which this stands, such as `norm("x", "n")`. Only needed for an order that
    their tensors do not give; the loads of `then` wait too."""
    _refuse_in_kernels("after")
    for given in (first, then):
        if not isinstance(given, TaskCall):
            hint = 'name the calls: n = norm("x", "n"), then T.megakernel([n, ..., T.after(n, m)])'
            raise Fault("operand-kind", f"T.after orders two tasks of a list, not {given!r}", hint)
    return OrderedTasks(first, then)


def prefetch(tensor: str, region: Indices = None, *, blocks: int | None = None) -> LoadAhead:
    """Load a part of a tensor ahead, at this place in the list of T.megakernel: later tasks then
    find it in L2. Results never change. `tensor` is the name of an input that no task writes,
    `region` has slices and indices as in NumPy and is the whole tensor by default. The last
    `blocks` blocks load, or all: those that have nothing to do meanwhile."""
    _refuse_in_kernels("prefetch")
    place = place_of_caller()
    loc, source = place if place is not None else (Loc("<unknown>", 1, 1), "")
    if not isinstance(tensor, str):
        message = f"T.prefetch: the tensor is {tensor!r}"
        raise Fault("operand-kind", message, 'pass its name in the megakernel, such as "w"')
    if blocks is not None and (not isinstance(blocks, int) or blocks < 1):
        message = f"T.prefetch: blocks is {blocks!r}"
        raise Fault("attribute-value", message, "pass a number of blocks, or leave it out")
    indices = () if region is None else region
    listed = indices if isinstance(indices, (tuple, list)) else (indices,)
    return LoadAhead(tensor, tuple(map(_part, listed)), blocks, loc, source)


def _part(index: Any) -> Part:
    match index:
        case int() if index >= 0:
            return index, index + 1
        case slice(start=start, stop=stop, step=None | 1):
            first = 0 if start is None else start
            if isinstance(first, int) and (stop is None or isinstance(stop, int)):
                return first, stop
    message = f"T.prefetch: the region has {index!r}"
    raise Fault(
        "operand-kind", message, "write slices and indices of numbers, as in np.s_[0:64, :]"
    )


def _refuse_in_kernels(name: str) -> None:
    if CURRENT.get() is not None:
        message = f"T.{name} stands in a kernel"
        raise Fault("operand-kind", message, "write it into the list of T.megakernel")
