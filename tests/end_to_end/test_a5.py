"""Kernels go through all passes for a chip of other AI cores, up to the code that is not emitted for
it."""

from __future__ import annotations

import example_kernels
import pytest

import tile_frontend as T
from tile_checkers import check_memory, check_sync
from tile_codegen_ascendc import emit
from tile_ir import DEFAULT_TARGET, TARGETS, Func, KernelError, Memory, Op
from tile_ir.switches import override
from tile_ir.traversal import walk_ops
from tile_passes import PassOptions, run_pipeline

A5 = TARGETS["Ascend950PR_9579"]
AUTOMATIC = PassOptions(automatic=example_kernels.AUTOMATIC_SYNC)
KERNELS = example_kernels.traced() | example_kernels.automatic()


@pytest.mark.parametrize(
    "name", ["flash_attention", "gemm_ragged", "rms_norm", "split_k_gemm", "top_k"]
)
def test_kernels_are_lowered_and_proved(name: str) -> None:
    func = KERNELS[name]
    options = PassOptions() if name in example_kernels.traced() else AUTOMATIC
    slugs = []
    for target in (DEFAULT_TARGET, A5):
        lowered = run_pipeline(func, target, options).func
        slugs.append(
            [d.slug for d in (*check_memory(lowered, target), *check_sync(lowered, target))]
        )
    assert slugs[0] == slugs[1]


def test_emission_is_refused_in_one_error() -> None:
    lowered = run_pipeline(KERNELS["rms_norm"], A5, AUTOMATIC).func
    with pytest.raises(KernelError) as caught:
        emit(lowered, A5)
    error = caught.value
    assert error.slug == "chip-not-emitted" and error.loc == lowered.loc
    assert error.message == (
        "Ascend C is emitted for AI cores of dav-c220, but Ascend950PR_9579 has those of dav-c310"
    )
    assert error.hint is not None and "tile-ascend check" in error.hint


def product(dtype: str, wide: str) -> Func:
    @T.prim_func
    def kernel(
        A: T.Tensor((32, 64), dtype), B: T.Tensor((64, 32), dtype), C: T.Tensor((32, 32), wide)
    ):  # type: ignore[no-untyped-def,valid-type]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((32, 64), dtype)
            b = T.alloc_L1((64, 32), dtype)
            c = T.alloc_L0C((32, 32), wide)
            with T.Scope("C"):
                T.copy(A, a)
                T.copy(B, b)
                T.gemm_v0(a, b, c, init=True)
                T.copy(c, C)

    return kernel


def test_a_kernel_traced_for_another_chip_is_told_what_is_missing() -> None:
    with pytest.raises(KernelError) as caught:
        run_pipeline(product("int4", "int32"), A5, AUTOMATIC)
    assert caught.value.slug == "operand-dtype" and caught.value.loc is not None
    assert "compiler" not in str(caught.value)
    assert run_pipeline(product("int8", "int32"), A5, AUTOMATIC).func


def test_a_kernel_is_traced_by_the_rules_of_the_chip_in_force() -> None:
    with override(soc=A5.name), pytest.raises(KernelError) as caught:
        product("int4", "int32")
    assert caught.value.slug == "operand-dtype"
    assert caught.value.loc is not None and "gemm_v0(^a".replace("^", "") in str(caught.value)


def test_barriers_of_a_pipe_go_to_the_cores_that_have_it() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((32, 64), "float16"), C: T.Tensor((32, 32), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((32, 64), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            u = T.alloc_ub((16, 32), "float32")
            with T.Scope("C"):
                T.copy(A, a)
                T.gemm_v0(a, a, c, transpose_B=True, init=True)
                T.copy(c, C)
            T.pipe_barrier("mte3")
            with T.Scope("V"):
                T.tile.fill(u, 1.0)

    def barriers(target: str) -> list[str]:
        lowered = run_pipeline(kernel, TARGETS[target], AUTOMATIC).func
        return [
            section.core.value
            for section in lowered.launch.body
            for op in walk_ops(section.body)  # type: ignore[union-attr]
            if op.opdef.name == "pipe_barrier" and op.attr("pipe") == "mte3"
        ]

    assert barriers(DEFAULT_TARGET.name) == ["cube", "vector"]
    assert barriers(A5.name) == ["vector"]


def test_more_memory_is_used_where_there_is_more() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((1, 56 * 1024), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            u = T.alloc_ub((1, 56 * 1024), "float32")
            with T.Scope("V"):
                T.copy(A, u)
                T.copy(u, A)

    with pytest.raises(KernelError):
        run_pipeline(kernel, DEFAULT_TARGET, AUTOMATIC)
    lowered = run_pipeline(kernel, A5, AUTOMATIC).func
    assert [a.address for a in lowered.launch.allocs if a.buffer.memory is Memory.UB] == [0]


def test_every_movement_that_is_made_is_one_the_chip_has() -> None:
    for name in ("flash_attention", "gemm_ragged"):
        lowered = run_pipeline(KERNELS[name], A5, AUTOMATIC).func
        for op in walk_ops(lowered.launch.body):
            if isinstance(op, Op) and op.opdef.family == "movement" and len(op.operands) == 2:
                assert (op.region("src").memory, op.region("dst").memory) in A5.paths
