"""Read the `pass_configs` of a script, and convert them to options of the pipeline."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Mapping
from enum import Enum, EnumMeta
from pathlib import Path
from typing import Any

from tile_ir import Automatic, Func, KernelError, print_func
from tile_ir.switches import SWITCHES, switch
from tile_passes import Pass, PassOptions


class _AnyKey(EnumMeta):
    """Lets scripts name keys of other versions: such a key is a string, which `pass_options` says
    nothing about but that it is unknown."""

    def __getattr__(cls, name: str) -> Any:
        if name in cls.__members__:
            return cls.__members__[name]
        area, found, rest = name.partition("_")
        if not found or area not in _AREAS or not name.isupper():
            raise AttributeError(f"PassConfigKey has no key {name!r}")
        return f"{area.lower()}.{rest.lower()}"


# What the names of keys begin with.
_AREAS = ("TL", "TIR", "TIRX", "CUDA")


class PassConfigKey(str, Enum, metaclass=_AnyKey):
    """Keys of `pass_configs`; a member and its string mean the same
    (docs/language/index.md#entry-points)."""

    TL_ASCEND_AUTO_SYNC = "tl.ascend_auto_sync"
    TL_ASCEND_MEMORY_PLANNING = "tl.ascend_memory_planning"
    TL_ASCEND_AUTO_CV_COMBINE = "tl.ascend_auto_cv_combine"
    TL_ASCEND_AUTO_CV_SYNC = "tl.ascend_auto_cross_core_sync"
    TL_ASCEND_AUTO_SYNC_VS = "tl.ascend_auto_sync_vs"
    TL_ASCEND_PERSISTENT = "tl.ascend_persistent"
    TL_ASCEND_OVERLAP_LOOPS = "tl.ascend_overlap_loops"
    TL_ASCEND_RETILE = "tl.ascend_retile"
    TL_ASCEND_EXCEPTION_DUMP = "tl.ascend_exception_dump"
    TL_ASCEND_PTO_USE_PIPE_IN_CV_COPY = "tl.ascend_pto_use_pipe_in_cv_copy"
    TL_ASCEND_TAIL_MASK = "tl.ascend_tail_mask"
    TL_ASCEND_VID_REDUCTION = "tl.ascend_vid_reduction"
    TL_ASCEND_VECTOR_MASK_REUSE = "tl.ascend_vector_mask_reuse"
    TL_ASCEND_SCALAR_STORE_TO_DMA = "tl.ascend_scalar_store_to_dma"
    TL_DISABLE_THREAD_STORAGE_SYNC = "tl.disable_thread_storage_sync"
    TL_ENABLE_FAST_MATH = "tl.enable_fast_math"
    TL_SIMPLIFY = "tl.Simplify"
    TL_DYNAMIC_ALIGNMENT = "tl.dynamic_alignment"
    TL_DISABLE_DYNAMIC_TAIL_SPLIT = "tl.disable_dynamic_tail_split"
    TL_DISABLE_WARP_SPECIALIZED = "tl.disable_warp_specialized"
    TL_CONFIG_INDEX_BITWIDTH = "tl.config_index_bitwidth"
    TL_DISABLE_TMA_LOWER = "tl.disable_tma_lower"
    TL_DISABLE_SAFE_MEMORY_ACCESS = "tl.disable_safe_memory_legalize"
    TL_DEBUG_MERGE_SHARED_MEMORY_ALLOCATIONS = "tl.debug_merge_shared_memory_allocations"
    TIR_ENABLE_EQUIV_TERMS_IN_CSE = "tir.enable_equiv_terms_in_cse_tir"
    TIR_DISABLE_CSE = "tir.disable_cse_tir"
    TIR_SIMPLIFY = "tir.Simplify"
    TIR_DISABLE_STORAGE_REWRITE = "tir.disable_storage_rewrite"
    TIR_DISABLE_VECTORIZE = "tir.disable_vectorize"
    TIR_USE_ASYNC_COPY = "tir.use_async_copy"
    TIR_ENABLE_DEBUG = "tir.enable_debug"
    TIR_MERGE_STATIC_SMEM = "tir.merge_static_smem"
    TIR_ADD_LOWER_PASS = "tir.add_lower_pass"
    TIR_NOALIAS = "tir.noalias"
    TL_DISABLE_FAST_MATH = "tl.disable_fast_math"
    TL_PTXAS_REGISTER_USAGE_LEVEL = "tl.ptxas_register_usage_level"
    TL_ENABLE_PTXAS_VERBOSE_OUTPUT = "tl.enable_ptxas_verbose_output"
    TL_ENABLE_AGGRESSIVE_SHARED_MEMORY_MERGE = "tl.enable_aggressive_shared_memory_merge"
    TL_LAYOUT_VISUALIZATION_ENABLE = "tl.layout_visualization_enable"
    TL_LAYOUT_VISUALIZATION_FORMATS = "tl.layout_visualization_formats"
    TL_DISABLE_OUT_OF_BOUND_WARNING = "tl.disable_out_of_bound_warning"
    TL_DISABLE_DATA_RACE_CHECK = "tl.disable_data_race_check"
    TL_DISABLE_BUFFER_INIT_CHECK = "tl.disable_buffer_init_check"
    TL_DISABLE_VECTORIZE_256 = "tl.disable_vectorize_256"
    TL_DISABLE_WGMMA = "tl.disable_wgmma"
    TL_DISABLE_SHUFFLE_ELECT = "tl.disable_shuffle_elect"
    TL_DISABLE_LOOP_UNSWITCHING = "tl.disable_loop_unswitching"
    TL_ENABLE_ASYNC_COPY = "tl.enable_async_copy"
    TL_ENABLE_LOWER_LDGSTG = "tl.enable_lower_ldgstg"
    TL_FORCE_LET_INLINE = "tl.force_let_inline"
    TL_AST_PRINT_ENABLE = "tl.ast_print_enable"
    TL_STORAGE_REWRITE_DETECT_INPLACE = "tl.storage_rewrite_detect_inplace"
    CUDA_KERNELS_OUTPUT_DIR = "cuda.kernels_output_dir"
    TL_DEVICE_COMPILE_FLAGS = "tl.device_compile_flags"
    TL_DISABLE_PRELOWER_SEMANTIC_CHECK = "tl.disable_prelower_semantic_check"
    TL_DISABLE_SHARED_MEMORY_REUSE = "tl.disable_shared_memory_reuse"
    TL_DUMP_IR_DIR = "tl.dump_ir_path"
    TL_ENABLE_AUTO_SCHEDULE = "tl.enable_auto_schedule"
    TL_EMIT_LINE_DIRECTIVES = "tl.emit_line_directives"
    TL_ENABLE_DUMP_IR = "tl.enable_dump_ir"
    TL_ENABLE_LOWER_LDGSTG_PREDICATED = "tl.enable_lower_ldgstg_predicated"
    TL_ENABLE_REDUCER_PLAN_VERBOSE = "tl.enable_reducer_plan_verbose"
    TL_ENABLE_VECTORIZE_PLANNER_VERBOSE = "tl.enable_vectorize_planner_verbose"
    TL_IF_STMT_BINDING_INLINE_REPLAYABLE_BINDS = "tl.if_stmt_binding_inline_replayable_binds"
    TL_LAYOUT_COST_MODEL = "tl.layout_cost_model"
    TL_LOOP_UNSWITCHING_ALLOW_NON_TRIVIAL_ELSE = "tl.loop_unswitching_allow_non_trivial_else"
    TL_PASS_PROFILE = "tl.pass_profile"
    TL_PASS_PROFILE_THRESHOLD_MS = "tl.pass_profile_threshold_ms"
    TL_REDUCER_FORCE_BASELINE = "tl.reducer_force_baseline"
    TL_SIMPLIFY_APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES = "apply_constraints_to_boolean_branches"
    TL_SIMPLIFY_CONVERT_BOOLEAN_TO_AND_OF_ORS = "convert_boolean_to_and_of_ors"
    TL_SIMPLIFY_ENABLE_LET_INLINE = "enable_simplify_let_inline"
    TL_SIMPLIFY_PROPAGATE_KNOWNS_TO_PROVE_CONDITIONAL = "propagate_knowns_to_prove_conditional"
    TL_SIMPLIFY_PROPAGATE_KNOWNS_TO_SIMPLIFY_EXPRESSIONS = (
        "propagate_knowns_to_simplify_expressions"
    )
    TL_SIMPLIFY_TRANSITIVELY_PROVE_INEQUALITIES = "transitively_prove_inequalities"


# What a key that is True leaves to the compiler. The other keys concern other hardware or another
# compiler, or what the pipeline does anyhow, and are accepted without effect.
_AUTOMATIC_OF_KEY: dict[PassConfigKey, tuple[Automatic, ...]] = {
    # Where order is automatic, sharing bytes cannot make a race.
    PassConfigKey.TL_ASCEND_AUTO_SYNC: (Automatic.SYNC, Automatic.MEMORY),
    PassConfigKey.TL_ASCEND_MEMORY_PLANNING: (Automatic.MEMORY,),
    PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: (Automatic.CROSS,),
    PassConfigKey.TL_ASCEND_PERSISTENT: (Automatic.BLOCKS,),
    PassConfigKey.TL_ASCEND_RETILE: (Automatic.TILES,),
    PassConfigKey.TL_ASCEND_SCALAR_STORE_TO_DMA: (Automatic.STORES,),
}
# What a kernel leaves to the compiler where that is faster, unless the key is False.
_LEFT_FOR_SPEED = {
    PassConfigKey.TL_ASCEND_PERSISTENT: (Automatic.GRID,),
    PassConfigKey.TL_ASCEND_OVERLAP_LOOPS: (Automatic.ITERATIONS,),
    PassConfigKey.TL_ASCEND_RETILE: (Automatic.NEIGHBOURS, Automatic.PITCHES),
}
# What a kernel of another chip's dialect leaves to the compiler unless its key is False.
_LEFT_BY_DIALECT = (PassConfigKey.TL_ASCEND_PERSISTENT, PassConfigKey.TL_ASCEND_RETILE)
# Each can be forced on, whatever the script says.
_KEY_OF_SWITCH = {
    "auto_sync": PassConfigKey.TL_ASCEND_AUTO_SYNC,
    "memory_planning": PassConfigKey.TL_ASCEND_MEMORY_PLANNING,
    "cv_combine": PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE,
    "cv_sync": PassConfigKey.TL_ASCEND_AUTO_CV_SYNC,
}
_SWITCHES = frozenset({*_KEY_OF_SWITCH.values(), *_AUTOMATIC_OF_KEY, *_LEFT_FOR_SPEED})
# The order of the vector core, which newer versions make alone: here it comes with that of all.
_MEANS = {PassConfigKey.TL_ASCEND_AUTO_SYNC_VS: PassConfigKey.TL_ASCEND_AUTO_SYNC}


def pass_options(pass_configs: Mapping[Any, Any] | None) -> PassOptions:
    """Options of the pipeline from a script's `pass_configs` and the switches.

    Warns about a key that does not exist; raises KernelError for a value of the wrong type.
    """
    skip = [name.strip() for name in switch("skip").split(",") if name.strip()]
    automatic: set[Automatic] = set()
    kept: set[Automatic] = set()
    for_speed = dict(_LEFT_FOR_SPEED)
    chosen = {key for name, key in _KEY_OF_SWITCH.items() if switch(name)}
    for key in chosen:
        automatic.update(_AUTOMATIC_OF_KEY.get(key, ()))
    by_hand = False  # a script that switches the order of pipes off makes it itself
    for key, value in (pass_configs or {}).items():
        known = _known_key(key)
        known = known and _MEANS.get(known, known)
        if known not in _SWITCHES:
            continue
        if not isinstance(value, bool):
            raise KernelError(
                "pass-config", f"pass config {_text(key)!r} is {value!r}, expected True or False"
            )
        by_hand |= known in PIPE_ORDER and not value
        if known in _LEFT_BY_DIALECT and not value:
            kept.update(_AUTOMATIC_OF_KEY[known])
        if known in _LEFT_FOR_SPEED and not value:
            del for_speed[known]
        if value:
            chosen.add(known)
            automatic.update(_AUTOMATIC_OF_KEY.get(known, ()))
    # Alone it orders the cores of kernels that have no such order of their own
    # (docs/language/index.md#entry-points).
    alone = PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE not in chosen
    unless_ordered = {Automatic.CROSS} & automatic if alone else set()
    automatic -= unless_ordered
    dump = switch("dump_ir")
    return PassOptions(
        skip=tuple(skip),
        automatic=tuple(a for a in Automatic if a in automatic),
        unless_ordered=tuple(unless_ordered),
        for_speed=tuple(a for left in for_speed.values() for a in left),
        kept=tuple(a for a in Automatic if a in kept),
        by_hand=by_hand,
        stop_after=switch("stop_after") or None,
        dump_dir=Path(dump) if dump else None,
        after_each=_print_changed if switch("debug") >= 2 else None,
    )


# Options that may make a kernel faster and leave its results as they are: a value to try of each.
TRIED_CONFIGS = {
    PassConfigKey.TL_ASCEND_PERSISTENT.value: True,
    PassConfigKey.TL_ASCEND_RETILE.value: True,
    PassConfigKey.TL_ASCEND_SCALAR_STORE_TO_DMA.value: True,
}

# What leaves the order of pipes to the compiler, and that of cores.
PIPE_ORDER = (PassConfigKey.TL_ASCEND_AUTO_SYNC,)
CORE_ORDER = (PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE, PassConfigKey.TL_ASCEND_AUTO_CV_SYNC)


def asked_with(*keys: PassConfigKey) -> str:
    """Return the argument of a script that sets these keys."""
    named = ", ".join(f'"{key.value}": True' for key in keys)
    return f"pass_configs={{{named}}}"


def options_text(automatic: frozenset[Automatic]) -> str:
    """List the decisions that a kernel leaves to the compiler, by their keys, and the switches of
    the environment that change its compilation."""
    # Order brings the sharing of bytes with it, so the first key is enough.
    keys = [key for key, left in _AUTOMATIC_OF_KEY.items() if automatic.issuperset(left)]
    if PassConfigKey.TL_ASCEND_AUTO_SYNC in keys:
        keys.remove(PassConfigKey.TL_ASCEND_MEMORY_PLANNING)
    named = ", ".join(key.value for key in keys) if keys else "no pass config"
    values = {SWITCHES[name]: switch(name) for name in (*_KEY_OF_SWITCH, "skip", "stop_after")}
    given = [f"{s.variable}={int(v) if v is True else v}" for s, v in values.items() if v]
    return f"{named} ({', '.join(given)})" if given else named


def _print_changed(done: Pass, func: Func, changed: bool) -> None:
    if changed:
        print(f"# after {done.name}\n{print_func(func)}", file=sys.stderr)


def _text(key: object) -> object:
    return key.value if isinstance(key, Enum) else key


def _known_key(key: object) -> PassConfigKey | None:
    text = _text(key)
    try:
        return PassConfigKey(text)
    except ValueError:
        close = difflib.get_close_matches(str(text), [k.value for k in PassConfigKey], n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        message = f"pass config {text!r} is unknown and ignored{hint}"
        warnings.warn(message, stacklevel=_level_of_caller())
        return None


def _level_of_caller() -> int:
    """How far up the stack the first frame is that is none of ours."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("tile_"):
        level, frame = level + 1, frame.f_back
    return level
