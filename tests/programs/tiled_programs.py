"""Programs of the usual shape: a grid over blocks of rows of tensors whose sizes are symbols, cut at
the end, with masks, rows reduced to one value, and loops over blocks of columns."""

from __future__ import annotations

import random

from .places import block_of
from .program import Program
from .writer import Writer


def tiled_program(seed: int) -> Program:
    rng = random.Random(seed)
    w = Writer(rng, rng.choice(["expert", "developer"]))
    dtype = rng.choice(["float32", "float32", "float16", "int32"])
    rows, block = rng.choice([2, 4, 8]), block_of(dtype)
    columns = rng.choice([block, 2 * block, 4 * block])
    height = rng.choice([1, rows - 1, rows, rows + 1, 2 * rows, 2 * rows + 3, 3 * rows])
    width = rng.choice([columns, columns, 2 * columns, columns - 3, columns + 5, 1])
    own = max(1, rows // 2) if w.style == "expert" else rows
    tall, wide = (
        w.size(height) if w.chance(0.8) else str(height),
        w.size(width) if w.chance(0.5) else str(width),
    )
    w.launch = f"T.ceildiv({tall}, {rows})"
    w.lanes = w.style == "expert"
    first = f"cid * {rows} + vid * {own}" if w.lanes else f"cid * {rows}"
    w.parameters += [
        f'X: T.Tensor(({tall}, {wide}), "{dtype}")',
        f'Y: T.Tensor(({tall}, {wide}), "{dtype}")',
    ]
    allocate = "alloc_ub" if w.style == "expert" else "alloc_shared"
    w.allocations.append(f't = T.{allocate}(({own}, {columns}), "{dtype}")')
    w.line(f"row = {first}")
    reduces = w.chance(0.4) and dtype != "int32"
    if reduces:
        w.parameters.append(f'Z: T.Tensor(({tall},), "{dtype}")')
        w.allocations.append(f's = T.{allocate}(({own},), "{dtype}")')
        w.line(f"T.tile.fill(s, {w.pick([0, -9])})")
    loop = w.pick(["T.serial", "range", "T.Pipelined"])
    stages = ", num_stages=2" if loop == "T.Pipelined" else ""
    with w.inside(f"for k in {loop}(T.ceildiv({wide}, {columns}){stages}):"):
        pad = f", pad_value={w.pick(['-8.0', '1.0'])}" if w.chance(0.3) else ""
        w.line(f"T.copy(X[row, k * {columns}], t{pad})")
        for _ in range(w.pick([1, 1, 2])):
            _step(w, dtype, own, columns, tall, wide)
        if reduces:
            w.line(f"T.reduce_{w.pick(['sum', 'max', 'min'])}(t, s, dim=-1, clear=False)")
        w.line(f"T.copy(t, Y[row, k * {columns}])")
    if reduces:
        w.line("T.copy(s, Z[row])")
    w.note(f"tiled {dtype} {w.style} {loop}")
    return w.program(seed)


def _step(w: Writer, dtype: str, rows: int, columns: int, tall: str, wide: str) -> None:
    kind = w.pick(["scale", "row mask", "column mask", "bias", "tile", "branch", "size"])
    if kind == "tile":
        w.line(f"T.tile.{w.pick(['add', 'max', 'mul'])}(t, t, {w.pick([2, 3])})")
        w.note(f"tiled tile {dtype} {w.style}")
        return
    if kind == "branch":
        with w.inside(f"if row {w.pick(['<', '>=', '=='])} {w.pick(['4', tall, 'k'])}:"):
            w.line("T.tile.add(t, t, 1)")
        w.note(f"tiled branch {dtype} {w.style}")
        return
    if kind == "bias":
        w.parameters.append(f'B{w.depth}{len(w.parameters)}: T.Tensor(({columns},), "{dtype}")')
        bias = w.parameters[-1].split(":")[0]
    with w.inside(f"for i, j in T.Parallel({rows}, {columns}):"):
        if kind == "scale":
            w.line("t[i, j] = t[i, j] * 2 + 1")
        elif kind == "row mask":
            w.line(f"t[i, j] = T.if_then_else(row + i < {tall}, t[i, j], {w.pick([0, 5])})")
        elif kind == "column mask":
            side = w.pick(
                [
                    f"k * {columns} + j < {wide}",
                    f"j < {wide} - k * {columns}",
                    f"{wide} > k * {columns} + j",
                ]
            )
            w.line(f"t[i, j] = T.if_then_else({side}, t[i, j] + 1, {w.pick([0, 5])})")
        elif kind == "size":
            size = w.pick([f'T.cast({wide}, "{dtype}")' if not wide.isdigit() else wide])
            w.line(f"t[i, j] = t[i, j] + {size}")
        else:
            w.line(f"t[i, j] = t[i, j] + {bias}[j]")
    w.note(f"tiled {kind} {dtype} {w.style}")
