"""Rows about the start of a process: what the language takes to import, and the first kernel."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.row import RUNS, Examples, Row, summary


def import_frontend(examples: Examples) -> list[Row]:
    """`import tile_frontend` in a fresh process, without the start of Python itself; time of the
    processor, so that other work on the machine does not count."""
    code = (
        "import time; t = time.process_time(); import tile_frontend; print(time.process_time() - t)"
    )
    seconds = _in_fresh_processes("-c", code)
    return [summary("import tile_frontend, fresh process", seconds, "ms", 90)]


_FIRST_KERNEL = """
import sys, time
import tile_frontend as T
start = time.process_time()
sys.path.insert(0, sys.argv[1])
func = getattr(__import__("traced_kernels"), sys.argv[2])
from tile_ir import DEFAULT_TARGET
from tile_passes import run_pipeline
from tile_codegen_ascendc import CODE_GENERATOR
CODE_GENERATOR.emit(run_pipeline(func, DEFAULT_TARGET).func, DEFAULT_TARGET)
print(time.process_time() - start)
"""
_TRACED_KERNELS = """
import tile_frontend as T
Matrix = T.Tensor((1024, 1024), "float32")
if sys.argv[2] == "expert":
    @T.prim_func
    def expert(A: Matrix, B: Matrix, C: Matrix):
        with T.Kernel(64, is_npu=True) as (cid, vid):
            a, b = T.alloc_ub((8, 1024), "float32"), T.alloc_ub((8, 1024), "float32")
            row = cid * 16 + vid * 8
            T.copy(A[row, 0], a)
            T.copy(B[row, 0], b)
            T.tile.add(a, a, b)
            T.copy(a, C[row, 0])
else:
    @T.prim_func
    def developer(A: Matrix, B: Matrix, C: Matrix):
        with T.Kernel(128) as row:
            a, b = T.alloc_shared((8, 1024), "float32"), T.alloc_shared((8, 1024), "float32")
            T.copy(A[row * 8, 0], a)
            T.copy(B[row * 8, 0], b)
            for i, j in T.Parallel(8, 1024):
                a[i, j] += b[i, j]
            T.copy(a, C[row * 8, 0])
"""


def first_kernel(examples: Examples) -> list[Row]:
    """The first kernel of a process, by hand and with memories and order left to the compiler: to
    trace, lower and emit it once the language is imported, with all that this loads; time of the
    processor."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "traced_kernels.py").write_text(f"import sys{_TRACED_KERNELS}")
        for style, limit in (("expert", 150), ("developer", 230)):
            seconds = _in_fresh_processes("-c", _FIRST_KERNEL, folder, style)
            name = f"trace, lower and emit the first kernel of a process, {style} style"
            rows.append(summary(name, seconds, "ms", limit))
    return rows


def _in_fresh_processes(*arguments: str) -> list[float]:
    """What a Python script prints, a number of seconds, in processes that find the bytecode of all
    modules."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def seconds() -> float:
            command = [sys.executable, *arguments]
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, env=environment
            )
            return float(done.stdout)

        seconds()  # writes the bytecode
        return [seconds() for _ in range(RUNS + 2)]


__all__ = ["first_kernel", "import_frontend"]
