"""Random kernels of element code, in the text of a GPU, and what they mean, by NumPy: a block has
three tiles and goes through statements of `T.Parallel` with guards, names, variables of an element,
inner loops and computed places. What lies outside a tensor reads as 0 and is not written.

Oracle: each statement of a nest runs for all elements before the next one, on arrays. Values are
small integers, which every type computes exactly.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
# The column where another one may stand: not as the index of a tile, which has nothing outside.
OWN_COLUMN = re.compile(r"(?<!v\[)(?<!t\[i, )\bj\b")

SCRIPT = """
import tile_frontend as T

@T.prim_func
def kernel(X: T.Tensor(({rows}, {columns}), "{dtype}"), P: T.Tensor((64,), "int32"),
           Y: T.Tensor(({rows}, {columns}), "{dtype}"), s: T.{dtype}):
    with T.Kernel({blocks}, threads=128) as bx:
        t = T.alloc_fragment(({R}, {C}), "{dtype}")
        u = T.alloc_fragment(({R},), "{dtype}")
        v = T.alloc_shared(({C},), "{dtype}")
        T.fill(t, 1)
        T.fill(u, 2)
        T.fill(v, 3)
{body}
"""


@dataclass(frozen=True)
class Program:
    """`nests` are the statements of each nest over a tile, as (indent, statement) lines."""

    R: int
    C: int
    blocks: int
    rows: int
    columns: int
    dtype: str
    nests: tuple[tuple[Line, ...], ...]

    @property
    def text(self) -> str:
        lines = []
        for nest in self.nests:
            whole = nest[0].kind == "whole"
            if not whole:
                lines.append(f"        for i, j in T.Parallel({self.R}, {self.C}):")
            lines += [" " * (8 if whole else 12) + "    " * n.depth + n.text for n in nest]
        sizes = {n: getattr(self, n) for n in ("R", "C", "blocks", "rows", "columns", "dtype")}
        return SCRIPT.format(**sizes, body="\n".join(lines)).replace("DTYPE", self.dtype)


@dataclass(frozen=True)
class Line:
    """One line of a nest. `kind`: `set` gives `target` a value, `name` defines one, `var` declares a
    variable of the element, `if`, `else` and `for` open a block, `whole` is a tile operation."""

    depth: int
    kind: str
    text: str
    target: str = ""
    value: str = ""


def program(seed: int) -> Program:
    return _Writer(random.Random(seed)).program()


@dataclass
class _Writer:
    r: random.Random
    R: int = 0
    C: int = 0
    N: int = 0
    M: int = 0
    names: list[str] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    count: int = 0

    def program(self) -> Program:
        r = self.r
        self.R, self.C = r.choice([1, 3, 8, 16]), r.choice([1, 5, 8, 16, 33, 64])
        blocks = r.choice([1, 2, 3])
        self.N = max(1, self.R * blocks + r.choice([0, 0, -1, 1]))
        self.M = max(1, self.C + r.choice([0, 0, -1, 3]))
        nests = [self.nest() for _ in range(r.randint(1, 3))]
        nests.append(self.last())
        dtype = r.choice(["float32", "int32"])
        return Program(self.R, self.C, blocks, self.N, self.M, dtype, tuple(nests))

    def last(self) -> tuple[Line, ...]:
        if self.r.random() < 0.5:
            return (Line(0, "whole", f"T.copy(t, Y[bx * {self.R}, 0])"),)
        self.lines, self.names = [], []
        depth = self.guard(0, self.condition(1)) if self.r.random() < 0.6 else 0
        self.put(depth, f"Y[bx * {self.R} + i, j]", "t[i, j] + 1")
        return tuple(self.lines)

    def nest(self) -> tuple[Line, ...]:
        self.lines, self.names = [], []
        if self.r.random() < 0.15:
            kind, dim = self.r.choice(["sum", "max", "min"]), self.r.choice([0, 1])
            out = "v" if dim == 0 else "u"
            call = f"T.reduce_{kind}(t, {out}, dim={dim}, clear=False)"
            return (Line(0, "whole", call, out, f"{kind} {dim}"),)
        self.statements(0, self.r.randint(1, 2))
        if not any(line.kind == "set" and line.target == "t[i, j]" for line in self.lines):
            self.put(0, "t[i, j]", self.value(2))
        return tuple(self.lines)

    def statements(self, depth: int, count: int) -> None:
        names = list(self.names)
        for _ in range(count):
            kind = self.r.choices(["set", "name", "guard", "variable"], [4, 2, 3, 2])[0]
            if kind == "set" or depth > 1:
                self.put(depth, "t[i, j]", self.value(2))
            elif kind == "name":
                self.name(depth)
                self.put(depth, "t[i, j]", self.value(2))
            elif kind == "guard":
                inside = self.guard(depth, self.condition(1))
                self.statements(inside, self.r.randint(1, 2))
                if self.r.random() < 0.3:
                    self.lines.append(Line(depth, "else", "else:"))
                    self.statements(inside, 1)
            else:
                self.variable(depth)
        self.names = names

    def name(self, depth: int) -> None:
        self.count += 1
        name, value = f"n{self.count}", self.value(2)
        self.lines.append(Line(depth, "name", f"{name} = {value}", name, value))
        self.names.append(name)

    def variable(self, depth: int) -> None:
        """A variable that starts with a value, and that rounds of an inner loop change."""
        self.count += 1
        name, k = f"m{self.count}", f"k{self.count}"
        self.lines.append(Line(depth, "var", f'{name} = T.alloc_var("DTYPE")', name))
        self.put(depth, name, self.value(1))
        rounds = self.r.randint(0, 3)
        self.lines.append(Line(depth, "for", f"for {k} in T.serial({rounds}):", k, str(rounds)))
        inside = depth + 1
        if self.r.random() < 0.5:
            inside = self.guard(inside, OWN_COLUMN.sub(f"(j + {k})", self.condition(1), 1))
        read = f"X[{self.row()}, {self.column()} + {k}]"
        self.put(inside, name, self.r.choice([f"{name} + {read}", f"T.max({name}, {read})"]))
        self.names.append(name)
        self.put(depth, "t[i, j]", f"{name} - {self.value(1)}")

    def put(self, depth: int, target: str, value: str) -> None:
        self.lines.append(Line(depth, "set", f"{target} = {value}", target, value))

    def guard(self, depth: int, condition: str) -> int:
        self.lines.append(Line(depth, "if", f"if {condition}:", value=condition))
        return depth + 1

    def row(self) -> str:
        first = f"bx * {self.R} + i"
        return self.r.choice([
            first, first, f"{first} + {self.r.choice([1, 2, -1])}", f"{self.N - 1} - ({first})",
            "i", "P[i]", "bx", "j", f"({first}) // 2", f"(i * {self.C} + j) % {self.N}",
        ])  # fmt: skip

    def column(self) -> str:
        return self.r.choice([
            "j", "j", f"j + {self.r.choice([1, -1, 3])}", f"{self.M - 1} - j", "j // 2", "j * 2",
            "P[j]", "i", "0", f"(j + 1) % {self.M}", f"(i * {self.C} + j) // {self.N}",
        ])  # fmt: skip

    def condition(self, depth: int) -> str:
        kind = self.r.random()
        if depth and kind < 0.25:
            return f"T.{self.r.choice(['And', 'Or'])}({self.condition(0)}, {self.condition(0)})"
        if depth and kind < 0.35:
            return f"T.Not({self.condition(0)})"
        if self.r.random() < 0.3:
            op = self.r.choice([">", "<", ">="])
            return f"{self.value(0)} {op} {self.r.choice(['0', '1', self.value(0)])}"
        left = self.r.choice(["i", "j", f"bx * {self.R} + i", "j + bx", "i + j", "2 * j"])
        limit = str(self.r.randint(0, max(self.R, self.C)))
        right = self.r.choice([limit, "i", "j", "bx", "P[0]", str(self.N), str(self.M)])
        return f"{left} {self.r.choice(['<', '<=', '>', '>=', '==', '!='])} {right}"

    def value(self, depth: int) -> str:
        kind = self.r.random()
        if depth <= 0 or kind < 0.3:
            read = f"X[{self.row()}, {self.column()}]"
            return self.r.choice([read, read, "t[i, j]", "u[i]", "v[j]", "1", "s", *self.names])
        if kind < 0.6:
            return f"({self.value(depth - 1)} {self.r.choice('+-*')} {self.value(depth - 1)})"
        if kind < 0.75:
            name = self.r.choice(["max", "min"])
            return f"T.{name}({self.value(depth - 1)}, {self.value(depth - 1)})"
        sides = f"{self.value(depth - 1)}, {self.value(depth - 1)}"
        return f"T.if_then_else({self.condition(1)}, {sides})"


class _Guarded:
    """An array whose elements are 0 outside of it."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __getitem__(self, places: Any) -> Array:
        each = np.broadcast_arrays(*(places if isinstance(places, tuple) else (places,)))
        sizes = list(zip(each, self.array.shape, strict=True))
        inside = np.all([(p >= 0) & (p < n) for p, n in sizes], axis=0)
        found = self.array[tuple(p.clip(0, n - 1) for p, n in sizes)]
        return np.where(inside, found, np.zeros((), self.array.dtype))


class _Functions:
    if_then_else = staticmethod(np.where)
    max, min = staticmethod(np.maximum), staticmethod(np.minimum)
    And, Or, Not = map(staticmethod, (np.logical_and, np.logical_or, np.logical_not))


@dataclass
class Meaning:
    """What a program does to its tensors."""

    program: Program
    x: Array
    places: Array
    scalar: Any

    def run(self, y: Array) -> None:
        for block in range(self.program.blocks):
            self.block(block, y)

    def block(self, block: int, y: Array) -> None:
        p, kind = self.program, self.x.dtype
        tiles = {
            "t": np.full((p.R, p.C), 1, kind),
            "u": np.full(p.R, 2, kind),
            "v": np.full(p.C, 3, kind),
        }
        i, j = np.indices((p.R, p.C))
        given: dict[str, Any] = {
            "T": _Functions, "X": _Guarded(self.x), "P": _Guarded(self.places), "s": self.scalar,
            "i": i, "j": j, "bx": np.int64(block),
        }  # fmt: skip
        for nest in p.nests:
            if nest[0].kind == "whole":
                self.whole(nest[0], tiles, y, block)
                continue
            own = dict(given)

            def evaluated(text: str, own: dict[str, Any] = own) -> Array:
                names = {n: _Guarded(a) for n, a in tiles.items()}
                return np.broadcast_to(eval(text, {}, {**own, **names}), (p.R, p.C))

            store = partial(self.store, tiles, own, y, block)
            self.lines(nest, np.ones((p.R, p.C), bool), evaluated, store, own)

    def lines(
        self,
        lines: tuple[Line, ...],
        mask: Array,
        evaluated: Callable[[str], Array],
        store: Callable[[str, Array, Array], None],
        own: dict[str, Any],
    ) -> None:
        at, last = 0, mask
        while at < len(lines):
            line = lines[at]
            end = at + 1
            while end < len(lines) and lines[end].depth > line.depth:
                end += 1
            inside = lines[at + 1 : end]
            match line.kind:
                case "set":
                    store(line.target, evaluated(line.value), mask)
                case "name":
                    own[line.target] = evaluated(line.value)
                case "var":
                    own[line.target] = np.zeros(mask.shape, self.x.dtype)
                case "if":
                    last = evaluated(line.value).astype(bool)
                    self.lines(inside, mask & last, evaluated, store, own)
                case "else":
                    self.lines(inside, mask & ~last, evaluated, store, own)
                case "for":
                    for turn in range(int(line.value)):
                        own[line.target] = np.int64(turn)
                        self.lines(inside, mask, evaluated, store, own)
            at = end

    def store(
        self,
        tiles: dict[str, Array],
        own: dict[str, Any],
        y: Array,
        block: int,
        target: str,
        value: Array,
        mask: Array,
    ) -> None:
        kept = value.astype(self.x.dtype)
        if target == "t[i, j]":
            tiles["t"] = np.where(mask, kept, tiles["t"])
        elif target in own:
            own[target] = np.where(mask, kept, own[target])
        else:
            self.to_gm(y, block, kept, mask)

    def to_gm(self, y: Array, block: int, values: Array, mask: Array) -> None:
        i, j = np.indices(values.shape)
        row = i + block * self.program.R
        there = mask & (row < y.shape[0]) & (j < y.shape[1])
        y[row[there], j[there]] = values[there]

    def whole(self, line: Line, tiles: dict[str, Array], y: Array, block: int) -> None:
        if not line.target:
            self.to_gm(y, block, tiles["t"], np.ones(tiles["t"].shape, bool))
            return
        kind, dim = line.value.split()
        functions = {"sum": np.add, "max": np.maximum, "min": np.minimum}
        of_all = functions[kind].reduce(tiles["t"], axis=int(dim), dtype=self.x.dtype)
        tiles[line.target] = functions[kind](tiles[line.target], of_all).astype(self.x.dtype)
