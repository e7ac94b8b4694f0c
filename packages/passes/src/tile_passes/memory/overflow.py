"""Write the error for buffers of a memory that do not fit: a table of them, the live range of
each, those that are needed together, and the sizes to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tile_ir import (
    Alloc,
    Buffer,
    For,
    Func,
    KernelError,
    Loc,
    Memory,
    Target,
    buffer_bytes,
    round_up,
)
from tile_passes.analysis.in_place import in_place_pairs
from tile_passes.analysis.liveness import Liveness
from tile_passes.analysis.memory_use import Peak, peak
from tile_passes.memory.side_by_side import Addresses, end_of


def overflow_by_hand(
    addresses: Addresses, live: Liveness, memory: Memory, target: Target
) -> KernelError:
    """The error for a function whose author keeps every buffer's bytes its own."""
    capacity = target.capacity[memory]
    over = next(a for a, start in addresses.items() if start + buffer_bytes(a) > capacity)
    most = peak(live, in_place_pairs(live), memory, target)
    hint = _shrink(most, capacity) or (
        f"at most {most.bytes} bytes are needed at once: with TL_ASCEND_MEMORY_PLANNING or "
        "TL_ASCEND_AUTO_SYNC buffers share bytes, and it fits"
    )
    fullest = f" (*: needed together in line {_line(live, most.point)})" if most.together else ""
    return KernelError(
        "memory-overflow",
        f"{memory.value} needs {end_of(addresses)} bytes, but has {capacity}; "
        f"`{over.buffer.name}` does not fit{fullest}\n" + _table(list(addresses), live, most),
        over.loc,
        hint,
    )


def overflow_by_liveness(
    live: Liveness, memory: Memory, target: Target, certain: bool
) -> KernelError:
    """The error for a function whose buffers may share bytes: too many are needed together, or no
    placement was found (`certain`: there is none)."""
    capacity = target.capacity[memory]
    most = peak(live, in_place_pairs(live), memory, target)
    allocs = [a for a in live.buffers if a.buffer.memory is memory]
    largest, hint = _largest(most), _shrink(most, capacity)
    what = (
        f"{memory.value} needs {most.bytes} bytes at once (*) in line "
        f"{_line(live, most.point)}, but has {capacity}"
    )
    if hint is None:
        why = "no placement keeps them apart" if certain else "no placement was found"
        what = f"{memory.value} has {capacity} bytes and needs at most {most.bytes} at once (*), "
        what += f"but {why}"
        hint = f"make `{largest.buffer.name}` smaller, or place some with T.annotate_address"
    return KernelError(
        "memory-overflow", what + "\n" + _table(allocs, live, most), largest.loc, hint
    )


def overflow_by_tile(func: Func, size: int, loc: Loc, target: Target) -> KernelError:
    """The error for a statement of T.Parallel whose values need a tile of `size` bytes in ub beside
    the buffers that there are."""
    return KernelError(
        "memory-overflow",
        f"ub has no room for a tile of {size} bytes beside the other buffers of this statement\n"
        + table_of_versions(func, Memory.UB, {}, target),
        loc,
        "make the tiles smaller, or store steps of the expression in buffers that are there",
    )


def overflow_by_versions(
    func: Func, loop: For, versions: Mapping[Buffer, int], target: Target
) -> KernelError:
    """The error for a loop whose `num_stages` gives its buffers more versions than there is room
    for."""
    memories = dict.fromkeys(b.memory for b, n in versions.items() if n > 1)
    names = " and ".join(m.value for m in memories)
    tables = "\n".join(table_of_versions(func, m, versions, target) for m in memories)
    return KernelError(
        "memory-overflow",
        f"{names} has no room for the iterations in flight at a time\n{tables}",
        loop.loc,
        "smaller tiles, or fewer stages",
    )


def table_of_versions(
    func: Func, memory: Memory, versions: Mapping[Buffer, int], target: Target
) -> str:
    """One line for each buffer of a memory: how many versions, of how many bytes each; scratch,
    which all operations share, is left out."""
    align = target.alignment[memory]
    allocs = [a for a in func.launch.allocs if a.buffer.memory is memory and not a.scratch]
    allocs = [a for a in allocs if a.alias_of is None]
    width = max((len(a.buffer.name) for a in allocs), default=0)
    lines, total = [], 0
    for a in allocs:
        count, size = versions.get(a.buffer, 1), round_up(buffer_bytes(a), align)
        total += count * size
        shape = f"{a.buffer.dtype}{list(a.buffer.static_shape() or ())}"
        lines.append(
            f"  {a.buffer.name:<{width}}  {count} x {size:>7} = {count * size:>8} bytes  {shape}  "
            f"line {a.loc.line}"
        )
    head = f"{memory.value} has {target.capacity[memory]} bytes, all together take {total}:"
    return "\n".join([head, *lines])


def _largest(most: Peak) -> Alloc:
    return max(most.together, key=buffer_bytes)


def _shrink(most: Peak, capacity: int) -> str | None:
    if most.bytes <= capacity:
        return None
    largest = _largest(most)
    return (
        f"the {len(most.together)} buffers marked * are needed at once: save "
        f"{most.bytes - capacity} bytes there; the largest is `{largest.buffer.name}`"
        if len(most.together) > 1
        else f"make `{largest.buffer.name}` smaller by {most.bytes - capacity} bytes"
    )


def _table(allocs: Sequence[Alloc], live: Liveness, most: Peak) -> str:
    """One line for each buffer; a star marks those needed where the memory is fullest."""
    width = max(len(a.buffer.name) for a in allocs)
    return "\n".join(
        f"  {'*' if a in most.together else ' '} {a.buffer.name:<{width}}  "
        f"{buffer_bytes(a):>8} bytes  {a.buffer.dtype}{list(a.buffer.static_shape() or ())}  "
        f"{_life(a, live)}"
        for a in allocs
    )


def _life(alloc: Alloc, live: Liveness) -> str:
    spans = live.ranges[live.roots[alloc.buffer]]
    lines = [_line(live, p) for low, high in spans for p in range(low, high + 1)]
    if not lines:
        return f"line {alloc.loc.line}, never used"
    first, last = min(lines), max(lines)
    where = f"in line {first}" if first == last else f"from line {first} to {last}"
    return f"line {alloc.loc.line}, live {where}" + (
        " (address given)" if alloc.address is not None else ""
    )


def _line(live: Liveness, point: int) -> int:
    return live.points[point].stmt.loc.line
