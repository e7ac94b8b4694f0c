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
            elif loops and kind < 0.44:
                self.carried(depth, loops)
            elif depth < 3 and kind < 0.5:
                self.rows(depth, loops)
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

    def carried(self, depth: int, loops: list[str]) -> None:
        """A buffer that begins in the first round of a loop, or of two, or so it seems, and is
        added to in the others."""
        rng = self.rng
        loop = loops[-1] if rng.random() < 0.7 else rng.choice(loops)
        begins = f"{loop} {rng.choice(['==', '==', '<='])} {rng.choice('0001')}"
        if rng.random() < 0.4:
            begins += f" and {rng.choice(loops)} == {rng.choice('01')}"
        name = rng.choice(list(self.sizes))
        alike = rng.choice([n for n in self.sizes if self.sizes[n] == self.sizes[name]])
        first, later = f"fill(${name}, {self.value()})", f"add(${name}, ${name}, ${alike})"
        turned = rng.random() < 0.3
        if turned:
            begins, first, later = f"not ({begins})", later, first
        self.line(depth, f"if {begins} @0:{self.at()}:1 {{")
        self.op(depth + 1, first)
        if rng.random() < 0.7 or turned:
            self.line(depth, "} else {")
            self.op(depth + 1, later)
        self.line(depth, "}")
        if rng.random() < 0.5:
            self.result(depth, name)

    def rows(self, depth: int, loops: list[str]) -> None:
        """A loop that writes a buffer part by part, or so it seems: in one branch or in both, some
        parts of it, a part that was read before, or until it is left."""
        rng = self.rng
        name = rng.choice(list(self.sizes))
        parts = rng.choice([2, 4, 4])
        size = self.sizes[name] // parts
        start, stop = rng.choice([("0", str(parts))] * 5 + [("1", str(parts)), ("0", "2")])
        if rng.random() < 0.15:
            stop = f"min({self.choice()}, {parts})"
        loop, at = f"%i{len(self.lines)}", f"%p{len(self.lines)}"
        place = f"{loop} * {size}"
        if rng.random() < 0.3:
            place = f"{(parts - 1) * size} - {place}"
        elif rng.random() < 0.1:
            place = f"{loop} % 2 * {size}"
        self.line(depth, f"for {loop}: int32 in serial({start}, {stop}) @0:{self.at()}:1 {{")
        if rng.random() < 0.5:
            self.line(depth + 1, f"let {at}: int32 = {place} @0:{self.at()}:1")
            place = at
        if rng.random() < 0.1:
            self.row_used(depth + 1, name, place, size)
        self.row_written(depth + 1, name, place, size, [*loops, loop])
        if rng.random() < 0.3:
            self.row_used(depth + 1, name, place, size)
        if rng.random() < 0.1:
            self.line(depth + 1, f"if {self.choice()} == {loop} @0:{self.at()}:1 {{")
            self.line(depth + 2, f"break @0:{self.at()}:1")
            self.line(depth + 1, "}")
        self.line(depth, "}")
        if rng.random() < 0.7:
            self.result(depth, name)

    def row_written(
        self, depth: int, name: str, place: str, size: int, loops: list[str], nested: bool = False
    ) -> None:
        rng = self.rng
        row, kind, half = f"${name}[{place}:+{size}]", rng.random(), size // 2
        if kind < 0.25 and not nested:
            self.line(depth, f"if ({self.choice()} + {loops[-1]}) % 2 == 0 @0:{self.at()}:1 {{")
            self.row_written(depth + 1, name, place, size, loops, True)
            if rng.random() < 0.85:
                self.line(depth, "} else {")
                self.row_written(depth + 1, name, place, size, loops, True)
            self.line(depth, "}")
        elif kind < 0.5:
            number = f"%n{len(self.lines)}"
            self.line(depth, f"let {number}: int32 = {self.choice()} @0:{self.at()}:1")
            some = f"min({number}, 2)"
            whole = rng.choice([f"{some} == 2", f"{loops[0]} >= 0 and {some} == 2", f"{some} > 0"])
            self.line(depth, f"if not ({whole}) @0:{self.at()}:1 {{")
            self.op(depth + 1, f"fill({row}, {self.value()})")
            self.line(depth, "}")
            self.line(depth, f"if {some} > 0 @0:{self.at()}:1 {{")
            source = f"$X[{rng.randrange(RESULTS)}:+1, 0:+{some} * {half}]"
            target = f"${name}[{place}:+{some} * {half}]"
            self.op(depth + 1, f"copy_gm_ub({source}, {target}) {{pad_value=0.0}}")
            self.line(depth, "}")
        elif kind < 0.65:
            inner = f"%j{len(self.lines)}"
            self.line(depth, f"for {inner}: int32 in serial(0, 2) @0:{self.at()}:1 {{")
            step = rng.choice([half, half, half, size // 4])
            target = f"${name}[{place} + {inner} * {step}:+{step}]"
            self.op(depth + 1, f"fill({target}, {self.value()})")
            self.line(depth, "}")
        else:
            self.op(depth, f"fill({row}, {self.value()})")

    def row_used(self, depth: int, name: str, place: str, size: int) -> None:
        rng = self.rng
        row = f"${name}[{place}:+{size}]"
        if rng.random() < 0.5:
            self.op(depth, f"add({row}, {row}, {self.value()})")
        else:
            target = rng.randrange(RESULTS)
            self.op(depth, f"copy_ub_gm({row}, $Y[{target}:+1, 0:+{size}])")

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
