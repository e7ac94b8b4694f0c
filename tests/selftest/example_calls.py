"""An example run on the simulator, and the calls of kernels it made."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tile_ir import TileError
from tile_ir.switches import override
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.launcher.run_watchers import record_calls
from tile_runtime.scripts.module import run_script


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A kernel that was called and arguments to call it with: copies of its own, as the call left
    them."""

    name: str
    kernel: JITKernel
    inputs: tuple[Any, ...]


def run_example(script: Path) -> tuple[list[KernelCall], str | None]:
    """The first call of each kernel of the script, on the simulator, and what is wrong: the last
    line of a script that ends with an error, or its error."""
    calls: dict[int, KernelCall] = {}

    def keep(kernel: JITKernel, call: Any, inputs: tuple[Any, ...]) -> None:
        if id(kernel) not in calls:
            name = f"{kernel.prim_func.name}:{len(calls)}"
            calls[id(kernel)] = KernelCall(name, kernel, copies(inputs))

    printed = io.StringIO()
    with override(target="sim"), record_calls(keep), _printing_to(printed):
        try:
            code = run_script(script)
        except (TileError, AssertionError, RuntimeError, ValueError) as error:
            return list(calls.values()), f"{type(error).__name__}: {error}".partition("\n")[0]
    lines = printed.getvalue().strip().splitlines()
    told = f"exit code {code}: {lines[-1] if lines else 'nothing printed'}"
    return list(calls.values()), None if code == 0 else told


def copies(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with memory of their own."""
    return tuple(x.detach().clone() if isinstance(x, torch.Tensor) else x for x in inputs)


@contextlib.contextmanager
def _printing_to(text: io.StringIO) -> Iterator[None]:
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        yield
