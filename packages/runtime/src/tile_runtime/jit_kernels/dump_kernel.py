"""Print and write the facts of a compiled kernel for `verbose` and `debug_root_path` of `jit`."""

from __future__ import annotations

import sys
from pathlib import Path

from tile_ir import print_func
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.sequence_kernel import SequenceKernel


def print_timings(kernel: JITKernel) -> None:
    """The seconds of each step of a compilation, on standard error."""
    t = kernel.timings
    steps = {"trace": t.trace, "lower": t.lower, "emit": t.emit, "compile": t.compile,
             "load": t.load}  # fmt: skip
    text = ", ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in steps.items())
    note = " (from the cache)" if t.cached else ""
    print(f"{kernel.prim_func.name}: {text}{note}", file=sys.stderr)


def dump_kernel(kernel: JITKernel, folder: Path) -> None:
    """The emitted source, and the function as traced and after all passes."""
    folder.mkdir(parents=True, exist_ok=True)
    name = kernel.prim_func.name
    if isinstance(kernel, SequenceKernel):
        for launch in kernel.launches:
            dump_kernel(launch, folder)
        return
    (folder / f"{name}{kernel.generator.suffix}").write_text(kernel.get_kernel_source())
    (folder / f"{name}.tir").write_text(print_func(kernel.prim_func))
    (folder / f"{name}.lowered.tir").write_text(print_func(kernel.lowered))
