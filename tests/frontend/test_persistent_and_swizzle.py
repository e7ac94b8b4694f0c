"""Orders of tiles: each visits every tile once (docs/language/index.md#persistent-loops)."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples, kept_number

import tile_frontend as T
from tile_frontend._language.loops import tile_coordinates
from tile_ir.expr import Const, constant_value

sizes = st.integers(1, 9)


@settings(max_examples=examples(kept_number(60)))
@given(domain=st.lists(sizes, min_size=1, max_size=3), group=st.integers(1, 10))
def test_persistent_is_a_bijection_for_every_group_size(domain, group):
    total = 1
    for extent in domain:
        total *= extent
    extents = [Const(extent) for extent in domain]
    seen = {
        tuple(constant_value(c) for c in tile_coordinates(extents, group, Const(tile)))
        for tile in range(total)
    }
    assert seen == set(itertools.product(*(range(extent) for extent in domain)))


def test_persistent_visits_column_panels_the_column_fastest():
    extents = [Const(3), Const(4)]
    order = [
        tuple(constant_value(c) for c in tile_coordinates(extents, 2, Const(tile)))
        for tile in range(12)
    ]
    assert order == [
        (0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1),
        (0, 2), (0, 3), (1, 2), (1, 3), (2, 2), (2, 3),
    ]  # fmt: skip


def test_persistent_has_no_round_without_a_tile(show):
    @T.prim_func
    def full(A: T.Tensor((4, 16), "int32")):
        with T.Kernel(8) as (cid, vid):
            for i, j in T.Persistent([4, 16], 8, cid):
                A[i, j] = 1

    @T.prim_func
    def partial(A: T.Tensor((4, 15), "int32")):
        with T.Kernel(8) as (cid, vid):
            for i, j in T.Persistent([4, 15], 8, cid, group_size=15):
                A[i, j] = 1

    assert show(full) == [
        "for %wave: int32 in serial(0, 8) {",
        "  let %tile: int32 = %wave * 8 + %cid",
        "  let %i: int32 = %tile % 32 // 8",
        "  let %j: int32 = %tile // 32 * 8 + %tile % 32 % 8",
        "  $A[%i, %j] = 1",
        "}",
    ]
    assert show(partial) == [
        "for %wave: int32 in serial(0, (60 - %cid + 7) // 8) {",
        "  let %tile: int32 = min(%wave * 8 + %cid, 59)",
        "  let %i: int32 = %tile // 15",
        "  let %j: int32 = %tile % 15",
        "  $A[%i, %j] = 1",
        "}",
    ]


@settings(max_examples=examples(kept_number(60)))
@given(
    rows=sizes, columns=sizes, off=st.integers(1, 10), direction=st.integers(0, 1),
    ragged=st.integers(0, 15),
)  # fmt: skip
def test_swizzle_is_a_bijection(rows, columns, off, direction, ragged):
    m, n = rows * 16 - ragged, columns * 32 - ragged
    tiles = [T.use_swizzle(c, m, n, 64, 16, 32, off, direction) for c in range(2 * rows * columns)]
    assert set(tiles[: rows * columns]) == set(range(rows * columns))
    assert tiles[rows * columns :] == list(range(rows * columns, 2 * rows * columns))


def test_swizzle_visits_groups_of_rows_there_and_back():
    order = [T.use_swizzle(c, 64, 48, 64, 16, 16, off=2) for c in range(12)]
    assert [divmod(tile, 3) for tile in order] == [
        (0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2),
        (2, 2), (3, 2), (2, 1), (3, 1), (2, 0), (3, 0),
    ]  # fmt: skip


def test_swizzle_of_a_runtime_block(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(16) as (cid, vid):
            tile = T.use_swizzle(cid, 64, 64, 64, 16, 16, off=2)
            A[tile // 4] = tile % 4

    assert show(k)[0].startswith("let %tile: int32 = select(%cid < 16, (%cid // 8 * 2 + ")


def test_a_swizzle_of_its_own_renumbers_the_block(show):
    """Scripts of 2025; before, without the block."""

    @T.prim_func
    def named(A: T.Tensor((64,), "int32")):
        with T.Kernel(16) as (cid, vid):
            tile = T.use_swizzle(cid, 64, 64, 64, 16, 16, off=2)
            A[tile] = 1

    @T.prim_func
    def alone(A: T.Tensor((64,), "int32")):
        with T.Kernel(16) as (cid, vid):
            T.use_swizzle(cid, 64, 64, 64, 16, 16, off=2)
            A[cid] = 1

    @T.prim_func
    def without_the_block(A: T.Tensor((64,), "int32")):
        with T.Kernel(16) as (cid, vid):
            T.use_swizzle(64, 64, 64, 16, 16, off=2)
            A[cid] = 1

    for kernel in (alone, without_the_block):
        assert [line.replace("%cid_1", "%tile") for line in show(kernel)] == show(named)


def test_a_swizzle_in_a_loop_skips_rounds_without_a_tile(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(6) as (cid, vid):
            for i in T.serial(T.ceildiv(16, 6)):
                T.use_swizzle(i * 6 + cid, 64, 64, 64, 16, 16, in_loop=True)
                row = cid // 4
                A[cid] = row
            A[cid] = 2

    loop, let, guard, *rest = show(k)
    assert loop == "for %i: int32 in serial(0, 3) {"
    assert let.startswith("  let %cid_1: int32 = select(%i * 6 + %cid < 16, ")
    assert guard == "  if %cid_1 < 16 {"
    assert rest[-3:] == ["  }", "}", "$A[%cid] = 2"]


def test_the_size_of_a_panel_changes_nothing(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(16) as (cid, vid):
            T.use_swizzle(10)
            T.use_swizzle(panel_size=10, enable=True)
            A[cid] = 1

    assert show(k) == ["$A[%cid] = 1"]
