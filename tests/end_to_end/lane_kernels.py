"""Kernels for two lanes: every family of operations over tiles of any number of rows, with and
without loops over them. Each is made for `threads` of 1 or 2, which must mean the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import tile_frontend as T
from tile_ir import OPS, Func
from tile_ir.machine import Memory

BLOCKS = 2
COLUMNS = 32

Make = Callable[[int], Func]


@dataclass(frozen=True)
class LaneCase:
    """A kernel for a number of lanes, its arguments, and whether it is split (None: either)."""

    name: str
    make: Make
    arguments: list[Any]
    splits: bool | None = True


def _numbers(rows: int, *shapes: tuple[int, ...], dtype: str = "float32") -> list[Any]:
    rng = np.random.default_rng(rows)
    return [rng.integers(1, 9, shape).astype(dtype) for shape in shapes]


def in_frame(
    name: str, rows: int, work: Any, splits: bool | None = True, columns: int = COLUMNS
) -> LaneCase:
    """A tile that `work`, a macro, changes in place."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, columns), "float32"),
            C: T.Tensor((BLOCKS * rows, columns), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, columns), "float32")
                T.copy(A[cid * rows, 0], a)
                work(a)
                T.copy(a, C[cid * rows, 0])

        return kernel

    a = _numbers(rows, (BLOCKS * rows, columns))
    return LaneCase(name, make, [*a, np.zeros_like(a[0])], splits)


def unary(
    rows: int, op: Any, dtype: str = "float32", name: str = "unary", splits: bool | None = True
) -> LaneCase:
    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), dtype),
            C: T.Tensor((BLOCKS * rows, COLUMNS), dtype),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), dtype)
                c = T.alloc_ub((rows, COLUMNS), dtype)
                T.copy(A[cid * rows, 0], a)
                op(c, a)
                T.copy(c, C[cid * rows, 0])

        return kernel

    shape = (BLOCKS * rows, COLUMNS)
    a = _numbers(rows, shape, dtype=dtype)
    return LaneCase(name, make, [*a, np.zeros_like(a[0])], splits)


def binary(rows: int, op: Any, dtype: str = "float32") -> LaneCase:
    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), dtype),
            B: T.Tensor((BLOCKS * rows, COLUMNS), dtype),
            C: T.Tensor((BLOCKS * rows, COLUMNS), dtype),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), dtype)
                b = T.alloc_ub((rows, COLUMNS), dtype)
                c = T.alloc_ub((rows, COLUMNS), dtype)
                T.copy(A[cid * rows, 0], a)
                T.copy(B[cid * rows, 0], b)
                T.copy(B[cid * rows, 0], c)
                op(c, a, b)
                T.copy(c, C[cid * rows, 0])

        return kernel

    shape = (BLOCKS * rows, COLUMNS)
    given = _numbers(rows, shape, shape, dtype=dtype)
    return LaneCase("binary", make, [*given, np.zeros_like(given[0])], True)


def vector(rows: int) -> LaneCase:
    """Rows of one element: a run whose halves start anywhere."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows,), "float16"), C: T.Tensor((BLOCKS * rows,), "float16")
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows,), "float16")
                T.copy(A[cid * rows], a)
                T.tile.mul(a, a, 2.0)
                for i in T.Parallel(rows):
                    a[i] = a[i] + 1.0
                T.copy(a, C[cid * rows])

        return kernel

    a = _numbers(rows, (BLOCKS * rows,), dtype="float16")
    return LaneCase("vector", make, [*a, np.zeros_like(a[0])], True)


def statistics(rows: int, reduce: Any, clear: bool) -> LaneCase:
    """Row statistics: a reduction of columns, then rows with their number in all ways."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            C: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            D: T.Tensor((BLOCKS * rows,), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                wide = T.alloc_ub((rows, COLUMNS), "float32")
                m = T.alloc_ub((rows,), "float32")
                T.copy(A[cid * rows, 0], a)
                T.tile.fill(m, 3.0)
                reduce(a, m, dim=-1, clear=clear)
                for i in range(rows):
                    T.tile.sub(a[i, :], a[i, :], m[i])
                for i, j in T.Parallel(rows, COLUMNS):
                    a[i, j] = a[i, j] * m[i]
                T.tile.broadcast(wide, m, axis=1)
                T.tile.add(a, a, wide)
                T.copy(a, C[cid * rows, 0])
                T.copy(m, D[cid * rows])

        return kernel

    a = _numbers(rows, (BLOCKS * rows, COLUMNS))
    return LaneCase(
        "statistics", make, [*a, np.zeros_like(a[0]), np.zeros(BLOCKS * rows, "float32")], True
    )


def expanded(rows: int, op: Any) -> LaneCase:
    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            B: T.Tensor((BLOCKS * rows,), "float32"),
            C: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                b = T.alloc_ub((rows,), "float32")
                T.copy(A[cid * rows, 0], a)
                T.copy(B[cid * rows], b)
                op(a, a, b)
                T.copy(a, C[cid * rows, 0])

        return kernel

    given = _numbers(rows, (BLOCKS * rows, COLUMNS), (BLOCKS * rows,))
    return LaneCase("expanded", make, [*given, np.zeros_like(given[0])], True)


def over_rows(rows: int, reduce: Any) -> LaneCase:
    """A reduction over the rows: the columns are split."""

    @T.macro
    def work(a):
        m = T.alloc_ub((COLUMNS,), "float32")
        wide = T.alloc_ub((rows, COLUMNS), "float32")
        reduce(a, m, dim=0)
        T.tile.broadcast(wide, m, axis=0)
        T.tile.sub(a, a, wide)

    return in_frame("over_rows", rows, work)


def weights(rows: int) -> LaneCase:
    """One row for all: every lane loads it whole."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            G: T.Tensor((COLUMNS,), "float32"),
            C: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                g = T.alloc_ub((COLUMNS,), "float32")
                s = T.alloc_ub((rows,), "float32")
                T.copy(G, g)
                T.copy(A[cid * rows, 0], a)
                T.reduce_sum(a, s, dim=-1)
                for i, j in T.Parallel(rows, COLUMNS):
                    a[i, j] = a[i, j] * g[j] + s[i]
                for i in range(rows):
                    T.tile.add(a[i, :], a[i, :], g)
                T.copy(a, C[cid * rows, 0])

        return kernel

    given = _numbers(rows, (BLOCKS * rows, COLUMNS), (COLUMNS,))
    return LaneCase("weights", make, [*given, np.zeros_like(given[0])], True)


def row_by_row(rows: int) -> LaneCase:
    """A buffer of one row that every round fills anew."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            C: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            D: T.Tensor((BLOCKS * rows, 16), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                row = T.alloc_ub((COLUMNS,), "float32")
                total = T.alloc_ub((8,), "float32")
                last = T.alloc_var("float32", init=0.0)
                for i in range(rows):
                    place = cid * rows + i
                    T.copy(A[place, :], row)
                    T.reduce_max(row, total[0:1], dim=-1)
                    last = total[0]
                    T.tile.sub(row, row, last)
                    T.copy(row, C[place, :])
                    D[place, 0] = total[0] + last

        return kernel

    a = _numbers(rows, (BLOCKS * rows, COLUMNS))
    outputs = [np.zeros_like(a[0]), np.zeros((BLOCKS * rows, 16), "float32")]
    return LaneCase("row_by_row", make, [*a, *outputs], True)


def renamed(rows: int) -> LaneCase:
    """Bytes with a second name, of another type."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            C: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                bits = T.alloc_ub((rows, COLUMNS), "int32")
                T.reinterpretcast(bits, a, "int32")
                T.copy(A[cid * rows, 0], a)
                T.tile.add(bits, bits, 1)
                for i in range(rows):
                    T.tile.add(a[i, :], a[i, :], a[i, 3])
                T.copy(a, C[cid * rows, 0])

        return kernel

    a = _numbers(rows, (BLOCKS * rows, COLUMNS))
    return LaneCase("renamed", make, [*a, np.zeros_like(a[0])], None)


def elements_to_gm(rows: int) -> LaneCase:
    """Elements that two cores would store to one line of the cache."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            D: T.Tensor((BLOCKS, 32), "float32"),
            E: T.Tensor((BLOCKS, 32), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                T.copy(A[cid * rows, 0], a)
                for i in range(rows):
                    D[cid, i] = a[i, 3]
                for i in T.Parallel(rows):
                    if a[i, 0] > 4.0:
                        E[cid, i] = a[i, 1]

        return kernel

    a = _numbers(rows, (BLOCKS * rows, COLUMNS))
    return LaneCase("elements_to_gm", make, [*a, *_zeros(2, (BLOCKS, 32))], None)


def _zeros(count: int, shape: tuple[int, ...]) -> list[Any]:
    return [np.zeros(shape, "float32") for _ in range(count)]


def gathered(rows: int) -> LaneCase:
    """Rows of a tensor by numbers in ub."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            KV: T.Tensor((40, COLUMNS), "float16"),
            P: T.Tensor((BLOCKS, rows), "int32"),
            C: T.Tensor((BLOCKS, rows, COLUMNS), "float16"),
            D: T.Tensor((BLOCKS, rows, COLUMNS), "float16"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                index = T.alloc_ub((rows,), "int32")
                row = T.alloc_ub((COLUMNS,), "float16")
                tile = T.alloc_ub((rows, COLUMNS), "float16")
                T.copy(P[cid, 0:rows], index)
                for i in range(rows):
                    T.copy(KV[index[i], :], row)
                    T.copy(row, C[cid, i, :])
                    T.copy(KV[index[i], :], tile[i, :])
                T.copy(tile, D[cid, :, :])

        return kernel

    rng = np.random.default_rng(rows)
    kv = rng.integers(1, 99, (40, COLUMNS)).astype("float16")
    index = rng.integers(0, 40, (BLOCKS, rows)).astype("int32")
    return LaneCase(
        "gathered",
        make,
        [kv, index, *(np.zeros((BLOCKS, rows, COLUMNS), "float16") for _ in range(2))],
        True,
    )


def reused_indices(rows: int) -> LaneCase:
    """Numbers that are needed whole as well: the loop over rows reads them by the row's place."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            KV: T.Tensor((40, COLUMNS), "float16"),
            P: T.Tensor((BLOCKS, rows), "int32"),
            C: T.Tensor((BLOCKS, rows, COLUMNS), "float16"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                index = T.alloc_ub((rows,), "int32")
                tile = T.alloc_ub((rows, COLUMNS), "float16")
                T.copy(P[cid, 0:rows], index)
                first = index[0]
                for i in range(rows):
                    T.copy(KV[(index[i] + first) % 40, :], tile[i, :])
                T.copy(tile, C[cid, :, :])

        return kernel

    rng = np.random.default_rng(rows)
    kv = rng.integers(1, 99, (40, COLUMNS)).astype("float16")
    index = rng.integers(0, 40, (BLOCKS, rows)).astype("int32")
    output = np.zeros((BLOCKS, rows, COLUMNS), "float16")
    return LaneCase("reused_indices", make, [kv, index, output], True)


def numbered(rows: int) -> LaneCase:
    """The number of the row as a value: in an operation, in a condition, in T.Parallel."""

    @T.macro
    def work(a):
        for i in range(rows):
            T.tile.mul(a[i, :], a[i, :], T.float32(i))
            if i % 3 == 1:
                T.tile.add(a[i, :], a[i, :], 5.0)
        for i, j in T.Parallel(rows, COLUMNS):
            a[i, j] = a[i, j] + T.float32(i)

    return in_frame("numbered", rows, work)


def tails(rows: int) -> LaneCase:
    """The last tile hangs over the end of the tensor."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows - rows // 2, COLUMNS), "float32"),
            C: T.Tensor((BLOCKS * rows - rows // 2, COLUMNS), "float32"),
            D: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                T.copy(A[cid * rows, 0], a, pad_value=7.0)
                T.tile.add(a, a, 1.0)
                T.copy(a, C[cid * rows, 0])
                T.copy(a, D[cid * rows, 0])

        return kernel

    a = _numbers(rows, (BLOCKS * rows - rows // 2, COLUMNS))
    outputs = [np.zeros_like(a[0]), np.zeros((BLOCKS * rows, COLUMNS), "float32")]
    return LaneCase("tails", make, [*a, *outputs], True)


def tiles(rows: int) -> LaneCase:
    """Several tiles one after another, and a sum over them that is kept."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * 3 * rows, COLUMNS), "float32"),
            C: T.Tensor((BLOCKS * 3 * rows, COLUMNS), "float32"),
            D: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                total = T.alloc_ub((rows, COLUMNS), "float32")
                T.tile.fill(total, 0.0)
                for t in T.serial(3):
                    T.copy(A[(cid * 3 + t) * rows, 0], a)
                    T.tile.add(total, total, a)
                    T.copy(total, C[(cid * 3 + t) * rows, 0])
                T.copy(total, D[cid * rows, 0])

        return kernel

    a = _numbers(rows, (BLOCKS * 3 * rows, COLUMNS))
    outputs = [np.zeros_like(a[0]), np.zeros((BLOCKS * rows, COLUMNS), "float32")]
    return LaneCase("tiles", make, [*a, *outputs], True)


def in_place(rows: int) -> LaneCase:
    """A tensor that is read and stored: halves of an odd number of rows would meet."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(A: T.Tensor((BLOCKS * rows, COLUMNS), "float32")):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                for _ in T.serial(2):
                    T.copy(A[cid * rows, 0], a)
                    T.tile.add(a, a, 1.0)
                    T.copy(a, A[cid * rows, 0])

        return kernel

    return LaneCase("in_place", make, _numbers(rows, (BLOCKS * rows, COLUMNS)))


def exchanged(rows: int) -> LaneCase:
    """Rows that come back through gm at other places."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS, rows, COLUMNS), "float32"),
            W: T.Tensor((BLOCKS, rows + 1, COLUMNS), "float32"),
            C: T.Tensor((BLOCKS, rows, COLUMNS), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                T.copy(A[cid, 0:rows, :], a)
                T.copy(a, W[cid, 0:rows, :])
                T.copy(W[cid, 1 : rows + 1, :], a)
                T.copy(a, C[cid, 0:rows, :])

        return kernel

    a = _numbers(rows, (BLOCKS, rows, COLUMNS), (BLOCKS, rows + 1, COLUMNS))
    return LaneCase("exchanged", make, [*a, np.zeros_like(a[0])], None)


def scattered(rows: int) -> LaneCase:
    """Rows stored where numbers say, twice the same place among them."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS, rows, COLUMNS), "float32"),
            P: T.Tensor((BLOCKS, rows), "int32"),
            C: T.Tensor((BLOCKS, 8, COLUMNS), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                index = T.alloc_ub((rows,), "int32")
                T.copy(A[cid, 0:rows, :], a)
                T.copy(P[cid, 0:rows], index)
                T.tile.add(a, a, 1.0)
                for i in range(rows):
                    T.copy(a[i, :], C[cid, index[i], :])

        return kernel

    given = _numbers(rows, (BLOCKS, rows, COLUMNS))
    index = np.random.default_rng(rows).integers(0, 8, (BLOCKS, rows)).astype("int32")
    output = np.zeros((BLOCKS, 8, COLUMNS), "float32")
    return LaneCase("scattered", make, [*given, index, output], None)


def carried(rows: int) -> LaneCase:
    """A sum over rows, kept in a scalar and in a row."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            C: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            D: T.Tensor((BLOCKS, 16), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                run = T.alloc_ub((COLUMNS,), "float32")
                count = T.alloc_var("float32", init=0.0)
                T.copy(A[cid * rows, 0], a)
                T.tile.fill(run, 0.0)
                for i in range(rows):
                    T.tile.add(run, run, a[i, :])
                    T.copy(run, C[cid * rows + i, :])
                    count = count + 1.0
                D[cid, 0] = run[0] + count

        return kernel

    a = _numbers(rows, (BLOCKS * rows, COLUMNS))
    return LaneCase(
        "carried", make, [*a, np.zeros_like(a[0]), np.zeros((BLOCKS, 16), "float32")], None
    )


def neighbours(rows: int) -> LaneCase:
    """A row that is made of the one before."""

    @T.macro
    def work(c, a):
        for i in range(rows):
            T.tile.add(c[i, :], a[i, :], a[T.max(i - 1, 0), :])

    return unary(rows, work, name="neighbours", splits=None)


def all_pairs(rows: int) -> LaneCase:
    """Every row with every other."""

    @T.macro
    def work(c, a):
        T.tile.fill(c, 0.0)
        for i in range(rows):
            for j in range(rows):
                T.tile.axpy(c[i, :], a[j, :], T.float32(i + 2 * j))

    return unary(rows, work, name="all_pairs", splits=None)


def repeated(rows: int) -> LaneCase:
    """A whole tile in each round of a loop as long as the tile."""

    @T.macro
    def work(a):
        for i in range(rows):
            T.tile.add(a, a, 1.0)
            T.tile.mul(a[i, :], a[i, :], 2.0)

    return in_frame("repeated", rows, work, None)


def masked(rows: int) -> LaneCase:
    """Comparisons and selections by packed bits, row by row."""

    @T.macro
    def work(a):
        bits = T.alloc_ub((rows, 8), "uint8")
        T.tile.compare(bits, a, 4.0, "GT")
        T.tile.select(a, bits, a, -1.0, "VSEL_TENSOR_SCALAR_MODE")

    return in_frame("masked", rows, work, columns=64)


def sorted_rows(rows: int) -> LaneCase:
    """An operation that takes a row at a time, in a loop over rows."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            C: T.Tensor((BLOCKS * rows, 2 * COLUMNS), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                c = T.alloc_ub((rows, 2 * COLUMNS), "float32")
                T.copy(A[cid * rows, 0], a)
                for i in range(rows):
                    T.tile.sort(c[i, :], a[i, :], COLUMNS)
                T.copy(c, C[cid * rows, 0])

        return kernel

    a = _numbers(rows, (BLOCKS * rows, COLUMNS))
    output = np.zeros((BLOCKS * rows, 2 * COLUMNS), "float32")
    return LaneCase("sorted_rows", make, [*a, output], True)


def added(rows: int) -> LaneCase:
    """Tiles added to gm, by rows, in one place for all rows, and by a number of its own."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            C: T.Tensor((rows, COLUMNS), "float32"),
            D: T.Tensor((COLUMNS,), "float32"),
            E: T.Tensor((COLUMNS,), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                one = T.alloc_ub((COLUMNS,), "float32")
                T.copy(A[cid * rows, 0], a)
                T.tile.fill(one, 1.0)
                T.tile.atomic_add(C[0, 0], a)
                for i in range(rows):
                    T.tile.atomic_add(D, a[i, :])
                T.tile.atomic_add(E, one)

        return kernel

    a = _numbers(rows, (BLOCKS * rows, COLUMNS))
    shapes = ((rows, COLUMNS), (COLUMNS,), (COLUMNS,))
    return LaneCase("added", make, [*a, *(np.zeros(s, "float32") for s in shapes)], None)


def turned(rows: int) -> LaneCase:
    """A tile and its transpose."""
    size = 16 * rows

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(A: T.Tensor((size, 16), "float16"), C: T.Tensor((16, size), "float16")):
            with T.Kernel(1, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((size, 16), "float16")
                c = T.alloc_ub((16, size), "float16")
                T.copy(A[cid * size, 0], a)
                T.tile.transpose(c, a)
                T.copy(c, C[0, cid * size])

        return kernel

    a = _numbers(rows, (size, 16), dtype="float16")
    return LaneCase("turned", make, [*a, np.zeros((16, size), "float16")], None)


def slots(rows: int) -> LaneCase:
    """Tiles in slots of a buffer: the rows are its second dimension."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((4, rows, COLUMNS), "float32"), C: T.Tensor((4, rows, COLUMNS), "float32")
        ):
            with T.Kernel(1, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((2, rows, COLUMNS), "float32")
                for t in T.serial(4):
                    T.copy(A[t + cid, 0:rows, :], a[t % 2, :, :])
                    T.tile.add(a[t % 2, :, :], a[t % 2, :, :], 1.0)
                    T.copy(a[t % 2, :, :], C[t, 0:rows, :])

        return kernel

    a = _numbers(rows, (4, rows, COLUMNS))
    return LaneCase("slots", make, [*a, np.zeros_like(a[0])], None)


def straight(rows: int) -> LaneCase:
    """T.Parallel from gm to gm, and to both memories at once."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            C: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            D: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                for i, j in T.Parallel(rows, COLUMNS):
                    a[i, j] = A[cid * rows + i, j] * 2.0
                    C[cid * rows + i, j] = a[i, j] + 1.0
                T.copy(a, D[cid * rows, 0])

        return kernel

    a = _numbers(rows, (BLOCKS * rows, COLUMNS))
    return LaneCase("straight", make, [*a, np.zeros_like(a[0]), np.zeros_like(a[0])], None)


def rows_to_gm(rows: int) -> LaneCase:
    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            C: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                T.copy(A[cid * rows, 0], a)
                for i, j in T.Parallel(rows, COLUMNS):
                    C[cid * rows + i, j] = a[i, j] * a[i, j]

        return kernel

    a = _numbers(rows, (BLOCKS * rows, COLUMNS))
    return LaneCase("rows_to_gm", make, [*a, np.zeros_like(a[0])], True)


def endless(rows: int) -> LaneCase:
    """A loop that is left early, and one that goes round as often as gm says."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
            N: T.Tensor((BLOCKS,), "int32"),
            C: T.Tensor((BLOCKS * rows, COLUMNS), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, COLUMNS), "float32")
                T.copy(A[cid * rows, 0], a)
                for i in range(rows):
                    if i >= N[cid]:
                        T.loop_break()
                    T.tile.add(a[i, :], a[i, :], 1.0)
                for i in range(N[cid]):
                    T.tile.mul(a[i, :], a[i, :], 2.0)
                T.copy(a, C[cid * rows, 0])

        return kernel

    a = _numbers(rows, (BLOCKS * rows, COLUMNS))
    counts = np.array([rows // 2, rows], "int32")
    return LaneCase("endless", make, [*a, counts, np.zeros_like(a[0])], None)


def between_cores(rows: int) -> LaneCase:
    """Rows that go to the cube core and come back, with the kernel's own flags and workspaces."""

    def make(threads: int) -> Func:
        @T.prim_func
        def kernel(
            A: T.Tensor((BLOCKS * rows, 32), "float16"),
            B: T.Tensor((32, 32), "float16"),
            W: T.Tensor((BLOCKS * rows, 32), "float16"),
            P: T.Tensor((BLOCKS * rows, 32), "float32"),
            C: T.Tensor((BLOCKS * rows, 32), "float32"),
        ):
            with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
                a = T.alloc_ub((rows, 32), "float16")
                c = T.alloc_ub((rows, 32), "float32")
                left = T.alloc_L1((rows, 32), "float16")
                right = T.alloc_L1((32, 32), "float16")
                acc = T.alloc_L0C((rows, 32), "float32")
                with T.Scope("C"):
                    T.copy(B, right)
                    for _ in T.serial(2):
                        T.wait_cross_flag(0)
                        T.copy(W[cid * rows, 0], left)
                        T.gemm_v0(left, right, acc, init=True)
                        T.copy(acc, P[cid * rows, 0])
                        T.set_cross_flag("FIX", 1)
                with T.Scope("V"):
                    T.copy(A[cid * rows, 0], a)
                    for _t in T.serial(2):
                        T.tile.add(a, a, 1.0)
                        T.copy(a, W[cid * rows, 0])
                        T.set_cross_flag("MTE3", 0)
                        T.wait_cross_flag(1)
                        T.copy(P[cid * rows, 0], c)
                        T.tile.relu(c, c)
                        T.copy(c, C[cid * rows, 0])

        return kernel

    given = _numbers(rows, (BLOCKS * rows, 32), (32, 32), dtype="float16")
    outputs = [np.zeros((BLOCKS * rows, 32), "float16"), *_zeros(2, (BLOCKS * rows, 32))]
    return LaneCase("between_cores", make, [*given, *outputs], True)


FAMILIES: tuple[Callable[[int], LaneCase], ...] = (
    vector, weights, row_by_row, gathered, reused_indices, numbered, tails, tiles, in_place,
    exchanged, scattered, carried, neighbours, all_pairs, repeated, masked, sorted_rows, added,
    turned, slots, elements_to_gm, renamed, straight, rows_to_gm, endless,
)  # fmt: skip


def lane_cases() -> Iterator[LaneCase]:
    """Every family over 1 to 17 rows, and every plain operation of the table over some."""
    for rows in (16, 48):
        yield _named(between_cores(rows), rows, "")
    for rows in range(1, 18):
        for family in FAMILIES:
            yield _named(family(rows), rows, "")
        for reduce in (T.reduce_sum, T.reduce_max, T.reduce_min):
            for clear in (True, False):
                yield _named(statistics(rows, reduce, clear), rows, f"{reduce.__name__}-{clear}")
            yield _named(over_rows(rows, reduce), rows, reduce.__name__)
        for op in (
            T.tile.row_expand_mul, T.tile.row_expand_sub_experiment,
        ):  # fmt: skip
            yield _named(expanded(rows, op), rows, op.__name__)
    for number, (name, inputs, dtype) in enumerate(_plain_operations()):
        op = getattr(T.tile, name)
        for rows in (1 + number % 3, 4 + number % 5, 9 + number % 9):
            case = (unary if inputs == 1 else binary)(rows, op, dtype)
            yield _named(case, rows, name)


def _named(case: LaneCase, rows: int, more: str) -> LaneCase:
    name = f"{case.name}-{more}-{rows}" if more else f"{case.name}-{rows}"
    # Of one row the columns may be split, or nothing.
    splits = None if name.endswith("-1") else case.splits
    return LaneCase(name, case.make, case.arguments, splits)


def _plain_operations() -> Iterator[tuple[str, int, str]]:
    """Operations that take tiles only: name, number of sources, a type they take."""
    for name, opdef in OPS.items():
        shown = [o for o in opdef.operands if o.name not in opdef.hidden and not o.optional]
        regions = [o for o in shown if o.memories == frozenset({Memory.UB})]
        if any(o.name == "count" for o in opdef.operands):
            continue
        if opdef.namespace != "tile" or not opdef.elementwise or opdef.attrs:
            continue
        if len(regions) != len(shown) or len(shown) not in (2, 3):
            continue
        dtypes = [d.name for d in shown[0].dtypes]
        dtype = "float32" if "float32" in dtypes else dtypes[-1]
        yield name, len(shown) - 1, dtype
