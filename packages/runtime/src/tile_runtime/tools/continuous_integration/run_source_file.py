"""Run the kernels of an Ascend C source, with options of `tile-ascend sim` from comments such as
`// tile-ascend: --kernel add --blocks 2 --in x=f16[64] --out y=f16[64]`."""

from __future__ import annotations

import io
import json
import re
import shlex
from contextlib import redirect_stdout

from tile_runtime.tools.command_line import main
from tile_runtime.tools.command_line.finding_formats import Found, found_in
from tile_runtime.tools.continuous_integration.file_result import FileResult, KernelTime
from tile_runtime.tools.continuous_integration.places import below, not_run, relative

_COMMENT = re.compile(r"//\s*tile-ascend:\s*(.+)")
_EXAMPLE = "// tile-ascend: --kernel add --blocks 2 --in x=f16[64] --out y=f16[64]"


def run_source_file(file: str, text: str) -> FileResult:
    """Run an Ascend C source, once for each comment."""
    comments = [found[1] for found in map(_COMMENT.search, text.splitlines()) if found]
    if not comments:
        return FileResult(
            file, (), (not_run(file, f"no comment says how to run {file}", _EXAMPLE),)
        )
    times: list[KernelTime] = []
    found: list[Found] = []
    for comment in comments:
        printed = io.StringIO()
        with redirect_stdout(printed):
            main(["sim", file, *shlex.split(comment), "--time", "--check", "strict", "--json"])
        said = json.loads(printed.getvalue())
        found += map(relative, found_in(said))
        if "modelled" in said:
            sizes = comment.strip() if len(comments) > 1 else ""
            times.append(
                KernelTime(
                    said["kernel"], sizes, below(file), _line_of(said["kernel"], text), 1,
                    said["modelled"]["source"], said["modelled"]["microseconds"], 1,
                )
            )  # fmt: skip
    return FileResult(file, tuple(times), tuple(dict.fromkeys(found)))


def _line_of(kernel: str, text: str) -> int:
    """The line where a source defines a kernel, or else its first kernel."""
    lines = list(enumerate(text.splitlines(), 1))
    for pattern in (rf"\b{re.escape(kernel)}\s*\(", "__global__"):
        for number, line in lines:
            if re.search(pattern, line.partition("//")[0]):
                return number
    return 1
