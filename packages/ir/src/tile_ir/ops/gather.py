"""Elements picked by offset, by index or by pattern
(docs/language/rules.md#masks-and-gathering)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tile_ir.diagnostics.errors import OutOfBounds
from tile_ir.dtypes import INT16, INT32, UINT16, UINT32
from tile_ir.expr import Expr, ceildiv, constant_value, minimum
from tile_ir.layout.geometry import (
    BLOCK_BYTES,
    MAX_REPEATS,
    REPEAT_BYTES,
    element_count,
    is_contiguous,
)
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Op
from tile_ir.opdef import ArgumentDef, AttrDef, Composite, OpDef, Problem, Scratch
from tile_ir.ops.axes import elements_of, whole
from tile_ir.ops.rules import (
    FILLABLE,
    UB,
    VECTOR,
    all_rules,
    destination,
    elements_bound,
    exact_sizes,
    integer_scalars,
    leading,
    regions,
    scalar,
    scratch_operand,
    source,
    updated,
)
from tile_ir.target import Target

BLOCKS_PER_REPEAT = 8
# The instruction's number of each pattern, the first element it keeps, and the step to the next.
PATTERNS = {
    "p0101": (1, 0, 2),
    "p1010": (2, 1, 2),
    "p0001": (3, 0, 4),
    "p0010": (4, 1, 4),
    "p0100": (5, 2, 4),
    "p1000": (6, 3, 4),
    "p1111": (7, 0, 1),
}


def _same_elements(op: Op, target: Target) -> Problem | None:
    """src and dst have the same element type; offsets may have another."""
    dst, src = op.region("dst"), op.region("src")
    if src.dtype == dst.dtype:
        return None
    found = f"is {src.dtype}, but dst `{dst.buffer.name}` is {dst.dtype}"
    return op.problem("src", "dtype-mismatch", found, "cast one of them with T.tile.cast")


def _consecutive_source(op: Op, target: Target) -> Problem | None:
    """Offsets count bytes from the first element: of rows that lie apart they would say nothing."""
    return _consecutive(op, ("src",))


def _each_consecutive(op: Op, target: Target) -> Problem | None:
    """Every operand is one run of elements."""
    return _consecutive(op, ("dst", "src", "patternBuf"))


def _consecutive(op: Op, names: tuple[str, ...]) -> Problem | None:
    for name, region in regions(op):
        if name in names and not is_contiguous(region):
            found = "is not contiguous, but is addressed by bytes"
            hint = "copy the slice to a buffer of its own first"
            return op.problem(name, "strided-operand", found, hint)
    return None


def _gather_uses(op: Op) -> Mapping[str, Expr]:
    """As many as both the destination and the third operand, which says where to look, have."""
    offsets = op.opdef.operands[2].name
    count = minimum(element_count(op.region("dst")), element_count(op.region(offsets)))
    return {"dst": count, offsets: count}


def _picked(source_values: Any, places: Any, what: str) -> Any:
    """Elements by place. Raises OutOfBounds for a place outside of the operand, where an
    instruction would read undeclared bytes."""
    flat = source_values.reshape(-1)
    outside = (places < 0) | (places >= flat.size)
    if outside.any():
        k = int(np.flatnonzero(outside)[0])
        message = f"{what} {k} leads to element {int(places[k])} of src, which has {flat.size}"
        raise OutOfBounds(message)
    return flat[places]


def _gather(op: Op, dst: Any, src: Any, offset: Any, base: Any) -> Any:
    size = op.region("src").dtype.size
    taken = offset.reshape(-1).view(np.uint32).astype(np.int64)[: dst.size] + int(base)
    if (taken % size).any():
        raise OutOfBounds(f"an offset is no multiple of the {size} bytes of an element")
    return leading(dst, _picked(src, taken // size, "offset"))


def _gather_elements(op: Op, dst: Any, src: Any, index: Any, _scratch: Any) -> Any:
    places = index.reshape(-1).view(np.uint32).astype(np.int64)[: dst.size]
    return leading(dst, _picked(src, places, "index"))


def _index_scratch(op: Op) -> tuple[Scratch, ...]:
    index = op.region("index")
    return (Scratch(Memory.UB, index.dtype, elements_bound(index)),)


def _pattern_uses(op: Op) -> Mapping[str, Expr]:
    _, first, every = PATTERNS[op.attr("pattern")]
    count = element_count(op.region("src"))
    return {"dst": ceildiv(count - first, every) if every > 1 else count}


def _gather_mask(op: Op, dst: Any, src: Any) -> Any:
    _, first, every = PATTERNS[op.attr("pattern")]
    return leading(dst, src.reshape(-1)[first::every])


def _pattern_width(op: Op, target: Target) -> Problem | None:
    """Bits of the pattern come in words as wide as the elements."""
    src, pattern = op.region("src"), op.region("patternBuf")
    if src.dtype.size == pattern.dtype.size:
        return None
    found = f"is {pattern.dtype}, expected uint{src.dtype.bits} for elements of {src.dtype}"
    hint = f"allocate the pattern as uint{src.dtype.bits}"
    return op.problem("patternBuf", "dtype-mismatch", found, hint)


def _gather_bits(
    op: Op, dst: Any, src: Any, pattern: Any, mask: Any, block: Any, repeats: Any, *steps: Any
) -> Any:
    """docs/hardware/units.md#compare-gather-sort: bits of UB say which elements are kept; strides
    in blocks."""
    size = op.region("src").dtype.size
    per_block, per_repeat = BLOCK_BYTES // size, REPEAT_BYTES // size
    count = int(mask) if op.attr("reduceMode") else per_repeat
    bits = np.unpackbits(pattern.reshape(-1).view(np.uint8), bitorder="little")
    lane = np.arange(count)
    places, chosen = [], []
    for repeat in range(int(repeats)):
        places.append(
            (repeat * int(steps[0]) + lane // per_block * int(block)) * per_block + lane % per_block
        )
        chosen.append(repeat * int(steps[1]) * BLOCK_BYTES * 8 + lane)
    if not places:
        return dst
    kept = _picked(bits, np.concatenate(chosen), "bit").astype(bool)
    values = _picked(src, np.concatenate(places)[kept], "kept element")
    if values.size > dst.size:
        raise OutOfBounds(f"{values.size} elements are kept, but dst has {dst.size}")
    return leading(dst, values)


def _gather_blocks(op: Op, dst: Any, src: Any, offset: Any, repeats: Any, *strides: Any) -> Any:
    """Eight blocks of 32 bytes a repeat, from byte offsets to places counted in blocks."""
    per_block = BLOCK_BYTES // op.region("src").dtype.size
    block_stride, repeat_stride = int(strides[0]) or 1, int(strides[1])
    result = dst.reshape(-1).copy()
    offsets = offset.reshape(-1).view(np.uint32).astype(np.int64)
    for i in range(int(repeats) * BLOCKS_PER_REPEAT):
        repeat, block = divmod(i, BLOCKS_PER_REPEAT)
        to = (repeat * repeat_stride + block * block_stride) * per_block
        start = offsets[i] // BLOCK_BYTES * per_block
        result[to : to + per_block] = _picked(src, start + np.arange(per_block), "offset block")
    return result.reshape(dst.shape)


def _block_sizes(op: Op, target: Target) -> Problem | None:
    """The table and the destination hold all elements of the repeats, as far as that is known."""
    problem = _consecutive(op, ("dst", "src", "offset"))
    if problem is not None:
        return problem
    repeats, block, repeat = (
        constant_value(value) if isinstance(value := op.operand(name), Expr) else None
        for name in ("repeat", "dstBlkStride", "dstRepStride")
    )
    if repeats is None or block is None or repeat is None:
        return None
    if not 0 <= repeats <= MAX_REPEATS:
        message = f"gatherb: repeat is {repeats}, expected 0 to {MAX_REPEATS}"
        hint = "split the call into several"
        return Problem("repeat-range", message, "repeat", hint)
    last = (repeats - 1) * repeat + (BLOCKS_PER_REPEAT - 1) * (block or 1) + 1
    dst = op.region("dst")
    needed = {
        "offset": repeats * BLOCKS_PER_REPEAT,
        "dst": last * BLOCK_BYTES // dst.dtype.size if repeats else 0,
    }
    for name, count in needed.items():
        region = op.region(name)
        found = constant_value(element_count(region))
        if found is not None and found < count:
            message = f"gatherb: {name} `{region.buffer.name}` has {found} elements, but {repeats} "
            message += f"repeats use {count}"
            hint = "repeat fewer times, or allocate more elements"
            return Problem("shape-mismatch", message, name, hint)
    return None


_BIT_ARGUMENTS = (
    "dst",
    "src",
    "patternBuf",
    "reduceMode",
    "mask",
    ArgumentDef("params", ("blkStride", "repeat", "srcRepStride", "patRepStride")),
    ArgumentDef(
        "rsvdCnt",
        default=0,
        choices=(0,),
        expected="0",
        hint="the number of kept elements is not handed back: write 0",
    ),
)  # fmt: skip


OPS = (
    OpDef(
        name="gather",
        family="gather",
        doc="dst[k] = the element of src at byte base + offset[k]",
        ascend_c="Gather",
        operands=(
            destination("dst", UB, *FILLABLE),
            source("src"),
            source("offset", UB, UINT32, INT32),
            scalar("base"),
        ),
        placement=VECTOR,
        axes=elements_of("dst", "offset"),
        meaning=_gather,
        flat=True,
        uses=_gather_uses,
        dtype_rule=all_rules(_same_elements, integer_scalars),
        shape_rule=all_rules(_consecutive_source, exact_sizes),
        rate=(5, 5),
        scratch_elsewhere=True,
    ),
    OpDef(
        name="gather_elements",
        family="gather",
        doc="dst[k] = src[index[k]]; what gather_mask with a buffer of indices means",
        ascend_c="ShiftLeft, Gather",
        namespace=None,
        operands=(
            destination("dst", UB, *FILLABLE),
            source("src"),
            source("index", UB, UINT32, INT32),
            scratch_operand(),
        ),
        placement=VECTOR,
        axes=elements_of("dst", "index"),
        meaning=_gather_elements,
        composite=Composite.YES,
        uses=_gather_uses,
        dtype_rule=_same_elements,
        shape_rule=all_rules(_consecutive_source, exact_sizes),
        scratch=_index_scratch,
        rate=(5, 5),
    ),
    OpDef(
        name="gather_mask",
        family="gather",
        doc="the elements of src that a pattern keeps, moved together: P0101 even, P1010 odd, "
        "P0001 to P1000 the first to fourth of every four, P1111 all; a buffer of "
        "indices in its place keeps those",
        ascend_c="GatherMask",
        operands=(destination("dst", UB, *FILLABLE), source("src")),
        attrs=(AttrDef("pattern", str, choices=tuple(PATTERNS)),),
        placement=VECTOR,
        axes=whole,
        meaning=_gather_mask,
        flat=True,
        uses=_pattern_uses,
        dtype_rule=_same_elements,
        shape_rule=exact_sizes,
        rate=(64, 32),
        scratch_elsewhere=True,
    ),
    OpDef(
        name="gathermask_experiment",
        family="gather",
        doc="the elements of src whose bit in patternBuf is set, moved together: the instruction "
        "as it is, strides in blocks; with reduceMode mask elements a repeat, else 256 bytes",
        ascend_c="GatherMask",
        operands=(
            updated("dst", UB, *FILLABLE),
            source("src"),
            source("patternBuf", UB, INT16, UINT16, INT32, UINT32),
            scalar("mask"),
            scalar("blkStride"),
            scalar("repeat"),
            scalar("srcRepStride"),
            scalar("patRepStride"),
        ),
        attrs=(AttrDef("reduceMode", bool),),
        parameters=_BIT_ARGUMENTS,
        placement=VECTOR,
        axes=whole,
        meaning=_gather_bits,
        flat=True,
        dtype_rule=all_rules(_same_elements, _pattern_width, integer_scalars),
        shape_rule=_each_consecutive,
        rate=(64, 32),
    ),
    OpDef(
        name="gatherb",
        family="gather",
        doc="blocks of 32 bytes of src by byte offsets, eight a repeat; strides of dst in blocks",
        ascend_c="Gatherb",
        operands=(
            updated("dst", UB, *FILLABLE),
            source("src"),
            source("offset", UB, UINT32, INT32),
            scalar("repeat"),
            scalar("dstBlkStride"),
            scalar("dstRepStride"),
        ),
        placement=VECTOR,
        axes=whole,
        meaning=_gather_blocks,
        flat=True,
        dtype_rule=all_rules(_same_elements, integer_scalars),
        shape_rule=_block_sizes,
        rate=(42, 21),
    ),
)
