"""Cases of the matrix as text: several in one kernel, each with tensors and tiles of its own."""

from __future__ import annotations

import random
from collections.abc import Sequence

from .element_types import bits
from .matrix_cases import Case
from .matrix_forms import GM_FORMS, INDICES, WIDTHS
from .program import Program
from .writer import Writer

PLANES, ROWS = 2, 5
CUBE_ROWS, CUBE_DEPTH, CUBE_COLUMNS = 32, 64, 32


class CaseWriter(Writer):
    """A writer whose numbers are written as the case has it."""

    time: str = "static"

    def number(self, value: int, run_time: float = 0.35) -> str:
        if self.time == "parameter":
            return self.parameter(value, "int32")
        if self.time == "loaded":
            return self.parameter(value, "uint8") if self.cube else self.element(value, "uint8")
        return str(value)

    def sized(self, shape: Sequence[int], dtype: str, letter: str, fixed: Sequence[bool]) -> str:
        """A tensor whose sizes are symbols, where the case is symbolic and they are not fixed."""
        if self.time != "symbolic":
            return self.tensor(shape, dtype, letter)
        name = self.name(letter)
        sizes = [str(s) if f else self.size(s) for s, f in zip(shape, fixed, strict=True)]
        self.parameters.append(f'{name}: T.Tensor(({", ".join(sizes)},), "{dtype}")')
        return name

    def chance(self, share: float) -> bool:
        return False


def program_of(cases: Sequence[Case], seed: int) -> Program:
    """A kernel of cases of one style and one kind of core."""
    first = cases[0]
    w = CaseWriter(random.Random(seed), first.style, cube=first.on_cube)
    for case in cases:
        w.time = case.time
        _write(w, case)
    w.time = "static"
    return w.program(seed)


def _write(w: CaseWriter, case: Case) -> None:
    if case.direction.startswith(("load", "store")):
        _parallel(w, case)
    elif case.on_cube:
        _product(w, case)
    else:
        _copy(w, case)


def _extents(case: Case) -> list[int]:
    blocks, more = WIDTHS[case.width]
    columns = blocks * (256 // bits(case.dtype)) + more
    tokens = GM_FORMS.get(case.form, "r c").split()
    rank = len([t for t in tokens if t.strip("<>:!~").upper() in ("P", "R", "C")])
    if case.form == "whole tensor":
        rank = 2
    return [PLANES, ROWS, columns][-max(rank, 1) :]


def _gm(w: CaseWriter, case: Case, extents: Sequence[int], dtype: str, letter: str) -> str:
    """A tensor, and the subscript of the case's form."""
    tokens = GM_FORMS[case.form].split()
    if not tokens:
        return w.tensor(list(extents), dtype, letter)
    by_letter = dict(zip("PRC"[-len(extents) :], extents, strict=True))
    sizes, texts, fixed = [], [], []
    for token in tokens:
        kind = token.strip("<>:!~")
        if kind in ("f", "u"):
            size, text = 4, w.number(2) if kind == "f" else "2:3"
        else:
            size, text = _dimension(w, token, by_letter[kind.upper()])
        sizes.append(size)
        texts.append(text)
        fixed.append(":" in token)
    name = w.sized(sizes, dtype, letter, fixed)
    return f"{name}[{', '.join(texts)}]"


def _dimension(w: CaseWriter, token: str, extent: int) -> tuple[int, str]:
    if token.endswith(":"):
        return extent, ":"
    if token.startswith("<"):
        return extent + 3, f":{w.number(extent)}"
    if token.endswith(">"):
        return extent + 3, "3:"
    start = 3
    size = start + extent + 2
    if token.endswith("!"):
        size = start + max(1, extent - 2)
    if token.endswith("~"):
        size = 2
    if token[0].islower():
        return size, w.number(start)
    begin = w.number(start)
    return (
        size,
        f"{begin}:{begin} + {extent}" if not begin.isdigit() else f"{begin}:{start + extent}",
    )


def _tile(w: CaseWriter, case: Case, extents: Sequence[int], dtype: str, loaded: bool) -> str:
    """A tile with the part that the case names."""
    block = 256 // bits(dtype)
    columns = -(-extents[-1] // block) * block
    shape, texts = list(extents), [":" for _ in extents]
    if case.tile != "whole":
        shape[-1] = columns + 2 * block
        texts[-1] = f"0:{extents[-1]}"
    if case.tile == "columns":
        begin = w.number(block)
        texts[-1] = f"{begin}:{begin} + {extents[-1]}"
    if case.tile == "rows" and len(extents) > 1:
        shape[-2] += 3
        texts[-2] = f"2:{2 + extents[-2]}"
    if case.tile == "slot" and len(extents) < 3:
        shape.insert(0, 3)
        texts.insert(0, w.number(1))
    name = w.tile(shape, dtype, filled=not loaded)
    w.store_at_end(name, shape, dtype)
    return name if case.tile == "whole" else f"{name}[{', '.join(texts)}]"


def _copy(w: CaseWriter, case: Case) -> None:
    extents = _extents(case)
    if case.direction == "gm-ub":
        target = _tile(w, case, extents, case.dtype, loaded=True)
        source = _gm(w, case, extents, case.dtype, "x")
        pad = ", pad_value=2.0" if "cut" in case.form and bits(case.dtype) in (16, 32) else ""
        w.line(f"T.copy({source}, {target}{pad})")
        return
    source = _tile(w, case, extents, case.dtype, loaded=True)
    if case.direction == "ub-ub":
        whole = Case("", "", case.dtype, case.width, "rows", case.style, case.time)
        w.line(f"T.copy({source}, {_tile(w, whole, extents, case.dtype, loaded=True)})")
        return
    target = _gm(w, case, extents, case.dtype, "y")
    if case.direction == "ub+gm":
        w.line(f"T.tile.atomic_add({target}, {source})")
    else:
        w.line(f"T.copy({source}, {target})")


def _product(w: CaseWriter, case: Case) -> None:
    """A times B, of which a part of A is loaded as the case says, or a part of the result stored."""
    sums = "int32" if case.dtype == "int8" else "float32"
    m, k, n = CUBE_ROWS, CUBE_DEPTH, CUBE_COLUMNS
    l1, l0c = (
        ("alloc_L1", "alloc_L0C") if case.style == "expert" else ("alloc_shared", "alloc_fragment")
    )
    a, b, c = w.name("a"), w.name("b"), w.name("c")
    w.allocations += [
        f'{a} = T.{l1}(({m}, {k}), "{case.dtype}")',
        f'{b} = T.{l1}(({k}, {n}), "{case.dtype}")',
        f'{c} = T.{l0c}(({m}, {n}), "{sums}")',
    ]
    w.line(f"T.copy({w.tensor((m, k), case.dtype)}, {a})")
    w.line(f"T.copy({w.tensor((k, n), case.dtype)}, {b})")
    block = 256 // bits(case.dtype)
    left, down = (
        (0 if case.tile in ("whole", "rows", "head") else block),
        (16 if case.tile == "rows" else 0),
    )
    if case.direction == "gm-l1":
        rows = 16 if case.tile != "whole" else m
        columns = k if case.tile == "whole" else block - 3 if case.width == "ragged" else block
        source = _gm(w, case, (rows, columns), case.dtype, "x")
        part = "" if case.tile == "whole" else f"[{down}:{down + rows}, {left}:{left + columns}]"
        w.line(f"T.copy({source}, {a}{part})")
    w.line(f"T.gemm_v0({a}, {b}, {c}, init=True)")
    if case.direction == "gm-l1":
        w.ends.append(f"T.copy({c}, {w.tensor((m, n), sums, 'y')})")
        return
    rows, columns = (m, n) if case.tile == "whole" else (16, 16)
    column = 16 if case.tile == "columns" else 0
    part = "" if case.tile == "whole" else f"[{down}:{down + rows}, {column}:{column + columns}]"
    target = _gm(w, case, (rows, columns), sums, "y")
    w.line(
        f"T.tile.atomic_add({target}, {c}{part})"
        if case.direction == "l0c+gm"
        else f"T.copy({c}{part}, {target})"
    )


def _parallel(w: CaseWriter, case: Case) -> None:
    blocks, more = WIDTHS[case.width]
    i_extent, j_extent = 4, max(1, blocks * (256 // bits(case.dtype)) + more)
    names = {"I": i_extent, "J": j_extent}
    texts, sizes = [], []
    for index in case.form.split(", "):
        sizes.append(int(eval(INDICES[index], dict(names))) + 2)
        text = index
        if index == "f":
            text = str(w.rng.randrange(3))
        if "k[" in index:
            text = index.replace("k", w.indices(max(64, j_extent), "int32", 0, 9))
        if index.startswith("n +"):
            text = index.replace("n", w.parameter(5, "int32"))
        text = text.replace("LAST_I", str(i_extent - 1)).replace("LAST_J", str(j_extent - 1))
        texts.append(text.replace("J", str(j_extent)))
    written, on_gm = case.direction.startswith("store"), case.direction.endswith("gm")
    block = 256 // bits(case.dtype)
    if not on_gm:
        sizes[-1] = -(-sizes[-1] // block) * block
    if on_gm:
        name = w.tensor(sizes, case.dtype, "y" if written else "x")
    else:
        name = w.tile(sizes, case.dtype, filled=False)
        w.store_at_end(name, sizes, case.dtype)
    plain_shape = [i_extent, -(-j_extent // block) * block]
    plain = w.tile(plain_shape, case.dtype, filled=False)
    w.store_at_end(plain, plain_shape, case.dtype)
    with w.inside(f"for i, j in T.Parallel({i_extent}, {j_extent}):"):
        element = f"{name}[{', '.join(texts)}]"
        w.line(f"{element} = {plain}[i, j]" if written else f"{plain}[i, j] = {element} + 1")
