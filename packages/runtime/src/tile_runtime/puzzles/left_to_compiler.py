"""Find what a learner's kernel leaves to the compiler although the puzzle is about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tile_ir import Automatic, Func, LaunchSequence
from tile_passes import PassOptions
from tile_passes.pass_options import FOR_SPEED, left_by
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.options.pass_configs import pass_options

_WORDS = {
    Automatic.SYNC: "the order of the pipes (`tl.ascend_auto_sync`, or developer style)",
    Automatic.MEMORY: "the addresses of buffers (`tl.ascend_memory_planning`)",
    Automatic.CROSS: "the order between cores (`tl.ascend_auto_cross_core_sync`)",
    Automatic.CORES: "which core runs a statement",
    Automatic.BLOCKS: "which core does which blocks (`tl.ascend_persistent`)",
    Automatic.GRID: "which core does which blocks (`tl.ascend_persistent`)",
    Automatic.TILES: "the size of tiles (`tl.ascend_retile`)",
    Automatic.NEIGHBOURS: "the size of tiles (`tl.ascend_retile`)",
    Automatic.PITCHES: "the size of tiles (`tl.ascend_retile`)",
    Automatic.ITERATIONS: "the overlap of iterations (`tl.ascend_overlap_loops`)",
    Automatic.STORES: "the unit of a store (`tl.ascend_scalar_store_to_dma`)",
    Automatic.BOUNDS: "what lies beyond a tensor",
    Automatic.STRIDES: "the strides of tensors",
}


def left_to_compiler(answer: Any, sizes: dict[str, Any], kernels: Iterable[JITKernel]) -> str:
    """In words, what kernels leave to the compiler that the answer, a factory under `jit`, does
    not leave to it for these sizes; "" for nothing."""
    traced, options = answer.__jit_impl__.traced(**sizes)
    assert isinstance(traced, Func), "the kernel of an answer is one launch"
    own = _left(traced, pass_options(options.pass_configs))
    more = {one for k in kernels for func in _launches(k) for one in _left(func, k.passes)} - own
    return " and ".join(dict.fromkeys(_WORDS[one] for one in Automatic if one in more))


def _left(func: Func, passes: PassOptions) -> set[Automatic]:
    """The decisions left to the compiler, with those that options allow for speed."""
    return {*left_by(func, passes).automatic - FOR_SPEED, *passes.for_speed}


def _launches(kernel: JITKernel) -> tuple[Func, ...]:
    traced = kernel.prim_func
    return traced.funcs if isinstance(traced, LaunchSequence) else (traced,)
