"""`check_memory`: one idea per file, the examples, and random programs against concrete runs."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import example_kernels
import golden
import pytest

import tile_ir
from tile_ir import DEFAULT_TARGET, Buffer, Func, Memory, Op, Region, Section
from tile_ir.check_memory import check_memory
from tile_ir.expr import Var
from tile_ir.machine import Pipe
from tile_passes import run_pipeline

from .concrete_order import Run
from .random_sync import M, N, anything

FILES = sorted((Path(__file__).parent / "check_memory").glob("*.tir"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_case(path: Path) -> None:
    case = golden.read(path)
    func = tile_ir.parse(case.source, path.name)
    found = [d.render() for d in check_memory(func)]
    golden.compare(case, "\n".join(found) if found else "# nothing\n")


@pytest.mark.parametrize("name", example_kernels.traced())
def test_examples_pass(name: str) -> None:
    func = run_pipeline(example_kernels.traced()[name], DEFAULT_TARGET).func
    assert check_memory(func) == ()


class LostValues(Run):
    """A run that only looks at values: a byte is lost if another buffer wrote it since its own."""

    def __init__(self, func: Func, values: Any) -> None:
        super().__init__(func, values)
        self.owner: dict[Any, Buffer] = {}
        self.written: dict[Buffer, set[Any]] = defaultdict(set)

    def op(self, op: Op) -> None:
        if any(isinstance(o, Region) for o in op.operands):
            super().op(op)

    def work(self, pipe: Pipe, in_order: bool, touched: list[tuple[Region, str]]) -> None:
        for region, kind in touched:
            if region.memory is Memory.UB and kind == "r":
                for byte in self.bytes(region):
                    if (
                        byte in self.written[region.buffer]
                        and self.owner[byte] is not region.buffer
                    ):
                        self.problems.add("lost")
        for region, kind in touched:
            if region.memory is Memory.UB and kind != "r":
                for byte in self.bytes(region):
                    self.written[region.buffer].add(byte)
                    self.owner[byte] = region.buffer


def lost(func: Func) -> bool:
    (section,) = func.launch.body
    assert isinstance(section, Section)
    for n, m in itertools.product((0, 1, 2, 3, 5), (0, 2)):
        values = {N: n, M: m, Var("cid"): 0, Var("vid"): 0}
        if "lost" in LostValues(func, values).section(section):
            return True
    return False


def test_what_passes_loses_nothing() -> None:
    """Random statements on three buffers at random addresses."""
    rng = random.Random(21)
    count: Counter[str] = Counter()
    for number in range(250):
        func = anything(random.Random(rng.random()))
        allocs = tuple(replace(a, address=32 * rng.randrange(6)) for a in func.launch.allocs)
        func = func.with_body(func.launch.body, allocs=allocs)
        said, wrong = check_memory(func), lost(func)
        assert said or not wrong, number
        count["lost" if wrong else "said" if said else "passed"] += 1
    print(count)
    assert count["lost"] > 20 and count["passed"] > 20
