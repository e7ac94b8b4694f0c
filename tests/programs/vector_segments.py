"""Parts of programs on the vector cores: copies, parallel loops, tile operations, reductions,
gathers by rows, elements, and sums in gm."""

from __future__ import annotations

from .places import Extent, block_of, drawn_extents, gm_place, placed, tile_form, tile_place
from .writer import Writer

COPIED = (
    "float32", "float32", "float16", "bfloat16", "int32", "int16", "int8", "uint8", "uint16",
    "uint32", "int64",
)  # fmt: skip
COMPUTED = ("float32", "float32", "float16", "int32", "int16")


def load(w: Writer) -> None:
    dtype = w.pick(COPIED if w.chance(0.95) else ["int4"])
    extents = drawn_extents(w, dtype)
    source, form = gm_place(w, extents, dtype, written=False)
    target, part = tile_place(w, extents, dtype)
    pad = ""
    if w.chance(0.25) and dtype in COMPUTED:
        pad = (
            f", pad_value={w.pick(['-1.0', '2.0', '0.0'] if 'float' in dtype else ['1.0', '9.0'])}"
        )
    w.line(f"T.copy({source}, {target}{pad})")
    w.note(f"copy gm-ub [{form}] to {part} {dtype} {w.style}")


def store(w: Writer) -> None:
    dtype = w.pick(COPIED if w.chance(0.95) else ["int4"])
    extents = drawn_extents(w, dtype)
    source, part = tile_place(w, extents, dtype, filled=False)
    target, form = gm_place(w, extents, dtype, written=True, letter="y")
    w.line(f"T.copy({source}, {target})")
    w.note(f"copy ub-gm {part} to [{form}] {dtype} {w.style}")


def move(w: Writer) -> None:
    dtype = w.pick(COPIED)
    extents = drawn_extents(w, dtype)
    source, one = tile_place(w, extents, dtype, filled=False)
    target, other = tile_place(w, extents, dtype)
    w.line(f"T.copy({source}, {target})")
    w.note(f"copy ub-ub {one} to {other} {dtype} {w.style}")


def convert(w: Writer) -> None:
    pair = w.pick([("float32", "float16"), ("float16", "float32"), ("float32", "bfloat16"),
                   ("bfloat16", "float32"), ("int32", "float32"), ("float32", "int32"),
                   ("int16", "float16"), ("float16", "int16"), ("int8", "float16"), ("uint8", "float16"),
                   ("float16", "int8"), ("int16", "float32"), ("int4", "float16")])  # fmt: skip
    extents = drawn_extents(w, max(pair, key=lambda t: block_of(t)))
    source, one = tile_place(w, extents, pair[0], filled=False)
    target, other = tile_place(w, extents, pair[1])
    w.line(f"T.copy({source}, {target})")
    w.note(f"copy ub-ub {one} to {other} {pair[0]}-{pair[1]} {w.style}")


def atomic(w: Writer) -> None:
    dtype = w.pick(["float32", "float32", "float16", "int32", "int16"])
    extents = drawn_extents(w, dtype, 2)
    source, part = tile_place(w, extents, dtype, filled=False)
    target, form = gm_place(w, extents, dtype, written=True, letter="y")
    w.line(f"T.tile.atomic_add({target}, {source})")
    w.note(f"atomic {part} to [{form}] {dtype} {w.style}")


def elementwise(w: Writer) -> None:
    dtype = w.pick(COMPUTED)
    extents = drawn_extents(w, dtype)
    shape, subscript = tile_form(w, extents, dtype)
    part = "part" if subscript else "whole"
    target, one = placed(w, shape, subscript, dtype), placed(w, shape, subscript, dtype)
    op = w.pick(["add", "sub", "mul", "max", "min"])
    second = w.pick(["tile", "tile", "number", "element", "parameter"])
    if second == "tile":
        other = placed(w, shape, subscript, dtype)
    elif second == "element":
        block = block_of(dtype)
        name = w.tile((block,), dtype, filled=False)
        other = f"{name}[{w.number(w.rng.randrange(block))}]"
    elif second == "parameter" and dtype in ("float32", "int32"):
        other = w.parameter(3, dtype)
    else:
        other = str(w.pick([2, 3, -1]))
    w.line(f"T.tile.{op}({target}, {one}, {other})")
    w.note(f"tile {op} {part} {second} {dtype} {w.style}")


def fill(w: Writer) -> None:
    dtype = w.pick(COMPUTED)
    extents = drawn_extents(w, dtype)
    target, part = tile_place(w, extents, dtype, filled=False)
    w.line(f"T.tile.fill({target}, {w.number(4, 0.2) if dtype == 'int32' else 4})")
    w.note(f"tile fill {part} {dtype} {w.style}")


def reduction(w: Writer) -> None:
    dtype = w.pick(["float32", "float32", "float16"])
    block = block_of(dtype)
    rows = w.pick([1, 2, 3, 5, 8])
    columns = w.pick([block, 2 * block, block + 3, 13, 1, 64])
    rank = w.pick([1, 2, 2, 2])
    shape = (rows, columns)[-rank:]
    how = w.pick(["sum", "max", "min"])
    dim = w.pick([0, 1, -1]) if rank == 2 else w.pick([0, -1])
    left = 1 if rank == 1 else rows if dim in (1, -1) else columns
    loaded = w.chance(0.5)
    name = w.tile(shape, dtype, filled=False)
    if loaded:
        w.line(f"T.tile.fill({name}, {w.pick([-9, 9])})")
        extents = [Extent(s, str(s)) for s in shape[:-1]] + [
            Extent.drawn(w, w.rng.randrange(1, shape[-1] + 1), 0.5)
        ]
        source, form = gm_place(w, extents, dtype, written=False)
        ranges = ", ".join([*(":" for _ in shape[:-1]), f"0:{extents[-1].text}"])
        w.line(f"T.copy({source}, {name}[{ranges}])")
        w.note(f"copy gm-ub [{form}] to head {dtype} {w.style}")
    keep = rank == 2 and w.chance(0.3)
    out_shape = (left,) if not keep else ((rows, 1) if dim in (1, -1) else (1, columns))
    out = w.tile(out_shape, dtype, filled=True)
    w.store_at_end(out, out_shape, dtype)
    clear = ", clear=False" if w.chance(0.2) else ""
    w.line(f"T.reduce_{how}({name}, {out}, dim={dim}{clear})")
    w.note(f"reduce {how} rank {rank} dim {dim} {dtype} {w.style}")


def gather(w: Writer) -> None:
    """Rows chosen by loaded indices, one after the other."""
    dtype = w.pick(COPIED)
    block = block_of(dtype)
    rows, width = w.pick([1, 3, 4, 8]), w.pick([block, 2 * block, block + 3, 3 * block])
    index_type = w.pick(["int32", "uint8", "int8", "int16", "uint16", "int64", "uint32"])
    count = max(32, rows)
    last = w.pick([3, 20, 49])
    indices = w.indices(count, index_type, 0, last)
    source = w.tensor((last + 1, width), dtype)
    i = w.name("r")
    shape = (rows, -(-width // block) * block)
    tile = w.tile(shape, dtype)
    w.store_at_end(tile, shape, dtype)
    with w.inside(f"for {i} in T.serial({w.number(rows)}):"):
        part = ":" if shape[1] == width else f"0:{width}"
        columns = ":" if w.chance(0.6) else f"0:{width}"
        w.line(f"T.copy({source}[{indices}[{i}], {columns}], {tile}[{i}, {part}])")
    w.note(f"gather rows by {index_type} {dtype} {w.style}")


def elements(w: Writer) -> None:
    """Elements read and written by the scalar unit, in a loop that may be empty."""
    dtype = w.pick(["float32", "int32", "int16", "int32", "uint8", "int8"])
    count = 2 * block_of(dtype)
    one = w.tile((count,), dtype, filled=False)
    other = w.tile((count,), dtype, filled=False)
    w.store_at_end(other, (count,), dtype)
    i = w.name("e")
    trips = w.pick([0, 1, 3, 8])
    with w.inside(f"for {i} in {w.pick(['T.serial', 'range'])}({w.number(trips, 0.6)}):"):
        kind = w.pick(["plain", "shift", "condition", "reverse", "divide", "both"])
        if kind == "divide" and dtype == "float32":
            kind = "plain"
        if kind == "condition":
            limit = w.pick([0, 60, 200])
            with w.inside(f"if {one}[{i}] * 8 > {limit}:"):
                w.line(f"{other}[{i}] = {one}[{i} + 1]")
            if w.chance(0.5):
                with w.inside("else:"):
                    w.line(f"{other}[{i}] = {w.pick([1, 2])}")
        elif kind == "divide":
            w.line(f"{other}[{i}] = {one}[{i}] {w.pick(['//', '%'])} {w.number(3)}")
        elif kind == "both":
            with w.inside(
                f"if {i} > {w.number(1)} {w.pick(['and', 'or'])} {one}[{i}] < {w.number(9)}:"
            ):
                w.line(f"{other}[{i}] = T.{w.pick(['max', 'min'])}({one}[{i}], {other}[{i} + 1])")
        elif kind == "shift":
            w.line(f"{other}[{i} + {w.number(2)}] = {one}[{i} * 2] + 1")
        elif kind == "reverse":
            w.line(f"{other}[{i}] = {one}[{count - 1} - {i}]")
        else:
            w.line(f"{other}[{i}] += {one}[{i}]")
    w.note(f"elements {kind} {dtype} {w.style}")


def variables(w: Writer) -> None:
    """A variable that a loop changes, and that is an index and a condition then."""
    dtype = w.pick(["float32", "int32", "int16"])
    count = 4 * block_of(dtype)
    tile = w.tile((count,), dtype, filled=False)
    w.store_at_end(tile, (count,), dtype)
    v, r = w.name("v"), w.name("r")
    w.allocations.append(f'{v} = T.alloc_var("int32", init={w.pick([0, 1, 3])})')
    with w.inside(f"for {r} in T.serial({w.number(w.pick([0, 1, 4]), 0.6)}):"):
        step = w.pick(
            ["1", f"T.if_then_else({r} % 2 == 0, 1, 2)", f"T.min({r}, 2)", f"T.ceildiv({r}, 2)"]
        )
        w.line(f"{v} = {v} + {step}")
        if w.chance(0.4):
            w.line(f"{tile}[{v}] = {w.pick([5, 6])}")
    with w.inside(f"if {v} {w.pick(['>', '<=', '!='])} {w.number(3)}:"):
        w.line(f"{tile}[{v} * 2] = {tile}[{v} + 1]")
    w.note(f"variable {dtype} {w.style}")
