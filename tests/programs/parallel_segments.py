"""Parallel loops: affine, strided, shifted, permuted, reversed and loaded indices, on tiles and
directly on gm."""

from __future__ import annotations

from dataclasses import dataclass

from .places import block_of
from .writer import Writer

COMPUTED = ("float32", "float32", "float16", "int32", "int16", "int8", "uint8")


@dataclass(frozen=True)
class Axis:
    """A loop variable and its extent."""

    name: str
    extent: int


def parallel(w: Writer) -> None:
    dtype = w.pick(COMPUTED)
    block = block_of(dtype)
    inner = w.pick([block, 2 * block, 13, block + 1, 5, 1])
    axes = (
        [Axis("j", inner)]
        if w.chance(0.3)
        else [Axis("i", w.pick([1, 2, 3, 4, 8])), Axis("j", inner)]
    )
    count = w.pick([1, 1, 1, 2])
    stores = [_statement(w, axes, dtype) for _ in range(count)]
    names = ", ".join(a.name for a in axes)
    with w.inside(
        f"for {names} in T.Parallel({', '.join(w.number(a.extent, 0.05) for a in axes)}):"
    ):
        for line in stores:
            w.line(line)


def _statement(w: Writer, axes: list[Axis], dtype: str) -> str:
    target, form = _element(w, axes, dtype, written=True)
    value, used = _value(w, axes, dtype)
    for one in (form, *used):
        w.note(f"parallel {one} {dtype} {w.style}")
    if w.chance(0.1) and form.startswith("store ub"):
        return f"{target} += {value}"
    if w.chance(0.12):
        condition = f"{axes[-1].name} < {w.number(max(1, axes[-1].extent // 2))}"
        return f"if {condition}:\n    {target} = {value}"
    return f"{target} = {value}"


def _value(w: Writer, axes: list[Axis], dtype: str) -> tuple[str, list[str]]:
    one, form = _element(w, axes, dtype, written=False)
    kind = w.pick(["plain", "plain", "sum", "scaled", "max", "select", "three"])
    if dtype in ("int8", "uint8") and kind in ("max", "three", "scaled"):
        kind = "sum"
    if kind == "plain":
        return one, [form]
    if kind == "scaled":
        return f"{one} * {w.pick([2, 3])} + {w.pick([1, 5])}", [form]
    other, second = _element(w, axes, dtype, written=False)
    if kind == "max":
        return f"T.max({one}, {other})", [form, second]
    if kind == "select":
        axis = w.pick(axes)
        condition = f"{axis.name} {w.pick(['<', '>=', '=='])} {w.number(axis.extent // 2)}"
        return f"T.if_then_else({condition}, {one}, {other})", [form, second]
    if kind == "three":
        third, last = _element(w, axes, dtype, written=False)
        return f"{one} * {other} - {third}", [form, second, last]
    return f"{one} + {other}", [form, second]


def _element(w: Writer, axes: list[Axis], dtype: str, written: bool) -> tuple[str, str]:
    """An element of a new buffer. What is written is written once."""
    on_gm = w.chance(0.4)
    used = list(axes)
    if not written and len(axes) == 2 and w.chance(0.2):
        used = [w.pick(axes)]
    if w.chance(0.12):
        used = used[::-1]
    parts = [_index(w, a, written) for a in used]
    owned = written and on_gm and w.owners > 1
    for _ in range(w.pick([0, 0, 0, 1]) if on_gm or len(parts) < 3 else 0):
        place = w.rng.randrange(3)
        at = w.rng.randrange(len(parts) + 1) if on_gm else 0
        parts.insert(at, (w.number(place), place, "f"))
    if owned:
        parts.insert(w.rng.randrange(len(parts) + 1), (w.owner, w.owners - 1, "o"))
    sizes = [last + 1 + (w.pick([0, 0, 1, 4]) if how != "o" else 0) for _, last, how in parts]
    if not on_gm:
        sizes[-1] = -(-sizes[-1] // block_of(dtype)) * block_of(dtype)
    if on_gm:
        name = w.tensor(sizes, dtype, "y" if written else "x", [True] * len(sizes))
    else:
        name = w.tile(sizes, dtype, filled=False if not written else None)
        if written:
            w.store_at_end(name, sizes, dtype)
    form = f"{'store' if written else 'load'} {'gm' if on_gm else 'ub'} [{','.join(h for _, _, h in parts)}]"
    if used != axes and len(used) == 2:
        form += " permuted"
    return f"{name}[{', '.join(t for t, _, _ in parts)}]", form


def _index(w: Writer, axis: Axis, written: bool) -> tuple[str, int, str]:
    """An index, its largest value, and its form."""
    i, last = axis.name, axis.extent - 1
    kinds = ["plain"] * 6 + ["shift", "shift", "stride", "odd stride", "reverse", "run time"]
    if not written:
        kinds += ["loaded", "half", "turned"]
    kind = w.pick(kinds)
    if kind == "shift":
        by = w.pick([1, 3, 8, 16])
        return f"{i} + {by}", last + by, "+c"
    if kind == "stride":
        return f"2 * {i}", 2 * last, "2i"
    if kind == "odd stride":
        return f"{i} * 3 + 1", 3 * last + 1, "3i+1"
    if kind == "reverse":
        return f"{last} - {i}", last, "-i"
    if kind == "run time":
        by = w.pick([0, 1, 5, 16])
        return f"{w.number(by, 1.0)} + {i}", last + by, "+n"
    if kind == "loaded":
        most = w.pick([3, 20])
        dtype = w.pick(["int32", "int32", "int16", "uint8"])
        tile = w.indices(max(32, axis.extent), dtype, 0, most)
        return f"{tile}[{i}]", most, "k"
    if kind == "half":
        return f"{i} // 2", last // 2, "/2"
    if kind == "turned":
        return f"({i} + 1) % {axis.extent}", last, "%n"
    return i, last, "i"
