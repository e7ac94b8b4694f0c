"""List every name that a script reaches as `T.name`."""

from __future__ import annotations

from typing import Any

from tile_frontend import tile
from tile_frontend._advice.configs import recommend_configs
from tile_frontend._advice.tiles import recommend_tiles
from tile_frontend._arguments.atomic_arguments import atomic_addx2, atomic_addx4
from tile_frontend._arguments.copy_arguments import copy
from tile_frontend._arguments.debug_output import print_value, printf
from tile_frontend._arguments.element_questions import all_of, any_of
from tile_frontend._arguments.engine_copies import FUNCTIONS as ENGINE_COPIES
from tile_frontend._arguments.engine_copies import SPELLINGS_OF_ENGINES
from tile_frontend._arguments.grid_barrier import sync_grid
from tile_frontend._arguments.halves import dual_copy
from tile_frontend._arguments.op_functions import OpFunction, table_functions
from tile_frontend._arguments.product_arguments import FUNCTIONS as PRODUCTS
from tile_frontend._arguments.rank_arguments import WAITS, get, put, put_signal, signal
from tile_frontend._arguments.rank_sides import CopyFunction
from tile_frontend._arguments.rank_spellings import SPELLINGS as SPELLINGS_OF_RANKS
from tile_frontend._arguments.reduce_arguments import FUNCTIONS as REDUCTIONS
from tile_frontend._arguments.reduce_arguments import MORE_FUNCTIONS as MORE_REDUCTIONS
from tile_frontend._arguments.running_arguments import CUMMAX, CUMSUM
from tile_frontend._dialects.gpu_names import SMALL_FLOAT, stops
from tile_frontend._evaluate.decorators import macro, prim_func
from tile_frontend._language import (
    allocation,
    block_orders,
    conversions,
    eager_host,
    element_spellings,
    gpu_hints,
    kernel_frames,
    loops,
    next_chip_frames,
    next_chip_memory,
    next_chip_order,
    pointers,
    ranks,
    reducers,
    reinterpret_buffer,
    scalar_functions,
    tensors,
    threads,
)
from tile_frontend._language.safe_values import annotate_safe_value
from tile_frontend._language.swizzle import use_swizzle
from tile_frontend._megakernels.hints import after, prefetch
from tile_frontend._megakernels.tasks import Task, megakernel
from tile_frontend._tracing.dtype_names import DataType
from tile_frontend._tracing.faults import CURRENT
from tile_ir import OPS, Func

# The names of each module of `_language` that are those of the language.
_NAMES = {
    allocation: "alloc_fragment alloc_shared alloc_var annotate_address annotate_layout "
    "make_nz_layout make_zn_layout",
    conversions: "Cast cast dtype reinterpret",
    eager_host: "alloc_global const empty",
    kernel_frames: "Else If Kernel Scope Then func_attr",
    loops: "Parallel Persistent Pipelined grid loop_break serial unroll vectorized",
    ranks: "Scale Signals SymmTensor num_ranks rank",
    tensors: "Tensor",
    reinterpret_buffer: "reinterpretcast reshape view",
    scalar_functions: "And Not Or assume cdiv ceildiv clamp floordiv floormod "
    "if_then_else infinity max_value min_value next_power_of_2 symbolic truncdiv "
    "truncmod",
}

NAMES: dict[str, Any] = {
    **table_functions("", OPS), **PRODUCTS, **REDUCTIONS, "cumsum": CUMSUM,
    **{name: getattr(module, name) for module, names in _NAMES.items() for name in names.split()},
    **allocation.ALLOCATORS, **conversions.DTYPE_NAMES, **scalar_functions.FUNCTIONS,
    "use_swizzle": use_swizzle,
    "recommend_configs": recommend_configs,
    "recommend_tiles": recommend_tiles,
    "max": scalar_functions.maximum, "min": scalar_functions.minimum,
    # The IR evaluates only the chosen side, which is also right for the eager form.
    "Select": scalar_functions.if_then_else,
    "prim_func": prim_func, "PrimFunc": Func, "macro": macro, "tile": tile,
    "Task": Task, "megakernel": megakernel, "after": after, "prefetch": prefetch,
    "Buffer": tensors.Tensor, "DataType": DataType, "range": loops.serial,
    "copy": CopyFunction(OPS["copy"], copy), "printf": printf, "print": print_value,
    "signal": OpFunction(OPS["signal"], signal), "put": put, "get": get,
    "put_signal": put_signal, **WAITS, **ENGINE_COPIES,
}  # fmt: skip
# What scripts for GPUs write besides: hints, and other spellings.
GPU_NAMES: dict[str, Any] = {
    **gpu_hints.STOPS, **gpu_hints.FUNCTIONS, **threads.FUNCTIONS, "Ref": allocation.Ref,
    "Serial": loops.serial,
    "Unroll": loops.unroll, "Vectorized": loops.vectorized, **element_spellings.SPELLINGS,
    **dict.fromkeys(("FragmentBuffer", "LocalBuffer", "SharedBuffer"), tensors.Tensor),
    "async_copy": NAMES["copy"], "sync_grid": sync_grid, **MORE_REDUCTIONS,
    "StridedTensor": tensors.StridedTensor, "cummax": CUMMAX, "any_of": any_of, "all_of": all_of,
    **kernel_frames.GRID_FUNCTIONS, **reducers.FUNCTIONS,
    "annotate_safe_value": annotate_safe_value, "make_tensor": pointers.make_tensor,
    **dict.fromkeys(("ptr", "Ptr"), pointers.ptr),
    **dict.fromkeys(("alloc_buffer", "allocate", "sblock_alloc_buffer"), eager_host.alloc_buffer),
    "atomic_addx2": atomic_addx2, "atomic_addx4": atomic_addx4,
    "c2d_im2col": tile.im2col,
}  # fmt: skip
# What scripts for several devices write besides.
RANK_NAMES: dict[str, Any] = {
    **SPELLINGS_OF_RANKS, **SPELLINGS_OF_ENGINES, "scale": ranks.Scale,
    **dict.fromkeys(("fence_sys", "fence_gpu", "fence_cta"), NAMES["fence"]),
    **dict.fromkeys(("get_rank", "get_pe", "my_pe"), ranks.rank),
    **dict.fromkeys(("get_num_ranks", "get_pe_num", "n_pes"), ranks.num_ranks),
}  # fmt: skip
# What scripts for the next chip write besides.
NEXT_CHIP_NAMES: dict[str, Any] = {
    **gpu_hints.NEXT_CHIP_STOPS, **next_chip_frames.FRAMES, **next_chip_order.FUNCTIONS,
    **next_chip_memory.ALLOCATORS_OF_NEXT_CHIP,
    **block_orders.SCHEDULERS, "dual_copy": dual_copy,
}  # fmt: skip


# What only text for GPUs has: elsewhere other names are advised.
_IN_TEXT_FOR_GPUS: dict[str, Any] = {"alloc_local": allocation.alloc_local}


def of_gpus(name: str) -> Any:
    """A name that only scripts for GPUs use; None for all other names. Some names exist only in the
    text of kernels for GPUs. A small float gives the name of its type, which no value can have.
    Names without use here, such as vectors, raise their Fault when they are used."""
    trace = CURRENT.get()
    if name in _IN_TEXT_FOR_GPUS and trace is not None and trace.python_names:
        return _IN_TEXT_FOR_GPUS[name]
    if SMALL_FLOAT.fullmatch(name):
        return conversions.DTypeName(name)
    group = stops(name)
    return None if group is None else gpu_hints.GpuName(name, group)
