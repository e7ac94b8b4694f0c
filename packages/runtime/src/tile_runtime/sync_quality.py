"""What automatic synchronisation is worth: modelled times of one kernel ordered in several ways.

By hand, as its author wrote it; automatically; and back to back, as other compilers do it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tile_ir import Automatic, Effect, Func, Op, Target
from tile_ir.switches import override
from tile_ir.walk import walk
from tile_passes import PIPELINE, Pass, run_passes
from tile_passes.insert_fences import insert_fences
from tile_passes.sync.without_flags import without_flags
from tile_runtime.bind_arguments import Bound
from tile_runtime.jit_compile import compile
from tile_runtime.kernel import JITKernel

AUTOMATIC = frozenset({Automatic.SYNC, Automatic.MEMORY})
BACK_TO_BACK: tuple[Pass, ...] = tuple(
    insert_fences if p.name == "insert_sync" else p for p in PIPELINE
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
    func = kernel.prim_func
    by_hand = body_microseconds(kernel, call) if has_flags(func) else None
    ordered = (ordered_by(func, passes, kernel.target) for passes in (PIPELINE, BACK_TO_BACK))
    automatic, baseline = (
        body_microseconds(compile(f, kernel.out_idx, workspace_idx=kernel.workspace_idx), call)
        for f in ordered
    )
    return Times(by_hand, automatic, baseline)


def has_flags(func: Func) -> bool:
    """Whether the author of the kernel ordered pipes."""
    return without_flags(func) is not func


def ordered_by(func: Func, passes: Sequence[Pass], target: Target) -> Func:
    """The finished kernel with the author's flags replaced by what the passes make."""
    bare = replace(without_flags(func), automatic=AUTOMATIC)
    return run_passes(bare, passes, target).func


def body_microseconds(kernel: JITKernel, call: Bound) -> float:
    """Modelled time of a kernel with the arguments of an earlier call of the same parameters."""
    with override(time=True, check="off"):
        kernel.launch_again(call)
    timeline = kernel.timeline()
    assert timeline is not None, "the simulator models time"
    return timeline.body_microseconds
