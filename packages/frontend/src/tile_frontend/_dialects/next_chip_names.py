"""List the names that TileLang has for the next chip, A5.

Each has the reason why it does not work on this chip and its replacement, or its meaning here.
"""

from __future__ import annotations

from tile_frontend._dialects.dialect import names
from tile_frontend._dialects.name_groups import NameGroup

_RAW = "raw transfers of A5"


def _group(says: str, write: str, text: str) -> NameGroup:
    return NameGroup(says, write, tuple(text.split()))


ERRORS = (
    _group(
        "register-level SIMD needs A5", "write T.Parallel or T.tile operations",
        "SimdVF SimdVFFrame simd vmi",
    ),
    _group(
        "block-scaled products need A5", "scale the result of T.gemm of int8 or float16",
        "blockscaled_gemm",
    ),
    _group(
        "buffers that pipes lock need A5", "leave it out: order inside a core is the compiler's",
        "ascend_get_buf ascend_rls_buf",
    ),
    _group(
        "threads of a vector core need A5", "leave it out: order inside a core is the compiler's",
        "ascend_threadfence",
    ),
    _group(_RAW, "write T.copy(pad_value=)", "ascend_set_copy_pad_value"),
    _group(
        _RAW, "write T.copy",
        "ascend_copy_gm_to_ubuf ascend_copy_ubuf_to_gm ascend_nd2nz_post_copy",
    ),
    _group(
        "objects of a class hold no state of a kernel here",
        "write T.Persistent, or T.alloc_var and a T.macro",
        "AscendBaseTileScheduler AscendMGroupedTileScheduler AscendKGroupedTileScheduler",
    ),
)  # fmt: skip
# What a scheduler is told there: here the compiler finds it, or products are exact anyhow.
NO_EFFECT: frozenset[str] = frozenset(
    names(
        "annotate_buffer_versions annotate_manual_multi_buffer annotate_unlimit_memory "
        "assume_conflict assume_no_conflict"
    )
)
LOWERED: dict[str, str] = {
    "AscendTileScheduler": "tiles in the order of their numbers",
    "AscendBatchedTileScheduler": "tiles in the order of their numbers",
    "Cube": 'T.Scope("C")',
    "Vector": 'T.Scope("V"), whose name is the vector core',
    "MixedKernel": "T.Kernel with the block and the vector core",
    "SimtVF": "its loops are vector code: threads have no effect",
    "Task": "the statements in it: the compiler finds their order",
    "PerCoreTask": "the statements in it: the compiler finds their order",
    "Stage": "the statements in it: the compiler finds their stages",
    "dual_copy": "T.copy of the half of each vector core",
    "set_atomic": "copies to gm add from here on",
    "set_hf32_mode": "float32: products are exact",
}
GROUP_OF = {name: group for group in ERRORS for name in group.names}
# Arguments that need another chip.
SCALES = NameGroup("block-scaled products need A5", "scale the result of the product", ())
