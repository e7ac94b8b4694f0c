"""The kernel object a script calls (docs/rules/calls.md#kernel-objects)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tile_runtime.jit_kernels.compiled_kernel import CompiledKernel

if TYPE_CHECKING:
    from tile_runtime.jit_kernels.profiler import Profiler
    from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType


class JITKernel(CompiledKernel):
    """A compiled kernel: call it with its inputs, get its outputs.

    What it adds to running: it makes inputs of its own, and is timed and checked with them.
    """

    def get_profiler(self, tensor_supply_type: TensorSupplyType | None = None) -> Profiler:
        """Runs this kernel with inputs of its own making."""
        # Most kernels are never asked for one.
        from tile_runtime.jit_kernels.profiler import Profiler
        from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType

        return Profiler(self, tensor_supply_type or TensorSupplyType.Auto)

    def run_once(self, func: Callable[..., Any] | None = None) -> Any:
        """What the kernel, or `func` in its place, gives for inputs of its own making."""
        return self.get_profiler().run_once(func)


_watchers: ContextVar[tuple[list[JITKernel], ...]] = ContextVar("tile_watchers", default=())


@contextmanager
def watch_kernels() -> Iterator[list[JITKernel]]:
    """A list of the kernels that are built while the block runs, filled as they are."""
    seen: list[JITKernel] = []
    token = _watchers.set((*_watchers.get(), seen))
    try:
        yield seen
    finally:
        _watchers.reset(token)


def announce(kernel: JITKernel) -> None:
    """Tell those who watch about a new kernel."""
    for seen in _watchers.get():
        seen.append(kernel)
