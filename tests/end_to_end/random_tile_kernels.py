"""Random kernels that do elements of tiles, as for a GPU: over grids of one or two dimensions, with
tails, several tiles and outputs, single elements, numbers that data decide, rows by loops, windows,
tensors read and written in place, sums of all blocks, and products with what follows them. Values are small integers,
which every type computes exactly."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from end_to_end.kernel_text import KernelText
from end_to_end.random_block_kernels import BlockProgram

TYPES = ("float32", "float32", "float16", "bfloat16", "int32", "int16", "int8", "uint8")
# Types whose sums over a tile are exact and known to the language.
SUMMED = ("float32", "float16", "int32")
TILES, ROWS, COLUMNS = ("t", "u", "w"), ("m", "n"), ("z", "c")


def tile_program(seed: int, cores: int = 20) -> BlockProgram:
    """A program whose grid is smaller or larger than so many cores."""
    return _TileWriter(random.Random(seed), cores).program()


@dataclass
class _TileWriter(KernelText):
    """`row` and `column` say where the tile of a block begins."""

    cores: int
    dtype: str = ""
    R: int = 0
    C: int = 0
    high: int = 0
    wide: int = 0
    grid: tuple[int, ...] = ()
    block: str = ""
    row: str = ""
    column: str = ""
    launch: str = ""
    places: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    counts: tuple[int, int] = (1, 1)
    high_name: str = ""
    least: int = -8
    loops: list[tuple[str, int]] = field(default_factory=list)
    values: list[str] = field(default_factory=list)

    # --- text -------------------------------------------------------------------------------------

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        """Names given inside are not read behind."""
        before = list(self.values)
        with super().inside(head):
            yield
        self.values = before

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    # --- the program ------------------------------------------------------------------------------

    def program(self) -> BlockProgram:
        r = self.r
        self.dtype = r.choice(TYPES)
        self.least = 0 if self.dtype == "uint8" else -8
        self.R, self.C = r.choice([1, 1, 2, 4, 8, 8, 5]), r.choice([16, 16, 32, 64, 8, 24, 13])
        matrix = self.dtype in ("float16", "float32") and self.often(0.2)
        if matrix:
            self.R, self.C = 16, r.choice([16, 32])
        self.shape_of_grid()
        alloc = r.choice(["fragment", "shared"])
        for names, shape in ((TILES, (self.R, self.C)), (ROWS, (self.R,)), (COLUMNS, (self.C,))):
            for name in names:
                self.put(f'{name} = T.alloc_{alloc}({shape}, "{self.dtype}")')
        self.put(f'f = T.alloc_{alloc}(({self.R}, {self.C}), "float32")', "T.fill(f, 1)")
        self.put('seen = T.alloc_var("int32", init=0)')
        for tile in TILES:
            self.put(
                f"T.copy(X[{self.own()}], {tile})" if self.often(0.6) else f"T.fill({tile}, 1)"
            )
        for name in ROWS:
            self.put(
                f"T.copy(G[{self.own_rows()}], {name})" if self.often(0.5) else f"T.fill({name}, 2)"
            )
        for name in COLUMNS:
            self.put(
                f"T.copy(B[{self.own_columns()}], {name})"
                if self.often(0.5)
                else f"T.fill({name}, 3)"
            )
        if matrix:
            self.matrix()
        for _ in range(r.randint(1, 5)):
            self.statement()
        self.store_all()
        high, wide, d, (rows, columns) = self.high_name, self.wide, self.dtype, self.counts
        shapes = {
            "X": ((high, wide), d), "Y": ((high, wide), d), "U": ((high, wide), d),
            "V": ((high, wide), d), "G": ((high,), d), "B": ((wide,), d), "M": ((columns, high), d),
            "Z": ((rows, wide), d), "A": ((self.C,), "float32"), "K": ((64,), "int32"),
            "P": ((64,), "int32"), "O": ((high, columns), "int32"), "H": ((64, self.C), "float16"),
        }  # fmt: skip
        sizes = {"high": self.high} if high == "high" else {}
        fixed = {
            n: (tuple(s if isinstance(s, int) or s == "high" else int(s) for s in shape), dtype)
            for n, (shape, dtype) in shapes.items()
        }
        body = "\n".join(self.lines) + "\n"
        return BlockProgram(body, self.grid, fixed, self.launch, self.places, sizes)

    def shape_of_grid(self) -> None:
        """A grid of rows by columns of tiles, given as two numbers or as one, of a size that the
        kernel knows or that a call says."""
        r, R, C = self.r, self.R, self.C
        rows, columns = (
            r.choice([1, 2, 3, *(self.cores * n // 2 for n in (2, 3, 4, 5, 6))]),
            r.choice([1, 1, 1, 2, 3, 4]),
        )
        tail = r.choice([0, 0, -1, -3, 1]) if R > 1 else 0
        self.high, self.wide = (
            max(1, rows * R + tail),
            max(1, columns * C + r.choice([0, 0, -1, 3])),
        )
        self.high_name, of_rows = str(self.high), str(rows)
        if self.often(0.25):
            self.high_name, rows = "high", -(-self.high // R)
            of_rows = f"T.ceildiv(high, {R})"
        self.counts = (rows, columns)
        form = self.pick("two", "two turned", "one", "one turned")
        if form.startswith("two"):
            self.places = ("bx", "by")
            self.along = ("by", "bx") if form == "two" else ("bx", "by")
            self.grid = (columns, rows) if form == "two" else (rows, columns)
            self.launch = f"{columns}, {of_rows}" if form == "two" else f"{of_rows}, {columns}"
            self.row, self.column = f"{self.along[0]} * {R}", f"{self.along[1]} * {C}"
        elif columns == 1:
            self.grid, self.places, self.along, self.launch = (rows,), ("bx",), ("bx", "0"), of_rows
            self.row, self.column = f"bx * {R}", "0"
        else:
            self.grid, self.places = (rows * columns,), ("bx",)
            self.launch = f"{of_rows} * {columns}"
            inner = str(columns) if form == "one" else of_rows
            first, second = f"bx // {inner}", f"bx % {inner}"
            if form == "one turned":
                first, second = second, first
            self.put(f"row = {first} * {R}", f"column = {second} * {C}")
            self.row, self.column = "row", "column"
        if self.often(0.3) and self.row != "row":
            self.put(f"first = {self.row}")
            self.row = "first"

    def own(self, shift: str = "") -> str:
        return f"{self.own_rows(shift)}, {self.own_columns()}"

    def own_rows(self, shift: str = "") -> str:
        first = f"{self.row}{shift}"
        return f"{first} : {first} + {self.R}"

    def own_columns(self) -> str:
        return f"{self.column} : {self.column} + {self.C}"

    # --- values -----------------------------------------------------------------------------------

    def cut(self, value: str) -> str:
        return f"T.max(T.min({value}, 8), {self.least})"

    def single(self) -> str:
        """An element of a tile or a tensor that is the same one for a whole statement."""
        i, j = self.number(self.R), self.number(self.C)
        return self.pick(
            f"{self.pick(*TILES)}[{i}, {j}]", f"{self.pick(*TILES)}[0, 0]",
            f"{self.pick(*ROWS)}[{i}]", f"{self.pick(*COLUMNS)}[{j}]", "B[0]",
            f"X[{self.row}, {self.column}]", f"G[{self.row}]", f"G[{self.row} + {i}]",
            f"X[{self.row} + {i}, {j}]", f"B[{self.column} + {j}]",
        )  # fmt: skip

    def number(self, below: int) -> str:
        here = [v for v, n in self.loops if n <= below]
        return self.pick("0", str(self.r.randrange(below)), *here, *here)

    def table(self) -> str:
        bx = self.pick(*self.places)
        return self.pick(
            f"P[{bx}]", f"K[{bx}]", "P[0]", f"P[{bx} % 4 + 1]", *[f"P[{v}]" for v, _ in self.loops]
        )

    def condition(self) -> str:
        bx = self.pick(*self.places)
        asked = self.pick(
            f"{self.single()} > 0", f"{self.single()} >= 2", f"{self.table()} > 0", "seen < 2", "seen > 1",
            f"{bx} % 2 == 0", f"{bx} > 1", f"{self.row} + {self.R} <= {self.high_name}",
            f"{self.row} < {self.high // 2}", *[f"{v} > 0" for v in self.values],
            *[f"{v} > 0" for v, _ in self.loops],
        )  # fmt: skip
        return asked

    def element_condition(self) -> str:
        i, j = self.row + " + i", self.column + " + j"
        return self.pick(
            f"{i} < {self.high - 1}", f"{j} < {self.wide}", f"{i} > 0", "i > 0", "j % 2 == 0", "i >= j",
            f"j < {self.table()}", f"j < {self.C // 2}", "t[i, j] > 1", "m[i] > 1", "z[j] > 0", f"{j} > {i}",
            f"{self.single()} > 1", "seen > 0", f"j == {self.number(self.C)}",
        )  # fmt: skip

    def value(self, depth: int, apart: str = "") -> str:
        """For an element i, j of a tile. `apart`: a tile whose other elements may be read."""
        if depth and self.often(0.5):
            one, other = self.value(depth - 1, apart), self.value(depth - 1, apart)
            forms = [f"({one} + {other})", f"T.max({one}, {other})", f"T.min({one}, {other})"]
            forms.append(f"T.if_then_else({self.element_condition()}, {one}, {other})")
            forms += [] if self.least == 0 else [f"({one} - {other})"]
            if depth == 1:
                forms.append(f"({one} * {other})")
            return self.r.choice(forms)
        i, j = self.row + " + i", self.column + " + j"
        simple = [
            *(f"{t}[i, j]" for t in TILES),
            "m[i]",
            "n[i]",
            "z[j]",
            "c[j]",
            f"X[{i}, {j}]",
            f"G[{i}]",
            f"B[{j}]",
        ]
        forms = [*simple, *simple, self.single(), "1", "2", f"X[{i}, {j} + 1]", f"X[{i} + 1, {j}]",
                 f"X[{i} - 1, {j} - 1]", f"B[{self.C - 1} - j]", "B[j // 2]", f"X[{i}, P[j % 8]]", f"X[P[i], {j}]"]  # fmt: skip
        forms += self.values
        if apart:
            forms += [f"{apart}[i, (j + 1) % {self.C}]", f"{apart}[i, {self.C - 1} - j]", f"{apart}[{self.R - 1} - i, j]",
                      f"{apart}[i, 0]", f"{apart}[{self.number(self.R)}, j]"] * 2  # fmt: skip
        return self.r.choice(forms)

    # --- statements -------------------------------------------------------------------------------

    def statement(self) -> None:
        kinds = (
            [self.nest] * 6 + [self.line_nest] * 2 + [self.reduction] * 3 + [self.single_value] * 3
        )
        kinds += (
            [self.load] * 2 + [self.in_place] * 2 + [self.store] * 2 + [self.atomic, self.counted]
        )
        kinds += [
            self.halves,
            self.turned_out,
            self.two_steps,
            self.moved,
            self.one_element,
            self.flat,
            self.renamed,
            self.through_tensor,
        ]
        if self.depth < 2:
            kinds += [self.running]
            kinds += (
                [self.branch] * 2 + [self.loop] * 3 + [self.rows_loop] * 2 + [self.inner_loop] * 2
            )
        self.r.choice(kinds)()

    def nest(self) -> None:
        tile = self.pick(*TILES)
        other = self.pick(*[t for t in TILES if t != tile])
        guarded = self.often(0.25)
        with self.inside(f"for i, j in T.Parallel({self.R}, {self.C}):"):
            asked = self.element_condition()
            value = self.cut(self.value(2, other))
            for name in TILES:
                if name == tile and self.reads_elsewhere(value + asked, name):
                    value, asked = f"{tile}[i, j]", "j > 1"
            if guarded:
                with self.inside(f"if {asked}:"):
                    self.put(f"{tile}[i, j] = {value}")
            else:
                self.put(f"{tile}[i, j] = {value}")

    def reads_elsewhere(self, text: str, tile: str) -> bool:
        return text.replace(f"{tile}[i, j]", "").count(
            f"{tile}["
        ) > 0 and tile + "[" in text.replace(f"{tile}[i, j]", "")

    def line_nest(self) -> None:
        if self.often(0.5):
            value = self.pick(f"t[i, {self.number(self.C)}]", "n[i] + 1", f"G[{self.row} + i]", "n[i] + m[i]",
                              f"{self.single()}", f"T.if_then_else(i > 0, n[i], {self.table()})")  # fmt: skip
            self.put(f"for i in T.Parallel({self.R}):")
            self.put(
                "    m[i] = " + self.cut(value if not self.reads_line(value, "m") else "m[i] + 1")
            )
        else:
            value = self.pick(f"t[{self.number(self.R)}, j]", "c[j] + 1", f"B[{self.column} + j]", "c[j] + z[j]",
                              f"{self.single()}", f"c[(j + 1) % {self.C}]")  # fmt: skip
            self.put(f"for j in T.Parallel({self.C}):")
            self.put(
                "    z[j] = " + self.cut(value if not self.reads_line(value, "z") else "z[j] + 1")
            )

    def reads_line(self, text: str, line: str) -> bool:
        index = "i" if line in ROWS else "j"
        return f"{line}[" in text.replace(f"{line}[{index}]", "")

    def reduction(self) -> None:
        kind = self.pick("max", "min", *(["sum"] if self.dtype in SUMMED else []))
        tile, dim, clear = self.pick(*TILES), self.r.choice([0, 1]), self.often(0.5)
        out = self.pick(*(COLUMNS if dim == 0 else ROWS))
        self.put(f"T.reduce_{kind}({tile}, {out}, dim={dim}, clear={clear})")
        if kind == "sum":
            index, size = ("j", self.C) if dim == 0 else ("i", self.R)
            self.put(
                f"for {index} in T.Parallel({size}):",
                f"    {out}[{index}] = " + self.cut(f"{out}[{index}]"),
            )

    def single_value(self) -> None:
        name = self.name("s")
        self.put(f"{name} = {self.single()}")
        self.values.append(name)
        if self.often(0.4):
            self.put(f'seen = seen + T.cast({name}, "int32")')

    def counted(self) -> None:
        self.put(
            f"seen = {self.pick('seen + 1', self.table(), 'T.min(seen, 3) + ' + self.table())}"
        )

    def load(self) -> None:
        shift = self.pick("", "", " + 1", " - 1", f" + {self.R}")
        rows = self.own_rows(shift)
        if self.often(0.3):
            rows = f"{self.table()} : {self.table()} + {self.R}".replace("K[", "P[")
            first = rows.split(" : ")[0]
            rows = f"{first} : {first} + {self.R}"
        self.put(f"T.copy(X[{rows}, {self.own_columns()}], {self.pick(*TILES)})")

    def store(self) -> None:
        tensor = self.pick("Y", "V")
        self.put(f"T.copy({self.pick(*TILES)}, {tensor}[{self.own()}])")

    def in_place(self) -> None:
        tile = self.pick(*TILES)
        place = f"U[{self.row} + i, {self.column} + j]"
        kind = self.r.randrange(4)
        if kind == 0:
            self.put(f"T.copy(U[{self.own()}], {tile})")
        elif kind == 1:
            self.put(f"T.copy({tile}, U[{self.own()}])")
        else:
            with self.inside(f"for i, j in T.Parallel({self.R}, {self.C}):"):
                value = self.cut(f"{place} + {self.pick(f'{tile}[i, j]', 'm[i]', 'z[j]', '1')}")
                if kind == 2:
                    with self.inside(f"if {self.element_condition()}:"):
                        self.put(f"{place} = {value}")
                else:
                    self.put(f"{place} = {value}")

    def atomic(self) -> None:
        if self.dtype == "float32":
            self.put(f"T.atomic_add(A[0 : {self.C}], {self.pick(*COLUMNS)})")
        else:
            self.counted()

    def other(self, tile: str) -> str:
        return self.pick(*[t for t in TILES if t != tile])

    def halves(self) -> None:
        """The even and the odd elements of rows, one or both of them."""
        tile = self.pick(*TILES)
        other = self.other(tile)
        with self.inside(f"for i, j in T.Parallel({self.R}, {self.C // 2}):"):
            even, odd = (self.pick(f"{other}[i, 2 * j]", f"{other}[i, 2 * j + 1]", f"{other}[i, j]", "z[2 * j]",
                                   f"{other}[i, j + {self.C // 2}]", f"X[{self.row} + i, {self.column} + 2 * j + 1]",
                                   f"X[{self.row} + i, j]", "c[j // 2]", "m[i]") for _ in range(2))  # fmt: skip
            forms = [(f"{tile}[i, 2 * j]", f"{tile}[i, 2 * j + 1]"), (f"{tile}[i, j]", f"{tile}[i, j + {self.C // 2}]"),
                     (f"{tile}[i, {self.C - 1} - 2 * j]", f"{tile}[i, {self.C - 2} - 2 * j]")]  # fmt: skip
            first, second = self.r.choice(forms)
            self.put(f"{first} = {self.cut(f'{even} + {odd}')}")
            if self.often(0.7):
                self.put(f"{second} = {self.cut(f'{odd} + n[i]')}")

    def turned_out(self) -> None:
        """Elements of a tile to other places of the block's own part of a tensor."""
        tile, tensor = self.pick(*TILES), self.pick("Y", "V", "U")
        i = self.pick("i", f"{self.R - 1} - i", f"(i + 1) % {self.R}")
        j = self.pick("j", f"{self.C - 1} - j", f"(j + 3) % {self.C}")
        with self.inside(f"for i, j in T.Parallel({self.R}, {self.C}):"):
            text = f"{tensor}[{self.row} + {i}, {self.column} + {j}] = {self.cut(f'{tile}[i, j] + m[i]')}"
            if self.often(0.4):
                self.put(f"if {self.element_condition()}:", f"    {text}")
            else:
                self.put(text)

    def two_steps(self) -> None:
        """Statements of one nest that hand elements on, by names and by tiles."""
        tile = self.pick(*TILES)
        other = self.other(tile)
        name = self.name("v")
        with self.inside(f"for i, j in T.Parallel({self.R}, {self.C}):"):
            self.put(
                f"{name} = {self.pick(f'{tile}[i, j] + {other}[i, j]', f'{other}[i, j]', 'z[j] + m[i]')}"
            )
            more = self.pick("1", "n[i]", "c[j]", f"{tile}[i, j]")
            self.put(f"{tile}[i, j] = " + self.cut(f"{name} + {more}"))
            self.put(f"{other}[i, j] = {self.cut(f'{tile}[i, j] + {name}')}")

    def moved(self) -> None:
        tile = self.pick(*TILES)
        other = self.other(tile)
        row = self.number(self.R)
        self.put(self.pick(f"T.copy({tile}, {other})", f"T.copy({tile}, f)", f"T.copy(f, {tile})",
                           f"T.copy({tile}[{row}, 0 : {self.C}], z)", f"T.copy(z, {tile}[{row}, 0 : {self.C}])",
                           f"T.copy(X[{self.own()}], f)", "T.copy(z, c)", "T.copy(n, m)",
                           f"T.copy(f, V[{self.own()}])", f"T.copy(B[{self.own_columns()}], z)",
                           f"T.copy({tile}[{row}, 0 : {self.C}], V[{self.row} + {row}, {self.own_columns()}])"))  # fmt: skip

    def one_element(self) -> None:
        """One element, which the scalar unit stores."""
        target = self.pick(f"{self.pick(*TILES)}[{self.number(self.R)}, {self.number(self.C)}]",
                           f"m[{self.number(self.R)}]", f"z[{self.number(self.C)}]")  # fmt: skip
        self.put(f"{target} = {self.pick('1', '2', *self.values)}")

    def flat(self) -> None:
        """A tile by one number of its elements."""
        tile, C = self.pick(*TILES), self.C
        read = self.pick(f"{self.other(tile)}[e // {C}, e % {C}]", f"z[e % {C}]", f"m[e // {C}]", "2",
                         f"X[{self.row} + e // {C}, {self.column} + e % {C}]")  # fmt: skip
        self.put(f"for e in T.Parallel({self.R * C}):",
                 f"    {tile}[e // {C}, e % {C}] = " + self.cut(f"{read} + {tile}[e // {C}, e % {C}]"))  # fmt: skip

    def renamed(self) -> None:
        """A tile under a second name, one by one or with others of the same nest."""
        tile = self.pick("t", "u")
        other = self.other(tile)
        name, C = self.name("a"), self.C
        self.put(f"{name} = T.reshape({tile}, ({self.R * C},))")
        read = self.pick(f"{name}[e] + 1", f"{other}[e // {C}, e % {C}]", f"z[e % {C}]", "2")
        self.put(f"for e in T.Parallel({self.R * C}):", f"    {name}[e] = " + self.cut(read))

    def through_tensor(self) -> None:
        """A tile to the block's own part of a tensor, and other rows of that back."""
        tile, tensor = self.pick(*TILES), self.pick("V", "U")
        self.put(f"T.copy({tile}, {tensor}[{self.own()}])")
        with self.inside(f"for i, j in T.Parallel({self.R}, {self.C}):"):
            i = self.pick(f"{self.R - 1} - i", f"(i + 1) % {self.R}", "i")
            j = self.pick(f"{self.C - 1} - j", "j", "0")
            self.put(f"{self.other(tile)}[i, j] = {tensor}[{self.row} + {i}, {self.column} + {j}]")

    def running(self) -> None:
        """Sums that run along rows or down columns."""
        tile, k = self.pick(*TILES), self.name("q")
        if self.often(0.5) and self.C > 1:
            with (
                self.inside(f"for i in T.Parallel({self.R}):"),
                self.inside(f"for {k} in T.serial({self.C - 1}):"),
            ):
                self.put(
                    f"{tile}[i, {k} + 1] = " + self.cut(f"{tile}[i, {k} + 1] + {tile}[i, {k}]")
                )
        elif self.R > 1:
            with (
                self.inside(f"for {k} in T.serial({self.R - 1}):"),
                self.inside(f"for j in T.Parallel({self.C}):"),
            ):
                self.put(
                    f"{tile}[{k} + 1, j] = " + self.cut(f"{tile}[{k} + 1, j] + {tile}[{k}, j]")
                )
        else:
            self.counted()

    def branch(self) -> None:
        with self.inside(f"if {self.condition()}:"):
            for _ in range(self.r.randint(1, 2)):
                self.statement()
        if self.often(0.3):
            with self.inside("else:"):
                self.statement()

    def loop(self) -> None:
        k, most = self.name("k"), self.r.choice([1, 2, 3, 4])
        bx = self.pick(*self.places)
        rounds = self.pick(str(most), str(most), f"T.min(T.max({self.table()}, 0), {most})", f"T.min({bx}, {most})",
                           f"T.min(T.max(seen, 0), {most})", f"{bx} % {most}, {most}")  # fmt: skip
        with self.inside(
            f"for {k} in {self.pick(f'T.serial({rounds})', f'range({rounds})', f'T.Pipelined({rounds}, num_stages=2)')}:"
        ):
            self.loops.append((k, most))
            if self.often(0.4):
                self.put(f"T.copy(X[{self.own(f' + {k}')}], {self.pick(*TILES)})")
            for _ in range(self.r.randint(1, 3)):
                self.statement()
            self.loops.pop()

    def rows_loop(self) -> None:
        """Over the rows of tiles, one by one."""
        k = self.name("r")
        with self.inside(f"for {k} in T.serial({self.R}):"):
            self.loops.append((k, self.R))
            if self.often(0.3):
                self.single_value()
            with self.inside(f"for j in T.Parallel({self.C}):"):
                tile = self.pick(*TILES)
                forms = [f"{tile}[{k}, j] = " + self.cut(f"{tile}[{k}, j] + z[j]"),
                         "z[j] = " + self.cut(f"z[j] + {tile}[{k}, j]"),
                         f"{tile}[{k}, j] = " + self.cut(f"z[j] + m[{k}]"),
                         "c[j] = " + self.cut(f"T.max(c[j], X[{self.row} + {k}, {self.column} + j])"),
                         f"{tile}[{k}, j] = " + self.cut(f"{tile}[{k}, j] + X[{self.row} + {k}, j]"),
                         f"U[{self.row} + {k}, {self.column} + j] = {tile}[{k}, j]"]  # fmt: skip
                for text in self.r.sample(forms, self.r.randint(1, 2)):
                    self.put(text)
            self.loops.pop()

    def inner_loop(self) -> None:
        k, tile = self.name("e"), self.pick(*TILES)
        read = self.pick(
            f"X[{self.row} + i, {self.column} + j + {k}]",
            f"X[{self.row} + i, {k}]",
            f"z[{k}]",
            f"B[j + {k}]",
            f"m[i] * {k}",
        )
        rounds = self.pick("1", "2", "3", "T.min(T.max(K[0], 0), 3)")
        nest = f"for i, j in T.Parallel({self.R}, {self.C}):"
        with self.inside(nest), self.inside(f"for {k} in T.serial({rounds}):"):
            if self.often(0.3):
                self.put(
                    f"if {k} + j < {self.C}:",
                    f"    {tile}[i, j] = " + self.cut(f"{tile}[i, j] + {read}"),
                )
            else:
                self.put(f"{tile}[i, j] = " + self.cut(f"{tile}[i, j] + {read}"))

    def matrix(self) -> None:
        self.put(f'q = T.alloc_shared(({self.R}, 16), "float16")', f'b = T.alloc_shared((16, {self.C}), "float16")',
                 f'o = T.alloc_fragment(({self.R}, {self.C}), "float32")')  # fmt: skip
        self.put("T.clear(o)")
        rounds = self.r.choice([1, 2, 3])
        loop = self.pick(f"T.serial({rounds})", f"T.Pipelined({rounds}, num_stages=2)")
        with self.inside(f"for ko in {loop}:"):
            first = self.pick("ko * 16", "0", f"{self.places[0]} % 2 * 16")
            self.put(f"T.copy(H[{first} : {first} + {self.R}, 0 : 16], q)")
            self.put(f"T.copy(H[ko * 16 : ko * 16 + 16, 0 : {self.C}], b)", "T.gemm(q, b, o)")
        with self.inside(f"for i, j in T.Parallel({self.R}, {self.C}):"):
            self.put(
                "t[i, j] = "
                + self.cut(
                    f"o[i, j] + {self.pick('m[i]', 'z[j]', 'u[i, j]', f'B[{self.column} + j]')}"
                )
            )

    def store_all(self) -> None:
        r, C = self.r, self.C
        self.put(f"T.copy({self.pick(*TILES)}, Y[{self.own()}])")
        if self.often(0.6):
            self.put(f"T.copy({self.pick(*TILES)}, V[{self.own()}])")
        if self.often(0.3):
            i, j = f"{self.row} + i", f"{self.column} + j"
            with self.inside(f"for i, j in T.Parallel({self.R}, {C}):"):
                asked = f"if ({i} < {self.high_name}) & ({j} < {self.wide}):"
                self.put(asked, f"    V[{i}, {j}] = " + self.cut("t[i, j] + u[i, j]"))
        if not self.along:
            return
        row, column = self.along
        if self.often(0.5):
            self.put(f"T.copy({self.pick(*ROWS)}, M[{column}, {self.own_rows()}])")
        if self.often(0.4):
            self.put(f"T.copy({self.pick(*COLUMNS)}, Z[{row}, {self.own_columns()}])")
        if self.often(0.2):
            self.put(f"if {self.row} < {self.high_name}:", f"    O[{self.row}, {column}] = seen")


__all__ = ["tile_program"]
