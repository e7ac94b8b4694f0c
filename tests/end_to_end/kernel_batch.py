"""Runs many kernels from one translation unit: compile time is mostly headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import remember_compilation
from kept_cases import kept_number
from structural_equality import structurally_equal

import tile_ir
import tile_passes
from tile_codegen_ascendc import DEVICE_HEADER_DIR, emit, entry_source
from tile_ir import DEFAULT_TARGET, Automatic, Buffer, Func
from tile_runtime.devices.compile_host import FLAGS, find_compiler
from tile_runtime.launcher.native import launcher
from tile_runtime.simulator.build_simulator import include_directory


@dataclass(frozen=True)
class Outcome:
    """What the simulator said and left in the arrays."""

    arrays: list[Any]
    error: Any
    printed: str
    timeline: Any = None


# Reading the text back takes nine tenths of lowering: after the first kernels of a batch, which
# tend to be alike, a share of the others is enough.
LAW_FIRST, LAW_EVERY = 16, 12


def lower(func: Func, law: bool = True, automatic: Sequence[Automatic] = ()) -> Func:
    """The function through the whole pipeline with what is left to it, with the law of the
    textual form after every change on request."""

    def check(_pass: object, f: Func, changed: bool) -> None:
        if changed:
            text = tile_ir.print_func(f)
            assert structurally_equal(f, tile_ir.parse(text)), text

    tile_ir.verify(func)
    if law:
        check(None, func, True)
    options = tile_passes.PassOptions(automatic=tuple(automatic), after_each=check if law else None)
    return tile_passes.run_pipeline(func, DEFAULT_TARGET, options).func


class KernelBatch:
    """Collects kernels, compiles them together, runs them one by one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.funcs: list[Func] = []
        self.library: Path | None = None

    def add(self, func: Func, automatic: Sequence[Automatic] = ()) -> int:
        """The number of a kernel, lowered with what is left to the compiler."""
        number = len(self.funcs)
        share = LAW_FIRST // kept_number(LAW_FIRST)
        law = number < LAW_FIRST // share or number % (LAW_EVERY * share) == 0
        self.funcs.append(lower(replace(func, name=f"k{number}_{func.name}"), law, automatic))
        return number

    def build(
        self,
        rewrite: Callable[[str], str] = str,
        headers: Path = DEVICE_HEADER_DIR,
        flags: Sequence[str] = (),
    ) -> None:
        """Compile; `rewrite` may change the text of every kernel before."""
        parts = ['#include "kernel_operator.h"\n#include "tile_device.h"\n']
        for number, func in enumerate(self.funcs):
            text = rewrite(emit(func, DEFAULT_TARGET)) + entry_source(func)
            text = re.sub(r"^#include.*$", "", text, flags=re.M)
            text = re.sub(r"\bcall\b", f"call_{number}", text)
            parts.append(re.sub(r"\btile_entry\b", f"tile_entry_{number}", text))
        source = self.folder / "batch.cpp"
        source.write_text("\n".join(parts))
        self.library = self.folder / "batch.so"
        command = [*find_compiler(), *FLAGS, "-O0", "-Wall", "-Werror", *flags]
        folders = [f"-I{include_directory()}", f"-I{headers}"]
        done = remember_compilation.run(
            [*command, *folders, str(source), "-o", str(self.library)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[:4000]

    def run(self, number: int, arguments: Sequence[Any], **options: Any) -> Outcome:
        """Run one kernel on copies of the arguments; checks are those of the device."""
        assert self.library is not None, "build first"
        func, module = self.funcs[number], launcher()
        arrays = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        symbols = bind_symbols(func, arrays)
        kinds = [_kind(p, a) for p, a in zip(func.params, arrays, strict=True)]
        names = [p.name for p in func.params] + [s.name for s in func.symbols]
        kernel = module.Kernel(
            str(self.library), f"tile_entry_{number}", [*kinds, *("i64" for _ in symbols)], names
        )
        kernel.set_options(**options)
        values = tuple(a.ctypes.data if isinstance(a, np.ndarray) else a for a in arrays)
        sizes = tuple(a.nbytes if isinstance(a, np.ndarray) else 0 for a in arrays)
        error, printed = kernel.run((*values, *symbols), (*sizes, *(0 for _ in symbols)))
        return Outcome(arrays, error, printed, kernel.timeline())


def _kind(param: Any, value: Any) -> str:
    if isinstance(param, Buffer):
        return "ptr"
    return "f32" if isinstance(value, float) else "i64" if param.dtype.bits == 64 else "i32"


def bind_symbols(func: Func, arrays: Sequence[Any]) -> list[int]:
    """Values of symbolic dimensions, read off the arrays."""
    found: dict[Any, int] = {}
    for param, array in zip(func.params, arrays, strict=True):
        if isinstance(param, Buffer):
            found.update(zip(param.shape, array.shape, strict=True))
    return [found[s] for s in func.symbols]


def interpreted(func: Func, arguments: Sequence[Any]) -> list[Any]:
    """The arrays after the reference interpreter ran on copies."""
    arrays = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    tile_ir.interpret(func, arrays)
    return arrays
