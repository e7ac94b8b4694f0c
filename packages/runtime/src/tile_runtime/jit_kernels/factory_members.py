"""Define the attributes of a jitted factory that scripts use besides its kernels."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from tile_ir import TileError
from tile_runtime.jit_kernels.compile_options import CompileOptions
from tile_runtime.jit_kernels.kernel import JITKernel

Made = Callable[..., JITKernel]


def members_of(function: Callable[..., Any], options: CompileOptions, made: Made) -> dict[str, Any]:
    """Attributes of a factory by name, the options of its `jit` among them; `made` gives the kernel
    of a call."""

    def get_tir(*args: Any, **kwargs: Any) -> Any:
        """The traced kernel of these arguments."""
        return function(*args, **kwargs)

    def get_kernel_source(*args: Any, **kwargs: Any) -> str:
        """The emitted source of the kernel of these arguments."""
        return made(*args, **kwargs).get_kernel_source()

    return {
        **{f.name: getattr(options, f.name) for f in fields(options)},
        "func": function,
        "signature": inspect.signature(function),
        "mode": "lazy",
        "get_tir": get_tir,
        "get_kernel_source": get_kernel_source,
        "par_compile": functools.partial(compile_calls, made),
    }


def compile_calls(
    made: Made,
    calls: Iterable[Mapping[str, Any] | tuple[Any, ...]],
    num_workers: int | None = None,
    ignore_error: bool = False,
) -> list[JITKernel | None]:
    """The kernels of several calls, each a dictionary or a tuple of arguments, one after another;
    with `ignore_error` None for one that does not compile."""
    found: list[JITKernel | None] = []
    for call in calls:
        try:
            found.append(made(**call) if isinstance(call, Mapping) else made(*call))
        except TileError:
            if not ignore_error:
                raise
            found.append(None)
    return found
