"""Table of TileLang for Ascend, in its older and newer versions."""

from __future__ import annotations

from tile_frontend._dialects.dialect import Dialect, alternatives, names

TILELANG_ASCEND = Dialect(
    name="tilelang-ascend",
    imports="tile_frontend._dialects.tilelang_modules:IMPORTS",
    signs=frozenset(
        (
            *names("Scope tile alloc_ub alloc_L1 alloc_L0A alloc_L0B alloc_L0C gemm_v0 mma"),
            "is_npu=",
        )
    ),
    operations={
        "": names("Max=max Min=min dynamic=symbolic gemm_v1=gemm_v0 npu_gemm=mma"),
        "tile": names(
            "and_tl=bitwise_and brcb=brcb_experiment cast_tl=cast clampMax=clamp_max "
            "clampMin=clamp_min exp_experiment=exp log=ln not_tl=bitwise_not or_tl=bitwise_or "
            "row_expand_mul_nd=row_expand_mul shiftleft=bitwise_lshift shiftright=bitwise_rshift"
        ),
    },
    arguments=alternatives(
        "base_addr=base buffer=src|dst diff_value=diff dst_blk_stride=dstBlkStride "
        "dst_rep_stride=dstRepStride dst_repeat_stride=dst_rep_stride|dstRepStride "
        "firstValue=first first_value=first indices=offset max_scalar=max min_scalar=min out=dst "
        "repeatTime=repeat repeat_time=repeat repeat_times=repeat scalarValue=scalar "
        "scalar_value=scalar src=src0 src0=src src1Pattern=pattern srcRepStride=src_rep_stride "
        "src_base_addr=base src_offset=offset"
    ),
    # As torch and NumPy call them.
    same_arguments={"axis": "dim", "keepdims": "keepdim"},
    working_memory=("tmp", "tmp_buffer", "sharedtmp", "shared_tmp_buffer"),
    removed={
        "": {
            "alloc_local": "allocate with T.alloc_ub, or T.alloc_var for one scalar",
            "dyn": "write T.symbolic(name)",
            "block": "write `with T.Kernel(...)`",
            "attr": "write T.Scope, T.annotate_layout or T.annotate_address",
            # What newer versions have for chips that are not here, or outside the language.
            "alloc_L1_scale_a": "block-scaled products need an A5 chip",
            "alloc_L1_scale_b": "block-scaled products need an A5 chip",
            "copy_cv_experiment": "only A5 chips move l0c to ub directly: T.copy goes through gm",
            "copy_vc_experiment": "only A5 chips move ub to l1 directly: T.copy goes through gm",
            "copy_pa": "write T.copy of the rows of each page, `kv[table[b, p], ...]`, in a loop",
            "gemm_mx": "block-scaled products need an A5 chip; T.gemm_v0 takes int8 and float16",
            "_src_code": "pasted source can not be checked or simulated: write operations",
        },
        "tile": {
            "fill_experiment": "write T.tile.fill on the slice that is meant",
        },
    },
)
