"""Every name of the language for GPUs means something here, or is an error that helps."""

from __future__ import annotations

import linecache
from types import SimpleNamespace
from typing import Any

import pytest

import tile_frontend as T
from tile_frontend._dialects.gpu_names import ERRORS, HINT_OBJECTS, NO_EFFECT, stops
from tile_ir import Automatic, Func, KernelError, print_func

NAMES = (
    # 2.1
    "prim_func PrimFunc JITFunc Kernel KernelLaunchFrame get_block_binding get_block_bindings "
    "get_block_extent get_block_extents ClusterKernel CUDASourceCodeKernel Tensor StridedTensor "
    "Buffer FragmentBuffer SharedBuffer LocalBuffer buffer buffer_decl decl_buffer buffer_var "
    "match_buffer ptr Ptr handle make_tensor make_tensor_from_addr const empty dynamic symbolic "
    "var SizeVar Var boolean void macro inline meta_class Ref BaseTileScheduler "
    "PersistentTileScheduler func_attr attr func_name func_ret arg target sblock init where reads "
    "writes axis sblock_attr block_name_suffix_context launch_thread env_thread iter_var meta_var "
    "type_annotation call_kernel jit constexpr Any import_source "
    # 2.2
    "alloc_shared alloc_fragment alloc_local alloc_var alloc_global alloc_reducer reducer_init "
    "allocate alloc_buffer sblock_alloc_buffer reducer_update finalize_reducer alloc_barrier alloc_cluster_barrier alloc_tmem "
    "deallocate_tmem alloc_descriptor alloc_wgmma_desc alloc_tcgen05_smem_desc "
    "alloc_tcgen05_instr_desc alloc_tcgen05_instruction_desc SMEMPool TMEMPool TMEMStages "
    # 2.3
    "copy async_copy copy_cluster tma_copy tma_gather4 tma_gather4_bytes tma_scatter4 tma_load "
    "tma_load_2sm tma_store_arrive tma_store_wait create_tma_descriptor transpose im2col "
    "c2d_im2col "
    # 2.5
    "gemm GemmWarpPolicy gemm_sp wgmma_gemm wgmma_gemm_sp wgmma_mma tcgen05_gemm "
    "tcgen05_gemm_blockscaled tcgen05_gemm_sp tcgen05_mma tcgen05_mma_blockscaled "
    "mma_gemm_blockscaled dp4a "
    # 2.6
    "fill clear reduce_sum reduce_max reduce_min reduce_abssum reduce_absmax reduce_bitand "
    "reduce_bitor reduce_bitxor reduce warp_reduce_sum warp_reduce_max warp_reduce_min "
    "warp_reduce_bitand warp_reduce_bitor cumsum cummax any_of all_of "
    # 2.7
    "atomic_add atomic_max atomic_min atomic_addx2 atomic_addx4 atomic_or atomic_load "
    "atomic_store "
    # 2.8
    "serial Serial range unroll Unroll vectorized Vectorized Parallel Pipelined Persistent grid "
    "parallel thread_binding loop_break break_loop continue_loop While If Then Else ret "
    "thread_return use_swizzle assume Assert device_assert likely ignore_loop_partition "
    # 2.9
    "max min abs fabs floor ceil trunc sqrt rsqrt exp exp2 log log2 sin cos tanh sigmoid erf pow "
    "clamp exp10 log10 log1p tan sinh cosh asin acos atan atan2 asinh acosh atanh hypot fmod "
    "ldexp copysign nextafter nearbyint round __exp __exp10 __log __log2 __log10 __sin __cos "
    "__tan fast_rcp ieee_add ieee_sub ieee_mul ieee_fmaf ieee_frcp ieee_fsqrt ieee_frsqrt "
    "ieee_fdiv isnan isinf isfinite infinity max_value min_value ceildiv cdiv align_up floordiv "
    "floormod truncdiv truncmod if_then_else Select bitwise_and bitwise_or bitwise_xor "
    "bitwise_not shift_left shift_right popcount clz __ffs __fns And Or Not EQ NE LT LE GT GE Add "
    "Sub Mul Div Mod FloorDiv FloorMod Min Max add2 sub2 mul2 fma2 max2 min2 abs2 "
    "q_multiply_shift q_multiply_shift_per_axis "
    # 2.10
    "float16 half bfloat16 float32 float int8 int16 short int32 int int64 long uint8 uint16 "
    "uint32 uint uint64 ulong bool int4 dtype AnyDType get_tvm_dtype DataType float64 double "
    "tfloat32 is_float4 is_float4_e2m1fn is_float4_e2m1_unpacked is_f8f6f4_family "
    "validate_gemm_ab_dtypes Shuffle extract_lane Ramp ramp Broadcast broadcast vectorlow "
    "vectorhigh vectorcombine vscale get_active_lane_mask cast Cast reinterpret view reshape "
    "IntImm FloatImm StringImm PrimExpr BufferLoad IterVar Range Call CallEffectKind Let let bind "
    "Reduce CommReducer comm_reducer ProducerLoad index_map evaluate buffer_store undef "
    "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
    "float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn float32x4 float16x2 "
    "int8x16 uint8x64 bfloat16x8 float8_e4m3fnx4 "
    # 2.11
    "annotate_layout Layout Fragment annotate_safe_value annotate_l2_hit_ratio "
    "annotate_min_blocks_per_sm annotate_restrict_buffers annotate_producer_reg_dealloc "
    "annotate_consumer_reg_alloc disable_warp_group_reg_alloc no_set_max_nreg set_max_nreg "
    "inc_max_nreg dec_max_nreg annotate_compile_flags annotate_pass_configs annotate_ws_schedule "
    "ws_op WSID WSRole WSPipeline WSInstr WSOpRef WSSync WSSyncKind WSScope WSSchedule ws "
    "WarpSpecialize WarpSpecializeFrame "
    # 2.12
    "print rng_init rng_rand rng_rand_float pdl_trigger pdl_sync "
    # 2.13
    "get_thread_binding get_thread_bindings get_thread_extent get_thread_extents get_lane_idx "
    "get_warp_idx get_warp_idx_sync get_warp_group_idx shuffle_elect shfl_sync shfl_xor shfl_up "
    "shfl_down any_sync all_sync ballot ballot_sync activemask match_any_sync match_all_sync "
    "syncthreads_and syncthreads_or syncthreads_count tvm_thread_allreduce tvm_thread_invariant "
    "tvm_warp_shuffle tvm_warp_shuffle_up tvm_warp_shuffle_down tvm_warp_activemask ldg32 ldg64 "
    "ldg128 ldg256 stg32 stg64 stg128 stg256 lds32 lds64 lds128 sts32 sts64 sts128 __ldg "
    "sync_threads sync_warp sync_global tvm_storage_sync barrier_wait barrier_arrive "
    "mbarrier_arrive mbarrier_expect_tx mbarrier_arrive_expect_tx mbarrier_wait_parity "
    "named_barrier_arrive fence_proxy_async create_barriers ptx_wait_group ptx_commit_group "
    "ptx_cp_async ptx_cp_async_bulk ptx_cp_async_barrier cp_async_barrier_noinc "
    "ptx_init_barrier_thread_count ptx_arrive_barrier ptx_arrive_barrier_expect_tx "
    "ptx_arrive_cluster_barrier wait_wgmma warpgroup_arrive warpgroup_commit_batch warpgroup_wait "
    "warpgroup_fence_operand sync_grid ptx_mma ptx_mma_sp ptx_mma_sm70 ptx_ldmatrix ptx_wgmma_ss "
    "ptx_wgmma_rs ptx_wgmma_sp_ss ptx_wgmma_sp_rs ptx_tcgen05_mma_ss ptx_tcgen05_mma_ts "
    "ptx_tcgen05_mma_blockscaled_ss mma_store_index_map tcgen05_mma_arrive "
    "tcgen05_before_thread_sync tcgen05_after_thread_sync tcgen05_cp_warpx4 "
    "tcgen05_sf_warp_transpose cluster_arrive cluster_arrive_relaxed cluster_wait cluster_sync "
    "block_rank_in_cluster clc_try_cancel clc_try_cancel_multicast clc_is_canceled "
    "clc_get_first_ctaid_x clc_get_first_ctaid_y clc_get_first_ctaid_z increase_descriptor_offset "
    "initialize_wgmma_descriptor initialize_tcgen05_descriptor compute_gmma_descriptor "
    "compute_umma_descriptor tvm_load_matrix_sync tvm_mma_sync tvm_bmma_sync tvm_fill_fragment "
    "tvm_store_matrix_sync cooperative_tensor_fill cooperative_tensor_load "
    "cooperative_tensor_store cooperative_tensor_multiply_accumulate get_ldmatrix_offset "
    "get_mma_micro_size get_swizzle_layout make_mma_swizzle_layout make_blockscaled_gemm_layout "
    "TensorCoreIntrinEmitter TensorCoreIntrinEmitterSM120 "
    "TensorCoreIntrinEmitterWithLadderTransform SparseTensorCoreIntrinEmitter "
    "WGMMATensorCoreIntrinEmitter WGSparseTensorCoreIntrinEmitter TCGEN05TensorCoreIntrinEmitter "
    "WGMMADescriptorParams TCGEN05DescriptorParams ds_read_tr16_b64 ds_read_tr8_b64 tvm_mfma "
    "tvm_rdna_wmma call_extern call_pure_extern call_intrin call_llvm_intrin "
    "call_llvm_pure_intrin llvm_lookup_intrinsic_id call_packed call_cpacked call_packed_lowered "
    "call_cpacked_lowered tvm_call_packed tvm_call_cpacked tvm_call_packed_lowered "
    "tvm_call_cpacked_lowered address_of access_ptr tvm_access_ptr handle_add_byte_offset "
    "isnullptr lookup_param tvm_tuple tvm_struct_get tvm_struct_set tvm_stack_alloca "
    "tvm_stack_make_shape tvm_stack_make_array tvm_throw_last_error anylist_getitem "
    "anylist_setitem_call_packed anylist_setitem_call_cpacked anylist_resetitem "
    "TVMBackendAllocWorkspace TVMBackendFreeWorkspace start_profile_intrinsic "
    "end_profile_intrinsic has_let_value get_let_value index_to_coordinates "
)  # fmt: skip


def traced(line: str, **names: Any) -> Func:
    """A kernel with this line in it, in a text of which errors know the lines."""
    text = (
        "import tile_frontend as T\n@T.prim_func\ndef k(A: T.Tensor((16,), 'float32')):\n"
        f"    with T.Kernel(1, threads=128):\n        {line}\n"
    )
    linecache.cache["<gpu name>"] = (len(text), None, text.splitlines(keepends=True), "<gpu name>")
    found: dict[str, Any] = {**names, "__name__": "script"}
    exec(compile(text, "<gpu name>", "exec"), found)
    kernel: Func = found["k"]
    return kernel


def test_no_name_is_unknown() -> None:
    missing = []
    for name in NAMES.split():
        try:
            traced(f"T.{name}()")
        except KernelError as error:
            if error.slug == "unknown-name":
                missing.append(name)
    assert missing == []


def test_what_only_a_gpu_has_is_an_error_at_its_line() -> None:
    for name in NAMES.split():
        group = stops(name)
        if group is None or isinstance(getattr(T, name), str):
            continue
        with pytest.raises(KernelError) as caught:
            traced(f"T.{name}(0, x=1)")
        error = caught.value
        assert (error.slug, error.hint) == ("gpu-name", group.write), name
        assert error.loc is not None and error.loc.line == 5
        assert error.message == f"T.{name}: {group.says}"


def test_hints_do_nothing() -> None:
    for name in sorted(NO_EFFECT):
        found = traced(f"T.{name}('x', 1, key=2)")
        assert print_func(found) == print_func(traced("pass")), name


def test_what_is_handed_to_a_hint_is_anything() -> None:
    line = "T.annotate_ws_schedule(T.WSSchedule([T.WSSync.wait('a', stage=0), T.WSScope.ROOT]))"
    assert print_func(traced(line)) == print_func(traced("pass"))


def test_a_name_stands_in_one_group() -> None:
    names = [name for group in ERRORS for name in group.names]
    names += [*NO_EFFECT, *HINT_OBJECTS]
    assert len(set(names)) == len(names)
    more = {"float4_e2m1_unpacked"}
    assert set(names) <= set(NAMES.split()) | more


@pytest.mark.parametrize(
    "line",
    [
        "x = T.TensorCoreIntrinEmitter.ptx(1)",
        "x = T.ws[0]",
        "x = isinstance(3, T.BufferLoad)",
        "x = T.get_thread_binding(0) + 1",
        "x = shuffled(1)",
        "with T.ws(0): pass",
    ],
)
def test_any_use_of_such_a_name_is_told(line: str) -> None:
    with pytest.raises(KernelError) as caught:
        traced(line, shuffled=T.shfl_xor)
    assert caught.value.slug == "gpu-name" and caught.value.loc is not None


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float6_e3m2fn", "float4_e2m1fn"])
def test_small_floats_are_names_until_a_tile_is_made(dtype: str) -> None:
    name = getattr(T, dtype)
    assert name == dtype and str(name) == dtype and name in (dtype, "float16")
    assert (name.bits, name.itemsize, name.lanes) == (int(dtype[5]), 1, 1)
    for line in ("T.alloc_shared((16,), D)", "T.alloc_fragment((4, 16), D)", "T.cast(1.0, D)"):
        with pytest.raises(KernelError) as caught:
            traced(line, D=name)
        assert caught.value.slug == "gpu-name" and caught.value.loc is not None
        assert caught.value.hint == "8-bit floats need A5; on A2/A3 quantise to int8"
    with pytest.raises(KernelError, match="8-bit floats need A5"):
        T.Tensor((16,), dtype)


def test_spellings() -> None:
    assert [T.EQ(1, 1), T.LT(2, 1), T.Add(2, 3), T.FloorDiv(-7, 2), T.Mod(-7, 2)] == [
        True, False, 5, -4, -1
    ]  # fmt: skip
    assert [T.align_up(33, 16), T.index_to_coordinates(23, (2, 3, 4))] == [48, [1, 2, 3]]
    assert [T.ieee_fmaf(2.0, 3.0, 1.0), T.ieee_frcp(4.0), T.fast_rcp(2.0)] == [7.0, 0.25, 0.5]
    assert (T.short, T.long, T.ulong, T.tfloat32) == ("int16", "int64", "uint64", "float32")
    with pytest.raises(KernelError, match="round to the nearest"):
        T.ieee_add(1.0, 2.0, rounding_mode="rz")


def test_an_attribute_of_a_value_is_no_sign_of_a_dialect() -> None:
    """`tile` and `mma` of a module are names of TileLang for Ascend."""
    sizes = SimpleNamespace(tile=16, mma=(16, 32))

    @T.prim_func
    def k(A: T.Tensor((16, 32), "float32"), B: T.Tensor((32, 16), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared(sizes.mma, "float32")
            b = T.alloc_shared((32, sizes.tile), "float32")
            T.copy(A, a)
            T.transpose(a, b)
            T.copy(b, B)

    assert Automatic.CORES in k.automatic
