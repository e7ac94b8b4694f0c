"""Random programs that write small buffers row by row, in loops, branches and branches between them,
and read them: for checks of what memory holds."""

from __future__ import annotations

import random

import tile_ir
from tile_ir import Func

ROWS, COLUMNS = 4, 16


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []

    def line(self, text: str, end: str = "") -> None:
        self.lines.append(f"{text} @0:{len(self.lines) + 20}:1{end}")

    def block(self, depth: int, loops: list[str]) -> None:
        for _ in range(self.rng.randint(2, 4)):
            kind = self.rng.random()
            if depth < 2 and kind < 0.2:
                var = f"%t{len(self.lines)}"
                self.line(
                    f"for {var}: int32 in serial(0, {self.rng.choice(['%n', '2', '3'])})", " {"
                )
                self.block(depth + 1, [*loops, var])
                self.lines.append("}")
            elif kind < 0.3:
                self.line(f"if {self.condition(loops)}", " {")
                self.whole()
                self.lines.append("}")
            elif kind < 0.55:
                self.whole()
            else:
                self.rows(loops)

    def condition(self, loops: list[str]) -> str:
        rng = self.rng
        return rng.choice(["%n > 1", "%m > 0", *(f"{v} == {rng.randrange(2)}" for v in loops)])

    def whole(self) -> None:
        name = self.rng.choice("xyz")
        self.line(self.rng.choice([f"fill(${name}, 1.0)", f"copy_ub_gm(${name}, $B)"]))

    def rows(self, loops: list[str]) -> None:
        rng, name, var = self.rng, self.rng.choice("xyz"), f"%k{len(self.lines)}"
        start, stop = rng.choice([(0, "4")] * 6 + [(1, "4"), (0, "3"), (0, "min(%n, 4)")])
        offset = rng.choice([var, var, var, var, f"3 - {var}", f"{var} % 2", f"({var} + 1) % 4"])
        self.line(f"for {var}: int32 in serial({start}, {stop})", " {")
        for _ in range(rng.randint(1, 3)):
            kind = rng.random()
            if kind < 0.6:
                self.row(name, offset, [*loops, var])
            elif kind < 0.7:
                self.line(f"if {self.condition([*loops, var])}", " {")
                self.line("break")
                self.lines.append("}")
            elif kind < 0.8:
                other = rng.choice([f"min({var} + 1, 3)", f"max({var} - 1, 0)", "2", "%m"])
                self.line(f"copy_ub_gm({self.part(name, other)}, $B[0:+1, 0:+{COLUMNS}])")
            elif kind < 0.9:
                self.line(f"copy_ub_gm({self.part(name, offset)}, $B[0:+1, 0:+{COLUMNS}])")
            else:
                self.whole()
        self.lines.append("}")

    def row(self, name: str, offset: str, loops: list[str], nested: bool = False) -> None:
        rng, kind, row = self.rng, self.rng.random(), self.part(name, offset)
        if kind < 0.3 and not nested:
            self.line(f"if {self.condition(loops)}", " {")
            self.row(name, offset, loops, True)
            if rng.random() < 0.8:
                self.lines.append("} else {")
                self.row(name, offset, loops, True)
            self.lines.append("}")
        elif kind < 0.5:
            whole = rng.choice(["min(%n, 2) == 2", "%m >= 0 and min(%n, 2) == 2", "%n > 0"])
            self.line(f"if not ({whole})", " {")
            self.line(f"fill({row}, 1.0)")
            self.lines.append("}")
            self.line("if min(%n, 2) > 0", " {")
            some = f"min(%n, 2) * {COLUMNS // 2}"
            self.line(
                f"copy_gm_ub($A[0:+1, 0:+{some}], ${name}[{offset}:+1, 0:+{some}]) {{pad_value=0.0}}"
            )
            self.lines.append("}")
        elif kind < 0.65:
            half, var = COLUMNS // 2, f"%h{len(self.lines)}"
            self.line(f"for {var}: int32 in serial(0, {rng.choice(['2', '2', '2', '1'])})", " {")
            self.line(f"fill(${name}[{offset}:+1, {var} * {half}:+{half}], 1.0)")
            self.lines.append("}")
        elif kind < 0.75:
            self.line(f"add({row}, {row}, 1.0)")
        else:
            self.line(f"fill({row}, 1.0)")

    def part(self, name: str, offset: str) -> str:
        return f"${name}[{offset}:+1, 0:+{COLUMNS}]"


def rows(rng: random.Random) -> Func:
    """Three buffers of four rows of 64 bytes at random addresses."""
    writer = _Writer(rng)
    writer.line("for %t: int32 in serial(0, %n)", " {")
    writer.block(1, ["%t"])
    writer.lines.append("}")
    size = f"[{ROWS}, {COLUMNS}]"
    allocs = "".join(
        f"    alloc ${n}: ub float32 {size} address {32 * rng.randrange(8)} @0:1:1\n" for n in "xyz"
    )
    return tile_ir.parse(
        'file 0 "k.py"\nfunc "k" phase planned @0:1:1 {\n'
        f"  tensor $A: float32 {size} @0:1:1\n  tensor $B: float32 {size} @0:1:1\n"
        "  scalar %n: int32\n  scalar %m: int32\n"
        "  launch blocks(1) %cid %vid threads any @0:1:1 {\n"
        f"{allocs}    section vector @0:1:1 {{\n" + "\n".join(writer.lines) + "\n    }\n  }\n}\n"
    )
