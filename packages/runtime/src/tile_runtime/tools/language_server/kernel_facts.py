"""The facts of one kernel that an editor shows, read from its text after all passes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator

from tile_ir import Alloc, Buffer, Func, Loc, Memory, Target, TileError, print_expr, walk
from tile_passes.explain.lanes import lanes_of_buffers
from tile_passes.explain.line_costs import costs_of_lines
from tile_passes.explain.memory import reasons_for_memories
from tile_passes.infer_memory import infer_memory
from tile_passes.pipeline import taken_to
from tile_passes.split_vector_lanes import split_vector_lanes
from tile_runtime.tools.command_line.kernel_argument import NamedKernel
from tile_runtime.tools.language_server.seen import SeenBuffer, SeenKernel, SeenWork


def kernel_seen(kernel: NamedKernel, lowered: Func) -> SeenKernel:
    """The facts of a kernel and of its lowered form."""
    func, target = kernel.func, kernel.target
    lines = [s.loc.line for s in walk(func.launch.body) if s.loc.file == func.loc.file]
    return SeenKernel(
        kernel.name,
        func.loc.line,
        max([func.loc.line, func.launch.loc.line, *lines]),
        print_expr(lowered.launch.blocks),
        target.name,
        tuple(_buffers(func, lowered, target)),
        tuple(_work(lowered, target)),
    )


def _buffers(func: Func, lowered: Func, target: Target) -> Iterator[SeenBuffer]:
    reasons = _explained(lambda: reasons_for_memories(taken_to(func, infer_memory, target), target))
    lanes = _explained(lambda: lanes_of_buffers(taken_to(func, split_vector_lanes, target), target))
    parts: defaultdict[Loc, list[Alloc]] = defaultdict(list)
    for alloc in lowered.launch.allocs:
        if not alloc.scratch:
            parts[alloc.buffer.loc].append(alloc)
    for tensor in func.tensors:
        size = _bytes(tensor)
        place = "gm" if size is None else f"gm, {size:,} bytes"
        yield _buffer(tensor, (place,), "", "")
    for declared in func.launch.allocs:
        buffer, loc = declared.buffer, declared.buffer.loc
        places = tuple(map(_place, parts[loc]))
        yield _buffer(buffer, places, lanes.get(loc, ""), reasons.get(loc, ""))


def _buffer(buffer: Buffer, places: tuple[str, ...], lanes: str, reason: str) -> SeenBuffer:
    shape = ", ".join(print_expr(size).lstrip("%$") for size in buffer.shape)
    line = buffer.loc.line
    return SeenBuffer(buffer.name, line, buffer.dtype.name, f"({shape})", places, lanes, reason)


def _place(alloc: Alloc) -> str:
    buffer = alloc.buffer
    size = _bytes(buffer)
    words = [buffer.memory.value if buffer.memory is not Memory.VAR else "a register"]
    if size is not None and buffer.memory is not Memory.VAR:
        words.append(f"{size:,} bytes on each core")
    if alloc.address is not None:
        words.append(f"from byte {alloc.address:,} on")
    return ", ".join(words)


def _bytes(buffer: Buffer) -> int | None:
    shape = buffer.static_shape()
    return None if shape is None else buffer.dtype.bytes_of(math.prod(shape))


def _explained(explain: Callable[[], dict[Loc, str]]) -> dict[Loc, str]:
    """Nothing where the kernel is not one that has such decisions."""
    try:
        return explain()
    except TileError:
        return {}


def _work(lowered: Func, target: Target) -> Iterator[SeenWork]:
    for (file, line), costs in sorted(costs_of_lines(lowered, target).items()):
        if file != lowered.loc.file:
            continue
        for c in costs:
            microseconds = c.cycles / target.clock_mhz
            yield SeenWork(
                line, c.core.value, c.pipe, c.instructions, c.cycles, microseconds, c.gm_bytes,
                c.assumed,
            )  # fmt: skip
