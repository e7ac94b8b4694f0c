"""Writes the text of one program: parameters, tiles, statements, and the numbers in subscripts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .element_types import bits
from .program import Program

INTEGERS = ("int32", "int32", "int8", "uint8", "int16", "uint16", "uint32", "int64")
_LARGEST = {"int8": 127, "uint8": 255}


@dataclass
class Writer:
    """A program under construction. `style` is expert or developer; `lanes`: whether both vector
    cores work, each in its own part of what is written."""

    rng: random.Random
    style: str
    blocks: int = 1
    lanes: bool = False
    # The grid, where it is no number.
    launch: str = ""
    cube: bool = False
    parameters: list[str] = field(default_factory=list)
    symbols: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    allocations: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    depth: int = 0
    # Variables of loops around the next statement, with their largest values.
    loops: dict[str, int] = field(default_factory=dict)
    _names: int = 0

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, options: Sequence[Any]) -> Any:
        return self.rng.choice(list(options))

    def name(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def note(self, form: str) -> None:
        self.forms.append(form)

    # Statements.
    def line(self, text: str) -> None:
        self.lines += ["    " * self.depth + line for line in text.split("\n")]

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1

    # What is written belongs to one block and one lane.
    @property
    def owners(self) -> int:
        return self.blocks * (2 if self.lanes else 1)

    @property
    def owner(self) -> str:
        return "w" if self.lanes else "cid"

    # Tensors and tiles.
    def tensor(
        self, shape: Sequence[int], dtype: str, letter: str = "x", free: Sequence[bool] = ()
    ) -> str:
        """A parameter; sizes that are free may become symbols."""
        name = self.name(letter)
        may = [f and dtype != "int4" and self.chance(0.15) for f in free] or [False] * len(shape)
        sizes = [self.size(s) if m else str(s) for s, m in zip(shape, may, strict=True)]
        inner = ", ".join(sizes) + ("," if len(sizes) == 1 else "")
        self.parameters.append(f'{name}: T.Tensor(({inner}), "{dtype}")')
        return name

    def size(self, value: int) -> str:
        """A symbol of this value."""
        for known, size in self.symbols.items():
            if size == value and self.chance(0.7):
                return known
        name = self.name("S")
        self.symbols[name] = value
        return name

    def tile(self, shape: Sequence[int], dtype: str, filled: bool | None = None) -> str:
        """A tile of which every element has a value before the first statement."""
        name = self.name("t")
        inner = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        allocate = "alloc_ub" if self.style == "expert" else "alloc_shared"
        self.allocations.append(f'{name} = T.{allocate}(({inner}), "{dtype}")')
        fills = dtype in ("float32", "float16", "int32", "int16")
        if fills and (self.chance(0.5) if filled is None else filled):
            self.allocations.append(f"T.tile.fill({name}, {self.pick([7, -3, 5])})")
        else:
            source = self.tensor(shape, dtype)
            self.allocations.append(f"T.copy({source}, {name})")
        return name

    def updated_tile(self, shape: Sequence[int], dtype: str) -> str:
        """A tile that is loaded from a tensor and stored to it again."""
        name = self.name("t")
        inner = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        allocate = "alloc_ub" if self.style == "expert" else "alloc_shared"
        self.allocations.append(f'{name} = T.{allocate}(({inner}), "{dtype}")')
        self.store_at_end(name, shape, dtype)
        source = self.ends[-1].removeprefix(f"T.copy({name}, ").removesuffix(")")
        self.allocations.append(f"T.copy({source}, {name})")
        self.note(f"updated in place {dtype} {self.style}")
        return name

    def store_at_end(self, name: str, shape: Sequence[int], dtype: str) -> None:
        if self.owners == 1:
            self.ends.append(f"T.copy({name}, {self.tensor(shape, dtype, 'y')})")
        else:
            tensor = self.tensor((self.owners, *shape), dtype, "y")
            rest = ", :" * len(shape)
            self.ends.append(f"T.copy({name}, {tensor}[{self.owner}{rest}])")

    # Numbers.
    def number(self, value: int, run_time: float = 0.35) -> str:
        """A text with this value: a constant, a parameter, an element, or a sum of these."""
        if not self.chance(run_time):
            return str(value)
        kind = self.pick(["parameter", "parameter", "element", "sum", "product", "loop"])
        if kind == "loop" and self.loops:
            variable = self.pick(list(self.loops))
            if self.loops[variable] == 0:
                return f"{variable} + {value}" if value else variable
        if kind == "sum" and value > 1:
            part = self.rng.randrange(1, value)
            return f"{self.number(value - part, 1.0)} + {part}"
        if kind == "product" and value > 2 and value % 2 == 0:
            return f"{self.number(value // 2, 1.0)} * 2"
        dtype = self.pick([t for t in INTEGERS if value <= _LARGEST.get(t, 30000)])
        if kind == "element" and not self.cube:
            return self.element(value, dtype)
        return self.parameter(value, dtype)

    def parameter(self, value: int, dtype: str) -> str:
        name = self.name("n")
        self.parameters.append(f"{name}: T.{dtype}")
        self.numbers[name] = value
        self.note(f"number parameter {dtype}")
        return name

    def element(self, value: int, dtype: str) -> str:
        """An element of a tile that was loaded: all of its elements have the value."""
        tile = self.indices(64 // (bits(dtype) // 8), dtype, value, value)
        return f"{tile}[{self.rng.randrange(64 // (bits(dtype) // 8))}]"

    def indices(self, count: int, dtype: str, low: int, high: int) -> str:
        """A tile of indices between two numbers, loaded before everything else."""
        tensor = self.name("i")
        self.parameters.append(f'{tensor}: T.Tensor(({count},), "{dtype}")')
        self.ranges[tensor] = (low, high)
        tile = self.name("k")
        allocate = "alloc_ub" if self.style == "expert" else "alloc_shared"
        self.allocations.append(f'{tile} = T.{allocate}(({count},), "{dtype}")')
        self.allocations.append(f"T.copy({tensor}, {tile})")
        self.note(f"number loaded {dtype}")
        return tile

    # The program.
    def program(self, seed: int) -> Program:
        symbols = [f'{s} = T.symbolic("{s}")' for s in self.symbols]
        head = ["import tile_frontend as T", "", *symbols, *([""] if symbols else [])]
        grid = self.launch or str(self.blocks)
        launch = f"{grid}, threads=2" if self.style == "developer" else grid
        target = "cid" if self.style == "developer" else "(cid, vid)"
        body = [a for a in self.allocations if "= T.alloc" in a]
        inner = [*(a for a in self.allocations if "= T.alloc" not in a), *self.lines, *self.ends]
        if self.style == "expert" and not self.lanes and not self.cube:
            guard = self.rng.choice(["if vid == 0:", "if vid == 1:"])
            inner = [guard, *("    " + line for line in inner)]
        if self.lanes and not self.launch:
            inner = ["w = cid * 2 + vid", *inner]
        if self.style == "expert" and (self.cube or self.chance(0.3)):
            inner = [f'with T.Scope("{"C" if self.cube else "V"}"):', *("    " + i for i in inner)]
        text = [
            *head,
            "",
            "@T.prim_func",
            f"def kernel({', '.join(self.parameters)}):",
            f"    with T.Kernel({launch}, is_npu=True) as {target}:",
            *("        " + line for line in (*body, *inner)),
            "",
        ]
        return Program(
            "\n".join(text), self.symbols, self.numbers, self.ranges, seed, tuple(self.forms)
        )
