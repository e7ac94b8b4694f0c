"""Loops over Python containers and over `T.unroll` that picks from one: written out while the kernel
is traced (docs/language/index.md#statements)."""

import itertools

import pytest

import tile_frontend as T
from tile_ir import KernelError, parse, print_func

SIZES = (16, 32)


def test_a_list_of_buffers(show):
    @T.prim_func
    def k(A: T.Tensor((4, 64), "float32")):
        with T.Kernel(1) as (cid, vid):
            bufs = [T.alloc_ub((64,), "float32") for _ in range(2)]
            for b in bufs:
                T.tile.clear(b)
            for i in T.unroll(4):
                T.copy(A[i, 0], bufs[i % 2])

    assert show(k) == [
        "clear($bufs_0)",
        "clear($bufs_1)",
        "copy($A[0:+1, 0:+64], $bufs_0)",
        "copy($A[1:+1, 0:+64], $bufs_1)",
        "copy($A[2:+1, 0:+64], $bufs_0)",
        "copy($A[3:+1, 0:+64], $bufs_1)",
    ]
    assert print_func(parse(print_func(k))) == print_func(k)


def test_targets_and_containers(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i, (j, size) in enumerate(zip((3, 4), SIZES)):
                A[i] = j * size
            for name, at in {"first": 5, "second": 6}.items():
                A[at] = len(name)
            for at in reversed([7, 8]):
                A[at] = sum(x * x for x in range(at) if x % 2)
            for at in []:
                A[at] = 0

    assert show(k) == [
        "$A[0] = 48",
        "$A[1] = 128",
        "$A[5] = 5",
        "$A[6] = 6",
        "$A[8] = 84",
        "$A[7] = 35",
    ]


def test_ranges_with_steps(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for at in [i for i in range(1, 8, 3)]:
                A[at] = 1
            for at in sorted(T.serial(5, 0, -2)):
                A[at] = sum(range(0, 20, 5))

    assert show(k) == [
        "$A[1] = 1", "$A[4] = 1", "$A[7] = 1",
        "$A[1] = 30", "$A[3] = 30", "$A[5] = 30",
    ]  # fmt: skip


def test_slots_that_are_computed_and_nested_lists(show):
    @T.prim_func
    def k(A: T.Tensor((8, 64), "float32")):
        with T.Kernel(1) as (cid, vid):
            pairs = [[T.alloc_ub((64,), "float32") for _ in range(2)] for _ in range(2)]
            for i in T.unroll(1, 3):
                slot = (i + 1) % 2
                T.copy(A[i + cid, 0], pairs[slot][i % 2])

    assert [line for line in show(k) if "copy" in line] == [
        "copy($A[1 + %cid:+1, 0:+64], $pairs_0_1)",
        "copy($A[2 + %cid:+1, 0:+64], $pairs_1_0)",
    ]


def test_an_index_that_a_name_stands_for(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            bufs = (T.alloc_ub((64,), "float32"), T.alloc_ub((64,), "float32"))
            last = 1
            other = 1 - last
            T.copy(A, bufs[last])
            T.copy(A, bufs[other])

    copies = [line for line in show(k) if line.startswith("copy")]
    assert copies == ["copy($A, $bufs_1)", "copy($A, $bufs_0)"]


def test_an_unroll_that_picks_nothing_is_left_to_the_emitter(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in T.unroll(4):
                A[i] = SIZES[1]

    assert show(k) == ["for %i: int32 in unroll(0, 4) {", "  $A[%i] = 32", "}"]


@pytest.mark.parametrize(("count", "lines"), [(0, 0), (1, 1)])
def test_few_rounds(show, count, lines):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            bufs = [T.alloc_ub((64,), "float32")]
            for i in T.unroll(count):
                T.copy(A, bufs[i])

    assert sum(line.startswith("copy") for line in show(k)) == lines


def test_a_body_is_as_if_written_out(show):
    """Names last from round to round and after the loop; buffers get names of their own."""

    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            kept = []
            for size in SIZES:
                x = T.alloc_ub((size,), "int32")
                kept.append(x)
                T.tile.fill(x, size)
            T.tile.clear(kept[0])
            T.tile.clear(x)
            A[0] = size

    assert show(k) == [
        "fill($x, 16)",
        "fill($x_1, 32)",
        "clear($x)",
        "clear($x_1)",
        "$A[0] = 32",
    ]


def test_text_that_is_known(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i, size in enumerate(SIZES):
                T.printf(f"tile {i:02} of {size!r}: %d\n", A[i])

    assert [line.split('"')[1] for line in show(k)] == [
        "tile 00 of 16: %d\\n",
        "tile 01 of 32: %d\\n",
    ]


def test_leaving_a_loop_around_it_is_refused():
    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def k(A: T.Tensor((64,), "int32")):
            with T.Kernel(1) as (cid, vid):
                for i in range(4):
                    for j in (1, 2):
                        if A[i] > j:
                            T.loop_break()

    assert caught.value.slug == "outside-loop"


@pytest.mark.parametrize("endless", [itertools.count(), iter(int, 1)])
def test_an_endless_iterator(endless):
    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def k(A: T.Tensor((64,), "int32")):
            with T.Kernel(1) as (cid, vid):
                for i in endless:
                    A[0] = 1

    assert caught.value.slug == "loop-bound"


@pytest.mark.parametrize("what", ["text", T.Tensor((4,), "int32"), 4])
def test_what_can_not_be_iterated(what):
    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def k(A: T.Tensor((64,), "int32")):
            with T.Kernel(1) as (cid, vid):
                for i in what:
                    A[0] = 1

    assert caught.value.slug == "not-a-loop"


def test_functions_of_python_take_ranges(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i, j in enumerate(range(2, 4)):
                A[i] = j
            for i, j in zip(range(2), [7, 8]):
                A[i] = j
            for i in reversed(list(range(2))):
                A[i] = sum(range(4)) + max(range(3))
            a, b = range(2)
            A[a] = b

    stores = [line for line in show(k) if line.startswith("$A")]
    assert stores[:6] == [
        "$A[0] = 2", "$A[1] = 3", "$A[0] = 7", "$A[1] = 8", "$A[1] = 8", "$A[0] = 8",
    ]  # fmt: skip


def test_reductions_take_the_names_of_torch(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((8, 8), "float32")
            r = T.alloc_ub((8,), "float32")
            c = T.alloc_ub((8, 1), "float32")
            T.reduce_max(a, r, axis=0)
            T.reduce_sum(a, c, axis=-1, keepdim=True)
            T.reduce(a, r, "reduce_sum", axis=1, keepdims=False)

    assert [line for line in show(k) if "reduce" in line] == [
        "reduce_max($a, $r, none) {dim=0, clear=true}",
        "reduce_sum($a, $c, none) {dim=-1, clear=true}",
        "reduce_sum($a, $r, none) {dim=1, clear=true}",
    ]
