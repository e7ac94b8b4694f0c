"""Run the kernels of one file in this process, with all checks and the clock of the simulator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tile_ir.quick_dataclasses import replace
from tile_runtime.tools.continuous_integration.file_result import result_text
from tile_runtime.tools.continuous_integration.files_read import files_read
from tile_runtime.tools.continuous_integration.run_script_file import run_script_file
from tile_runtime.tools.continuous_integration.run_source_file import run_source_file


def run_kernel_file(request: dict[str, Any], data: bytes, send: Callable[..., None]) -> None:
    """Run the kernels of a file below the current folder, and send the result."""
    file = request["file"]
    run = run_script_file if file.endswith(".py") else run_source_file
    with files_read(Path.cwd()) as read:
        result = run(file, Path(file).read_text(errors="replace"))
    send({"event": "result", "result": result_text(replace(result, read=read))})
