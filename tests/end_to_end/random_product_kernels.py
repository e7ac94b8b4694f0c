"""Random kernels of products (`product_program`): operands and sums are filled, loaded whole or in parts,
changed by elements, under a second name or by rows, copied on and stored, between products, in loops
and under branches. Values are small integers, which every type computes exactly."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from end_to_end.kernel_text import KernelText
from end_to_end.random_block_kernels import BlockProgram

N = 32
OPERANDS, SUMS = ("a", "b", "d"), ("c", "e")
LINES = ("m", "z")


def product_program(seed: int) -> BlockProgram:
    return _ProductWriter(random.Random(seed)).program()


@dataclass
class _ProductWriter(KernelText):
    """`second` are tiles that have a second name."""

    second: tuple[str, ...] = ()
    loops: list[str] = field(default_factory=list)

    def program(self) -> BlockProgram:
        r = self.r
        tiles = (*OPERANDS, *SUMS)
        self.second = tuple(t for t in tiles if self.often(0.15))
        for tile in r.sample(tiles, len(tiles)):
            kind, dtype = ("fragment", "float32") if tile in SUMS else ("shared", "float16")
            self.put(f'{tile} = T.alloc_{kind}(({N}, {N}), "{dtype}")')
        for line in LINES:
            self.put(f'{line} = T.alloc_fragment(({N},), "float32")', f"T.fill({line}, 1)")
        for tile in self.second:
            self.put(f"{tile}2 = T.reshape({tile}, ({N * N},))")
        for tile in tiles:
            self.put(self.pick(f"T.clear({tile})", f"T.fill({tile}, 2)", self.loaded(tile)))
        for _ in range(r.randint(2, 6)):
            self.statement()
        blocks = r.choice([1, 1, 2, 3, 6])
        for number, tile in enumerate(tiles):
            self.put(f"T.copy({tile}, {self.result(tile)}[bx, {number}, :, :])")
        for line in LINES:
            self.put(f"T.copy({line}, {line.upper()}[bx, :])")
        shapes = {
            "A": ((3 * N, 2 * N), "float16"), "F": ((3 * N, 2 * N), "float32"), "P": ((64,), "int32"),
            "H": ((blocks, 3, N, N), "float16"), "Y": ((blocks, 5, N, N), "float32"),
            "W": ((blocks, 4, N, N), "float32"), "M": ((blocks, N), "float32"),
            "Z": ((blocks, N), "float32"),
        }  # fmt: skip
        return BlockProgram("\n".join(self.lines) + "\n", (blocks,), shapes, places=("bx",))

    def result(self, tile: str) -> str:
        return "Y" if tile in SUMS else "H"

    def cut(self, value: str) -> str:
        return f"T.max(T.min({value}, 2), -2)"

    def first(self) -> str:
        return self.pick("0", "16", "7", f"bx * {N}", *[f"{k} * 8" for k in self.loops])

    def loaded(self, tile: str, rows: int = N, at: int = 0) -> str:
        tensor = "F" if tile in SUMS else "A"
        first, column = self.first(), self.pick("0", "0", "16", "48")
        part = tile if rows == N else f"{tile}[{at} : {at + rows}, :]"
        return f"T.copy({tensor}[{first} : {first} + {rows}, {column} : {column} + {N}], {part})"

    # --- statements -------------------------------------------------------------------------------

    def statement(self) -> None:
        kinds = [self.product] * 6 + [self.load] * 2 + [self.part] * 3 + [self.nest] * 3
        kinds += [self.rows, self.filled, self.moved, self.moved, self.reduced, self.stored]
        kinds += [self.turned, self.element, self.rows_one_by_one]
        if self.second:
            kinds += [self.renamed] * 3
        if self.depth < 2:
            kinds += [self.loop] * 3 + [self.branch] * 2
        self.r.choice(kinds)()

    def tile(self) -> str:
        return self.pick(*OPERANDS, *SUMS)

    def product(self) -> None:
        a, b, c = self.pick(*OPERANDS), self.pick(*OPERANDS), self.pick(*SUMS)
        said = self.pick("", "", ", transpose_B=True", ", clear_accum=True", ", clear_accum=True")
        self.put(f"T.gemm({a}, {b}, {c}{said})")

    def load(self) -> None:
        self.put(self.loaded(self.tile()))

    def part(self) -> None:
        at = self.r.choice([0, 16])
        self.put(self.loaded(self.tile(), 16, at))

    def value(self, tile: str, j: str = "j") -> str:
        """For an element of a row; nothing of other elements of the tile itself."""
        other = self.pick(*[t for t in (*OPERANDS, *SUMS) if t != tile])
        simple = (f"{tile}[i, {j}]", f"{other}[i, {j}]", f"m[i] + {tile}[i, {j}]", f"z[{j}]", "1",
                  f"{other}[{j}, i]", f"{other}[i, {N - 1} - {j}]", f"{other}[{N - 1} - i, {j}]",
                  f"A[i, {j}]", f"T.if_then_else(i > {j}, {tile}[i, {j}], {other}[i, {j}])",
                  *[f"{tile}[i, {j}] + {k}" for k in self.loops])  # fmt: skip
        one = self.pick(*simple)
        return self.cut(f"{one} + {self.pick(*simple)}" if self.often(0.5) else one)

    def nest(self) -> None:
        tile = self.tile()
        with self.inside(f"for i, j in T.Parallel({N}, {N}):"):
            guard = self.pick("i > j", "j < 16", "z[j] > 0", f"i < {self.first()}")
            if self.often(0.2):
                self.put(f"if {guard}:", f"    {tile}[i, j] = {self.value(tile)}")
            else:
                self.put(f"{tile}[i, j] = {self.value(tile)}")

    def rows(self) -> None:
        tile, at = self.tile(), self.r.choice([0, 16, 8])
        with self.inside(f"for i, j in T.Parallel(16, {N}):"):
            other = self.pick(*[t for t in (*OPERANDS, *SUMS) if t != tile])
            place = f"{tile}[i + {at}, j]"
            read = self.pick(place, f"{other}[i, j]", "z[j]")
            self.put(f"{place} = {self.cut(f'{read} + 1')}")

    def rows_one_by_one(self) -> None:
        tile, self.count = self.tile(), self.count + 1
        k = f"r{self.count}"
        with self.inside(f"for {k} in T.serial({self.pick('4', str(N))}):"):
            other = self.pick(*[t for t in (*OPERANDS, *SUMS) if t != tile])
            self.put(f"for j in T.Parallel({N}):",
                     f"    {tile}[{k}, j] = {self.cut(f'{other}[{k}, j] + z[j]')}")  # fmt: skip

    def renamed(self) -> None:
        tile = self.pick(*self.second)
        if self.often(0.3):
            self.put(f"T.fill({tile}2, 1)")
        else:
            value = self.pick(f"{tile}2[x] + 1", "2", f"z[x % {N}]", f"m[x // {N}] + {tile}2[x]")
            self.put(f"for x in T.Parallel({N * N}):", f"    {tile}2[x] = {self.cut(value)}")

    def filled(self) -> None:
        tile = self.tile()
        self.put(self.pick(f"T.clear({tile})", f"T.fill({tile}, 1)"))

    def moved(self) -> None:
        """A copy of a tile, first cut to small values where it is a sum."""
        source, target = self.tile(), self.tile()
        if source == target:
            target = "d" if source != "d" else "a"
        if source in SUMS and target in OPERANDS:
            with self.inside(f"for i, j in T.Parallel({N}, {N}):"):
                self.put(f"{source}[i, j] = {self.cut(f'{source}[i, j]')}")
        half = self.pick("", "", "[0 : 16, :]") if target not in SUMS or source not in SUMS else ""
        self.put(f"T.copy({source}{half}, {target}{half})")

    def reduced(self) -> None:
        tile, dim = self.pick(*SUMS), self.r.choice([0, 1])
        line = LINES[1 - dim]
        self.put(f"T.reduce_{self.pick('max', 'min')}({tile}, {line}, dim={dim}, clear=True)")
        self.put(f"for i in T.Parallel({N}):", f"    {line}[i] = {self.cut(f'{line}[i]')}")

    def turned(self) -> None:
        tile = self.pick(*OPERANDS)
        other = self.pick(*[t for t in (*OPERANDS, *SUMS) if t != tile])
        with self.inside(f"for i, j in T.Parallel({N}, {N}):"):
            self.put(f"{tile}[j, i] = {self.cut(f'{other}[i, j]')}")

    def element(self) -> None:
        tile, other = self.tile(), self.tile()
        self.count += 1
        self.put(f"s{self.count} = {tile}[{self.r.randrange(N)}, 3]")
        with self.inside(f"for i, j in T.Parallel({N}, {N}):"):
            self.put(f"{other}[i, j] = {self.cut(f'{other}[i, j] + s{self.count}')}")

    def stored(self) -> None:
        tile = self.pick(*SUMS)
        self.put(f"T.copy({tile}, W[bx, {self.pick('0', '3', *self.loops)}, :, :])")

    def branch(self) -> None:
        asked = self.pick("bx > 0", "P[bx] > 0", *[f"{k} > 0" for k in self.loops],
                          *[f"P[{k}] > 1" for k in self.loops])  # fmt: skip
        with self.inside(f"if {asked}:"):
            for _ in range(self.r.randint(1, 2)):
                self.statement()
        if self.often(0.3):
            with self.inside("else:"):
                self.statement()

    def loop(self) -> None:
        self.count += 1
        k, rounds = f"k{self.count}", self.pick("1", "2", "3", "T.min(T.max(P[bx], 0), 3)")
        how = self.pick(f"T.serial({rounds})", f"T.Pipelined({rounds}, num_stages=2)")
        with self.inside(f"for {k} in {how}:"):
            self.loops.append(k)
            for _ in range(self.r.randint(1, 4)):
                self.statement()
            self.put("T.gemm(a, b, c)")
            self.loops.pop()


__all__ = ["product_program"]
