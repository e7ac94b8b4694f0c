"""Compare order and addresses of a final kernel with those of the vendor's open compiler.

Its memory planner and its two solvers of order get the same instructions, loops, branches and bytes
as ours (`outline`), as HIVM text (`hivm_text`). `open_compiler` counts their answer beside the
contents of the kernel. The comparison proves nothing: a difference is a place to look at
(docs/internals/order.md#a-second-opinion).

It counts all flags and barriers of a kernel, from the author or the compiler. Order between cores
is left out on both sides. A kernel that the dialect cannot express gets no opinion, with the
reason.

Not here: the checkers, which prove that the order and the addresses of a kernel suffice.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from tile_checkers.second_opinion.hivm_text import memory_text, order_text
from tile_checkers.second_opinion.open_compiler import (
    PLANNER,
    SOLVERS,
    CompilerFailed,
    CountedOrder,
    find_compiler,
    plan_peaks,
    solve_order,
)
from tile_checkers.second_opinion.outline import BETWEEN_CORES, Unsayable, outline_of
from tile_ir import Core, Func, Memory, Op, Pipe, Section, walk
from tile_ir.layout.footprint import buffer_bytes, round_up
from tile_ir.layout.geometry import BLOCK_BYTES
from tile_ir.machine import CORE_OF_MEMORY
from tile_ir.opdef import Effect
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Opinion:
    """Our result for the section of one core beside those of others: the order by solver, and the
    peak bytes of each memory. `missing` has the reason for each opinion that is absent; `left_out`
    counts operations that order cores."""

    core: Core
    own: CountedOrder
    own_peaks: Mapping[Memory, int]
    solved: Mapping[str, CountedOrder] = field(default_factory=dict)
    peaks: Mapping[Memory, int] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0


def second_opinions(func: Func) -> tuple[Opinion, ...]:
    """Return an opinion on each section of a SYNCED function.

    Raises BuildError where the other compiler is not installed."""
    program = find_compiler()
    return tuple(
        _opinion(func, stmt, program) for stmt in func.launch.body if isinstance(stmt, Section)
    )


def hivm_texts(func: Func, section: Section) -> tuple[str, str]:
    """Return the section as HIVM: for the solvers of order and for the planner of memory. Raises
    Unsayable."""
    outline = outline_of(func, section)
    return order_text(func, section.core, outline), memory_text(func, section.core, outline)


def _opinion(func: Func, section: Section, program: Path) -> Opinion:
    ops = [stmt for stmt in walk(section.body) if isinstance(stmt, Op)]
    left_out = Counter(o.opdef.name for o in ops if o.opdef.effect in BETWEEN_CORES)
    started, solved, missing = time.perf_counter(), {}, {}
    peaks: dict[Memory, int] = {}
    try:
        order, memory = hivm_texts(func, section)
    except Unsayable as reason:
        missing = dict.fromkeys((*SOLVERS, PLANNER), str(reason))
    else:
        for solver in SOLVERS:
            try:
                solved[solver] = solve_order(program, solver, order)
            except CompilerFailed as reason:
                missing[solver] = str(reason)
        try:
            found = plan_peaks(program, memory)
            peaks = {place: round_up(size, BLOCK_BYTES) for place, size in found.items()}
        except CompilerFailed as reason:
            missing[PLANNER] = str(reason)
    return Opinion(
        section.core,
        _own_order(ops),
        _own_peaks(func, section),
        solved,
        peaks,
        missing,
        left_out,
        time.perf_counter() - started,
    )


def _own_order(ops: list[Op]) -> CountedOrder:
    flags: Counter[tuple[Pipe, Pipe]] = Counter()
    barriers: Counter[Pipe] = Counter()
    for op in ops:
        match op.opdef.effect:
            case Effect.SET_FLAG:
                flags[Pipe(op.attr("src_pipe")), Pipe(op.attr("dst_pipe"))] += 1
            case Effect.BARRIER:
                barriers[op.opdef.placement(op)[1]] += 1
    return CountedOrder(flags, barriers)


def _own_peaks(func: Func, section: Section) -> dict[Memory, int]:
    """The end of the last buffer of each memory that belongs to the core."""
    peaks: dict[Memory, int] = {}
    for alloc in func.launch.allocs:
        memory = alloc.buffer.memory
        if alloc.address is not None and CORE_OF_MEMORY.get(memory) is section.core:
            end = alloc.address + buffer_bytes(alloc)
            peaks[memory] = max(peaks.get(memory, 0), round_up(end, BLOCK_BYTES))
    return peaks


__all__ = ["PLANNER", "SOLVERS", "CountedOrder", "Opinion", "hivm_texts", "second_opinions"]
