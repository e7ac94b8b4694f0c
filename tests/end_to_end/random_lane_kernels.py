"""Random kernels over tiles, rows and row values, for one lane or two: everything a lane could get
wrong, in any order, and all that it leaves behind is stored."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

COPY = "{enable_relu=false, transpose=false, pad_value=none}"
TILES, VALUES, LINES = ("a", "b", "c"), ("m", "n"), ("g", "row")


@dataclass
class RandomKernel:
    """A kernel as text; `rows` and `columns` are the sizes of its tiles."""

    source: random.Random
    rows: int = 0
    columns: int = 0
    loops: int = 0
    lines: list[str] = field(default_factory=list)

    def build(self) -> RandomKernel:
        self.rows = self.source.choice([2, 3, 4, 5, 7, 8])
        self.columns = self.source.choice([8, 16, 24])
        for name in (*TILES, *VALUES, *LINES):
            self.lines.append(self.load(name, "In"))
        self.lines.append("store $x[] = 1.0")
        for _ in range(self.source.randint(2, 7)):
            self.lines += self.statement()
        kept = [n for n in (*TILES, *VALUES, *LINES) if self.source.random() < 0.8] or ["a"]
        for name in kept:
            self.lines.append(self.save(name, "Out"))
        if self.source.random() < 0.3:
            self.lines.append("fill($s, $x[])")
            self.lines.append(f"copy($s, $OutS[0:+8]) {COPY}")
        return self

    # Text ---------------------------------------------------------------------------------------

    def shape(self, name: str) -> tuple[int, ...]:
        if name in TILES:
            return (self.rows, self.columns)
        return (self.rows if name in VALUES else self.columns,)

    def text(self, threads: int) -> str:
        numbered = [_placed(line, number) for number, line in enumerate(self.lines, 1)]
        allocs = [
            f"alloc ${n}: ub float32 {list(self.shape(n))} @0:1:1"
            for n in (*TILES, *VALUES, *LINES)
        ]
        return "\n".join([
            'file 0 "kernel.py"',
            'func "k" phase typed @0:1:1 {',
            *(f"tensor ${n}: float32 {list(s)} @0:1:1" for n, s in self.tensors()),
            f"launch blocks(1) %cid %vid threads {threads} @0:1:1 {{",
            *allocs,
            "alloc $s: ub float32 [8] @0:1:1",
            "alloc $x: var float32 [] @0:1:1",
            *numbered,
            "}",
            "}",
            "",
        ])  # fmt: skip

    def tensors(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        for name in (*TILES, *VALUES, *LINES):
            yield f"In{name}", self.shape(name)
            yield f"Out{name}", self.shape(name)
        yield "W", (self.rows + 2, self.columns)
        yield "OutS", (8,)

    def arguments(self) -> list[Any]:
        rng = np.random.default_rng(self.source.randrange(1000))
        return [rng.integers(0, 9, shape).astype("float32") for _, shape in self.tensors()]

    def load(self, name: str, tensor: str) -> str:
        return f"copy(${tensor}{name}, ${name}) {COPY}"

    def save(self, name: str, tensor: str) -> str:
        return f"copy(${name}, ${tensor}{name}) {COPY}"

    def pick(self, names: tuple[str, ...]) -> str:
        return self.source.choice(names)

    def others(self, names: tuple[str, ...]) -> tuple[str, str]:
        first, second = self.source.sample(names, 2)
        return first, second

    # Statements ---------------------------------------------------------------------------------

    def statement(self) -> list[str]:
        kind = self.source.randrange(12)
        a, b = self.others(TILES)
        m, n = self.others(VALUES)
        match kind:
            case 0:
                return [f"max(${a}, ${a}, ${b})"]
            case 1:
                return [f"reduce_max(${a}, ${m}, none) {{dim=-1, clear={self.flag()}}}"]
            case 2:
                if self.source.random() < 0.7:
                    return [f"min(${m}, ${m}, ${n})"]
                return [f"reduce_min(${a}, ${self.pick(LINES)}, none) {{dim=0, clear=true}}"]
            case 3:
                return [f"broadcast(${a}, ${m}, none) {{axis=1}}"]
            case 4:
                if self.source.random() < 0.5:
                    return [f"add(${m}, ${m}, 1.0)"]
                return [f"broadcast(${a}, ${self.pick(LINES)}, none) {{axis=0}}"]
            case 5:
                first = self.source.choice([0, 0, 1])
                place = f"$W[{first}:+{self.rows}, 0:+{self.columns}]"
                pair = (f"${a}", place) if self.source.random() < 0.5 else (place, f"${a}")
                return [f"copy({pair[0]}, {pair[1]}) {COPY}"]
            case 6:
                return self.parallel(a, b, m)
        return self.loop()

    def flag(self) -> str:
        return self.source.choice(["true", "false"])

    def parallel(self, a: str, b: str, m: str) -> list[str]:
        i, j = self.variable(), self.variable()
        value = self.source.choice(
            [f"${b}[%{i}, %{j}] + ${m}[%{i}]", f"${b}[%{i}, %{j}] + cast<float32>(%{i})",
             f"max(${b}[%{i}, %{j}], $g[%{j}])", f"${b}[%{i}, %{j}] - $x[]"]
        )  # fmt: skip
        return [
            f"for %{i}: int32 in parallel(0, {self.rows}) {{",
            f"for %{j}: int32 in parallel(0, {self.columns}) {{",
            f"store ${a}[%{i}, %{j}] = {value}",
            "}",
            "}",
        ]

    def variable(self) -> str:
        self.loops += 1
        return f"i{self.loops}"

    def loop(self) -> list[str]:
        i = self.variable()
        count = self.source.choice([self.rows] * 5 + [self.columns, self.rows - 1, 2])
        body: list[str] = []
        for _ in range(self.source.randint(1, 4)):
            body += self.in_loop(i, count)
        return [f"for %{i}: int32 in serial(0, {count}) {{", *body, "}"]

    def in_loop(self, i: str, count: int) -> list[str]:
        a, b = self.others(TILES)
        m, n = self.others(VALUES)
        line = self.pick(LINES)
        if count > self.rows:
            return [f"add(${line}, ${line}, 1.0)"]

        def at(name: str, offset: str = f"%{i}") -> str:
            return f"${name}[{offset}:+1, 0:+{self.columns}]"

        ahead = f"(%{i} + 1) % {self.rows}"
        choices: list[list[str]] = [
            [f"max({at(a)}, {at(b)}, ${m}[%{i}])"],
            [f"add({at(a)}, {at(a)}, {at(b)})"],
            [f"copy({at(a)}, ${line}) {COPY}"],
            [f"copy(${line}, {at(a)}) {COPY}"],
            [f"copy($Ina[%{i}:+1, 0:+{self.columns}], ${line}) {COPY}"],
            [f"max(${line}, ${line}, {at(a)})"],
            [f"max({at(a)}, {at(b)}, cast<float32>(%{i}))"],
            [f"store $x[] = ${m}[%{i}]"],
            [f"add({at(a)}, {at(a)}, $x[])"],
            [f"store ${m}[%{i}] = ${n}[%{i}] + 1.0"],
            [f"store ${m}[%{i}] = $x[]"],
            ["store $x[] = $x[] + 1.0"],
            [f"copy({at(a)}, $W[%{i}:+1, 0:+{self.columns}]) {COPY}"],
            [f"copy($W[%{i}:+1, 0:+{self.columns}], {at(a)}) {COPY}"],
            [f"copy($W[%{i} + 1:+1, 0:+{self.columns}], {at(a)}) {COPY}"],
            [f"copy({at(a)}, $W[0:+1, 0:+{self.columns}]) {COPY}"],
            [f"copy({at(a, ahead)}, {at(b)}) {COPY}"],
            ["add($a, $a, 1.0)"],
            [f"reduce_max(${line}, $s[0:+1], none) {{dim=-1, clear=true}}", "store $x[] = $s[0]"],
            [f"if %{i} % 2 == 1 {{", f"add({at(a)}, {at(a)}, 2.0)", "}"],
            [f"if ${m}[%{i}] > 4.0 {{", f"copy({at(a)}, ${line}) {COPY}", "}"],
            self.inner(i, a, b),
        ]
        return self.source.choice(choices)

    def inner(self, i: str, a: str, b: str) -> list[str]:
        j = self.variable()
        count = self.source.choice([self.rows, 2])
        row = self.source.choice([f"%{i}", f"%{j}"]) if count == self.rows else f"%{i}"
        return [
            f"for %{j}: int32 in serial(0, {count}) {{",
            f"max(${a}[%{i}:+1, 0:+{self.columns}], ${a}[%{i}:+1, 0:+{self.columns}], "
            f"${b}[{row}:+1, 0:+{self.columns}])",
            "}",
        ]


def _placed(line: str, number: int) -> str:
    """A line with its location, before the brace that opens a block."""
    if line == "}":
        return line
    if line.endswith(" {"):
        return f"{line[:-2]} @0:{number}:1 {{"
    return f"{line} @0:{number}:1"


def random_lane_kernel(seed: int) -> RandomKernel:
    return RandomKernel(random.Random(seed)).build()
