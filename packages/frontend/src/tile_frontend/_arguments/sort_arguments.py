"""`T.tile.topk`, `merge_sort` and `init_sort_buf` as other versions of the language call them.

Before `topk` sorted itself, a running result was kept by three calls: `init_sort_buf` filled it
with pairs below all others, `merge_sort(dst, src, block_size, block_num, is_copy)` merged the lists
that lie one behind the other in src, and `topk(dst, src, block_size)` merged src into dst and kept
the largest. Sizes count pairs. `sort(dst, src, indices, tmp, groups)` took the indices of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tile_frontend._arguments.build_op import build_op, first_elements, region_of
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._arguments.working_memory import (
    lend_working_memory,
    working_in,
)
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import unexpected
from tile_frontend._tracing.trace import current, traced_number
from tile_frontend._tracing.values import Pending
from tile_ir import OPS, Const, Region, Slice, is_contiguous


class SortFunction(OpFunction):
    """With indices, and a number of groups of 32 behind the working memory, pairs keep the bits of
    the index they are given."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if "indices" in kwargs or len(args) == len(_WITH_INDICES):
            given = {**dict(zip(_WITH_INDICES, args, strict=False)), **kwargs}
            if set(given) == set(_WITH_INDICES):
                return _labelled(**given)
        return super().__call__(*args, **kwargs)


_WITH_INDICES = ("dst", "src", "indices", "tmp_buffer", "repeat_time")


def _labelled(dst: Any, src: Any, indices: Any, tmp_buffer: Any, repeat_time: Any) -> Pending:
    groups = traced_number(repeat_time)
    if not isinstance(groups, int) or groups <= 0:
        raise unexpected(
            "sort: repeat_time", repeat_time, "the number of groups of 32",
            argument=len(_WITH_INDICES) - 1,
        )  # fmt: skip
    memory = lend_working_memory("tile.sort", tmp_buffer)
    sides = (_run(region_of(value), 32 * groups) for value in (src, indices))
    given = {"dst": dst, **dict(zip(("src", "index"), sides, strict=True))}
    return working_in(build_op(OPS["sort_labelled"], given, "tile.sort"), memory)


class TopFunction(OpFunction):
    """With a size instead of K and actual_num, src is merged into dst."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = self.without_memory(args, kwargs)
        if len(call.args) + len(call.kwargs) == 3 and not {"K", "actual_num"} & set(call.kwargs):
            dst, src, size = (*call.args, *call.kwargs.values())
            with call.placing_faults(("dst", "src", "block_size")):
                merged = _merged(dst, src, traced_number(size))
                if merged is not None:
                    return working_in(merged, call.memory)
        return super().__call__(*args, **kwargs)


def _merged(dst: Any, src: Any, size: Any) -> Pending | None:
    """src merged into dst; None where one of them does not hold so many pairs."""
    if not isinstance(size, int) or size <= 0:
        return None
    into, merged = (first_elements(region_of(value), 2 * size) for value in (dst, src))
    if into is None or merged is None:
        return None
    return build_op(OPS["merge_top"], {"dst": into, "src": merged}, "tile.topk")


class MergeFunction(OpFunction):
    """With sizes instead of lists, src holds the lists. Working memory stands behind dst."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        sizes = [traced_number(a) for a in args[2:]]
        if None in sizes or not (sizes or "block_size" in kwargs):
            if not kwargs and len(args) > 3:
                args = self._without_memory(*args)
            return super().__call__(*args, **kwargs)
        return _merge_in_place(*args, **kwargs)

    def _without_memory(self, dst: Any, tmp: Any, *lists: Any) -> tuple[Any, ...]:
        """All arguments where `tmp` is a list, too: so say the room of dst and that at most four
        are merged."""
        room, total = _elements(dst), sum(map(_elements, lists))
        if room < total or room == total + _elements(tmp):
            return (dst, tmp, *lists)
        if room > total and len(lists) < MOST_LISTS:
            return (dst, tmp, *lists)
        lend_working_memory(self.__name__, tmp)
        return (dst if room == total else _run(region_of(dst), total), *lists)


MOST_LISTS = 4


def _elements(value: Any) -> int:
    region = region_of(value)
    extents = None if region is None else region.static_extents()
    return 0 if extents is None else math.prod(extents)


def _merge_in_place(
    dst: Any, src: Any, block_size: Any, block_num: Any, is_copy: Any = False
) -> Pending:
    """Merge the lists of `src`, and copy the result back to it with `is_copy`."""
    size, number = traced_number(block_size), traced_number(block_num)
    region = region_of(src)
    if not isinstance(size, int) or not isinstance(number, int) or region is None:
        message = "merge_sort: expected dst, src, the pairs of a list and the number of lists"
        raise Fault("operand-kind", message, "or write T.tile.merge_sort(dst, list0, list1, ...)")
    lists = tuple(_list(region, i, 2 * size) for i in range(number))
    merged = build_op(OPS["merge_sort"], {"dst": dst, "srcs": lists}, "tile.merge_sort")
    if not traced_number(is_copy):
        return merged
    current("T.tile.merge_sort").emit_pending(merged, step=True)
    total = 2 * size * number
    back = {"src": _run(region_of(dst), total), "dst": _run(region, total)}
    return build_op(OPS["copy"], back, "tile.merge_sort")


def _list(region: Region, index: int, elements: int) -> Region:
    """The list that starts behind `index` others."""
    extents = region.static_extents()
    if extents is not None and is_contiguous(region):
        if len(extents) == 1 and (index + 1) * elements <= extents[0]:
            start = region.dims[0].offset + index * elements
            return Region(region.buffer, (Slice(start, Const(elements)),))
        if len(extents) == 2 and extents[1] == elements and index < extents[0]:
            row = Slice(region.dims[0].offset + index, Const(1))
            return Region(region.buffer, (row, region.dims[1]))
    message = f"merge_sort: `{region.buffer.name}` does not hold {index + 1} lists of {elements} "
    message += "elements one behind the other"
    hint = "give it a row for each list, or write T.tile.merge_sort(dst, list0, list1, ...)"
    raise Fault("merge-size", message, hint, "src")


def _run(region: Region | None, elements: int) -> Region | None:
    return first_elements(region, elements) or region


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sort": SortFunction(OPS["sort"]),
    "topk": TopFunction(OPS["topk"]),
    "merge_sort": MergeFunction(OPS["merge_sort"]),
}
