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
from kept_cases import kept_number

import tile_ir
from tile_checkers import check_memory
from tile_ir import DEFAULT_TARGET, Buffer, Func, Memory, Op, Region, Section
from tile_ir.expr import Var
from tile_ir.machine import Pipe
from tile_passes import run_pipeline

from .concrete_order import Run
from .random_rows import rows
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


class LostSums(Run):
    """A run that only looks at accumulators: a product that adds reads what it writes."""

    def __init__(self, func: Func, values: Any) -> None:
        super().__init__(func, values)
        self.owner: dict[int, Buffer] = {}
        self.begun: set[Buffer] = set()

    def op(self, op: Op) -> None:
        unless = op.opdef.overwrites(op)
        for i, operand in enumerate(op.operands):
            if not (isinstance(operand, Region) and operand.memory is Memory.L0C):
                continue
            base = self.addresses[operand.buffer] or 0
            units = range(base // 512, base // 512 + 2)
            writes = op.opdef.operand_def(i).access.writes
            reads = not writes or unless is None or not self.value(unless)
            mine = all(self.owner.get(unit) is operand.buffer for unit in units)
            if reads and operand.buffer in self.begun and not mine:
                self.problems.add("lost")
            if writes:
                self.begun.add(operand.buffer)
                self.owner.update(dict.fromkeys(units, operand.buffer))


def sums(rng: random.Random) -> Func:
    """Products into three accumulators of 1 KiB at random addresses, overwriting on conditions on
    the rounds of loops around them, and stores of them."""
    lines: list[str] = []

    def line(text: str, end: str = "") -> None:
        lines.append(f"{text} @0:{len(lines) + 20}:1{end}")

    def begins(loops: list[tuple[str, str]]) -> str:
        var, start = rng.choice(loops)
        return (
            f"{var} {rng.choice(['==', '==', '<=', '>', '!='])} {rng.choice([start, start, '1'])}"
        )

    def leaf(loops: list[tuple[str, str]]) -> None:
        name = rng.choice("xyz")
        kind = rng.random()
        if kind < 0.35:
            line(f"copy_l0c_gm(${name}, $C) {{enable_relu=false}}")
        elif kind < 0.5 and loops:
            line(f"if {begins(loops)}", " {")
            line(f"mma($a, $b, ${name}, {rng.choice(['true', 'false'])})")
            if rng.random() < 0.7:
                lines.append("} else {")
                line(f"mma($a, $b, ${name}, {rng.choice(['true', 'false'])})")
            lines.append("}")
        else:
            init = begins(loops) if loops and rng.random() < 0.7 else rng.choice(["true", "false"])
            if loops and rng.random() < 0.3:
                init += f" and {begins(loops)}"
            line(f"mma($a, $b, ${name}, {init})")

    def block(depth: int, loops: list[tuple[str, str]]) -> None:
        for _ in range(rng.randint(1, 3)):
            if depth < 3 and rng.random() < 0.4:
                var = f"%k{len(lines)}"
                start = rng.choice(["0", "0", "%m", *(v for v, _ in loops)])
                stop = rng.choice(["%n", "2", "3"])
                line(f"for {var}: int32 in serial({start}, {stop})", " {")
                block(depth + 1, [*loops, (var, start)])
                if rng.random() < 0.15:
                    line(f"if {begins(loops or [(var, start)])}", " {")
                    line("break")
                    lines.append("}")
                lines.append("}")
            else:
                leaf(loops)

    block(0, [])
    block(0, [])
    allocs = "".join(
        f"    alloc ${n}: l0c float32 [16, 16] address {512 * rng.randrange(5)} @0:1:1\n"
        for n in "xyz"
    )
    return tile_ir.parse(
        'file 0 "k.py"\nfunc "k" phase planned @0:1:1 {\n'
        "  tensor $C: float32 [16, 16] @0:1:1\n  scalar %n: int32\n  scalar %m: int32\n"
        "  launch blocks(1) %cid %vid threads any @0:1:1 {\n"
        "    alloc $a: l0a float16 [16, 16] address 0 @0:1:1\n"
        "    alloc $b: l0b float16 [16, 16] address 0 @0:1:1\n"
        f"{allocs}    section cube @0:1:1 {{\n" + "\n".join(lines) + "\n    }\n  }\n}\n"
    )


def test_sums_that_pass_lose_nothing() -> None:
    rng = random.Random(5)
    count: Counter[str] = Counter()
    kernels = max(100, kept_number(300))
    for number in range(kernels):
        func = sums(random.Random(rng.random()))
        (section,) = func.launch.body
        assert isinstance(section, Section)
        said = check_memory(func)
        wrong = any(
            "lost" in LostSums(func, {N: n, M: m, Var("cid"): 0, Var("vid"): 0}).section(section)
            for n, m in itertools.product((0, 1, 2, 3, 5), (0, 2))
        )
        assert said or not wrong, f"{number}\n{tile_ir.print_func(func)}"
        count["lost" if wrong else "said" if said else "passed"] += 1
    print(count)
    assert count["lost"] > 0.25 * kernels and count["passed"] > 0.06 * kernels


@pytest.mark.exhaustive
def test_rows_that_pass_lose_nothing() -> None:
    rng = random.Random(8)
    count: Counter[str] = Counter()
    for number in range(400):
        func = rows(random.Random(rng.random()))
        said, wrong = check_memory(func), lost(func)
        assert said or not wrong, f"{number}\n{tile_ir.print_func(func)}"
        count["lost" if wrong else "said" if said else "passed"] += 1
    print(count)
    assert count["lost"] > 150 and count["passed"] > 30
