"""Products: matrices loaded into l1 whole and in parts, and results stored to parts of gm."""

from __future__ import annotations

from .places import Extent, block_of, gm_place
from .writer import Writer


def product(w: Writer) -> None:
    dtype = w.pick(["float16", "float16", "bfloat16", "int8", "float32"])
    m, k, n = (w.pick([16, 32, 48]), w.pick([32, 64]), w.pick([16, 32, 64]))
    turn_a, turn_b = (
        (w.chance(0.15), w.chance(0.25)) if dtype != "int8" else (False, w.chance(0.25))
    )
    left = _matrix(w, (k, m) if turn_a else (m, k), dtype)
    right = _matrix(w, (n, k) if turn_b else (k, n), dtype)
    sums = "int32" if dtype == "int8" else "float32"
    result = w.name("c")
    allocate = "alloc_L0C" if w.style == "expert" else "alloc_fragment"
    w.allocations.append(f'{result} = T.{allocate}(({m}, {n}), "{sums}")')
    flags = (", transpose_A=True" if turn_a else "") + (", transpose_B=True" if turn_b else "")
    w.line(f"T.gemm_v0({left}, {right}, {result}, init=True{flags})")
    if w.chance(0.2):
        w.line(f"T.gemm_v0({left}, {right}, {result}{flags})")
    w.note(f"product {dtype}{flags} {w.style}")
    out = w.pick([sums, sums, "float16", "bfloat16"]) if sums == "float32" else sums
    if w.style == "developer" and w.chance(0.4):
        _through_ub(w, result, (m, n), sums)
        return
    if w.chance(0.4):
        # Some rows and columns of the result.
        rows, columns = w.pick([16, 7, m]), w.pick([16, n, 9])
        extents = [Extent(rows, str(rows)), Extent(columns, str(columns))]
        source = f"{result}[0:{rows}, 0:{columns}]"
    else:
        extents = [Extent(m, str(m)), Extent(n, str(n))]
        source = result
    target, form = gm_place(w, extents, out, written=True, letter="y", rows=w.chance(0.95))
    if w.chance(0.15) and out == sums:
        w.line(f"T.tile.atomic_add({target}, {source})")
        w.note(f"atomic l0c to [{form}] {out} {w.style}")
        return
    w.line(f"T.copy({source}, {target})")
    w.note(f"copy l0c-gm to [{form}] {sums}-{out} {w.style}")


def _matrix(w: Writer, shape: tuple[int, int], dtype: str) -> str:
    name = w.name("a")
    allocate = "alloc_L1" if w.style == "expert" else "alloc_shared"
    w.allocations.append(f'{name} = T.{allocate}({shape}, "{dtype}")')
    rows, columns = shape
    block = block_of(dtype)
    if w.chance(0.3) and rows > 16:
        parts = [(slice(r, r + 16), slice(0, columns)) for r in range(0, rows, 16)]
    elif w.chance(0.3) and columns > block:
        parts = [(slice(0, rows), slice(c, c + block)) for c in range(0, columns, block)]
    else:
        parts = [(slice(0, rows), slice(0, columns))]
    w.rng.shuffle(parts)
    if w.chance(0.3):
        row, column = w.rng.randrange(0, rows, 16), w.rng.randrange(0, columns, block)
        height, width = (
            w.pick([16, 5, rows - row]),
            w.pick([block, block, block, block - 3 if w.chance(0.2) else block, columns - column]),
        )
        parts.append(
            (slice(row, min(rows, row + height)), slice(column, min(columns, column + width)))
        )
    for row, column in parts:
        sizes = (row.stop - row.start, column.stop - column.start)
        extents = [Extent(s, str(s)) for s in sizes]
        source, form = gm_place(w, extents, dtype, written=False, rows=w.chance(0.97))
        whole = sizes == shape
        target = name if whole else f"{name}[{row.start}:{row.stop}, {column.start}:{column.stop}]"
        w.line(f"T.copy({source}, {target})")
        w.note(f"copy gm-l1 [{form}] to {'whole' if whole else 'part'} {dtype} {w.style}")
    return name


def _through_ub(w: Writer, result: str, shape: tuple[int, int], dtype: str) -> None:
    tile = w.name("t")
    w.allocations.append(f'{tile} = T.alloc_shared({shape}, "{dtype}")')
    w.line(f"T.copy({result}, {tile})")
    with w.inside(f"for i, j in T.Parallel{shape}:"):
        w.line(f"{tile}[i, j] = {tile}[i, j] * 2 + 1")
    extents = [Extent(s, str(s)) for s in shape]
    target, form = gm_place(w, extents, dtype, written=True, letter="y", rows=w.chance(0.95))
    w.line(f"T.copy({tile}, {target})")
    w.note(f"copy l0c-ub-gm to [{form}] {dtype} {w.style}")
