"""The kernel object a script calls (docs/rules/calls.md#kernel-objects)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tile_runtime.jit_kernels.compiled_kernel import CompiledKernel

if TYPE_CHECKING:
    from torch._ops import OpOverload

    from tile_ir import Func
    from tile_runtime.jit_kernels.profiler import Profiler
    from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType


class JITKernel(CompiledKernel):
    """A compiled kernel: call it with its inputs, get its outputs.

    What it adds to running: it makes inputs of its own, and is timed and checked with them; and it
    becomes an operator of torch.
    """

    @property
    def kernel(self) -> JITKernel:
        """This kernel: what a tuner finds is a kernel here, and has one in tilelang."""
        return self

    @property
    def func(self) -> Func:
        """The prim_func, as the result of a tuner of tilelang calls it."""
        return self.prim_func

    @property
    def libcode(self) -> str:
        """The emitted source, as the result of a tuner of tilelang calls it."""
        return self.get_kernel_source()

    def get_profiler(self, tensor_supply_type: TensorSupplyType | None = None) -> Profiler:
        """Runs this kernel with inputs of its own making."""
        # Most kernels are never asked for one.
        from tile_runtime.jit_kernels.profiler import Profiler
        from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType

        return Profiler(self, tensor_supply_type or TensorSupplyType.Auto)

    def run_once(self, func: Callable[..., Any] | None = None) -> Any:
        """What the kernel, or `func` in its place, gives for inputs of its own making."""
        return self.get_profiler().run_once(func)

    def as_custom_op(
        self,
        name: str,
        mutates: Sequence[str] | None = None,
        backward: CompiledKernel | Callable[..., Any] | None = None,
    ) -> OpOverload:
        """Register this kernel with torch under `ns::name` and return the operator, for
        torch.compile, torch.export, autograd and vmap (docs/torch_operators.md).

        `mutates` names the inputs that are written in place, by default those the kernel is seen to
        write. `backward`, a kernel or a function that calls operators, makes of the gradients of
        the floating outputs and all inputs those of the floating inputs, in order. KernelError for
        a name that is taken, and for what does not fit the kernel.
        """
        from tile_runtime.jit_kernels.torch_operator import register_operator

        return register_operator(self, name, mutates, backward)


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
