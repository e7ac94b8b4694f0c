"""List the names that TileLang has for GPUs alone.

Each has the reason why it does not work on this chip and its replacement, or is a hint without
effect.
"""

from __future__ import annotations

import re

from tile_frontend._dialects import names_of_devices
from tile_frontend._dialects.dialect import names
from tile_frontend._dialects.name_groups import NameGroup

_group = NameGroup.of

_THREADS = "there are no threads in a block"
_IR = "a node of TVM's IR"
_A5 = "8-bit floats need A5; on A2/A3 quantise to int8"
_SIMD = "vector values are per thread"
# Instead of the value that an atomic operation finds.
PLACES = (
    "leave it out; in one block write `p = n[e]`, then `n[e] = p + 1` in T.serial, or T.cumsum of "
    "a mask for places in a list"
)
_ROLES = "the compiler assigns statements to cores"

ERRORS = (
    _group(
        _THREADS,
        "write `for t in T.Parallel(threads):` around what each thread does; a branch may ask "
        "which threads it is for",
        "get_thread_binding thread_binding get_lane_idx get_warp_idx get_warp_idx_sync",
    ),
    _group(
        _THREADS, "put what follows into an `else`, outside of loops", "thread_return",
    ),
    _group(
        _THREADS, "leave it out: the compiler divides T.Parallel",
        "get_thread_bindings get_thread_extent get_thread_extents get_warp_group_idx "
        "shuffle_elect ballot ballot_sync activemask match_any_sync match_all_sync "
        "tvm_thread_invariant tvm_warp_shuffle tvm_warp_shuffle_up tvm_warp_shuffle_down "
        "tvm_warp_activemask ldg32 ldg64 ldg128 ldg256 stg32 stg64 stg128 stg256 lds32 lds64 "
        "lds128 sts32 sts64 sts128 __ldg",
    ),
    _group(
        _THREADS, "call it with a value that each thread computes, where all threads of a warp do",
        "shfl_sync shfl_xor shfl_up shfl_down",
    ),
    _group(
        _THREADS, "store what each thread votes in a tile of bools, and write T.any_of or T.all_of",
        "any_sync all_sync syncthreads_or syncthreads_and",
    ),
    _group(
        _THREADS, "store what each thread votes in a tile of 0 and 1, and take T.reduce_sum of it",
        "syncthreads_count",
    ),
    _group(_THREADS, "write T.Parallel", "parallel launch_thread env_thread"),
    _group(
        _THREADS, "write T.reduce_sum, T.reduce_max or T.reduce_min of a tile",
        "tvm_thread_allreduce warp_reduce_sum warp_reduce_max warp_reduce_min "
        "warp_reduce_bitand warp_reduce_bitor",
    ),
    _group(
        "per-thread generators have no counterpart", "pass random numbers as a tensor",
        "rng_init rng_rand rng_rand_float",
    ),
    _group(
        "the compiler orders the statements of a block", "leave it out",
        "tvm_storage_sync barrier_wait barrier_arrive mbarrier_arrive mbarrier_expect_tx "
        "mbarrier_arrive_expect_tx mbarrier_wait_parity named_barrier_arrive fence_proxy_async "
        "create_barriers ptx_cp_async ptx_cp_async_bulk "
        "ptx_cp_async_barrier cp_async_barrier_noinc ptx_init_barrier_thread_count "
        "ptx_arrive_barrier ptx_arrive_barrier_expect_tx ptx_arrive_cluster_barrier wait_wgmma "
        "warpgroup_arrive warpgroup_commit_batch warpgroup_wait warpgroup_fence_operand "
        "alloc_barrier alloc_cluster_barrier",
    ),
    _group(
        "accumulators are fragments, and operands need no descriptor",
        "allocate with T.alloc_fragment and T.alloc_shared",
        "alloc_tmem deallocate_tmem alloc_descriptor alloc_wgmma_desc alloc_tcgen05_smem_desc "
        "alloc_tcgen05_instr_desc alloc_tcgen05_instruction_desc SMEMPool TMEMPool TMEMStages",
    ),
    _group(
        "asynchronous and multicast copies are of one GPU",
        "write T.copy: loads overlap by T.Pipelined",
        "copy_cluster tma_copy tma_gather4 tma_gather4_bytes tma_scatter4 tma_load tma_load_2sm "
        "tma_store_arrive tma_store_wait create_tma_descriptor",
    ),
    _group(
        "a product for one GPU", "write T.gemm",
        "wgmma_gemm wgmma_mma tcgen05_gemm tcgen05_mma dp4a",
    ),
    _group(
        "A2/A3 has no sparse products", "write T.gemm of the full matrix",
        "gemm_sp wgmma_gemm_sp tcgen05_gemm_sp",
    ),
    _group(
        "block-scaled products need A5", "scale the result of T.gemm of int8 or float16",
        "tcgen05_gemm_blockscaled tcgen05_mma_blockscaled mma_gemm_blockscaled",
    ),
    _group(
        "an instruction of one GPU", "write T.gemm or T.copy",
        "ptx_mma ptx_mma_sp ptx_mma_sm70 ptx_ldmatrix ptx_wgmma_ss ptx_wgmma_rs ptx_wgmma_sp_ss "
        "ptx_wgmma_sp_rs ptx_tcgen05_mma_ss ptx_tcgen05_mma_ts ptx_tcgen05_mma_blockscaled_ss "
        "mma_store_index_map tcgen05_mma_arrive tcgen05_before_thread_sync "
        "tcgen05_after_thread_sync tcgen05_cp_warpx4 tcgen05_sf_warp_transpose cluster_arrive "
        "cluster_arrive_relaxed cluster_wait cluster_sync block_rank_in_cluster clc_try_cancel "
        "clc_try_cancel_multicast clc_is_canceled clc_get_first_ctaid_x clc_get_first_ctaid_y "
        "clc_get_first_ctaid_z increase_descriptor_offset initialize_wgmma_descriptor "
        "initialize_tcgen05_descriptor compute_gmma_descriptor compute_umma_descriptor "
        "tvm_load_matrix_sync tvm_mma_sync tvm_bmma_sync tvm_fill_fragment "
        "tvm_store_matrix_sync cooperative_tensor_fill cooperative_tensor_load "
        "cooperative_tensor_store cooperative_tensor_multiply_accumulate get_ldmatrix_offset "
        "get_mma_micro_size get_swizzle_layout make_mma_swizzle_layout "
        "make_blockscaled_gemm_layout TensorCoreIntrinEmitter TensorCoreIntrinEmitterSM120 "
        "TensorCoreIntrinEmitterWithLadderTransform SparseTensorCoreIntrinEmitter "
        "WGMMATensorCoreIntrinEmitter WGSparseTensorCoreIntrinEmitter "
        "TCGEN05TensorCoreIntrinEmitter WGMMADescriptorParams TCGEN05DescriptorParams "
        "ds_read_tr16_b64 ds_read_tr8_b64 tvm_mfma tvm_rdna_wmma",
    ),
    _group(
        "clusters share on-chip memory, which blocks of A2/A3 do not", "write T.Kernel",
        "ClusterKernel",
    ),
    _group(
        "source text can not be checked", "write operations",
        "CUDASourceCodeKernel import_source",
    ),
    _group(
        "foreign code can not be checked or simulated", "write operations",
        "call_extern call_pure_extern call_intrin call_llvm_intrin call_llvm_pure_intrin "
        "llvm_lookup_intrinsic_id call_packed call_cpacked call_packed_lowered "
        "call_cpacked_lowered tvm_call_packed tvm_call_cpacked tvm_call_packed_lowered "
        "tvm_call_cpacked_lowered access_ptr tvm_access_ptr handle_add_byte_offset "
        "isnullptr lookup_param tvm_tuple tvm_struct_get tvm_struct_set tvm_stack_alloca "
        "tvm_stack_make_shape tvm_stack_make_array tvm_throw_last_error anylist_getitem "
        "anylist_setitem_call_packed anylist_setitem_call_cpacked anylist_resetitem "
        "TVMBackendAllocWorkspace TVMBackendFreeWorkspace start_profile_intrinsic "
        "end_profile_intrinsic has_let_value get_let_value call_kernel",
    ),
    _group(
        _ROLES, "write one program for the block",
        "ws ws_op WarpSpecialize WarpSpecializeFrame",
    ),
    _group(
        _SIMD, "write T.Parallel",
        "Shuffle extract_lane Ramp ramp Broadcast vectorlow vectorhigh vectorcombine vscale "
        "get_active_lane_mask",
    ),
    _group(
        _SIMD, "write the operation on elements in T.Parallel",
        "add2 sub2 mul2 fma2 max2 min2 abs2",
    ),
    _group(
        "no vector instruction computes it", "write it in the operations of elements",
        "nextafter __fns q_multiply_shift q_multiply_shift_per_axis",
    ),
    _group(
        "the chip has no such type", _A5,
        "is_float4 is_float4_e2m1fn is_float4_e2m1_unpacked float4_e2m1_unpacked is_f8f6f4_family "
        "validate_gemm_ab_dtypes",
    ),
    _group(
        f"{_IR}, which kernels do not write", "write T.Tensor, T.alloc_shared or T.alloc_fragment",
        "buffer buffer_decl decl_buffer buffer_var match_buffer handle make_tensor_from_addr",
    ),
    _group(
        f"{_IR}, which kernels do not write", "write the statement it stands for",
        "var SizeVar Var boolean void attr func_name func_ret arg target init axis "
        "sblock_attr block_name_suffix_context iter_var meta_var type_annotation constexpr Any "
        "StringImm BufferLoad IterVar Range Call CallEffectKind Let let bind Reduce "
        "ProducerLoad index_map evaluate buffer_store undef While ret "
        "KernelLaunchFrame get_tvm_dtype AnyDType JITFunc break_loop continue_loop",
    ),
    _group(
        f"{_IR}, which kernels do not write",
        "write T.reduce_sum, T.reduce_max or T.reduce_min of a tile", "CommReducer comm_reducer",
    ),
    _group(
        f"{_IR}, which kernels do not write", "write T.if_then_else(condition, x, y)", "where",
    ),
    _group(
        "objects of a class hold no state of a kernel here", "write a T.macro and T.alloc_var",
        "inline meta_class",
    ),
    _group(
        "the launch orders the blocks", "write T.Persistent",
        "BaseTileScheduler PersistentTileScheduler",
    ),
    _group(
        "blocks are not ordered with each other, and the copies have no such atomic",
        "write T.atomic_add, or let one block do it", "atomic_or atomic_load atomic_store",
    ),
    _group(f"{_IR}, which kernels do not write", "write T.device_assert", "Assert"),
)  # fmt: skip
NO_EFFECT: frozenset[str] = frozenset(
    names(
        "annotate_compile_flags annotate_consumer_reg_alloc annotate_l2_hit_ratio "
        "annotate_min_blocks_per_sm annotate_pass_configs annotate_producer_reg_dealloc "
        "annotate_restrict_buffers annotate_ws_schedule dec_max_nreg disable_warp_group_reg_alloc "
        "ignore_loop_partition inc_max_nreg no_set_max_nreg pdl_sync pdl_trigger "
        "ptx_commit_group ptx_wait_group reads "
        "set_max_nreg sync_global sync_threads sync_warp writes"
    )
)
# What is only handed to a hint.
HINT_OBJECTS: frozenset[str] = frozenset(
    names("WSID WSInstr WSOpRef WSPipeline WSRole WSSchedule WSScope WSSync WSSyncKind")
)
LAYOUTS = tuple(
    f"make_{banks}swizzled_layout" for banks in ("", "full_bank_", "half_bank_", "quarter_bank_")
)
# What becomes of names that have another form here; the rest means the same.
LOWERED: dict[str, str] = {
    "Kernel": "the grid is shared out among the cores; threads have no effect",
    "alloc_shared": "ub, l1 or both, by its uses",
    "alloc_fragment": "l0c, ub or both, by its uses",
    "alloc_local": "an array of the block; T.Parallel has a column for each element",
    "alloc_reducer": "a fragment", "finalize_reducer": "a copy, where it has a dst",
    "allocate": "T.alloc_global, or the tile that `scope` names",
    "alloc_buffer": "T.alloc_global, or the tile that `scope` names",
    "sblock_alloc_buffer": "T.alloc_global, or the tile that `scope` names",
    **dict.fromkeys(
        names("get_thread_binding thread_binding get_lane_idx get_warp_idx get_warp_idx_sync"),
        "T.Parallel over the threads, from barrier to barrier",
    ),
    **dict.fromkeys(
        names("shfl_sync shfl_xor shfl_up shfl_down warp_reduce_sum warp_reduce_max "
              "warp_reduce_min warp_reduce_bitand warp_reduce_bitor"),
        "elements of a tile that has one for each thread, from barrier to barrier",
    ),
    "annotate_safe_value": "what copies pad with, and elements outside are",
    "StridedTensor": "T.Tensor: a call passes a copy where the strides are others",
    "ptr": "a tensor, whose shape T.make_tensor says", "Ptr": "a tensor, as T.ptr",
    "make_tensor": "the shape and type of a parameter T.ptr",
    "gemm": "a product of the cube core, whose result is handed over where it is used",
    "atomic_add": "a copy that adds", "atomic_max": "a copy that keeps the greater",
    "atomic_min": "a copy that keeps the less", "atomic_addx2": "T.atomic_add of two elements",
    "atomic_addx4": "T.atomic_add of four elements",
    "async_copy": "T.copy: loads overlap by T.Pipelined",
    "use_swizzle": "the order of blocks is the launch's",
    "annotate_layout": "of tiles without effect; of tensors ignored, with a remark",
    "float64": "for scalars; tensors and tiles of it stop",
    "double": "for scalars; tensors and tiles of it stop",
    "tfloat32": "float32: products are exact",
    "exp2": "exp(x ln 2) in float32",
    "__exp": "T.exp", "__log": "T.log", "__log2": "T.log2", "__log10": "T.log10",
    "__sin": "T.sin", "__cos": "T.cos", "fast_rcp": "1 / x",
}  # fmt: skip
ARGUMENTS_WITHOUT_EFFECT: frozenset[str] = frozenset(
    names(
        "annotations coalesced_width disable_tma eviction_policy group k_pack loop_layout mbar "
        "memory_order policy prefer_async prefer_instruction sync threads use_tma warp_group_id "
        "warp_id"
    )
)
STOPPING_ARGUMENTS: dict[str, NameGroup] = {
    "prelude": NameGroup("source text can not be checked", "write operations", ()),
    "return_prev": NameGroup("atomic operations return nothing", PLACES, ()),
}
GROUP_OF = {name: group for group in (*ERRORS, *names_of_devices.ERRORS) for name in group.names}
# Types of small floats, and of the vectors of one thread.
SMALL_FLOAT = re.compile(r"float([864])_e\d+m\d+(?:b\d+)?[a-wyz]*")
VECTOR = re.compile(r"(?:bfloat|float|u?int|bool)\d*x\d+")
SMALL_FLOATS = NameGroup("the chip has no such type", _A5, ())
VECTORS = NameGroup(_SIMD, "write T.Parallel", ())


def stops(name: str) -> NameGroup | None:
    """Why a name of the language for GPUs can not be used, if that is so."""
    if VECTOR.fullmatch(name) or re.fullmatch(r"float[864]_\w+x\d+", name):
        return VECTORS
    return SMALL_FLOATS if SMALL_FLOAT.fullmatch(name) else GROUP_OF.get(name)
