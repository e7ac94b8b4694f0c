"""Writes places: regions of gm tensors and of tiles that have given extents, in every form."""

from __future__ import annotations

from dataclasses import dataclass

from .element_types import bits
from .writer import Writer


@dataclass(frozen=True)
class Extent:
    """How far a region goes in one dimension, and how that is written."""

    value: int
    text: str

    @staticmethod
    def drawn(w: Writer, value: int, run_time: float = 0.15) -> Extent:
        return Extent(value, w.number(value, run_time))


def block_of(dtype: str) -> int:
    """Elements of 32 bytes."""
    return 256 // bits(dtype)


def gm_place(
    w: Writer,
    extents: list[Extent],
    dtype: str,
    written: bool,
    letter: str = "x",
    rows: bool = False,
) -> tuple[str, str]:
    """A new tensor with a region of these extents, and the name of its form. `rows`: the last
    dimension moves, as the cube core has it."""
    fixed = w.pick([0, 0, 1, 1, 2]) if len(extents) < 3 else w.pick([0, 1])
    owned = written and w.owners > 1
    order = ["moving"] * len(extents)
    for kind in ["fixed"] * fixed + ["owner"] * owned:
        # Two elements of int4 share a byte.
        order.insert(w.rng.randrange(len(order) + (dtype != "int4" and not rows)), kind)
    remaining = list(extents)
    # The last dimension is cut at an edge, and the nearest before it that is longer than one.
    longer = [d for d, k in enumerate(order[:-1]) if k == "moving" and _longer(order, d, extents)]
    cuts = {len(order) - 1, *longer[-1:]}
    start_form = order[: len(order) - len(extents)].count("moving") == 0 and w.chance(0.2)
    sizes, texts, form = [], [], []
    for d, kind in enumerate(order):
        if kind == "owner":
            sizes.append(w.owners)
            texts.append(w.owner)
            form.append("o")
        elif kind == "fixed":
            place = w.rng.randrange(0, 5)
            sizes.append(place + w.rng.randrange(1, 4))
            texts.append(w.number(place))
            form.append("f")
        else:
            cut = d in cuts and (w.chance(0.15) if not start_form else w.chance(0.3))
            size, text, how = _moving(
                w, remaining.pop(0), cut and dtype != "int4", start_form, dtype
            )
            sizes.append(size)
            texts.append(text)
            form.append(how)
    if dtype == "int4" and sizes[-1] % 2:
        sizes[-1] += 1
    name = w.tensor(sizes, dtype, letter, [how != ":" for how in form])
    if set(form) == {":"} and w.chance(0.5):
        return name, "whole"
    return f"{name}[{', '.join(texts)}]", ",".join(form)


def _longer(order: list[str], dimension: int, extents: list[Extent]) -> bool:
    return extents[order[:dimension].count("moving")].value != 1


def _moving(
    w: Writer, extent: Extent, cut: bool, start_form: bool, dtype: str
) -> tuple[int, str, str]:
    """Size of a dimension, the part of the subscript, and its form: `:` all of it, `r` a range,
    `i` the start alone, and `c` behind what is cut at the edge."""
    value = extent.value
    start = w.pick([0, 0, 1, 2, 3, 7, 16] if dtype != "int4" else [0, 2, 16])
    last = start + max(0, value - 1)
    size = last + 1 + w.pick([0, 0, 1, 2, 5, 40])
    mark = ""
    if cut and value > 0:
        size = max(1, size - w.rng.randrange(0, value + 3))
        mark = "c"
    if start_form:
        return size, w.number(start), "i" + mark
    if size == value and start == 0 and extent.text == str(value) and w.chance(0.7):
        return size, ":", ":"
    begin = w.number(start)
    length = extent.text
    if begin.isdigit() and length.isdigit():
        stop = str(int(begin) + int(length))
    else:
        stop = length if begin == "0" else f"{begin} + {length}"
    low = "" if begin == "0" and w.chance(0.5) else begin
    return size, f"{low}:{stop}", "r" + mark


def tile_place(
    w: Writer, extents: list[Extent], dtype: str, filled: bool | None = None
) -> tuple[str, str]:
    """A new tile with a region of these extents, and the name of its form."""
    shape, subscript = tile_form(w, extents, dtype)
    return placed(w, shape, subscript, dtype, filled), "part" if subscript else "whole"


def placed(
    w: Writer, shape: list[int], subscript: str, dtype: str, filled: bool | None = None
) -> str:
    """A new tile, and a region of it."""
    if filled is not True and w.chance(0.12):
        return w.updated_tile(shape, dtype) + subscript
    name = w.tile(shape, dtype, filled)
    w.store_at_end(name, shape, dtype)
    return name + subscript


def tile_form(w: Writer, extents: list[Extent], dtype: str) -> tuple[list[int], str]:
    """The shape of a tile and a subscript of these extents. Rows start at multiples of 32 bytes."""
    block = block_of(dtype)
    values = [e.value for e in extents]
    static = all(e.text == str(e.value) for e in extents)
    dense = len(extents) == 1 or values[-1] % block == 0
    whole = static and w.chance(0.4 if dense else 0.05)
    if whole:
        shape = list(values)
        texts: list[str] = []
    else:
        shape, texts = [], []
        for d, extent in enumerate(extents):
            last = d == len(extents) - 1
            start = w.pick([0, 0, block, 2 * block]) if last else w.pick([0, 0, 1, 2])
            size = start + extent.value + w.pick([0, 1, 3, 16])
            if last:
                size = -(-max(size, 1) // block) * block
            size = max(size, 1)
            begin = w.number(start, 0.15)
            if start == 0 and size == extent.value and extent.text == str(size):
                texts.append(":")
            elif begin.isdigit() and extent.text.isdigit():
                texts.append(f"{begin}:{int(begin) + int(extent.text)}")
            else:
                texts.append(
                    f"{begin}:{extent.text}" if begin == "0" else f"{begin}:{begin} + {extent.text}"
                )
            shape.append(size)
        if w.chance(0.25) and len(shape) < 3:
            slots = w.rng.randrange(1, 4)
            shape.insert(0, slots)
            texts.insert(0, w.number(w.rng.randrange(slots)))
    if whole:
        return shape, ""
    return shape, f"[{', '.join(texts)}]"


def drawn_extents(w: Writer, dtype: str, most: int = 3) -> list[Extent]:
    """Extents of a tile: odd ones, single ones, and whole blocks."""
    rank = w.pick([1, 2, 2, 2, 3][: most + 2])
    block = block_of(dtype)
    last = w.pick([block, 2 * block, 13, block - 1, block + 1, 1, 5, 3 * block + 2])
    if dtype == "int4":
        last += last % 2
    outer = [w.pick([1, 2, 3, 4, 5, 8]) for _ in range(rank - 1)]
    share = 0.0 if dtype == "int4" else 0.12
    return [Extent.drawn(w, v, share) for v in (*outer, last)]
