"""Element loads and slices (docs/language/index.md#subscripts)."""

import tile_frontend as T
from tile_ir import Op, Region
from tile_ir.expr import Const

S = 3


def test_slices_become_regions_with_simple_extents(show):
    @T.prim_func
    def k(A: T.Tensor((1024, 64), "float32"), n: T.int32):
        with T.Kernel(1) as (cid, vid):
            u = T.alloc_ub((4, 64, 64), "float32")
            for k in range(16):
                T.copy(A[k * 64 : (k + 1) * 64, :], u[k % S, :, :])
                T.copy(A[k * 64 + n : k * 64 + n + 32, 0:64], u[0, :32, :])
            T.tile.fill(u[0, 32:, :], 0.0)
            T.tile.fill(u[cid + 1, 8, :n], 0.0)
            T.tile.fill(u[0, 0, n:], 0.0)

    assert show(k) == [
        "for %k: int32 in serial(0, 16) {",
        "  copy($A[%k * 64:+64, 0:+64], $u[%k % 3:+1, 0:+64, 0:+64])",
        "  copy($A[%k * 64 + %n:+32, 0:+64], $u[0:+1, 0:+32, 0:+64])",
        "}",
        "fill($u[0:+1, 32:+32, 0:+64], 0.0)",
        "fill($u[%cid + 1:+1, 8:+1, 0:+%n], 0.0)",
        "fill($u[0:+1, 0:+1, %n:+64 - %n], 0.0)",
    ]


def test_named_bounds_have_the_extents_of_their_definitions(show):
    @T.prim_func
    def k(A: T.Tensor((1024, 64), "float32"), starts: T.Tensor((16,), "int32"), n: T.int32):
        with T.Kernel(1) as (cid, vid):
            u = T.alloc_ub((64, 64), "float32")
            for k in range(16):
                row = k * 64
                middle, end = row + 24, row + 64
                size = end - middle
                T.copy(A[row:middle, :], u[0:24, :])
                T.copy(A[middle:end, :], u[24 : 24 + size, :])
                first = starts[k]
                last = first + n
                T.copy(A[first:last, :], u[0:n, :])
                T.copy(A[row : T.min(end, last), :], u[0 : T.min(64, n), :])

    assert [line for line in show(k) if "copy" in line] == [
        "  copy($A[%row:+24, 0:+64], $u[0:+24, 0:+64])",
        "  copy($A[%middle:+40, 0:+64], $u[24:+40, 0:+64])",
        "  copy($A[%first:+%n, 0:+64], $u[0:+%n, 0:+64])",
        "  copy($A[%row:+min(%end, %last) - %row, 0:+64], $u[0:+min(64, %n), 0:+64])",
    ]


def test_a_name_of_an_element_keeps_what_it_was(show):
    @T.prim_func
    def k(A: T.Tensor((1024, 64), "float32"), starts: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            u = T.alloc_ub((64, 64), "float32")
            first = starts[0]
            starts[0] = 3
            last = starts[0] + 64
            T.copy(A[first:last, :], u[0 : last - first, :])

    (copy,) = (line for line in show(k) if "copy" in line)
    assert "%first:+%last - %first," in copy


def test_integer_indices_have_extent_one_and_slices_keep_their_own():
    @T.prim_func
    def k(A: T.Tensor((4, 8, 64), "float32")):
        with T.Kernel(1) as (cid, vid):
            u = T.alloc_ub((64,), "float32")
            T.copy(A[1, cid, 0:64], u)

    (op,) = k.launch.body
    assert isinstance(op, Op)
    region = op.region("src")
    assert region.extents == (Const(1), Const(1), Const(64))


def test_a_tile_of_a_tensor_may_hang_over_its_edge(show):
    @T.prim_func
    def k(A: T.Tensor((100, 64), "float32")):
        with T.Kernel(1) as (cid, vid):
            u = T.alloc_ub((64, 64), "float32")
            T.copy(A[64:128, :], u)
            T.copy(A[96, 0], u)
            T.copy(A[128, 0], u)

    assert show(k) == [
        "copy($A[64:+64, 0:+64], $u)",
        "copy($A[96:+64, 0:+64], $u)",
        "copy($A[128:+64, 0:+64], $u)",
    ]


def test_an_element_where_a_buffer_is_expected_is_its_region(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            u = T.alloc_ub((4, 64), "float32")
            T.tile.fill(u[1, 2], 0.0)
            T.tile.mul(u, u, u[1, cid])
            T.tile.add(u[0, :], u[1, :], A[3])

    assert show(k) == [
        "fill($u[1:+1, 2:+1], 0.0)",
        "mul($u, $u, $u[1, %cid])",
        "add($u[0:+1, 0:+64], $u[1:+1, 0:+64], $A[3])",
    ]


def test_loads_can_index(show):
    @T.prim_func
    def k(A: T.Tensor((64, 16), "float32"), I: T.Tensor((8,), "int32")):
        with T.Kernel(1) as (cid, vid):
            u = T.alloc_ub((16,), "float32")
            T.copy(A[I[cid], :], u)

    assert show(k) == ["copy($A[$I[%cid]:+1, 0:+16], $u)"]


def test_buffers_know_their_shape_and_dtype():
    n = T.symbolic("n")
    seen = []

    def look(buffer):
        seen.append((buffer.shape[0], str(buffer.dtype), buffer.dtype.bits))

    @T.prim_func
    def k(A: T.Tensor((64, n), "float16")):
        with T.Kernel(1) as (cid, vid):
            look(A)
            u = T.alloc_ub((A.shape[0],), A.dtype)
            T.tile.fill(u, 0)

    assert seen == [(64, "float16", 16)]
    assert k.launch.allocs[0].buffer.static_shape() == (64,)
    assert Region.whole(k.tensors[0]).static_extents() is None
