"""The cost query against the simulator's clock, over the golden kernel of every operation.

The kernels are compiled together and run once; each event of the timeline belongs to the statement
whose line its C++ line names, and so do the operations that statement became.
"""

from __future__ import annotations

import ast
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import golden
import numpy as np
import pytest
from kernel_batch import KernelBatch

import tile_ir
from tile_ir import DEFAULT_TARGET, OPS, Buffer, Func, Op, OpDef
from tile_ir.costs.instruction_cost import Assumed, cost
from tile_ir.costs.timing import DEFAULT_TIMING, timing_of
from tile_ir.expr import constant_value
from tile_ir.machine import Pipe
from tile_ir.nodes import Body, For
from tile_ir.opdef import Effect, pipe_of
from tile_ir.traversal import bodies, walk_ops
from tile_passes import PIPELINE, PassOptions, run_passes
from tile_runtime.simulator.timeline import KINDS, PIPES, timeline_from

FOLDER = Path(__file__).parent.parent / "codegen" / "ops"
FRAGMENT = PassOptions(skip=("check_written",))  # an operation alone reads what nothing has written

# Statements of which the query knows less than the factor of two, with what it does not know.
_COUNT = "a count given at run time: the whole buffer is taken"
_BANKS = "banks: what is written is read too, or lies in one group"
UNKNOWN = {
    ("abs_experiment", 4): _COUNT,
    ("clamp_max", 3): _COUNT,
    ("clamp_min", 3): _COUNT,
    ("mins_experiment", 3): _COUNT,
    ("sub_experiment", 3): _COUNT,
    ("sum_experiment", 3): _COUNT,
    ("reduce_sum_experiment", 3): _COUNT,
    ("column_expand_div", 3): _BANKS,
    ("column_expand_div", 5): _BANKS,
    ("mul_add_dst", 3): _BANKS,
    ("mul_add_dst", 4): _BANKS,
    ("transpose", 4): "a square is one instruction however far its rows lie apart",
}


@dataclass(frozen=True)
class Statement:
    """One statement of a golden kernel: what it became, and its cycles: of which it held its pipe by
    the clock, from the first to the last of these, and by the query."""

    name: str
    line: int
    pipe: Pipe
    ops: tuple[Op, ...]
    held: float
    timed: float
    asked: float

    @property
    def ratio(self) -> float:
        """Of what was asked to the nearest of what may be meant."""
        return self.asked / min(max(self.asked, self.held), self.timed)


def lowered(path: Path) -> Func:
    func = tile_ir.parse(golden.read(path).source, str(path))
    remaining = [p for p in PIPELINE if p.gives is None or p.gives > func.phase]
    return run_passes(func, remaining, DEFAULT_TARGET, FRAGMENT).func


def asked(body: Body, times: float = 1) -> Iterator[tuple[Op, float]]:
    """Every operation, and how often it runs; NaN if that is not known."""
    for stmt in body:
        if isinstance(stmt, Op):
            yield stmt, times
        inner = times
        if isinstance(stmt, For):
            start, stop = (constant_value(e) for e in (stmt.start, stmt.stop))
            inner *= math.nan if start is None or stop is None else stop - start
        for b in bodies(stmt):
            yield from asked(b, inner)


def argument(param: Any) -> Any:
    if not isinstance(param, Buffer):
        return 1
    shape = [constant_value(size) or 256 for size in param.shape]
    return np.ones(shape, param.dtype.storage)


@pytest.fixture(scope="module")
def statements(tmp_path_factory: pytest.TempPathFactory) -> list[Statement]:
    folder = tmp_path_factory.mktemp("cost")
    batch = KernelBatch(folder)
    for path in sorted(FOLDER.glob("*.tir")):
        opdef = OPS[path.stem]
        if opdef.effect is Effect.DATA:
            batch.funcs.append(replace(lowered(path), name=path.stem))
    batch.build()
    lines = (folder / "batch.cpp").read_text().splitlines()
    found = []
    for number, func in enumerate(batch.funcs):
        timing = timing_of(DEFAULT_TARGET, warm_l2=True)
        outcome = batch.run(number, [argument(p) for p in func.params], checks=0, timing=timing)
        if outcome.error is None:
            events = timeline_from(*outcome.timeline, DEFAULT_TARGET).events
            found += list(statements_of(func, events, lines))
    return found


def statements_of(func: Func, events: Any, lines: list[str]) -> Iterator[Statement]:
    """Of the first block, and of two lanes the first."""
    timed: dict[tuple[int, Pipe], float] = defaultdict(float)
    held: dict[tuple[int, Pipe], float] = defaultdict(float)
    before: dict[Pipe, tuple[int, float]] = {}
    for e in events[(events["block"] == 0) & (events["core"] < 2)]:
        pipe = Pipe(PIPES[e["pipe"]].lower())
        comment = re.search(r"// kernel\.py:(\d+)", lines[e["line"] - 1])
        if comment and KINDS[e["kind"]] == "work" and pipe is not Pipe.S:
            line, begin = int(comment[1]), float(e["begin"])
            latest, end = before.get(pipe, (line, begin))
            waits = pipe is Pipe.V and latest == line  # for the one before, of the same statement
            timed[line, pipe] += float(e["end"]) - (min(end, begin) if waits else begin)
            held[line, pipe] += float(e["end"]) - begin
            before[pipe] = line, float(e["end"])
    ops: dict[tuple[int, Pipe], list[tuple[Op, float]]] = defaultdict(list)
    for op, times in asked(func.launch.body):
        if op.opdef.effect is Effect.DATA:
            ops[op.loc.line, pipe_of(op)].append((op, times))
    for (line, pipe), cycles in timed.items():
        here = ops[line, pipe]
        query = sum(cost(op, DEFAULT_TARGET).busy * times for op, times in here)
        ops_here = tuple(op for op, _ in here)
        yield Statement(func.name, line, pipe, ops_here, held[line, pipe], cycles, query)


def test_the_query_is_near_the_clock(statements: list[Statement]) -> None:
    """At least half of what a statement held its pipe, and at most twice what it took with the waits of its
    instructions for each other; of most statements within a tenth of these two."""
    ratios, wrong = [], []
    for s in statements:
        ratio = s.ratio
        if math.isnan(s.asked) or (s.name, s.line) in UNKNOWN:
            continue
        ratios.append(ratio)
        if not 0.5 <= ratio <= 2:
            wrong.append(
                f"{s.name}, line {s.line}, {s.pipe.value}: {s.asked:.0f} of {s.held:.0f} to {s.timed:.0f}"
            )
    assert not wrong, "\n".join(wrong)
    near = sum(0.9 <= r <= 1.1 for r in ratios)
    assert near >= 0.5 * len(ratios) and len(ratios) > 200
    assert 0.9 <= statistics.median(ratios) <= 1.1


def test_what_is_not_known_is_named_with_a_reason(statements: list[Statement]) -> None:
    """No name stays that has become right."""
    off = {(s.name, s.line) for s in statements if not 0.5 <= s.ratio <= 2}
    assert set(UNKNOWN) <= off


def test_every_operation_that_is_timed_has_been_asked_for(statements: list[Statement]) -> None:
    seen = {op.opdef.name for s in statements for op in s.ops}
    timed = {o.name for o in OPS.values() if o.effect is Effect.DATA}
    pieces = {o for o in timed if OPS[o].composite is tile_ir.Composite.NO}
    # Their kernels read offsets that are not there in a kernel of one operation.
    assert pieces - seen == {"gatherb", "bilinear_interpolation"}


def test_single_instructions_are_exact(statements: list[Statement]) -> None:
    """What one source decides: no bank can be asked for twice at a time."""
    names = {"abs", "exp", "relu", "fill", "zero_l0", "copy_l1_l0a", "leaky_relu"}
    for s in statements:
        if s.name in names:
            assert s.ratio == pytest.approx(1), s


def test_columns_of_fractals_that_l1_holds_whole_are_one_load(statements: list[Statement]) -> None:
    (whole,) = (s for s in statements if (s.name, s.line) == ("copy_l1_l0b", 6))
    assert whole.ratio == pytest.approx(1)


KERNEL = """file 0 "k.py"
func "k" phase lowered @0:1:1 {{
  tensor $x: float16 [4096, {pitch}] @0:1:1
  launch blocks(1) %cid %vid threads any @0:1:1 {{
    alloc $t: {memory} {dtype} [{rows}, {columns}] @0:2:1
    {op} @0:3:1
  }}
}}
"""


def only_op(text: str) -> Op:
    (op,) = walk_ops(tile_ir.parse(text).launch.body)
    return op


def copy_op(rows: int, columns: int, pitch: str, name: str) -> Op:
    """A tile to or from the first rows of a tensor."""
    into = name.startswith("copy_gm")
    memory = name.split("_")[2 if into else 1]
    sides = [f"$x[0:+{rows}, 0:+{columns}]", f"$t[0:+{rows}, 0:+{columns}]"]
    attrs = {a.name: "false" if a.type is bool else "none" for a in OPS[name].attrs}
    given = "{" + ", ".join(f"{n}={v}" for n, v in attrs.items()) + "}" if attrs else ""
    op = f"{name}({', '.join(sides if into else sides[::-1])}) {given}"
    dtype = "float32" if memory == "l0c" else "float16"
    return only_op(
        KERNEL.format(pitch=pitch, memory=memory, dtype=dtype, rows=rows, columns=columns, op=op)
    )


@pytest.mark.parametrize("rows", [1, 16, 100])
@pytest.mark.parametrize("name", ["copy_gm_ub", "copy_ub_gm", "copy_gm_l1", "copy_l0c_gm"])
def test_more_is_never_cheaper(name: str, rows: int) -> None:
    """In rows, in columns, past the cache, among more cores."""
    base = cost(copy_op(rows, 256, "512", name), DEFAULT_TARGET)
    assert base.busy <= base.done
    assert base.busy <= cost(copy_op(rows + 1, 256, "512", name), DEFAULT_TARGET).busy
    assert base.busy <= cost(copy_op(rows, 272, "512", name), DEFAULT_TARGET).busy
    for assumed in (Assumed(in_l2=False), Assumed(cores=48), Assumed(False, 48)):
        assert base.busy <= cost(copy_op(rows, 256, "512", name), DEFAULT_TARGET, assumed).busy
    assert base.busy <= cost(copy_op(rows, 256, "%N", name), DEFAULT_TARGET).busy


def test_fixpipe_writes_rows_one_by_one() -> None:
    """Also those that touch: where a row fills no whole requests, rows further apart are faster."""
    touching, apart = (copy_op(64, 192, pitch, "copy_l0c_gm") for pitch in ("192", "256"))
    requests = 64 * 512 / DEFAULT_TIMING.l0c_gm_rate
    assert cost(apart, DEFAULT_TARGET).busy == pytest.approx(requests)
    assert cost(touching, DEFAULT_TARGET).busy > 1.2 * requests


@pytest.mark.parametrize("op", ["set_flag(0)", "wait_flag(0)"])
def test_a_flag_costs_what_the_clock_says(op: str) -> None:
    text = KERNEL.format(
        pitch=64, memory="ub", dtype="float16", rows=1, columns=64,
        op=op + ' {src_pipe="v", dst_pipe="mte3"}',
    )  # fmt: skip
    assert cost(only_op(text), DEFAULT_TARGET).busy == DEFAULT_TIMING.scalar_flag


def test_what_a_record_says_is_asked_for() -> None:
    """Every field of a record has a reader in the packages, and the two about cost the query.

    What lines cost, in the report and in editors, has a field `instructions` too."""
    packages = Path(__file__).parent.parent.parent / "packages"
    read: dict[str, set[str]] = defaultdict(set)
    for path in packages.glob("*/src/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                read[node.attr].add(path.stem)
    names = {f.name for f in fields(OpDef)}
    assert names <= set(read), names - set(read)
    of_lines = {"within_a_core", "hover_text", "kernel_facts"}
    assert read["rate"] >= {"instruction_cost"}
    assert read["instructions"] - of_lines == {"instruction_cost"}
    assert "instruction_cost" not in names


@pytest.mark.parametrize(
    ("pitch", "rows", "columns", "in_part"),
    [(1024, 8, 64, False), (1000, 8, 64, True), (1000, 1, 64, False), (1024, 8, 60, True),
     (1008, 8, 64, False)],
)  # fmt: skip
def test_a_store_of_parts_of_blocks_reads_the_rest_first(
    pitch: int, rows: int, columns: int, in_part: bool
) -> None:
    """docs/hardware/time_model.md: it has arrived after both latencies."""
    tile = tile_ir.parse(STORE.format(pitch=pitch, rows=rows, columns=columns), "store.tir")
    (store,) = walk_ops(tile.launch.body)
    load = DEFAULT_TIMING.gm_load_latency if in_part else 0
    assert cost(store, DEFAULT_TARGET).done == DEFAULT_TIMING.gm_store_latency + load
    missed = cost(store, DEFAULT_TARGET, Assumed(in_l2=False)).done
    assert missed - cost(store, DEFAULT_TARGET).done == (
        DEFAULT_TIMING.gm_miss_latency if in_part else 0
    )


STORE = """file 0 "k.py"
func "k" phase built @0:1:1 {{
  tensor $C: float16 [8, {pitch}] @0:2:5
  launch blocks(1) %cid %vid threads any @0:3:5 {{
    alloc $a: ub float16 [8, 64] @0:4:5
    section vector @0:5:5 {{
      copy_ub_gm($a[0:+{rows}, 0:+{columns}], $C[0:+{rows}, 0:+{columns}]) @0:6:5
    }}
  }}
}}
"""
