"""The jobs of the judge in children, by name, the fences around them, and all that is imported and
done ahead to make them quick."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tile_ir.quick_dataclasses import replace
from tile_runtime.child_processes.child_server import ChildServer, readable_folders
from tile_runtime.child_processes.fence import Fence

_JUDGE = "tile_runtime.tools.judge"
TRACE = f"{_JUDGE}.trace_candidate:trace_candidate"
RUN = f"{_JUDGE}.run_kernel:run_kernel"
REFERENCE = f"{_JUDGE}.run_reference:run_reference"
INPUTS = f"{_JUDGE}.run_reference:supply_inputs"
ADVISE = f"{_JUDGE}.try_changes:try_changes"
# Parsed, lowered and emitted ahead: what does so first reads grammars and templates.
_TINY = """
import tile_frontend as T

@T.prim_func
def tiny(A: T.Tensor((16, 16), "float32"), B: T.Tensor((16, 16), "float32")) -> None:
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((16, 16), "float32")
        T.copy(A[0, 0], a)
        T.tile.exp(a, a)
        T.copy(a, B[0, 0])
"""


def judging_children(at_once: int | None = None) -> ChildServer:
    """The children of one judge."""
    return ChildServer(f"{_JUDGE}.jobs:warm_up", at_once)


def fence_of_script(file: str, hidden: str = "", more: tuple[str, ...] = ()) -> Fence:
    """A fence around a script: it may import the Python files beside it but for the hidden one, and
    read some more."""
    folder = Path(os.path.abspath(file)).parent
    beside = (str(path) for path in sorted(folder.glob("*.py")) if path.is_file())
    # Under another name, by a link of any kind, it is the same file.
    shown = tuple(p for p in beside if not (hidden and os.path.samefile(p, hidden)))
    return Fence(readable=(*readable_folders(), *shown, *more), listed=(str(folder),))


def compiling(fence: Fence) -> Fence:
    """A fence in which the compiler can be started too."""
    return replace(fence, starts_programs=True, readable_by=f"{_JUDGE}.jobs:compiler_folders")


def compiler_folders() -> tuple[str, ...]:
    """The folders that a compiler reads besides those of Python."""
    from tile_runtime.jit_kernels.quick_compiler import quick_compiler

    return quick_compiler()[1]


def warm_up() -> None:
    """Import all that jobs need, and load the simulator."""
    import linecache

    import numpy as np
    import torch

    import tile_checkers  # noqa: F401
    from tile_ir import DEFAULT_TARGET, parse, print_func
    from tile_passes import PassOptions
    from tile_runtime.jit_kernels.build import emitted, lower
    from tile_runtime.jit_kernels.prove import prove
    from tile_runtime.jit_kernels.quick_compiler import quick_compiler
    from tile_runtime.launcher.native import launcher
    from tile_runtime.options.code_generators import code_generator
    from tile_runtime.tools.judge import (  # noqa: F401
        run_kernel,
        run_reference,
        trace_candidate,
        try_changes,
    )
    from tile_runtime.tools.judge.library_state import first_functions

    launcher()
    quick_compiler()
    np.unique(np.arange(4))
    torch.testing.assert_close(torch.ones(4).softmax(0), torch.full((4,), 0.25))
    lines = _TINY.splitlines(keepends=True)
    linecache.cache["<tiny>"] = (len(_TINY), None, lines, "<tiny>")
    names: dict[str, Any] = {}
    exec(compile(_TINY, "<tiny>", "exec", dont_inherit=True), names)
    func = parse(print_func(names["tiny"]), "<tiny>")
    lowered = lower(func, DEFAULT_TARGET, PassOptions())
    prove(func, lowered, DEFAULT_TARGET)
    emitted(lowered, DEFAULT_TARGET, code_generator())
    first_functions()
