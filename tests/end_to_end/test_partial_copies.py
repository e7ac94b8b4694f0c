"""A copy changes what it names and nothing beside it: parts of tiles that end inside 32 bytes, parts
of l1 matrices in any order, and elements that lie apart in gm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_ir.diagnostics.errors import KernelWarning
from tile_runtime import PassConfigKey, compile

pytestmark = [
    pytest.mark.usefixtures("strict"),
    pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning"),
]

ORDERED = {PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
AUTOMATIC = {
    **ORDERED,
    PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
    PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


def numbers(shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    return torch.arange(int(np.prod(shape))).remainder(101).reshape(shape).to(getattr(torch, dtype))


# Parts of tiles of ub ------------------------------------------------------------------------------


def partial_load(dtype: str, columns: Any, first: int, pad: Any) -> Any:
    @T.prim_func
    def kernel(X: T.Tensor((4, 64), dtype), Y: T.Tensor((4, 64), dtype), m: T.int32):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((4, 64), dtype)
            T.copy(Y, a)
            n = m if columns is None else columns
            T.copy(X[:, 0:n], a[:, first : first + n], pad_value=pad)
            T.copy(a, Y)

    return kernel


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "int32", "int16", "int8", "uint8", "int64"]
)
@pytest.mark.parametrize("columns", [1, 5, 13, 31, None])
@pytest.mark.parametrize("first", [0, 32])
def test_a_load_keeps_what_lies_behind_it(dtype: str, columns: int | None, first: int) -> None:
    kernel = compile(partial_load(dtype, columns, first, None), pass_configs=ORDERED)
    x = numbers((4, 64), dtype)
    for n in (0, 1, 8, 13, 32) if columns is None else (columns,):
        y, want = torch.full_like(x, 7), torch.full_like(x, 7)
        want[:, first : first + n] = x[:, :n]
        kernel(x, y, n)
        np.testing.assert_array_equal(y.double(), want.double())


@pytest.mark.parametrize("columns", [1, 2, 4])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_rows_that_fill_whole_blocks_share_none(dtype: str, columns: int) -> None:
    """Rows of less than a block, one behind the other, up to the end of a block: what others hold
    behind them stays without a detour."""
    shape = (2, 32, columns)

    @T.prim_func
    def kernel(X: T.Tensor(shape, dtype), Y: T.Tensor(shape, dtype)):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub(shape, dtype)
            T.copy(Y, a)
            for r in T.serial(2):
                T.copy(X[r, :, :], a[r, :, :])
            T.copy(a, Y)

    x, y = numbers(shape, dtype), torch.zeros(shape, dtype=getattr(torch, dtype))
    found = compile(kernel, pass_configs=ORDERED)
    found(x, y)
    np.testing.assert_array_equal(y.double(), x.double())
    assert "copy_ub_ub" not in found.get_kernel_source()


def test_a_run_of_gm_fills_a_dimension_behind_which_there_is_one_of_one() -> None:
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((2, 32, 1), "float32")
            for r in T.serial(2):
                T.copy(X[r * 32 : r * 32 + 32], a[r, :, 0])
                T.copy(a[r, :, 0], Y[r * 32 : r * 32 + 32])

    x, y = numbers((64,), "float32"), torch.zeros(64)
    compile(kernel, pass_configs=ORDERED)(x, y)
    np.testing.assert_array_equal(y, x)


def test_what_hangs_over_the_edge_is_padded_inside_the_part_only() -> None:
    @T.prim_func
    def kernel(X: T.Tensor((6, 20), "float32"), Y: T.Tensor((8, 32), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((8, 32), "float32")
            T.tile.fill(a, 7.0)
            T.copy(X[4:8, 10:23], a[2:6, 8:21], pad_value=-1.0)
            T.copy(a, Y)

    x, y = torch.randn(6, 20), torch.zeros(8, 32)
    want = torch.full((8, 32), 7.0)
    want[2:6, 8:21] = -1.0
    want[2:4, 8:18] = x[4:6, 10:20]
    compile(kernel, pass_configs=ORDERED)(x, y)
    np.testing.assert_array_equal(y, want)


def test_rows_that_share_blocks_are_kept() -> None:
    @T.prim_func
    def kernel(X: T.Tensor((2, 13), "float32"), Y: T.Tensor((4, 13), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((4, 13), "float32")
            T.tile.fill(a, 7.0)
            T.copy(X, a[0:2, :])
            T.copy(a, Y)

    x, y = torch.randn(2, 13), torch.zeros(4, 13)
    compile(kernel, pass_configs=ORDERED)(x, y)
    np.testing.assert_array_equal(y, torch.cat((x, torch.full((2, 13), 7.0))))


@pytest.mark.parametrize("column", [0, 8, 3])
def test_a_column_keeps_its_neighbours(column: int) -> None:
    @T.prim_func
    def kernel(X: T.Tensor((16,), "float32"), Y: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((16, 16), "float32")
            T.tile.fill(a, 7.0)
            T.copy(X, a[:, column])
            T.copy(a, Y)

    x, y = torch.randn(16), torch.zeros(16, 16)
    want = torch.full((16, 16), 7.0)
    want[:, column] = x
    compile(kernel, pass_configs=ORDERED)(x, y)
    np.testing.assert_array_equal(y, want)


def test_windows_of_any_length_round_by_round() -> None:
    """The second window ends inside a block that the first one has filled."""

    @T.prim_func
    def kernel(
        X: T.Tensor((2, 32), "float32"), N: T.Tensor((8,), "int32"), Y: T.Tensor((32,), "float32")
    ):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((32,), "float32")
            n = T.alloc_ub((8,), "int32")
            T.copy(N, n)
            for i in T.serial(2):
                T.copy(X[i, 0 : n[i]], a[0 : n[i]])
            T.copy(a, Y)

    x, y = torch.randn(2, 32), torch.zeros(32)
    compile(kernel, pass_configs=ORDERED)(x, torch.tensor([32, 13, 0, 0, 0, 0, 0, 0]).int(), y)
    np.testing.assert_array_equal(y, torch.cat((x[1, :13], x[0, 13:])))


def test_results_of_the_cube_core_keep_their_neighbours() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((32, 32), "float16"), Y: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            y = T.alloc_shared((32, 32), "float32")
            T.copy(A, a)
            T.gemm_v0(a, a, c, transpose_B=True, init=True)
            T.tile.fill(y, 7.0)
            T.copy(c[:, 0:13], y[:, 0:13])
            T.copy(y, Y)

    a, y = torch.randint(-3, 4, (32, 32)).half(), torch.zeros(32, 32)
    compile(kernel, pass_configs=AUTOMATIC)(a, y)
    want = torch.full((32, 32), 7.0)
    want[:, :13] = (a.float() @ a.float().T)[:, :13]
    np.testing.assert_array_equal(y, want)


def test_a_load_that_covers_nobody_goes_directly() -> None:
    @T.prim_func
    def kernel(X: T.Tensor((4, 64), "float32"), Y: T.Tensor((4, 64), "float32"), m: T.int32):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((4, 64), "float32")
            T.copy(X[:, 0:m], a[:, 0:m])
            T.copy(a[:, 0:m], Y[:, 0:m])

    assert "copy_ub_ub" not in compile(kernel, pass_configs=ORDERED).get_kernel_source()


# Parts of matrices of l1 ---------------------------------------------------------------------------

PARTS = {
    "rows, front first": [((0, 16), (0, 64)), ((16, 32), (0, 64))],
    "rows, back first": [((16, 32), (0, 64)), ((0, 16), (0, 64))],
    "columns, back first": [((0, 32), (32, 64)), ((0, 32), (0, 32))],
    "quarters": [
        ((16, 32), (32, 64)),
        ((0, 16), (32, 64)),
        ((16, 32), (0, 32)),
        ((0, 16), (0, 32)),
    ],
    "all, then columns that end inside a block": [((0, 32), (0, 64)), ((0, 32), (16, 29))],
    "all, then a corner": [((0, 32), (0, 64)), ((0, 5), (0, 16))],
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_parts_of_a_matrix_in_any_order(name: str, dtype: str) -> None:
    parts = PARTS[name]

    @T.prim_func
    def kernel(
        A: T.Tensor((32, 64), dtype), B: T.Tensor((64, 32), dtype), C: T.Tensor((32, 32), "float32")
    ):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((32, 64), dtype)
            b = T.alloc_L1((64, 32), dtype)
            c = T.alloc_L0C((32, 32), "float32")
            with T.Scope("C"):
                T.copy(B, b)
                for (top, bottom), (left, right) in parts:
                    T.copy(A[top:bottom, left:right], a[top:bottom, left:right])
                T.gemm_v0(a, b, c, init=True)
                T.copy(c, C)

    a, b = (
        torch.randint(-3, 4, (32, 64)).to(getattr(torch, dtype)),
        torch.randint(-3, 4, (64, 32)).to(getattr(torch, dtype)),
    )
    c = torch.zeros(32, 32)
    compile(kernel, pass_configs=ORDERED)(a, b, c)
    np.testing.assert_array_equal(c, a.float() @ b.float())


def test_a_part_hangs_over_the_edge_beside_another() -> None:
    """Rows 0 to 15 of `a` are loaded from the last 5 rows of A: the rest of them is zero."""

    @T.prim_func
    def kernel(
        A: T.Tensor((21, 64), "float16"),
        B: T.Tensor((64, 32), "float16"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((32, 64), "float16")
            b = T.alloc_L1((64, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            with T.Scope("C"):
                T.copy(B, b)
                T.copy(A[0:16, :], a[16:32, :])
                T.copy(A[16:32, :], a[0:16, :])
                T.gemm_v0(a, b, c, init=True)
                T.copy(c, C)

    a, b, c = torch.randn(21, 64).half(), torch.randn(64, 32).half(), torch.zeros(32, 32)
    compile(kernel, pass_configs=ORDERED)(a, b, c)
    whole = torch.cat((a[16:], torch.zeros(11, 64), a[:16])).float()
    np.testing.assert_allclose(c, whole @ b.float(), atol=0.05)


def test_a_part_that_would_clear_others_is_told() -> None:
    @T.prim_func
    def kernel(
        A: T.Tensor((32, 64), "float16"),
        B: T.Tensor((32, 64), "float16"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((32, 64), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            with T.Scope("C"):
                T.copy(A, a)
                T.copy(B[:, 16:29], a[:, 16:29])
                T.gemm_v0(a, a, c, transpose_B=True, init=True)
                T.copy(c, C)

    with pytest.raises(KernelError, match="ends inside 32 bytes") as caught:
        compile(kernel, pass_configs=ORDERED)
    assert caught.value.slug == "fractal-alignment"


# Elements that lie apart ---------------------------------------------------------------------------

SHAPE = (3, 6, 10, 4)
# Slices of a tensor of that shape, and how far the tile reaches.
FORMS = {
    "[:, :, 3, 1]": ((slice(0, 3), slice(0, 6), 3, 1), (3, 6)),
    "[2, :, :, 1]": ((2, slice(0, 6), slice(0, 10), 1), (6, 10)),
    "[:, 4, :, 2]": ((slice(0, 3), 4, slice(0, 10), 2), (3, 10)),
    "[1, :, 5, :]": ((1, slice(0, 6), 5, slice(0, 4)), (6, 4)),
    "[:, 1:5, 5, 0]": ((slice(0, 3), slice(1, 5), 5, 0), (3, 4)),
    "[2, 3, :, 1]": ((2, 3, slice(0, 10), 1), (10,)),
    "[:, 3, 2, 1]": ((slice(0, 3), 3, 2, 1), (3,)),
    "[:, :, :, 3]": ((slice(0, 3), slice(0, 6), slice(0, 10), 3), (3, 6, 10)),
}


def strided(form: str, dtype: str, direction: str, runtime: bool) -> Any:
    slices, tile = FORMS[form]

    @T.prim_func
    def kernel(X: T.Tensor(SHAPE, dtype), Y: T.Tensor(tile, dtype), zero: T.int32):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub(tile, dtype)
            moved = tuple([s + zero if runtime and isinstance(s, int) else s for s in slices])
            if direction == "load":
                T.copy(X[moved], a)
                T.copy(a, Y)
            else:
                T.copy(Y, a)
                if direction == "store":
                    T.copy(a, X[moved])
                else:
                    T.tile.atomic_add(X[moved], a)

    return kernel


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int32"])
@pytest.mark.parametrize("direction", ["load", "store", "add"])
@pytest.mark.parametrize("runtime", [False, True])
def test_elements_that_lie_apart(form: str, dtype: str, direction: str, runtime: bool) -> None:
    slices, tile = FORMS[form]
    x, y = numbers(SHAPE, dtype), numbers(tile, dtype)
    want = x.clone()
    kernel = compile(strided(form, dtype, direction, runtime), pass_configs=ORDERED)
    kernel(x, y, 0)
    if direction == "load":
        np.testing.assert_array_equal(y, want[slices])
        return
    want[slices] = y if direction == "store" else want[slices] + y
    np.testing.assert_array_equal(x, want)


PARALLEL = {
    "x[i, 2 * j]": lambda x, i, j: (i, 2 * j),
    "x[i, 3 * j + 2]": lambda x, i, j: (i, 3 * j + 2),
    "x[2 * i + 1, j]": lambda x, i, j: (2 * i + 1, j),
    "x[2 * i, 2 * j]": lambda x, i, j: (2 * i, 2 * j),
    "x[i, j + 5]": lambda x, i, j: (i, j + 5),
    "x[j, i]": lambda x, i, j: (j, i),
    "x[i, 15 - j]": lambda x, i, j: (i, 15 - j),
}


@pytest.mark.parametrize("form", PARALLEL)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("stores", [False, True])
def test_parallel_over_a_tensor(form: str, dtype: str, stores: bool) -> None:
    place = PARALLEL[form]

    @T.prim_func
    def kernel(X: T.Tensor((32, 64), dtype), Y: T.Tensor((8, 16), dtype)):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((8, 16), dtype)
            if stores:
                T.copy(Y, a)
                for i, j in T.Parallel(8, 16):
                    X[place(X, i, j)] = a[i, j]
            else:
                for i, j in T.Parallel(8, 16):
                    a[i, j] = X[place(X, i, j)]
                T.copy(a, Y)

    x, y = numbers((32, 64), dtype), numbers((8, 16), dtype)
    want = x.clone()
    compile(kernel, pass_configs=ORDERED)(x, y)
    places = [(i, j, *place(x, i, j)) for i in range(8) for j in range(16)]
    for i, j, row, column in places:
        if stores:
            want[row, column] = y[i, j]
        else:
            assert y[i, j] == x[row, column], (form, i, j)
    np.testing.assert_array_equal(x, want)


def test_the_last_index_of_a_tensor_is_fixed() -> None:
    @T.prim_func
    def kernel(X: T.Tensor((8, 16, 2), "float32"), Y: T.Tensor((8, 16, 2), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((8, 16), "float32")
            for i, j in T.Parallel(8, 16):
                a[i, j] = X[i, j, 1]
            for i, j in T.Parallel(8, 16):
                Y[i, j, 0] = a[i, j]

    x, y = torch.randn(8, 16, 2), torch.zeros(8, 16, 2)
    compile(kernel, pass_configs=ORDERED)(x, y)
    want = torch.zeros(8, 16, 2)
    want[:, :, 0] = x[:, :, 1]
    np.testing.assert_array_equal(y, want)


def test_the_cube_core_refuses_elements_that_lie_apart() -> None:
    @T.prim_func
    def loads(X: T.Tensor((16, 32, 4), "float16"), C: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((16, 32), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            with T.Scope("C"):
                T.copy(X[:, :, 3], a)
                T.gemm_v0(a, a, c, transpose_B=True, init=True)
                T.copy(c, C)

    @T.prim_func
    def stores(X: T.Tensor((16, 32), "float16"), C: T.Tensor((16, 16, 3), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((16, 32), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            with T.Scope("C"):
                T.copy(X, a)
                T.gemm_v0(a, a, c, transpose_B=True, init=True)
                T.copy(c, C[:, :, 1])

    for kernel, name in ((loads, "`X`"), (stores, "`C`")):
        with pytest.raises(KernelError, match="lie apart in gm") as caught:
            compile(kernel, pass_configs=ORDERED)
        assert caught.value.slug == "strided-operand" and name in caught.value.message


def test_elements_one_by_one_are_told() -> None:
    with pytest.warns(KernelWarning, match="move one by one"):
        compile(strided("[:, :, 3, 1]", "float32", "load", False), pass_configs=ORDERED)
