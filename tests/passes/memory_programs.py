"""Random programs that use many buffers, for the planner of memory: their text, not what is checked.

Fresh memory is NaN and every operation here hands NaN on, so an element that depends on something
never written is NaN in the reference; every other one must be the same wherever buffers lie.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import tile_ir
from tile_ir import Func

# Elements in the tensors the programs read and write; rows of results.
WIDTH = 1536
RESULTS = 16
CHOICES = 24


@dataclass
class _Writer:
    rng: random.Random
    sizes: dict[str, int]
    aliases: dict[str, str]
    lines: list[str] = field(default_factory=list)
    cells: int = 0
    results: int = 0

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * (depth + 3) + text)

    def block(self, depth: int, loops: list[str], in_loop: bool) -> None:
        for _ in range(self.rng.randint(1, 5)):
            kind = self.rng.random()
            if depth < 3 and kind < 0.16:
                self.loop(depth, loops)
            elif depth < 3 and kind < 0.2:
                self.while_(depth, loops)
            elif depth < 3 and kind < 0.32:
                self.branch(depth, loops, in_loop)
            else:
                self.operation(depth)

    def loop(self, depth: int, loops: list[str]) -> None:
        start = self.rng.randint(0, 1)
        stop = self.rng.choice([str(start + self.rng.randint(0, 3)), self.choice()])
        name = f"%i{len(self.lines)}"
        self.line(depth, f"for {name}: int32 in serial({start}, {stop}) @0:{self.at()}:1 {{")
        self.block(depth + 1, [*loops, name], True)
        self.line(depth, "}")

    def while_(self, depth: int, loops: list[str]) -> None:
        cell = f"$x{self.cells}"
        self.cells += 1
        more = " and $c[0] > 0.0" if self.rng.random() < 0.5 else ""
        self.line(depth, f"store {cell}[] = {self.choice()} @0:{self.at()}:1")
        self.line(depth, f"while {cell}[] > 0{more} @0:{self.at()}:1 {{")
        self.line(depth + 1, f"store {cell}[] = {cell}[] - 1 @0:{self.at()}:1")
        self.block(depth + 1, loops, True)
        self.line(depth, "}")

    def branch(self, depth: int, loops: list[str], in_loop: bool) -> None:
        turn = f" + {self.rng.choice(loops)}" if loops and self.rng.random() < 0.6 else ""
        condition = f"({self.choice()}{turn}) % 2 == 0"
        if self.rng.random() < 0.2:
            condition = "$c[1] > 0.0"
        self.line(depth, f"if {condition} @0:{self.at()}:1 {{")
        self.block(depth + 1, loops, in_loop)
        if in_loop and self.rng.random() < 0.25:
            self.line(depth + 1, f"break @0:{self.at()}:1")
        if self.rng.random() < 0.5:
            self.line(depth, "} else {")
            self.block(depth + 1, loops, in_loop)
        self.line(depth, "}")

    def operation(self, depth: int) -> None:
        rng = self.rng
        dst = rng.choice(list(self.sizes))
        size = self.sizes[dst]
        alike = [n for n in self.sizes if self.sizes[n] == size]
        a, b = rng.choice(alike), rng.choice(alike)
        half = size // 2
        kind = rng.random()
        if kind < 0.25:
            self.op(depth, f"fill(${dst}, {self.value()})")
        elif kind < 0.35:
            start = rng.choice([0, half])
            self.op(depth, f"fill(${dst}[{start}:+{half}], {self.value()})")
        elif kind < 0.4:
            row = rng.randrange(RESULTS)
            self.op(
                depth, f"copy_gm_ub($X[{row}:+1, 0:+{size}], ${dst}[0:+{size}]) {{pad_value=0.0}}"
            )
        elif kind < 0.65:
            self.op(depth, f"add(${dst}, ${a}, ${b})")
        elif kind < 0.72:
            self.op(depth, f"add(${dst}, ${a}, {self.value()})")
        elif kind < 0.74:
            self.op(depth, f"round(${dst}, ${a}, 64, none)")
        elif kind < 0.78 and a != dst:
            start = rng.choice([0, half])
            self.op(depth, f"abs(${dst}[{start}:+{half}], ${a}[{start}:+{half}])")
        elif kind < 0.82 and self.root(a) != self.root(dst):
            self.op(depth, f"copy_ub_ub(${a}, ${dst})")
        elif kind < 0.88:
            spot = f"${dst}[{rng.randrange(size)}]"
            self.line(depth, f"store {spot} = ${a}[{rng.randrange(size)}] @0:{self.at()}:1")
        elif kind < 0.92:
            self.op(depth, f"fill($c, {rng.choice(['1.0', '-1.0'])})")
        else:
            self.result(depth, dst)

    def result(self, depth: int, name: str) -> None:
        row = self.results % RESULTS
        self.results += 1
        size = self.sizes[name]
        self.op(depth, f"copy_ub_gm(${name}[0:+{size}], $Y[{row}:+1, 0:+{size}])")

    def op(self, depth: int, text: str) -> None:
        self.line(depth, f"{text} @0:{self.at()}:1")

    def root(self, name: str) -> str:
        return self.aliases.get(name, name)

    def at(self) -> int:
        return len(self.lines) + 1

    def value(self) -> float:
        return self.rng.randint(1, 10**6) / 1024

    def choice(self) -> str:
        return f"$N[{self.rng.randrange(CHOICES)}]"


def random_program(rng: random.Random) -> Func:
    """Four to fourteen buffers of 1 to 6 KB and up to two aliases; nested loops, branches, breaks,
    partial writes, scalar accesses. Parameters: X [16, 1536] to read, N [24] from which trip counts
    and branches come, Y [16, 1536] to write."""
    sizes = {f"b{i}": rng.randint(1, 6) * 256 for i in range(rng.randint(4, 14))}
    roots = list(sizes)
    aliases = {f"v{i}": rng.choice(roots) for i in range(rng.randint(0, 2))}
    for name, root in aliases.items():
        sizes[name] = rng.choice([sizes[root], 256])
    writer = _Writer(rng, sizes, aliases)
    writer.op(0, "fill($c, 1.0)")
    writer.block(0, [], False)
    writer.block(0, [], False)
    for name in rng.sample(roots, rng.randint(1, 3)):
        writer.result(0, name)
    allocs = "".join(
        f"    alloc ${n}: ub float32 [{size}]"
        + (f" alias ${aliases[n]}" if n in aliases else "")
        + " @0:1:1\n"
        for n, size in sizes.items()
    )
    allocs += "    alloc $c: ub float32 [8] @0:1:1\n"
    allocs += "".join(f"    alloc $x{i}: var int32 [] @0:1:1\n" for i in range(writer.cells))
    return tile_ir.parse(
        'file 0 "k.py"\nfunc "k" phase split automatic memory @0:1:1 {\n'
        f"  tensor $X: float32 [{RESULTS}, {WIDTH}] @0:1:1\n"
        f"  tensor $N: int32 [{CHOICES}] @0:1:1\n"
        f"  tensor $Y: float32 [{RESULTS}, {WIDTH}] @0:1:1\n"
        "  launch blocks(1) %cid %vid threads any @0:1:1 {\n"
        f"{allocs}    section vector @0:1:1 {{\n" + "\n".join(writer.lines) + "\n    }\n  }\n}\n"
    )
