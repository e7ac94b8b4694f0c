"""Kernels that leave memories, lanes or the division between cores to the compiler: traced, printed
and read back; lowering ends in one error at the line that asks for it."""

from __future__ import annotations

import pytest
from structural_equality import structurally_equal

import tile_frontend as T
import tile_ir
from tile_ir import DEFAULT_TARGET
from tile_passes import apply_passes, run_pipeline


@T.prim_func
def shared_tile(X: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=1, is_npu=True) as cid:
        a = T.alloc_shared((64,), "float32")
        T.copy(X, a)
        T.barrier_all()
        for i in T.Parallel(64):
            a[i] = a[i] + 1.0
        T.barrier_all()
        T.copy(a, X)


@T.prim_func
def fragment(X: T.Tensor((64, 64), "float16"), Y: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_L1((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.copy(X, a)
        T.gemm_v0(a, a, c, init=True)
        T.copy(c, Y)


@T.prim_func
def two_lanes(X: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=2, is_npu=True) as cid:
        a = T.alloc_ub((64,), "float32")
        T.copy(X, a)
        T.barrier_all()
        T.copy(a, X)


@T.prim_func
def both_cores(X: T.Tensor((64, 64), "float16"), Y: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_L1((64, 64), "float16")
        c = T.alloc_L0C((64, 64), "float32")
        u = T.alloc_ub((64, 64), "float32")
        T.copy(X, a)
        T.gemm_v0(a, a, c, init=True)
        T.copy(c, Y)
        T.copy(Y, u)


@pytest.mark.parametrize("func", [two_lanes, both_cores])
def test_parsed_and_printed(func: tile_ir.Func) -> None:
    tile_ir.verify(func)
    assert structurally_equal(func, tile_ir.parse(tile_ir.print_func(func)))


@T.prim_func
def vector_only(X: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=1, is_npu=True) as cid:
        a = T.alloc_ub((64,), "float32")
        T.copy(X, a)
        T.barrier_all()
        T.copy(a, X)


@T.prim_func
def cube_only(X: T.Tensor((64, 64), "float16"), Y: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_L1((64, 64), "float16")
        c = T.alloc_L0C((64, 64), "float32")
        T.copy(X, a)
        T.gemm_v0(a, a, c, init=True)
        T.copy(c, Y)


@pytest.mark.parametrize("func", [vector_only, cube_only, shared_tile, fragment, two_lanes, both_cores])
def test_one_kind_of_core_needs_no_scope(func: tile_ir.Func) -> None:
    assert run_pipeline(func, DEFAULT_TARGET).func.phase is tile_ir.Phase.SYNCED


def test_every_way_to_ask_for_an_open_buffer() -> None:
    M = 16

    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared(64, "float32")
            b = T.alloc_shared([M, 2 * M], "float16")
            c = T.alloc_shared(shape=(M, M), dtype="int8")
            d = T.alloc_shared((M, M), dtype="float", scope="shared.dyn")
            e = T.alloc_shared((M, M), "float16", "shared.l1")
            f = T.alloc_shared((M, M), "float16", scope="shared")
            g = T.alloc_shared((M, 2 * M), "int4", scope="shared.l1")
            h = T.alloc_fragment((M, M), "float32")
            i = T.alloc_fragment(shape=[M, M], dtype="int32", scope="local.fragment")
            j = T.alloc_fragment((M, M), "float32", "wmma.accumulator")
            m = T.alloc_fragment(M, "float32")
            n = T.alloc_fragment((M, M), "bool")

    found = {
        a.buffer.name: (a.buffer.memory.value, a.buffer.dtype.name, a.buffer.static_shape())
        for a in k.launch.allocs
    }
    assert found == {
        "a": ("shared", "float32", (64,)),
        "b": ("shared", "float16", (16, 32)),
        "c": ("shared", "int8", (16, 16)),
        "d": ("shared", "float32", (16, 16)),
        "e": ("l1", "float16", (16, 16)),
        "f": ("ub", "float16", (16, 16)),
        "g": ("l1", "int4", (16, 32)),
        "h": ("fragment", "float32", (16, 16)),
        "i": ("fragment", "int32", (16, 16)),
        "j": ("l0c", "float32", (16, 16)),
        "m": ("fragment", "float32", (16,)),
        "n": ("ub", "bool", (16, 16)),
    }


@T.macro
def doubled(tile, rows):
    for i in T.serial(rows):
        T.tile.add(tile[i, :], tile[i, :], tile[i, :])


@T.prim_func
def through_a_macro(X: T.Tensor((8, 64), "float32")):
    with T.Kernel(1, threads=1, is_npu=True) as cid:
        a = T.alloc_shared((8, 64), "float32")
        b = T.alloc_fragment((8, 64), "float32")
        T.copy(X, a)
        doubled(a, 8)
        T.copy(a, b)
        T.copy(b, X)


@T.prim_func
def product_through_ub(X: T.Tensor((64, 64), "float16"), Y: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        u = T.alloc_shared((64, 64), "float32")
        T.copy(X, a)
        T.tile.exp(a, a)
        T.copy(a, b)
        T.gemm_v0(b, b, c, init=True)
        T.copy(c, u)
        T.tile.exp(u, u)
        T.copy(u, Y)


def memories(func: tile_ir.Func) -> list[str]:
    inferred = apply_passes(func, ["infer_memory"], DEFAULT_TARGET)
    tile_ir.verify(inferred)
    return [a.buffer.memory.value for a in inferred.launch.allocs]


def test_what_stands_in_a_macro_is_a_use_like_others() -> None:
    assert memories(through_a_macro) == ["ub", "ub"]
    assert run_pipeline(through_a_macro, DEFAULT_TARGET).func.phase is tile_ir.Phase.SYNCED


def test_copies_between_the_cores_are_legal_once_memories_are_known() -> None:
    assert memories(product_through_ub) == ["ub", "l1", "l0c", "ub"]
