"""The jobs of children by name, and all that is imported and done ahead to make them quick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_runtime.tools.judge.frames import write_frame
from tile_runtime.tools.judge.library_state import first_functions
from tile_runtime.tools.judge.quick_compiler import quick_compiler
from tile_runtime.tools.judge.run_kernel import run_kernel
from tile_runtime.tools.judge.run_reference import run_reference, supply_inputs
from tile_runtime.tools.judge.trace_candidate import trace_candidate
from tile_runtime.tools.judge.try_changes import try_changes

Send = Callable[..., None]
_JOBS: dict[str, Callable[[dict[str, Any], bytes, Send], None]] = {
    "trace": trace_candidate,
    "run": run_kernel,
    "reference": run_reference,
    "inputs": supply_inputs,
    "advise": try_changes,
}
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


def do(name: str, request: dict[str, Any], data: bytes, channel: int) -> None:
    """Do a job and write its messages into the channel."""

    def send(message: dict[str, Any], data: bytes = b"") -> None:
        write_frame(channel, message, data)

    _JOBS[name](request, data, send)


def readable() -> tuple[str, ...]:
    """The folders that a compiler reads besides those of Python."""
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
    from tile_runtime.launcher.native import launcher
    from tile_runtime.options.code_generators import code_generator

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
