"""What instructions of emitted kernels touch on the simulator lies inside what their statements are
said to touch."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from kept_cases import kept

from tile_ir import DEFAULT_TARGET, DTYPES, Func, Loc, Memory
from tile_ir.analysis.accesses import Touch, touches
from tile_ir.analysis.intervals import launch_ranges, walk_with_ranges
from tile_ir.costs.timing import timing_of
from tile_ir.nodes import Automatic, Body, Buffer
from tile_ir.traversal import bodies, with_bodies
from tile_runtime.launcher.native import launcher
from tile_runtime.simulator.timeline import MEMORIES, timeline_from

from .kernel_batch import KernelBatch
from .op_kernels import broadcast_cases, cast_cases, reduction_cases
from .test_copies import through_ub
from .test_cube import gemm, numbers
from .test_examples import small_kernels
from .test_gather import gather_cases, pattern_cases, raw_cases
from .test_masks import compare_cases, compare_region_cases, select_cases, select_region_cases
from .test_repeat_reductions import repeat_cases, sum_cases
from .test_rows_and_indices import brcb_cases, index_cases, row_cases, transpose_cases

TARGET = DEFAULT_TARGET
FIRST = 1000


def numbered(func: Func) -> Func:
    """The function with every statement on a line of its own, beyond those of the source."""
    count = FIRST

    def body(old: Body) -> Body:
        nonlocal count
        new = []
        for stmt in old:
            count += 1
            place = Loc("numbered.py", count, 1)
            inner = tuple(body(b) for b in bodies(stmt))
            new.append(replace(with_bodies(stmt, inner), loc=place))
        return tuple(new)

    return func.with_body(body(func.launch.body))


def touched(func: Func) -> dict[int, tuple[Touch, ...]]:
    """What the statement of each line may touch."""
    addresses = {a.buffer: a.address for a in func.launch.allocs if a.address is not None}
    return {
        stmt.loc.line: touches(stmt, addresses, known)
        for stmt, known in walk_with_ranges(func.launch.body, launch_ranges(func))
    }


def outside(func: Func, timeline: Any, arrays: dict[str, Any]) -> list[str]:
    """Recorded accesses that are in no touch of their line."""
    where = touched(func)
    found = []
    for a in timeline.accesses:
        event = timeline.events[a["event"]]
        begin, end, line = int(a["begin"]), int(a["end"]), int(event["line"])
        memory = MEMORIES[a["memory"]].lower()
        writes = int(a["kind"]) != 0
        inside = begin == end  # the address of a buffer is taken
        for t in where.get(line, ()):
            if isinstance(t.place, Buffer) != (memory == "gm") or (writes and not t.writes):
                continue
            if isinstance(t.place, Buffer):
                if t.place.name not in arrays:
                    continue
                start = arrays[t.place.name].ctypes.data
                inside = inside or (t.low <= begin - start and end - start <= t.high)
            else:
                inside = inside or (t.place is Memory(memory) and t.low <= begin and end <= t.high)
        if not inside:
            api = timeline.strings[event["api"]]
            found.append(
                f"{func.name} line {line}: {api} {memory} {begin}..{end} {where.get(line)}"
            )
    return found


def disagreements(batch: KernelBatch, number: int, arguments: list[Any]) -> list[str]:
    module, func = launcher(), batch.funcs[number]
    made = batch.run(number, arguments, checks=module.CHECKS_OFF, timing=timing_of(TARGET))
    assert made.error is None, made.error.text
    arrays = {
        p.name: x for p, x in zip(func.params, made.arrays, strict=True) if isinstance(p, Buffer)
    }
    timeline = timeline_from(*made.timeline, TARGET)
    assert len(timeline.accesses)
    return outside(func, timeline, arrays)


def with_lines(source: str) -> str:
    """The source with the line of the statement given to every line of its code."""
    result, line = [], 0
    for text in source.splitlines():
        named = re.search(r"// numbered\.py:(\d+)$", text)
        line = int(named[1]) if named else line
        result += [f"#line {line}", text] if line else [text]
    return "\n".join(result)


def batch_of(
    kernels: list[Func],
    folder: Path,
    automatic: Iterable[tuple[Automatic, ...]] = itertools.repeat(()),
) -> KernelBatch:
    batch = KernelBatch(folder)
    for func, left in zip(kernels, automatic, strict=False):
        number = batch.add(func, left)
        batch.funcs[number] = numbered(batch.funcs[number])
    batch.build(with_lines)
    return batch


def test_examples(tmp_path: Path) -> None:
    kernels = list(small_kernels().values())
    batch = batch_of([k.func for k in kernels], tmp_path, [k.automatic for k in kernels])
    for number, kernel in enumerate(kernels):
        assert disagreements(batch, number, kernel.arguments) == []


OPERATIONS: list[Callable[[], Iterator[Any]]] = [
    cast_cases, reduction_cases, broadcast_cases, gather_cases, pattern_cases, raw_cases,
    compare_cases, compare_region_cases, select_cases, select_region_cases, repeat_cases,
    sum_cases, brcb_cases, index_cases, row_cases, transpose_cases,
]  # fmt: skip
# Compiling is what takes time: some cases of each kind, far apart in its order.
SOME = 12


def test_operations(tmp_path: Path) -> None:
    cases = []
    for make in OPERATIONS:
        of_kind = list(make())
        cases += of_kind[:: max(1, len(of_kind) // SOME)]
    assert len(cases) > 100
    cases = kept(cases)
    batch = batch_of([case.func for case in cases], tmp_path)
    wrong = []
    for number, case in enumerate(cases):
        arguments = case.arguments if hasattr(case, "arguments") else case.arrays
        wrong += disagreements(batch, number, arguments)
    assert not wrong, "\n".join(wrong)


def test_products_and_copies(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    kernels: list[tuple[Func, list[Any]]] = []
    for dtype, ta, tb in itertools.product(
        ("float16", "float32", "int8"), (False, True), (False, True)
    ):
        out = "int32" if dtype == "int8" else "float32"
        func = gemm(50, 40, 100, 64, dtype, out, ta, tb, 32, 48)
        a, b = ((100, 50) if ta else (50, 100)), ((40, 100) if tb else (100, 40))
        c = np.zeros((50, 40), DTYPES[out].storage)
        kernels.append((func, [numbers(rng, a, dtype), numbers(rng, b, dtype), c]))
    for dtype, pad in (("float32", None), ("float16", 1.0), ("int8", None)):
        x = np.zeros((37, 100), DTYPES[dtype].storage)
        func = through_ub(37, 100, 8, 64, dtype, pad)
        kernels.append((func, [x, x, np.zeros((40, 128), x.dtype)]))
    batch = batch_of([func for func, _ in kernels], tmp_path)
    for number, (_, arguments) in enumerate(kernels):
        assert disagreements(batch, number, arguments) == []
