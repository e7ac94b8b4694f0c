"""Kernels that leave memories, lanes or the division between cores to the compiler: traced, printed
and read back; lowering ends in one error at the line that asks for it."""

from __future__ import annotations

import pytest

import tile_frontend as T
import tile_ir
from tile_ir import DEFAULT_TARGET, KernelError
from tile_ir.equality import structurally_equal
from tile_passes import run_pipeline


@T.prim_func
def shared_tile(X: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=1, is_npu=True) as cid:
        a = T.alloc_shared((64,), "float32")  # here
        T.copy(X, a)
        for i in T.Parallel(64):
            a[i] = a[i] + 1.0
        T.copy(a, X)


@T.prim_func
def fragment(X: T.Tensor((64, 64), "float16"), Y: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_L1((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")  # here
        T.copy(X, a)
        T.gemm_v0(a, a, c, init=True)
        T.copy(c, Y)


@T.prim_func
def two_lanes(X: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=2, is_npu=True) as cid:  # here
        a = T.alloc_ub((64,), "float32")
        T.copy(X, a)
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
        T.copy(Y, u)  # here


@pytest.mark.parametrize("func", [shared_tile, fragment, two_lanes, both_cores])
def test_parsed_printed_and_refused_at_the_line(func: tile_ir.Func) -> None:
    tile_ir.verify(func)
    assert structurally_equal(func, tile_ir.parse(tile_ir.print_func(func)))
    with pytest.raises(KernelError) as caught:
        run_pipeline(func, DEFAULT_TARGET)
    assert caught.value.slug == "not-lowered-yet"
    assert caught.value.hint
    loc = caught.value.loc
    assert loc is not None
    assert "# here" in func.sources[loc.file].splitlines()[loc.line - 1]


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


@pytest.mark.parametrize("func", [vector_only, cube_only])
def test_one_kind_of_core_needs_no_scope(func: tile_ir.Func) -> None:
    assert run_pipeline(func, DEFAULT_TARGET).func.phase is tile_ir.Phase.SYNCED
