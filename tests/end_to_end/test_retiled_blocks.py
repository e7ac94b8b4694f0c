"""`retile_blocks`: blocks that became one compute what they did, for all numbers of neighbours and
not only for those that are chosen; what cannot be longer keeps a grid as it is, with its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import tile_frontend as T
import tile_ir
from tile_ir import DEFAULT_TARGET, Func
from tile_passes import apply_passes
from tile_passes.explain.explanations import explained
from tile_passes.pass_options import leaving
from tile_passes.retiling.choice import axes_of, plan_tiles, retiled
from tile_passes.retiling.grid import grid_of
from tile_passes.retiling.iterations import begun_elsewhere, joined_iterations
from tile_passes.retiling.neighbours import plan_neighbours

AFTER = ["check_written", "split_vector_lanes", "plan_workspace", "assign_cores", "merge_streams",
         "vectorize_parallel", "lower_tile_ops", "insert_cross_core_sync", "split_cube_vector"]  # fmt: skip
BEFORE = ["simplify", "place_buffers", "infer_memory", "stage_copies", "adopt_scratch"]
F16, F32, I32 = "float16", "float32", "int32"


def product_and_relu(m: int, n: int, k: int, turned: bool = False) -> Any:
    def kernel(A: T.Tensor((m, k), F16), B: T.Tensor((n, k) if turned else (k, n), F16),
               C: T.Tensor((m, n), F32)) -> None:  # fmt: skip
        with T.Kernel(T.ceildiv(n, 16), T.ceildiv(m, 16), threads=128) as (bx, by):
            a = T.alloc_shared((16, 16), F16)
            b = T.alloc_shared((16, 16), F16)
            c = T.alloc_fragment((16, 16), F32)
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, 16), num_stages=2):
                T.copy(A[by * 16, ko * 16], a)
                if turned:
                    T.copy(B[bx * 16, ko * 16], b)
                else:
                    T.copy(B[ko * 16, bx * 16], b)
                T.gemm(a, b, c, transpose_B=turned)
            for i, j in T.Parallel(16, 16):
                c[i, j] = T.max(c[i, j], 0)
            T.copy(c, C[by * 16, bx * 16])

    return kernel


def named_rounds(m: int, n: int, k: int) -> Any:
    """One operand is loaded from a place along k that has a name, the other from the round's."""

    def kernel(
        A: T.Tensor((m, k), F16), B: T.Tensor((k, n), F16), C: T.Tensor((m, n), F32)
    ) -> None:
        with T.Kernel(T.ceildiv(n, 16), T.ceildiv(m, 16), threads=128) as (bx, by):
            a = T.alloc_shared((16, 16), F16)
            b = T.alloc_shared((16, 16), F16)
            c = T.alloc_fragment((16, 16), F32)
            for ko in T.Pipelined(k // 16, num_stages=2):
                along = ko * 16
                first = ko == 0
                T.copy(A[by * 16, along], a)
                T.copy(B[ko * 16, bx * 16], b)
                T.gemm(a, b, c, clear_accum=first)
            T.copy(c, C[by * 16, bx * 16])

    return kernel


def scaled_rows(A: T.Tensor((12, 64), F32), S: T.Tensor((12,), F32), B: T.Tensor((12, 64), F32)):
    """Rows of one element: no operation has a label for them."""
    with T.Kernel(12, threads=128) as bx:
        a = T.alloc_shared((1, 64), F32)
        s = T.alloc_fragment((1,), F32)
        r = T.alloc_fragment((1,), F32)
        T.copy(A[bx : bx + 1, :], a)
        T.copy(S[bx : bx + 1], s)
        T.reduce_sum(a, r, dim=1)
        for i, j in T.Parallel(1, 64):
            a[i, j] = a[i, j] * s[i] + r[i]
        T.copy(a, B[bx : bx + 1, :])


def positions(A: T.Tensor((24, 40), F32), B: T.Tensor((24, 40), F32)):
    """Numbers that count elements of the tensor, and edges."""
    with T.Kernel(5, 3, threads=64) as (bx, by):
        a = T.alloc_fragment((8, 8), F32)
        T.copy(A[by * 8, bx * 8], a)
        for i, j in T.Parallel(8, 8):
            a[i, j] = T.if_then_else(by * 8 + i >= bx * 8 + j, a[i, j], (bx * 8 + j) % 3)
        T.copy(a, B[by * 8, bx * 8])


def elements_of_tensors(
    A: T.Tensor((24, 40), F32), R: T.Tensor((40,), F32), B: T.Tensor((24, 40), F32)
):
    with T.Kernel(4, 3, threads=64) as (bx, by):
        r = T.alloc_shared((10,), F32)
        for j in T.Parallel(10):
            r[j] = R[bx * 10 + j] * 2.0
        for i, j in T.Parallel(8, 10):
            B[by * 8 + i, bx * 10 + j] = A[by * 8 + i, bx * 10 + j] + r[j]


def gathered(A: T.Tensor((32, 16), F32), X: T.Tensor((24,), I32), B: T.Tensor((24, 16), F32)):
    with T.Kernel(6, threads=64) as bx:
        index = T.alloc_shared((4,), I32)
        T.copy(X[bx * 4 : bx * 4 + 4], index)
        for i, j in T.Parallel(4, 16):
            B[bx * 4 + i, j] = A[index[i], j]


def batches(
    A: T.Tensor((3, 16, 32), F16), B: T.Tensor((3, 32, 32), F16), C: T.Tensor((3, 16, 32), F16)
):
    with T.Kernel(2, 1, 3, threads=128) as (bx, by, bz):
        a = T.alloc_shared((16, 32), F16)
        b = T.alloc_shared((32, 16), F16)
        c = T.alloc_fragment((16, 16), F32)
        T.copy(A[bz, by * 16 : by * 16 + 16, :], a)
        T.copy(B[bz, :, bx * 16 : bx * 16 + 16], b)
        T.gemm(a, b, c, clear_accum=True)
        T.copy(c, C[bz, by * 16, bx * 16])


def sums_over_blocks(A: T.Tensor((24, 32), F32), B: T.Tensor((24,), F32)):
    """Along y tiles follow; along x each block adds to the same sums."""
    with T.Kernel(4, 3, threads=64) as (bx, by):
        a = T.alloc_shared((8, 8), F32)
        s = T.alloc_fragment((8,), F32)
        T.copy(A[by * 8, bx * 8], a)
        T.reduce_sum(a, s, dim=1)
        T.atomic_add(B[by * 8], s)


def as_long_as_the_place(A: T.Tensor((32, 32), F32), B: T.Tensor((32, 32), F32)):
    with T.Kernel(4, threads=64) as bx:
        a = T.alloc_shared((8, 32), F32)
        s = T.alloc_fragment((8, 32), F32)
        T.clear(s)
        for k in T.serial(bx + 1):
            T.copy(A[k * 8, 0], a)
            for i, j in T.Parallel(8, 32):
                s[i, j] += a[i, j]
        T.copy(s, B[bx * 8, 0])


def one_value_of_a_block(
    A: T.Tensor((32, 32), F32), S: T.Tensor((4,), F32), B: T.Tensor((32, 32), F32)
):
    with T.Kernel(4, threads=64) as bx:
        a = T.alloc_shared((8, 32), F32)
        T.copy(A[bx * 8, 0], a)
        scale = S[bx]
        for i, j in T.Parallel(8, 32):
            a[i, j] = a[i, j] * scale
        T.copy(a, B[bx * 8, 0])


def places_in_the_tile(A: T.Tensor((32, 32), F32), B: T.Tensor((32, 32), F32)):
    with T.Kernel(4, threads=64) as bx:
        a = T.alloc_shared((8, 32), F32)
        T.copy(A[bx * 8, 0], a)
        for i, j in T.Parallel(8, 32):
            a[i, j] = a[i, j] + i
        T.copy(a, B[bx * 8, 0])


def running_sums(A: T.Tensor((32, 32), F32), B: T.Tensor((32, 32), F32)):
    """Down the rows of a tile: the tile is needed whole."""
    with T.Kernel(4, threads=64) as bx:
        a = T.alloc_shared((8, 32), F32)
        T.copy(A[bx * 8, 0], a)
        T.cumsum(a, dim=0)
        T.copy(a, B[bx * 8, 0])


def element_of_a_tile(use: str) -> Callable[..., Any]:  # noqa: C901
    """A tile of one row, of which one element decides: the same index is another one's row in each
    block."""

    def kernel(  # noqa: C901
        A: T.Tensor((6, 32), F32), N: T.Tensor((6, 1), I32), B: T.Tensor((6, 32), F32)
    ):
        with T.Kernel(6, threads=64) as bx:
            a = T.alloc_shared((1, 32), F32)
            n = T.alloc_shared((1, 1), I32)
            most = T.alloc_fragment((1,), F32)
            T.copy(A[bx, 0], a)
            T.copy(N[bx, 0], n)
            T.reduce_max(a, most, dim=1)
            if use == "value":
                for i, j in T.Parallel(1, 32):
                    a[i, j] = a[i, j] - most[0]
            elif use == "name":
                found = most[0]
                for i, j in T.Parallel(1, 32):
                    a[i, j] = a[i, j] - found
            elif use == "operand":
                T.tile.mul(a, a, most[0])
            elif use == "branch":
                if most[0] > 2:
                    for i, j in T.Parallel(1, 32):
                        a[i, j] = a[i, j] * 2
            elif use == "trips":
                for _ in T.serial(n[0, 0]):
                    for i, j in T.Parallel(1, 32):
                        a[i, j] = a[i, j] + 1
            elif use == "place":
                for i, j in T.Parallel(1, 32):
                    a[i, j] = A[n[0, 0] % 6, j]
            elif use == "variable":
                kept = T.alloc_var(F32)
                kept = most[0] * 2
                for i, j in T.Parallel(1, 32):
                    a[i, j] = a[i, j] - kept
            T.copy(a, B[bx, 0])

    return kernel


USES = ("value", "name", "operand", "branch", "trips", "place", "variable")


def typed(kernel: Callable[..., Any]) -> Func:
    func = T.prim_func(kernel)
    assert isinstance(func, Func)
    return apply_passes(func, BEFORE, DEFAULT_TARGET)


def arguments(func: Func, seed: int = 0) -> list[Any]:
    """Small whole numbers: sums are exact in any order."""
    rng = np.random.default_rng(seed)
    return [
        rng.integers(0, 24, _shape(p)).astype(np.int32) if p.dtype.name == I32
        else rng.integers(-3, 4, _shape(p)).astype(p.dtype.name)
        for p in func.params
    ]  # fmt: skip


def zeros(workspaces: Sequence[Any]) -> list[Any]:
    return [np.zeros(_shape(w), w.dtype.name) for w in workspaces]


def _shape(param: Any) -> tuple[int, ...]:
    return tuple(int(tile_ir.constant_value(s)) for s in param.shape)


def results(func: Func) -> list[Any]:
    given = arguments(func)
    left = tile_ir.Automatic.CROSS, tile_ir.Automatic.SYNC, tile_ir.Automatic.MEMORY
    lowered = apply_passes(leaving(func, left), AFTER, DEFAULT_TARGET)
    tile_ir.interpret(lowered, [*given, *zeros(lowered.params[len(given) :])])
    return given


def same(found: Func, expected: list[Any]) -> None:
    tile_ir.verify(found)
    for a, b in zip(results(found), expected, strict=True):
        np.testing.assert_array_equal(a, b)


KERNELS: list[tuple[Any, int]] = [
    (product_and_relu(64, 96, 64), 2),
    (product_and_relu(50, 70, 48), 2),
    (product_and_relu(64, 64, 32, turned=True), 2),
    (named_rounds(32, 32, 64), 2),
    (scaled_rows, 1),
    (positions, 2),
    (elements_of_tensors, 2),
    (gathered, 1),
    (batches, 1),
    (sums_over_blocks, 1),
    (as_long_as_the_place, 0),
    (one_value_of_a_block, 0),
    (places_in_the_tile, 0),
    (running_sums, 0),
    *((element_of_a_tile(use), 0) for use in USES),
]


@pytest.mark.parametrize(("kernel", "count"), KERNELS, ids=[k.__name__ for k, _ in KERNELS])
def test_blocks_that_are_one_compute_the_same(kernel: Any, count: int) -> None:
    func = typed(kernel)
    grid = grid_of(func)
    assert grid is not None
    axes, against = axes_of(func, grid, DEFAULT_TARGET)
    assert len(axes) == count, against
    assert len(axes) + len(against) == len(grid.dims)
    expected = results(func)
    counts = {grid.var(d): d.count for d in grid.dims}
    divisors = [
        [n for n in range(1, counts[a.place] + 1) if counts[a.place] % n == 0] for a in axes
    ]
    for chosen in product(*divisors):
        factors = {a.place: f for a, f in zip(axes, chosen, strict=True)}
        same(retiled(func, grid, axes, factors), expected)


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (as_long_as_the_place, "a loop is as long as the place of the block says"),
        (one_value_of_a_block, "a value is computed from the place of the block"),
        (places_in_the_tile, "a value is computed from the place of an element in its tile"),
        (running_sums, "needs a tile of one block whole"),
        (element_of_a_tile("value"), "single elements of `most` are used"),
    ],
)
def test_what_stands_against_it_is_said(kernel: Any, why: str) -> None:
    func = typed(kernel)
    grid = grid_of(func)
    assert grid is not None
    _, against = axes_of(func, grid, DEFAULT_TARGET)
    assert any(why in text for text in against.values()), against


@pytest.mark.parametrize(("m", "n", "k", "turned"), [(64, 64, 64, False), (32, 48, 96, True)])
def test_rounds_that_are_one_and_begin_elsewhere(m: int, n: int, k: int, turned: bool) -> None:
    func = typed(product_and_relu(m, n, k, turned))
    deep = joined_iterations(func)
    assert deep is not func
    same(deep, results(func))


@pytest.mark.parametrize("kernel", [product_and_relu, named_rounds])
def test_sums_that_begin_elsewhere(kernel: Any) -> None:
    func = typed(kernel(64, 32, 2048))
    for rounds in (func, joined_iterations(func)):
        turned = begun_elsewhere(rounds, func.launch.block)
        assert turned is not rounds
        same(turned, results(func))


def test_tiles_of_a_large_product_are_those_of_the_chip() -> None:
    new = plan_tiles(typed(product_and_relu(2048, 2048, 1024)), DEFAULT_TARGET).func
    shapes = {a.buffer.name: a.buffer.static_shape() for a in new.launch.allocs}
    assert shapes["c_l0c"] == (128, 256) or shapes["c_l0c"] == (256, 128)
    assert shapes["a"] is not None and shapes["a"][1] == 128


def product_with_epilogue(depth: int, steps: int) -> Any:
    """`steps` functions of each element of a product that is `depth` deep."""

    def kernel(A: T.Tensor((1536, depth), F16), B: T.Tensor((depth, 1024), F16),
               C: T.Tensor((1536, 1024), F16)) -> None:  # fmt: skip
        with T.Kernel(8, 12, threads=2) as (bx, by):
            a, b = T.alloc_shared((128, 64), F16), T.alloc_shared((64, 128), F16)
            c, x = T.alloc_fragment((128, 128), F32), T.alloc_shared((128, 128), F32)
            for k in T.serial(depth // 64):
                T.copy(A[by * 128, k * 64], a)
                T.copy(B[k * 64, bx * 128], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            T.copy(c, x)
            for _ in T.unroll(steps):
                for i, j in T.Parallel(128, 128):
                    x[i, j] = T.exp(x[i, j] * 0.5)
            T.copy(x, C[by * 128, bx * 128])

    return kernel


@pytest.mark.parametrize(("depth", "steps", "larger"), [(1024, 1, True), (64, 16, False)])
def test_vector_work_needs_its_room_only_if_others_wait_for_it(
    depth: int, steps: int, larger: bool
) -> None:
    """Tiles of a product take the room of pieces of its epilogue where loads take longer."""
    found = plan_neighbours(typed(product_with_epilogue(depth, steps)), DEFAULT_TARGET)
    assert any(count > 1 for count in found.factors.values()) is larger


def test_what_is_decided_is_explained() -> None:
    func = leaving(typed(product_and_relu(2048, 2048, 1024)), [tile_ir.Automatic.TILES])
    (text,) = explained(func, ["retile_blocks"], DEFAULT_TARGET)
    assert "along `bx` 16 blocks become one" in text
    (text,) = explained(leaving(typed(places_in_the_tile), [tile_ir.Automatic.TILES]),
                        ["retile_blocks"], DEFAULT_TARGET)  # fmt: skip
    assert "along `bx` blocks stay as they are, because a value is computed" in text
