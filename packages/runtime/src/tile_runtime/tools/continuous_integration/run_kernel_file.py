"""Run the kernels of one file in this process, with all checks and the clock of the simulator."""

from __future__ import annotations

from pathlib import Path

from tile_ir.quick_dataclasses import replace
from tile_runtime.tools.continuous_integration.file_result import result_text
from tile_runtime.tools.continuous_integration.files_read import files_read
from tile_runtime.tools.continuous_integration.run_script_file import run_script_file
from tile_runtime.tools.continuous_integration.run_source_file import run_source_file

# The switches of a run, of which several run at once. Scripts for tilelang rely on calls that are
# not compared with the declaration.
SWITCHES_OF_RUNS = {
    "check": "strict", "time": True, "target": "sim", "lax_calls": True, "threads": 1,
}  # fmt: skip


def run_kernel_file(file: str) -> str:
    """Run the kernels of a file below the current folder; the result as JSON."""
    run = run_script_file if file.endswith(".py") else run_source_file
    with files_read(Path.cwd()) as read:
        result = run(file, Path(file).read_text(errors="replace"))
    return result_text(replace(result, read=read))
