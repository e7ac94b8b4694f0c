"""Sorting to (value, index) pairs, largest value first (docs/language/rules.md#sorting).

Pairs lie interleaved. `sort` and `topk` give the index as a value of the element type; `sort32`
keeps the bits of the index it is given. Of equal values the one with the lower index comes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tile_ir.dtypes import FLOAT16, FLOAT32, INT32, UINT32
from tile_ir.expr import Expr, constant_value
from tile_ir.layout.geometry import element_count, is_contiguous
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Op, Region
from tile_ir.opdef import Access, ArgumentDef, Composite, OpDef, OperandDef, Problem, Scratch
from tile_ir.ops.axes import whole
from tile_ir.ops.rules import (
    FLOATS,
    UB,
    VECTOR,
    all_rules,
    destination,
    elements_bound,
    exact_sizes,
    integer_scalars,
    leading,
    same_dtype,
    same_size_of,
    scalar,
    scratch_operand,
    shape_text,
    source,
    updated,
)
from tile_ir.quick_dataclasses import replace
from tile_ir.target import Target

# Elements that one step of the sorting instruction orders, pairs one list of the merging
# instruction may have (docs/hardware/units.md#compare-gather-sort), and lists it merges.
GROUP = 32
MAX_LIST = 4095
MAX_LISTS = 4
PAIR_BYTES = 8
# Runs of 32 grow four times as long by each merge: 2048 is the last length that is merged again.
MAX_SORTED = 8192
# Elements of scratch beyond which rows that are sorted at a time are no faster.
ROWS_SCRATCH = 8192
# Elements of which the sorting instruction makes pairs in a cycle (docs/hardware/time_model.md).
SORTED_A_CYCLE = 0.8
# Elements that a sort handles in a cycle, whatever is kept.
SORT_RATE = 0.7
# Elements from which on blocks are chosen by their largest.
FEWEST_TO_CHOOSE = 1024


def _whole_groups(region: Region) -> int:
    return -(-elements_bound(region) // GROUP) * GROUP


def _sortable_size(op: Op, target: Target) -> Problem | None:
    """src, filled up to groups of 32, has at most 8192 elements."""
    src = op.region("src")
    if _whole_groups(src) <= MAX_SORTED:
        return None
    found = f"has {shape_text(src)}, expected at most {MAX_SORTED}"
    hint = "sort parts of it, and merge them with T.tile.merge_sort"
    return op.problem("src", "sort-size", found, hint)


def _counts_inside(op: Op, target: Target) -> Problem | None:
    """Counts known now lie inside the source."""
    src = op.region("src")
    total = constant_value(element_count(src))
    for name in ("K", "actual_num"):
        if name not in (o.name for o in op.opdef.operands):
            continue
        value = op.operand(name)
        count = constant_value(value) if isinstance(value, Expr) else None
        if count is not None and total is not None and not 0 <= count <= total:
            message = f"{op.opdef.called}: {name} is {count}, but src `{src.buffer.name}` has "
            message += f"{total} elements"
            hint = f"write 0 to {total}"
            return Problem("sort-count", message, name, hint)
    return None


def _descending(values: Any) -> Any:
    """Places of the values from the largest; NaN counts as largest, equal ones stay in order."""
    return np.lexsort((-np.asarray(values, np.float64), ~np.isnan(values)))


def _sorted_pairs(src: Any, actual: int) -> Any:
    values = np.where(np.arange(src.size) < actual, src.reshape(-1), -np.inf).astype(src.dtype)
    order = _descending(values)
    with np.errstate(over="ignore"):
        return np.stack([values[order], order.astype(src.dtype)], axis=1)


def _sort(op: Op, dst: Any, src: Any, actual: Any, _scratch: Any) -> Any:
    return leading(dst, _sorted_pairs(src, int(actual)))


def _topk(op: Op, dst: Any, src: Any, count: Any, actual: Any, _scratch: Any) -> Any:
    return leading(dst, _sorted_pairs(src, int(actual))[: int(count)])


def _sort_uses(op: Op) -> Mapping[str, Expr]:
    return {"dst": element_count(op.region("src")) * 2}


def _topk_uses(op: Op) -> Mapping[str, Expr]:
    count = op.operand("K")
    assert isinstance(count, Expr), "the verifier demands a scalar"
    return {"dst": count * 2}


def _sort_scratch(op: Op) -> tuple[Scratch, ...]:
    """Pairs twice, to merge from one to the other; floats, whatever is sorted."""
    return (Scratch(Memory.UB, FLOAT32, 4 * _whole_groups(op.region("src"))),)


def _matrix(region: Region) -> tuple[int, int]:
    """Rows and columns of a region that is a matrix of known sizes; else 0 of both."""
    sizes = [constant_value(e) for e in region.extents if constant_value(e) != 1]
    if len(sizes) > 2 or not all(isinstance(n, int) for n in sizes):
        return 0, 0
    rows, columns = ([1, 1] + [int(n or 0) for n in sizes])[-2:]
    return rows, columns


def _sortable_rows(op: Op, target: Target) -> Problem | None:
    """src is a matrix without gaps, of rows of whole blocks and at most 8192 elements, all of which
    count; dst has K pairs a row, which are whole blocks."""
    (rows, columns), (of_dst, pairs) = _matrix(op.region("src")), _matrix(op.region("dst"))
    kept = _number(op, "K")
    fits = rows == of_dst > 0 and pairs == 2 * kept and _number(op, "actual_num") == columns
    whole_blocks = columns % 8 == 0 and pairs % 8 == 0 and 0 < kept <= columns <= MAX_SORTED
    if fits and whole_blocks and all(is_contiguous(op.region(name)) for name in ("src", "dst")):
        return None
    message = f"topk_rows: src has {shape_text(op.region('src'))} and dst "
    message += f"{shape_text(op.region('dst'))}, expected rows of whole blocks without gaps"
    hint = "allocate rows of a multiple of 8 values and pairs"
    return Problem("sort-size", message, "src", hint)


def _number(op: Op, name: str) -> int:
    """The value of a scalar that is known; else -1."""
    value = op.operand(name)
    found = constant_value(value) if isinstance(value, Expr) else None
    return -1 if found is None else int(found)


def _topk_rows(op: Op, dst: Any, src: Any, count: Any, actual: Any, _scratch: Any) -> Any:
    rows, columns = _matrix(op.region("src"))
    found = [_sorted_pairs(row, columns)[: int(count)] for row in src.reshape(rows, columns)]
    return np.stack(found).reshape(dst.shape)


def _rows_scratch(op: Op) -> tuple[Scratch, ...]:
    """Pairs twice, of as many rows as are worth sorting at a time, or at least of one."""
    rows, columns = _matrix(op.region("src"))
    one = 4 * (-(-columns // GROUP) * GROUP)
    at_once = max(1, min(rows, ROWS_SCRATCH // one))
    return (Scratch(Memory.UB, FLOAT32, one * at_once, one),)


def _rate_of_rows(op: Op) -> tuple[float, float]:
    rate = _rate_of_first(_matrix(op.region("src"))[1], _number(op, "K"))
    return rate, rate


def _rate_of_topk(op: Op) -> tuple[float, float]:
    kept = _number(op, "K")
    rate = _rate_of_first(_whole_groups(op.region("src")), kept) if kept > 0 else SORT_RATE
    return rate, rate


def _rate_of_first(columns: int, kept: int) -> float:
    """Elements per cycle where only the first `kept` results count. Groups are sorted and merged by
    fours, and of longer lists only `kept` elements stay. Long rows first choose blocks by their
    largest elements, and then sort those blocks (tile/sort.h)."""
    chosen = -(-kept // GROUP) * GROUP
    few = columns >= max(FEWEST_TO_CHOOSE, 16 * chosen)
    handled = _handled(columns // 8, chosen) + _handled(8 * chosen, kept) if few else 0
    return SORTED_A_CYCLE * columns / (handled or _handled(columns, kept))


def _handled(columns: int, kept: int) -> int:
    """Elements that instructions of a sort take, one after the other."""
    total, length = columns, GROUP
    while length < columns:
        total += min(columns, -(-columns // length) * kept) if length > kept + 8 else columns
        length *= 4
    return max(1, total)


def _pair_elements(region: Region) -> int:
    return PAIR_BYTES // region.dtype.size


def _sort32_uses(op: Op) -> Mapping[str, Expr]:
    src = op.region("src0")
    return {"dst": element_count(src) * _pair_elements(src)}


def _labelled_types(op: Op, target: Target) -> Problem | None:
    """src is float32, as its pairs are."""
    src = op.region("src")
    if src.dtype is FLOAT32:
        return None
    message = f"sort: src `{src.buffer.name}` is {src.dtype}, expected float32 beside indices"
    hint = "T.tile.sort(dst, src, actual_num) takes float16 too"
    return Problem("operand-dtype", message, "src", hint)


def _sort32_types(op: Op, target: Target) -> Problem | None:
    """dst and src0 have one type."""
    dst, src = op.region("dst"), op.region("src0")
    if dst.dtype == src.dtype:
        return None
    found = f"is {src.dtype}, but dst `{dst.buffer.name}` is {dst.dtype}"
    return op.problem("src0", "dtype-mismatch", found, "cast one of them with T.tile.cast")


def _whole_sort32(op: Op, target: Target) -> Problem | None:
    """src0 has a multiple of 32 elements."""
    src = op.region("src0")
    count = constant_value(element_count(src))
    if count is None or count % GROUP == 0:
        return None
    found = f"has {shape_text(src)}, expected a multiple of {GROUP}"
    return op.problem("src0", "sort-group", found, "T.tile.sort takes any number of elements")


def _sort32(op: Op, dst: Any, src: Any, index: Any) -> Any:
    values, labels = src.reshape(-1, GROUP), index.reshape(-1, GROUP).view(np.uint32)
    width = _pair_elements(op.region("src0"))
    pairs = np.zeros((values.size, width), src.dtype)
    order = np.stack([_descending(row) for row in values]) if values.size else values.astype(int)
    pairs[:, 0] = np.take_along_axis(values, order, 1).reshape(-1)
    bits = np.take_along_axis(labels, order, 1).reshape(-1, 1)
    pairs[:, width // 2 :] = bits.view(src.dtype)
    return leading(dst, pairs)


def _merge_uses(op: Op) -> Mapping[str, Expr]:
    lists = [o for o in op.operands[1:] if isinstance(o, Region)]
    total = element_count(lists[0])
    for region in lists[1:]:
        total = total + element_count(region)
    return {"dst": total}


def _list_sizes(op: Op, target: Target) -> Problem | None:
    """2 to 4 lists of pairs, each at most 4095 pairs; every operand has as many elements as are
    used."""
    lists = [o for o in op.operands[1:] if isinstance(o, Region)]
    if not 2 <= len(lists) <= MAX_LISTS:
        message = f"merge_sort: {len(lists)} lists are merged, expected 2 to {MAX_LISTS}"
        return Problem("arity", message, "srcs", "merge in steps")
    for region in lists:
        count = constant_value(element_count(region))
        if count is not None and (count % 2 or count // 2 > MAX_LIST):
            message = f"merge_sort: `{region.buffer.name}` has {shape_text(region)}, expected "
            message += f"pairs, at most {MAX_LIST} of them"
            hint = "merge parts of the lists, one after another"
            return Problem("merge-size", message, "srcs", hint)
    return exact_sizes(op, target)


def _merge(op: Op, dst: Any, *lists: Any) -> Any:
    """The largest of the first pairs, over and over; of equal ones that of the earlier list."""
    pairs = [values.reshape(-1, 2) for values in lists]
    taken = [0] * len(pairs)
    merged: list[Any] = []
    while True:
        heads = [i for i, p in enumerate(pairs) if taken[i] < len(p)]
        if not heads:
            return leading(dst, np.stack(merged) if merged else dst[:0])
        values = np.array([pairs[i][taken[i], 0] for i in heads])
        best = heads[int(_descending(values)[0])]
        merged.append(pairs[best][taken[best]])
        taken[best] += 1


def _sort_labelled(op: Op, dst: Any, src: Any, index: Any, _scratch: Any) -> Any:
    values, labels = src.reshape(-1), index.reshape(-1).view(np.uint32)
    order = _descending(values)
    return leading(dst, np.stack([values[order], labels[order].view(src.dtype)], axis=1))


def _whole_groups_labelled(op: Op, target: Target) -> Problem | None:
    """src has a multiple of 32 elements, at most 8192."""
    src = op.region("src")
    count = constant_value(element_count(src))
    if count is None or count % GROUP == 0:
        return _sortable_size(op, target)
    message = f"sort: src `{src.buffer.name}` has {shape_text(src)}, expected a multiple of {GROUP}"
    hint = "T.tile.sort(dst, src, actual_num) takes any number of elements"
    return Problem("sort-group", message, "src", hint)


def _merge_top(op: Op, dst: Any, src: Any, _scratch: Any) -> Any:
    return leading(dst, _merge(op, np.empty(2 * dst.size, dst.dtype), dst, src)[: dst.size])


def _same_pairs(op: Op, target: Target) -> Problem | None:
    """Both lists have as many pairs, and merged they fit the instruction."""
    src = op.region("src")
    count = constant_value(element_count(src))
    if count is not None and (count % 2 or count // 2 > MAX_LIST):
        message = f"merge_top: `{src.buffer.name}` has {shape_text(src)}, expected pairs, at most "
        message += f"{MAX_LIST} of them"
        hint = "merge parts of the list, one after another"
        return Problem("merge-size", message, "src", hint)
    return exact_sizes(op, target)


def _lowest_pairs(op: Op, dst: Any, count: Any) -> Any:
    bits = dst.reshape(-1).view(np.uint32).copy()
    bits[: int(count) : 2], bits[1 : int(count) : 2] = 0xFF800000, 0xFFFFFFFF
    return bits.view(dst.dtype).reshape(dst.shape)


def _number_inside(op: Op, target: Target) -> Problem | None:
    """`num` is an even number of elements of dst, which lie in one run."""
    dst, value = op.region("dst"), op.operand("num")
    number = constant_value(value) if isinstance(value, Expr) else None
    have = constant_value(element_count(dst))
    if number is not None and (number % 2 or (have is not None and not 0 <= number <= have)):
        message = f"{op.opdef.called}: num is {number}, expected an even number, at most that of "
        message += f"dst `{dst.buffer.name}` {shape_text(dst)}"
        hint = "write two elements for each pair"
        return Problem("count-range", message, "num", hint)
    return None


SORT = OpDef(
    name="sort",
    family="sort",
    doc="dst = (value, index) pairs of src, largest first; elements from actual_num on count "
    "as -inf",
    ascend_c="Sort32, MrgSort",
    operands=(
        destination("dst", UB, *FLOATS),
        source("src"),
        scalar("actual_num"),
        scratch_operand(),
    ),
    placement=VECTOR,
    axes=whole,
    meaning=_sort,
    flat=True,
    uses=_sort_uses,
    dtype_rule=all_rules(same_dtype, integer_scalars),
    shape_rule=all_rules(_sortable_size, _counts_inside, exact_sizes),
    scratch=_sort_scratch,
    rate=(SORT_RATE, SORT_RATE),
    instructions=lambda op: 15,
)

OPS = (
    SORT,
    replace(
        SORT,
        name="topk",
        doc="dst = the first K (value, index) pairs of src, largest first; elements from "
        "actual_num on count as -inf",
        operands=(
            destination("dst", UB, *FLOATS),
            source("src"),
            scalar("K"),
            scalar("actual_num"),
            scratch_operand(),
        ),
        meaning=_topk,
        uses=_topk_uses,
        rate=_rate_of_topk,
        of_rows="topk_rows",
    ),
    replace(
        SORT,
        name="topk_rows",
        namespace=None,
        doc="rows of dst = the first K (value, index) pairs of each row of src, largest first; "
        "what topk of one row after another means",
        operands=(
            destination("dst", UB, FLOAT32),
            source("src"),
            scalar("K"),
            scalar("actual_num"),
            scratch_operand(),
        ),
        meaning=_topk_rows,
        uses=None,
        shape_rule=_sortable_rows,
        scratch=_rows_scratch,
        rate=_rate_of_rows,
    ),
    OpDef(
        name="sort32",
        family="sort",
        doc="pairs of 8 bytes (value, bits of the index src1) of every 32 elements of src0, "
        "largest first; a float16 pair has two zero bytes behind the value",
        ascend_c="Sort32",
        operands=(
            destination("dst", UB, FLOAT16, FLOAT32),
            source("src0"),
            source("src1", UB, UINT32, INT32),
        ),
        placement=VECTOR,
        axes=whole,
        meaning=_sort32,
        flat=True,
        uses=_sort32_uses,
        dtype_rule=_sort32_types,
        shape_rule=all_rules(_whole_sort32, same_size_of("src0", "src1"), exact_sizes),
        rate=(2, 2),
    ),
    OpDef(
        name="merge_sort",
        family="sort",
        doc="dst = two to four sorted lists of (value, index) pairs merged, largest first",
        ascend_c="MrgSort",
        operands=(
            destination("dst", UB, FLOAT32),
            OperandDef("srcs", Access.READ, UB, (FLOAT32,), variadic=True),
        ),
        placement=VECTOR,
        axes=whole,
        meaning=_merge,
        flat=True,
        uses=_merge_uses,
        shape_rule=_list_sizes,
        rate=(2, 2),
        scratch_elsewhere=True,
    ),
    replace(
        SORT,
        name="sort_labelled",
        doc="(value, bits of the index) pairs of src, largest first; what sort with indices means",
        namespace=None,
        operands=(
            destination("dst", UB, FLOAT32),
            source("src"),
            source("index", UB, UINT32, INT32),
            scratch_operand(),
        ),
        meaning=_sort_labelled,
        dtype_rule=_labelled_types,
        shape_rule=all_rules(_whole_groups_labelled, same_size_of("src", "index"), exact_sizes),
        rate=(1, 1),
        instructions=lambda op: 3,
    ),
    OpDef(
        name="merge_top",
        family="sort",
        doc="the largest pairs of the sorted lists dst and src, as many as dst has; what topk with "
        "a size means",
        ascend_c="MrgSort, Copy",
        namespace=None,
        operands=(
            updated("dst", UB, FLOAT32),
            source("src", UB, FLOAT32),
            scratch_operand(),
        ),
        placement=VECTOR,
        axes=whole,
        meaning=_merge_top,
        composite=Composite.YES,
        uses=lambda op: {"dst": element_count(op.region("src"))},
        shape_rule=_same_pairs,
        scratch=lambda op: (Scratch(Memory.UB, FLOAT32, 2 * elements_bound(op.region("src"))),),
        rate=(2, 2),
        instructions=lambda op: 2,
    ),
    OpDef(
        name="init_sort_buf",
        family="sort",
        doc="the first num elements of dst are (-inf, all bits set): pairs below all others",
        ascend_c="Duplicate",
        operands=(updated("dst", UB, FLOAT32), scalar("num")),
        parameters=("dst", "num", ArgumentDef("rsv", default=0)),
        placement=VECTOR,
        axes=whole,
        meaning=_lowest_pairs,
        flat=True,
        dtype_rule=integer_scalars,
        shape_rule=_number_inside,
        rate=(32, 32),
        instructions=lambda op: 2,
        chained=False,
        scratch_elsewhere=True,
    ),
)
