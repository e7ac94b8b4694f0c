"""What automatic synchronisation is worth: modelled times of one kernel ordered in several ways.

By hand, as its author wrote it; automatically; and back to back, as other compilers do it.
"""

from __future__ import annotations

import ctypes
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

from tile_ir import Automatic, Func, Target
from tile_ir.switches import override
from tile_passes import PIPELINE, Pass, run_passes
from tile_passes.insert_fences import insert_fences
from tile_passes.sync.without_flags import without_flags
from tile_runtime.bind_arguments import Bound
from tile_runtime.jit_compile import compile
from tile_runtime.kernel import JITKernel, record_calls
from tile_runtime.script_module import load_script

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
    func, target = kernel.prim_func, kernel.target
    with _memory_kept(call):
        by_hand = body_microseconds(kernel, call) if has_flags(func) else None
        automatic, baseline = (
            body_microseconds(_built(ordered_by(func, passes, target), kernel), call)
            for passes in (PIPELINE, BACK_TO_BACK)
        )
    return Times(by_hand, automatic, baseline)


def example_times(folder: Path) -> dict[str, Times]:
    """Times of every kernel of the examples in a folder, under `example.kernel`, with a number
    where one kernel is made for several sizes. The examples run as users run them."""
    found: dict[str, Times] = {}
    for path in sorted(folder.glob("[0-9]*.py")):
        for number, (kernel, times) in enumerate(_times_of_script(path), 1):
            found[f"{path.stem}.{kernel.prim_func.name} {number}"] = times
    return found


def _times_of_script(path: Path) -> list[tuple[JITKernel, Times]]:
    found: dict[JITKernel, Times] = {}

    def recorded(kernel: JITKernel, call: Bound) -> None:
        if kernel not in found:
            # Here, while the arguments are alive.
            found[kernel] = modelled_times(kernel, call)

    with record_calls(recorded), redirect_stdout(io.StringIO()):
        load_script(path).main()
    return list(found.items())


def _built(finished: Func, like: JITKernel) -> JITKernel:
    return compile(finished, like.out_idx, workspace_idx=like.workspace_idx)


@contextmanager
def _memory_kept(call: Bound) -> Iterator[None]:
    """What is done to the arguments of a call meanwhile is undone: kernels may add to them."""
    pointers = [(int(p), size) for p, size in zip(call.values, call.sizes, strict=True) if size]
    before = [ctypes.string_at(*pointer) for pointer in pointers]
    try:
        yield
    finally:
        for (pointer, size), old in zip(pointers, before, strict=True):
            ctypes.memmove(pointer, old, size)


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
