"""What automatic synchronisation is worth: modelled times of one kernel ordered in several ways.

By hand, as its author wrote it; automatically; and back to back, as other compilers do it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.back_to_back import insert_back_to_back
from bench.without_flags import without_flags
from tile_ir import Automatic, Func, Target
from tile_ir.switches import override
from tile_passes import PIPELINE, Pass, run_passes
from tile_runtime.jit_kernels.jit_compile import compile
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType, supply_tensors
from tile_runtime.launcher.bind_arguments import Bound
from tile_runtime.launcher.run_watchers import Recorder, record_calls
from tile_runtime.scripts.module import load_script

AUTOMATIC = frozenset({Automatic.SYNC, Automatic.MEMORY})
BACK_TO_BACK: tuple[Pass, ...] = tuple(
    insert_back_to_back if p.name == "insert_sync" else p for p in PIPELINE
)


@dataclass(frozen=True, slots=True)
class Times:
    """Modelled microseconds from the first instruction to the end of the last block. `by_hand` is
    None for a kernel without flags of its own."""

    by_hand: float | None
    automatic: float
    back_to_back: float

    @property
    def ratio(self) -> float:
        """Automatic against back to back."""
        return self.automatic / self.back_to_back


def modelled_times(kernel: JITKernel, call: Bound) -> Times:
    """Times of a kernel of any author, run again with the arguments of an earlier call."""
    func, target = kernel.prim_func, kernel.target
    by_hand = body_microseconds(kernel, call) if has_flags(func) else None
    automatic, baseline = (
        body_microseconds(_built(ordered_by(func, passes, target), kernel), call)
        for passes in (PIPELINE, BACK_TO_BACK)
    )
    return Times(by_hand, automatic, baseline)


# Arguments with which the factories of the examples make kernels whose loops go round often.
SIZES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "01_vector_add": ("vector_add", (8192, 1024, 256)),
    "02_gemm": ("gemm", (1024, 1024, 1024, 128, 256, 64)),
    "03_gemm_intrinsic": ("gemm_intrinsic", (1024, 1024, 1024, 128, 256, 256, 64, 24)),
    "04_online_softmax": ("online_softmax", (1024, 4096, 16, 512, "float16")),
    "05_flash_attention": ("flash_attention", (1, 2, 1024, 128, 64, 128)),
    "06_rms_norm": ("rms_norm", (8192, 1024, 8, 24)),
    "07_gelu_mul": ("gelu_mul", (512, 4096, 16, 256, 8)),
    "08_rope": ("rope", (2048, 8, 128, 4096, 8, 24)),
    "09_cross_entropy": ("cross_entropy", (512, 4096, 16, 512, 16)),
    "10_gemm_ragged": ("gemm_ragged", (1000, 1008, 1024, 128, 128, 256, 64, 24)),
    "11_split_k_gemm": ("split_k_gemm", (256, 256, 8192, 128, 128, 256, 6)),
    "12_top_k": ("top_k", (512, 1024, 16, 128, 24)),
    "13_long_attention": ("long_attention", (1, 4, 1024, 128, 128, 256)),
}


def example_times(folder: Path, names: Collection[str] = SIZES) -> dict[str, Times]:
    """Times of one kernel of each of the named examples, with zeros for arguments: what is read
    from memory decides nothing but where rows are fetched."""
    found = {}
    for name in names:
        factory, arguments = SIZES[name]
        kernel = getattr(load_script(folder / f"{name}.py"), factory)(*arguments)
        inputs = supply_tensors(kernel, TensorSupplyType.Zero)
        calls: list[tuple[JITKernel, Bound]] = []
        with record_calls(_keeper(calls)):
            kernel(*inputs)
        found[name] = modelled_times(*calls[0])
    return found


def _keeper(calls: list[tuple[JITKernel, Bound]]) -> Recorder:
    return lambda kernel, call, inputs: calls.append((kernel, call))


def _built(finished: Func, like: JITKernel) -> JITKernel:
    return compile(finished, like.out_idx, workspace_idx=like.workspace_idx)


def has_flags(func: Func) -> bool:
    """Whether the author of the kernel ordered pipes."""
    return without_flags(func) is not func


def ordered_by(func: Func, passes: Sequence[Pass], target: Target) -> Func:
    """The finished kernel with the author's flags replaced by what the passes make."""
    return run_passes(left_to_compiler(func), passes, target).func


def left_to_compiler(func: Func) -> Func:
    """The kernel without the author's flags, which leaves order and memory to the passes."""
    return replace(without_flags(func), automatic=AUTOMATIC)


def body_microseconds(kernel: JITKernel, call: Bound) -> float:
    """Modelled time of a kernel with the arguments of an earlier call of the same parameters."""
    with override(time=True, check="off"):
        kernel.launch_again(call)
    timeline = kernel.timeline()
    assert timeline is not None, "the simulator models time"
    return timeline.body_microseconds
