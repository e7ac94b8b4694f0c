"""Random kernels of whole blocks, as for a GPU: the steps of attention, with steps left out and others
between, under branches and in loops that tables decide. Rows come from places that lie anywhere,
whole or one by one. Values are small integers, which every type computes exactly."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from end_to_end.text_on_arrays import Array, ArrayRegion, ArrayWords, array_type

STEPS = (
    "load_k", "first_scores", "product", "masked", "highest", "shifted", "sums", "narrow", "load_v",
    "scaled", "second_product",
)  # fmt: skip
OTHERS = ("gathered", "mask", "places", "column_sums", "column_values", "stored")
INFINITY = '-T.infinity("float32")'


@dataclass(frozen=True)
class BlockProgram:
    """`shapes` are those of the parameters, with their types; `places` are names of the numbers of a
    block along the grid, `launch` is the grid as text, and `sizes` are those that a call says."""

    body: str
    grid: tuple[int, ...]
    shapes: Mapping[str, tuple[tuple[int | str, ...], str]]
    launch: str = ""
    places: tuple[str, ...] = ("bx", "by")
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        given = ", ".join(
            f'{n}: T.Tensor(({", ".join(map(str, s))},), "{d}")'
            for n, (s, d) in self.shapes.items()
        )
        symbols = "".join(f'{n} = T.symbolic("{n}")\n' for n in self.sizes)
        launch = self.launch or ", ".join(map(str, self.grid))
        return (
            f"import tile_frontend as T\n\n{symbols}\n@T.prim_func\ndef kernel({given}):\n"
            f"    with T.Kernel({launch}, threads=128) as ({', '.join(self.places)}):\n"
            f"{self.body}"
        )

    def arrays(self, seed: int) -> dict[str, Array]:
        """Tables of places hold some that are none, those of numbers of rounds too."""
        rng, ends = np.random.default_rng(seed), {"P": (-1, 6), "C": (-1, 4), "K": (-1, 4)}
        found = {}
        for n, (shape, dtype) in self.shapes.items():
            sizes = [self.sizes[s] if isinstance(s, str) else s for s in shape]
            first, last = ends.get(n, (0 if dtype.startswith("u") else -2, 3))
            found[n] = rng.integers(first, last, sizes).astype(array_type(dtype))
        return found

    def run(self, arrays: Mapping[str, Array]) -> None:
        """What the text does to arrays, as Python has it."""
        whole = compile(f"if True:\n{self.body}", "<kernel>", "exec")
        for block in np.ndindex(*self.grid):
            names: dict[str, object] = {n: ArrayRegion(a) for n, a in arrays.items()}
            places = dict(zip(self.places, block, strict=True))
            exec(whole, {"T": ArrayWords(), **self.sizes, **places, **names})


def block_program(seed: int) -> BlockProgram:
    return _BlockWriter(random.Random(seed)).program()


@dataclass
class _BlockWriter:
    """`names` are scalars, `loops` variables of loops that can be asked for."""

    r: random.Random
    R: int = 0
    N: int = 0
    D: int = 0
    keys: int = 0
    row_form: str = ""
    lines: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    loops: list[str] = field(default_factory=list)
    count: int = 0

    def put(self, depth: int, *texts: str) -> None:
        self.lines += [" " * 4 * (depth + 2 + n) + text for n, text in enumerate(texts)]

    def nest(self, depth: int, sizes: tuple[int, ...], *texts: str) -> None:
        names = "i, j" if len(sizes) > 1 else "i"
        self.put(depth, f"for {names} in T.Parallel({', '.join(map(str, sizes))}):", *texts)

    def program(self) -> BlockProgram:
        r = self.r
        self.R, self.N, self.D = r.choice([16, 16, 32]), r.choice([16, 16, 32]), r.choice([16, 32])
        rows, groups, blocks = r.choice([self.R, self.R - 1, 8]), r.choice([1, 2]), r.choice([1, 2])
        self.keys = r.choice([self.N * 3, self.N * 2 + 5, self.N - 3])
        self.row_form = r.choice(["[{0}, by, {1}]", "[{0}, {1}]"])
        keys = (self.keys, groups, self.D) if "by" in self.row_form else (self.keys, self.D)
        half = r.choice(["float16", "float16", "float32"])
        self.tiles(half)
        self.put(0, f"T.copy(Q[bx, by, 0 : {self.R}, :], q)")
        self.block(0, r.randint(0, 2))
        for _ in range(r.choice([1, 1, 2])):
            self.loop(0)
        self.block(0, r.randint(0, 2))
        for tile in ("o", "s", "m", "l", "z"):
            own = ":, :" if tile in ("o", "s") else ":"
            self.put(0, f"T.copy({tile}, {tile.upper()}[bx, by, {own}])")
        grid, f32 = (blocks, groups), "float32"
        shapes = {
            "Q": ((*grid, rows, self.D), half), "K": (keys, half), "V": (keys, half),
            "P": ((64,), "int32"), "C": ((64,), "int32"), "O": ((*grid, self.R, self.D), f32),
            "S": ((*grid, self.R, self.N), f32), "M": ((*grid, self.R), f32),
            "L": ((*grid, self.R), f32), "Z": ((*grid, self.N), f32),
            "X": ((*grid, 4, self.R, self.N), f32),
        }  # fmt: skip
        return BlockProgram("\n".join(self.lines) + "\n", grid, shapes)

    def tiles(self, half: str) -> None:
        R, N, D = self.R, self.N, self.D
        tiles: list[tuple[str, tuple[int, ...], str, str]] = [
            ("q", (R, D), half, ""), ("k", (N, D), half, "0"), ("v", (N, D), half, "0"),
            ("s", (R, N), "float32", "2"), ("p", (R, N), half, "1"), ("o", (R, D), "float32", "0"),
            ("m", (R,), "float32", INFINITY), ("before", (R,), "float32", "1"),
            ("l", (R,), "float32", "0"), ("z", (N,), "float32", "0"),
            ("rows", (N,), "int32", "0"), ("mask", (N,), "bool", ""),
        ]  # fmt: skip
        self.r.shuffle(tiles)
        for name, shape, dtype, value in tiles:
            where = "shared" if name in "qkv" else self.r.choice(["fragment", "fragment", "shared"])
            self.put(0, f'{name} = T.alloc_{where}({shape}, "{dtype}")')
            if value:
                self.put(0, f"T.fill({name}, {value})")
        self.nest(0, (N,), f"mask[i] = i < {self.r.choice([N, 5, 0])}")
        self.put(0, 'seen = T.alloc_var("int32", init=0)')

    # --- scalars ----------------------------------------------------------------------------------

    def table(self) -> str:
        at = ["bx", "bx * 3 + by", *(f"bx * 4 + {v}" for v in self.loops * 2)]
        return f"{self.r.choice('PPC')}[{self.r.choice(at)}]"

    def name(self, depth: int) -> None:
        self.count += 1
        self.names.append(f"n{self.count}")
        times = self.r.choice(["", f" * {self.N}", f" * {self.N // 2}"])
        self.put(depth, f"n{self.count} = {self.table()}{times}")

    def start(self) -> str:
        here = [f"{v} * {self.N}" for v in self.loops]
        return self.r.choice(["0", f"bx * {self.N}", *here * 2, *self.names * 3])

    def condition(self) -> str:
        asked = ["bx > 0", "seen < 2", f"{self.table()} >= 0", f"{self.table()} != -1"]
        asked += [f"{n} >= 0" for n in self.names] * 3 + [f"{n} < {self.keys}" for n in self.names]
        for v in self.loops:
            asked += [f"{v} % 2 == 0", f"{v} > 0", f"{v} < {self.table()}"]
        one, other = self.r.choice(asked), self.r.choice(asked)
        return f"({one}) {self.r.choice('&|')} ({other})" if self.r.random() < 0.3 else one

    # --- statements -------------------------------------------------------------------------------

    def block(self, depth: int, count: int) -> None:
        names = list(self.names)
        for _ in range(count):
            kind = self.r.random()
            if kind < 0.15 and depth < 4:
                self.put(depth, f"if {self.condition()}:")
                self.block(depth + 1, self.r.randint(1, 3))
                if self.r.random() < 0.3:
                    self.put(depth, "else:")
                    self.block(depth + 1, 1)
            elif kind < 0.22 and depth < 4:
                self.name(depth)
                self.load_k(depth)
            elif kind < 0.27:
                self.put(depth, "seen = seen + 1")
            else:
                getattr(self, self.r.choice([*STEPS, *OTHERS, *OTHERS]))(depth)
        self.names = names

    def loop(self, depth: int) -> None:
        names = list(self.names)
        self.count += 1
        variable = f"t{self.count}"
        rounds = self.r.choice(["1", "2", "4", "T.min(T.max(C[bx], 0), 4)", "bx + 1"])
        pipelined = f"T.Pipelined({rounds}, num_stages={self.r.randint(0, 3)})"
        how = self.r.choice([pipelined, pipelined, f"T.serial({rounds})"])
        self.put(depth, f"for {variable} in {how}:")
        self.loops.append(variable)
        inside = depth + 1
        if self.r.random() < 0.6:
            self.name(inside)
        if self.r.random() < 0.4:
            self.put(inside, f"if {self.condition()}:")
            inside += 1
        for step in STEPS:
            if self.r.random() < 0.85:
                getattr(self, step)(inside)
            if self.r.random() < 0.12:
                self.block(inside, 1)
        self.put(inside, "seen = seen + 1")
        self.loops.pop()
        self.names = names

    def cut(self, value: str) -> str:
        return f"T.max(T.min({value}, 8), -8)"

    def element(self, tensor: str, row: str, column: str) -> str:
        return tensor + self.row_form.format(row, column)

    def row(self) -> str:
        here = [f"P[{v} * 4 + i]" for v in self.loops] + [f"{n} + i" for n in self.names]
        return self.r.choice(["P[i]", "rows[i]", "P[bx + i]", *here])

    def load(self, depth: int, tensor: str, tile: str) -> None:
        start = self.start()
        rows = f"{start} : {start} + {self.N}"
        self.put(depth, f"T.copy({self.element(tensor, rows, ':')}, {tile})")

    def load_k(self, depth: int) -> None:
        self.load(depth, "K", "k")

    def load_v(self, depth: int) -> None:
        self.load(depth, self.r.choice("VVK"), "v")

    def gathered(self, depth: int) -> None:
        tile, row = self.r.choice("kv"), self.row()
        value = self.element(self.r.choice("KV"), row, self.r.choice(["j", f"{self.D - 1} - j"]))
        asked = self.r.choice(["mask[i]", f"{row} >= 0"])
        chosen = f"{tile}[i, j] = T.if_then_else({asked}, {value}, 0)"
        guarded = (f"if {asked}:", f"{tile}[i, j] = {value}")
        texts = self.r.choice([(f"{tile}[i, j] = {value}",), (chosen,), guarded])
        self.nest(depth, (self.N, self.D), *texts)

    def mask(self, depth: int) -> None:
        row, limit = self.row(), self.r.choice(["3", "bx + 2", "seen", *self.names])
        inside = f"({row} <= {limit}) & ({row} != -1)"
        self.nest(depth, (self.N,), f"mask[i] = {self.r.choice([inside, f'i < {limit}'])}")

    def places(self, depth: int) -> None:
        row = self.row().replace("rows[i]", "P[i + 1]")
        some = f"T.if_then_else({row} > 2, {row}, -1)"
        self.nest(
            depth, (self.N,), f"rows[i] = {self.r.choice([row, some, self.start() + ' + i'])}"
        )

    def first_scores(self, depth: int) -> None:
        asked = self.r.choice(["mask[j]", f"{self.start()} + j < {self.keys}", "i >= j"])
        value = f"T.if_then_else({asked}, {self.r.choice(['0', 'z[j]'])}, {INFINITY})"
        self.nest(depth, (self.R, self.N), f"s[i, j] = {self.r.choice(['0', value])}")

    def product(self, depth: int) -> None:
        self.put(depth, f"T.gemm(q, k, s, transpose_B=True, clear_accum={self.r.random() < 0.3})")

    def second_product(self, depth: int) -> None:
        self.put(depth, f"T.gemm(p, v, o, clear_accum={self.r.random() < 0.3})")

    def masked(self, depth: int) -> None:
        asked = self.r.choice(["mask[j]", "i >= j", "z[j] > 1", "m[i] > l[i]"])
        value = f"s[i, j] = T.if_then_else({asked}, s[i, j], {self.r.choice(['0', 'z[j]'])})"
        guarded = (f"if {asked}:", f"s[i, j] = {self.cut('s[i, j]')}")
        self.nest(depth, (self.R, self.N), *self.r.choice([(value,), guarded]))

    def highest(self, depth: int) -> None:
        self.put(depth, "T.copy(m, before)")
        self.put(depth, f"T.reduce_max(s, m, dim=1, clear={self.r.random() < 0.5})")

    def shifted(self, depth: int) -> None:
        value = self.cut(self.r.choice(["T.max(s[i, j], -8) - T.max(m[i], -8)", "s[i, j] + 1"]))
        self.nest(depth, (self.R, self.N), f"s[i, j] = {value}")

    def cut_scores(self, depth: int) -> None:
        self.nest(depth, (self.R, self.N), f"s[i, j] = {self.cut('s[i, j]')}")

    def sums(self, depth: int) -> None:
        self.cut_scores(depth)
        self.put(depth, f"T.reduce_sum(s, l, dim=1, clear={self.r.random() < 0.5})")

    def column_sums(self, depth: int) -> None:
        self.cut_scores(depth)
        self.put(depth, f"T.reduce_sum(s, z, dim=0, clear={self.r.random() < 0.5})")

    def column_values(self, depth: int) -> None:
        value = f"T.if_then_else(mask[i], 1, {self.cut('z[i] + 1')})"
        self.nest(depth, (self.N,), f"z[i] = {value}")

    def narrow(self, depth: int) -> None:
        self.cut_scores(depth)
        self.put(depth, "T.copy(s, p)")

    def scaled(self, depth: int) -> None:
        times = self.cut(f"o[i, j] * {self.cut('before[i]')}")
        chosen = f"T.if_then_else(m[i] > 0, {self.cut('o[i, j]')}, {self.cut('l[i]')})"
        self.nest(depth, (self.R, self.D), f"o[i, j] = {self.r.choice([times, chosen])}")

    def stored(self, depth: int) -> None:
        at = self.r.choice([str(self.r.randint(0, 3)), *self.loops])
        self.put(depth, f"T.copy(s, X[bx, by, {at}, :, :])")


__all__ = ["BlockProgram", "block_program"]
