"""Element statements of `T.Parallel` that read or write elements in another order than they lie in:
what each does is what NumPy does with the same text and arrays of indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from tile_ir import DType
from tile_ir.dtypes import DTYPES, from_bytes, to_bytes

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """A nest over `loops`; lower-case names are its tiles, of `shapes` that M rows of N columns
    give. `p` and `q` hold indices up to `limit`, each once or in any order."""

    name: str
    loops: tuple[str, ...]
    body: tuple[str, ...]
    shapes: tuple[tuple[str, tuple[str, ...]], ...]
    limit: str = "M"
    sides: tuple[str, ...] = ("ub", "gm", "load", "store")
    sizes: tuple[tuple[int, int], ...] = ()

    @property
    def scattered(self) -> bool:
        """Whether it writes single elements far apart, for which there is no instruction."""
        return self.name in ("write-column", "write-diagonal", "line-to-index")

    @property
    def among_others(self) -> bool:
        """Whether what it writes lies between elements that stay."""
        return self.name.startswith("write-")


@dataclass(frozen=True, slots=True)
class Case:
    """A form in one type and size; `side` says which of its tensors are used as they lie in gm."""

    form: Form
    dtype: DType
    side: str
    size: tuple[int, int]
    lanes: int

    @property
    def name(self) -> str:
        rows, columns = self.size
        return f"{self.form.name}-{self.dtype}-{self.side}-{rows}x{columns}-{self.lanes}"

    @property
    def may_be_scalar(self) -> bool:
        """Whether no instruction does it, or a handful of elements are better carried: masks have
        no lanes for single bytes, whose rows start inside blocks or that lie between others."""
        columns = self.size[1]
        elements = -(-self.value(self.form.loops[0]) // self.lanes)
        for text in self.form.loops[1:]:
            elements *= self.value(text)
        inside = self.dtype.size == 1 and (columns % 32 != 0 or self.form.among_others)
        return self.form.scattered or inside or elements <= 8

    def value(self, text: str) -> int:
        return int(eval(text, {"M": self.size[0], "N": self.size[1]}))

    def shape(self, name: str) -> Shape:
        return tuple(map(self.value, dict(self.form.shapes)[name]))

    def kind(self, name: str) -> DType:
        return DTYPES["int32"] if name in "pq" else self.dtype

    def in_gm(self, name: str) -> bool:
        """Whether the nest uses the tensor itself, not a tile of it."""
        if name in "pq":
            return False
        return self.side == "gm" or self.side == ("store" if name in "yz" else "load")


XY = (("x", ("M", "N")), ("y", ("M", "N")))


def _form(
    name: str,
    body: str,
    loops: str = "M, N",
    x: str = "M, N",
    y: str = "M, N",
    limit: str = "M",
    sides: str = "ub gm load store",
    sizes: Sequence[tuple[int, int]] = (),
    **others: str,
) -> Form:
    shapes = {"x": x, "y": y, **others}
    return Form(
        name,
        tuple(loops.split(", ")),
        tuple(body.split("; ")),
        tuple((n, tuple(s.split(", "))) for n, s in shapes.items() if s),
        limit,
        tuple(sides.split()),
        tuple(sizes),
    )


FORMS: tuple[Form, ...] = (
    # Reads from another place.
    _form("shift", "y[i, j] = x[i, j + 1]", x="M, N + 1"),
    _form("shift-within", "y[i, j] = x[i, j + 3] + x[i, j]", x="M, N + 8"),
    _form("shift-rows", "y[i, j] = x[i + 1, j]", x="M + 2, N"),
    _form("shift-both", "y[i, j] = x[i + 1, j + 1]", x="M + 1, N + 1"),
    _form("every-second", "y[i, j] = x[i, 2 * j]", x="M, 2 * N"),
    _form("every-second-odd", "y[i, j] = x[i, 2 * j + 1]", x="M, 2 * N"),
    _form("every-third", "y[i, j] = x[i, 3 * j + 1]", x="M, 3 * N"),
    _form("every-fourth", "y[i, j] = x[i, 4 * j + 2]", x="M, 4 * N"),
    _form("second-rows", "y[i, j] = x[2 * i + 1, j]", x="2 * M, N"),
    _form("second-of-both", "y[i, j] = x[2 * i, 2 * j]", x="2 * M, 2 * N"),
    _form("backwards", "y[i, j] = x[i, {N} - 1 - j]"),
    _form("rows-backwards", "y[i, j] = x[{M} - 1 - i, j]"),
    _form("both-backwards", "y[i, j] = x[{M} - 1 - i, {N} - 1 - j]"),
    _form("transposed", "y[i, j] = x[j, i]", x="N, M"),
    _form("transposed-sum", "y[i, j] = x[j, i] + x[j, i] * c[i]", x="N, M", c="M"),
    _form("transposed-shifted", "y[i, j] = x[j + 1, i + 1]", x="N + 1, M + 1"),
    _form("roll", "y[i, j] = x[i, (j + 3) % {N}]"),
    _form("neighbours-swapped", "y[i, j] = x[i, j + 1 - 2 * (j % 2)]", sizes=((24, 64), (7, 34))),
    _form("halves-swapped", "y[i, j] = x[i, (j + {N} // 2) % {N}]", sizes=((24, 64), (7, 34))),
    _form("diagonal", "y[i] = x[i, i]", loops="M", x="M, M", y="M"),
    _form("column-read", "y[i] = x[i, 5]", loops="M", y="M"),
    _form("column-of-many", "y[i, j] = x[i, j] - x[i, 3]"),
    # Writes to another place.
    _form("write-shift", "y[i, j + 1] = x[i, j]", y="M, N + 1"),
    _form("write-shift-computed", "y[i, j + 3] = x[i, j] * x[i, j]", y="M, N + 8"),
    _form("write-rows-shifted", "y[i + 2, j] = x[i, j]", y="M + 2, N"),
    _form("write-second", "y[i, 2 * j] = x[i, j]", y="M, 2 * N"),
    _form("write-second-odd", "y[i, 2 * j + 1] = x[i, j] + x[i, j]", y="M, 2 * N"),
    _form("write-second-rows", "y[2 * i + 1, j] = x[i, j]", y="2 * M, N"),
    _form("write-backwards", "y[i, {N} - 1 - j] = x[i, j]"),
    _form("write-rows-backwards", "y[{M} - 1 - i, j] = x[i, j]"),
    _form("write-transposed", "y[j, i] = x[i, j]", y="N, M"),
    _form("write-column", "y[i, 3] = x[i]", loops="M", x="M"),
    _form("write-diagonal", "y[i, i] = x[i]", loops="M", x="M", y="M, M"),
    _form("write-part", "y[i, j + 5] = x[i, j]", loops="M, N - 9", sizes=((24, 64), (13, 37))),
    # Pairs.
    _form(
        "interleave",
        "y[i, 2 * j] = x[i, j]; y[i, 2 * j + 1] = x[i, j + {N}]",
        x="M, 2 * N",
        y="M, 2 * N",
    ),
    _form(
        "separate",
        "y[i, j] = x[i, 2 * j]; y[i, j + {N}] = x[i, 2 * j + 1]",
        x="M, 2 * N",
        y="M, 2 * N",
    ),
    _form(
        "rotate-pairs",
        "y[i, 2 * j] = x[i, 2 * j] * c[i, j] - x[i, 2 * j + 1] * s[i, j]; "
        "y[i, 2 * j + 1] = x[i, 2 * j + 1] * c[i, j] + x[i, 2 * j] * s[i, j]",
        x="M, 2 * N",
        y="M, 2 * N",
        c="M, N",
        s="M, N",
    ),
    _form(
        "rotate-halves",
        "y[i, j] = x[i, j] * c[i, j] - x[i, j + {N}] * s[i, j]; "
        "y[i, j + {N}] = x[i, j + {N}] * c[i, j] + x[i, j] * s[i, j]",
        x="M, 2 * N",
        y="M, 2 * N",
        c="M, N",
        s="M, N",
    ),
    _form("sums-of-pairs", "y[i, j] = x[i, 2 * j] + x[i, 2 * j + 1]", x="M, 2 * N"),
    # By an index.
    _form("rows-by-index", "y[i, j] = x[p[i], j]", p="M"),
    _form("columns-by-index", "y[i, j] = x[i, p[j]]", p="N", limit="N"),
    _form("line-by-index", "y[i] = x[p[i]]", loops="N", x="2 * N", y="N", p="N", limit="2 * N"),
    _form("elements-by-index", "y[i, j] = x[i, q[i, j]]", q="M, N", limit="N"),
    _form("table", "y[i, j] = x[q[i, j]]", x="4 * N", q="M, N", limit="4 * N"),
    _form("two-indices", "y[i] = x[p[i], q[i]]", loops="M", x="M, M", y="M", p="M", q="M"),
    _form("rows-to-index", "y[p[i], j] = x[i, j]", p="M"),
    _form("line-to-index", "y[p[i]] = x[i]", loops="M", x="M", y="M", p="M"),
    # Windows.
    _form("window", "y[i, j] = x[i, j] + x[i, j + 1] + x[i, j + 2]", x="M, N + 2"),
    _form("window-backwards", "y[i, j] = x[i, j + 4] - x[i, 4 - j + {N}]", x="M, N + 8"),
    _form(
        "window-of-two",
        "y[i, j] = T.max(T.max(x[i, j], x[i + 1, j]), T.max(x[i, j + 1], x[i + 1, j + 1]))",
        x="M + 1, N + 1",
    ),
    _form(
        "pool",
        "y[i, j] = T.max(T.max(x[2 * i, 2 * j], x[2 * i, 2 * j + 1]), "
        "T.max(x[2 * i + 1, 2 * j], x[2 * i + 1, 2 * j + 1]))",
        x="2 * M, 2 * N",
    ),
    _form("toeplitz", "y[i, j] = x[i + j]", x="M + N"),
    _form("toeplitz-backwards", "y[i, j] = x[i - j + {N}]", x="M + N + 1"),
    # Values of a row or column.
    _form("row-and-column", "y[i, j] = x[i, j] * w[j] + c[i]", w="N", c="M"),
    _form("outer", "y[i, j] = w[j] * c[i]", x="", w="N", c="M"),
    _form("row-shifted", "y[i, j] = x[i, j] + w[j + 1]", w="N + 1"),
    _form("row-backwards", "y[i, j] = x[i, j] + w[{N} - 1 - j]", w="N"),
    _form("row-second", "y[i, j] = x[i, j] + w[2 * j]", w="2 * N"),
    _form("column-shifted", "y[i, j] = x[i, j] + c[i + 1]", c="M + 1"),
    _form("column-second", "y[i, j] = x[i, j] + c[2 * i]", c="2 * M"),
    _form("column-backwards", "y[i, j] = x[i, j] + c[{M} - 1 - i]", c="M"),
    _form("repeated", "y[i, j] = x[i, j // 2]"),
    _form("repeated-rows", "y[i, j] = x[i // 2, j]"),
    _form("groups", "y[i, j] = x[i, j] * w[j // 8]", w="N // 8 + 1"),
    _form("tiled", "y[i, j] = x[i, j % 8] + x[i % 4, j]"),
    # Other shapes.
    _form("flatten", "y[i * {N} + j] = x[i, j]", y="M * N"),
    _form("fold", "y[i, j] = x[i * {N} + j]", x="M * N"),
    _form(
        "heads-outside", "y[j, i, k] = x[i, j, k]", "M, 4, N // 4", "M, 4, N // 4", "4, M, N // 4"
    ),
    _form(
        "heads-inside", "y[i, k, j] = x[i, j, k]", "M, 4, N // 4", "M, 4, N // 4", "M, N // 4, 4"
    ),
    _form("turned", "y[k, i, j] = x[i, j, k]", "M, 4, N // 4", "M, 4, N // 4", "N // 4, M, 4"),
    _form("split-heads", "y[j, i, k] = x[i, j * {N4} + k]", "M, 4, N // 4", "M, N", "4, M, N // 4"),
    # In place and under conditions.
    _form("reverse-in-place", "y[i, j] = y[i, {N} - 1 - j]", x="", sides="ub"),
    _form("below-diagonal", "y[i, j] = T.if_then_else(j <= i, x[i, j], 0)"),
    _form("shift-where-inside", "if j + 1 < {N}: y[i, j] = x[i, j + 1]"),
    _form("padded-shift", "y[i, j] = T.if_then_else(j > 0, x[i, T.max(j - 1, 0)], 0)"),
    # Several values in one place.
    *(
        _form(name, body, x=x, sizes=((24, 96), (32, 192), (16, 32)), sides="ub load")
        for name, body, x in (
            ("halves-of-places", "y[i, j] = x[i, j // 2] * (j % 2 + 1)", "M, N // 2"),
            ("halves-by-bits", "y[i, j] = x[i, j >> 1] + (j & 1)", "M, N // 2"),
            ("quarters-of-places", "y[i, j] = x[i, j // 4] - j % 4", "M, N // 4"),
            ("rows-of-halves", "y[i, j] = x[i // 2, j] * (1 - i % 2)", "M // 2, N"),
        )
    ),
    # Classes of columns.
    *(
        _form(name, body, x=x, c=c, sizes=((24, 64), (16, 128), (7, 32)), sides="ub load")
        for name, body, x, c in (
            ("neighbours-exchanged", "y[i, j] = x[i, j ^ 1] + x[i, j]", "M, N", ""),
            ("halves-exchanged", "y[i, j] = x[i, j] - x[i, j ^ ({N} // 2)]", "M, N", ""),
            ("quarters-exchanged", "y[i, j] = x[i, j ^ ({N} // 4)]", "M, N", ""),
            ("halves-shared", "y[i, j] = x[i, j] + c[i, j % ({N} // 2)]", "M, N", "M, N // 2"),
            (
                "sides-of-pairs",
                "y[i, j] = T.if_then_else(j % 2 == 0, x[i, j + 1], 0 - x[i, j - 1])",
                "M, N + 2",
                "",
            ),
            (
                "rotate-by-parity",
                "y[i, j] = x[i, j] * c[i, j // 2] + x[i, j + 1 - 2 * (j % 2)] * (j % 2 * 2 - 1)",
                "M, N",
                "M, N // 2",
            ),
            (
                "rotate-by-halves",
                "y[i, j] = x[i, j] * c[i, j % ({N} // 2)] "
                "+ T.if_then_else(j < {N} // 2, 1, -1) * x[i, (j + {N} // 2) % {N}]",
                "M, N",
                "M, N // 2",
            ),
        )
    ),
)

DTYPE_NAMES = ("float32", "float16", "int8", "int32", "int16", "uint8", "bfloat16")
SIZES = ((24, 64), (13, 37), (32, 128), (5, 7), (8, 33), (16, 16), (1, 40))


def cases() -> Iterator[Case]:
    """Three of every form: types, sides, sizes and lanes take turns, so that over all forms every
    two of them meet."""
    dtypes, sizes, lanes = cycle(DTYPE_NAMES), cycle(SIZES), cycle((1, 2, 1, 2, 2))
    for number, form in enumerate(FORMS):
        own_sizes = cycle(form.sizes) if form.sizes else sizes
        for turn in range(3):
            side = form.sides[(number + turn) % len(form.sides)]
            yield Case(form, DTYPES[next(dtypes)], side, next(own_sizes), next(lanes))


def kernel_text(case: Case, name: str) -> str:
    """The kernel: load the tiles, the nest, store the result."""
    form = case.form
    names = [n for n, _ in form.shapes]
    parameters = [f'{n.upper()}: T.Tensor({case.shape(n)}, "{case.kind(n)}")' for n in names]
    tiles = [n for n in names if not case.in_gm(n)]
    loops = ", ".join(str(case.value(text)) for text in form.loops)
    body = [_in_memory(case, line) for line in form.body]
    lines = [
        f"def {name}({', '.join(parameters)}):",
        f"    with T.Kernel(1, threads={case.lanes}, is_npu=True) as cid:",
        *(f'        {n} = T.alloc_shared({case.shape(n)}, "{case.kind(n)}")' for n in tiles),
        *(f"        T.copy({n.upper()}, {n})" for n in tiles),
        f"        for {', '.join('ijk'[: len(form.loops)])} in T.Parallel({loops}):",
        *(f"            {line}" for line in body),
        *(f"        T.copy({n}, {n.upper()})" for n in tiles if n == "y"),
        "",
    ]
    return "\n".join(lines)


def _in_memory(case: Case, line: str) -> str:
    for name, _ in case.form.shapes:
        if case.in_gm(name):
            line = line.replace(f"{name}[", f"{name.upper()}[")
    rows, columns = case.size
    return (
        line.replace("{M}", str(rows))
        .replace("{N}", str(columns))
        .replace("{N4}", str(columns // 4))
    )


def arguments(case: Case, seed: int) -> list[Array]:
    """Stored arrays in the order of the parameters: small integers, exact in every type."""
    rng = np.random.default_rng(seed)
    arrays = []
    for name, _ in case.form.shapes:
        shape, kind = case.shape(name), case.kind(name)
        if name in "pq":
            limit = case.value(case.form.limit)
            values = (
                rng.permutation(limit)[: shape[0]] if name == "p" else rng.integers(0, limit, shape)
            )
            arrays.append(np.ascontiguousarray(values, np.int32))
        else:
            low = -4 if kind.limits()[0] != 0 else 0
            arrays.append(to_bytes(rng.integers(low, 5, shape), kind))
    return arrays


def expected(case: Case, given: Sequence[Array]) -> list[Array]:
    """What NumPy makes of the same text."""
    names = [n for n, _ in case.form.shapes]
    values = {n: from_bytes(a.copy(), case.kind(n)) for n, a in zip(names, given, strict=True)}
    extents = [case.value(text) for text in case.form.loops]
    grid = dict(zip("ijk", np.meshgrid(*map(np.arange, extents), indexing="ij"), strict=False))
    scope = {**values, "T": _Numpy, "np": np}
    for line in case.form.body:
        line = line.replace("{M}", str(case.size[0])).replace("{N4}", str(case.size[1] // 4))
        line = line.replace("{N}", str(case.size[1]))
        here = dict(grid)
        if line.startswith("if "):
            condition, line = line[3:].split(": ")
            kept = eval(condition, dict(scope), here)
            here = {n: g[kept] for n, g in grid.items()}
        exec(line, scope, here)
    return [to_bytes(values[n], case.kind(n)) for n in names]


class _Numpy:
    max = staticmethod(np.maximum)
    if_then_else = staticmethod(np.where)
