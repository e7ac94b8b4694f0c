"""List the names of other libraries for several devices that this chip lacks or spells differently.

Each has the reason and its replacement.
"""

from __future__ import annotations

from tile_frontend._dialects.name_groups import NameGroup

_LIBRARY = "the operation has another form here"

ERRORS = (
    NameGroup.of(
        "no scalar of another rank is loaded", "wait for a word with T.wait_ge, or T.get a tile",
        "ld",
    ),
    NameGroup.of(
        "no scalar is stored at another rank", "write T.signal(word, v, pe)", "int_p",
    ),
    NameGroup.of(
        "the links of A2/A3 have no multicast", "write T.put to each rank",
        "multimem_ld_reduce multimem_st multimem_red multimem_tma_store multimem_signal "
        "multimem_signal_add MultimemReduceOp",
    ),
    NameGroup.of(
        "it is a library of GPUs", "write T.put, T.put_signal, T.signal and T.wait_ge", "nccl_gin",
    ),
    NameGroup.of(
        "the cores of a launch meet without a word", "write T.sync_all()",
        "init_barrier_gpu arrive_barrier_gpu wait_barrier_gpu sync_barrier_gpu",
    ),
    NameGroup.of(
        "T.sync_all is of the cores of one rank here, and of all ranks there", "write T.barrier()",
        "sync_all_block sync_all_warp",
    ),
    NameGroup.of(
        "collectives are macros here",
        "call one of examples/distributed/collectives.py: all_gather, reduce_scatter, all_reduce, "
        "all_to_all, broadcast",
        "allgather all_gather allreduce all_reduce reduce_scatter reducescatter alltoall "
        "all_to_all fcollect fcollect_block fcollect_warp broadcastmem broadcastmem_block "
        "broadcast_block broadcast_warp TBROADCAST TGATHER TSCATTER TREDUCE",
    ),
    NameGroup.of(_LIBRARY, "write T.put(src, dst, pe)", "TPUT TPUT_ASYNC"),
    NameGroup.of(_LIBRARY, "write T.get(src, dst, pe)", "TGET TGET_ASYNC"),
    NameGroup.of(_LIBRARY, 'write T.signal(word, v, pe), or with op="add"', "TNOTIFY"),
    NameGroup.of(_LIBRARY, "write T.wait_ge(word, v) or its like", "TWAIT TTEST"),
    NameGroup.of(
        "frames give their numbers themselves", 'write `with T.Scale("device") as (r, num):`',
        "current_scale",
    ),
    NameGroup.of(
        "no tensor has a layout over devices", "slice it by the rank", "FullCol FullRow Replica",
    ),
    NameGroup.of(
        "memories have names of their own", "write T.alloc_shared or T.alloc_fragment", "alloc",
    ),
)  # fmt: skip
