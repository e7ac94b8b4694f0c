"""Type-checking C++ against CANN's public headers (docs/hardware/compilers.md#host).

TILE_CANN_HEADERS names the folder of a toolkit, the one that holds `aarch64-linux/ascendc/include`;
`make vendor-check HEADERS=<folder>` sets it. Without it the tests that need it skip.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

DEFINES = (
    "__CCE_AICORE__=220", "__DAV_C220__", "__CCE_KT_TEST__=1", "ASCENDC_CPU_DEBUG=1",
    "ASCENDC_DEBUG=1",
)  # fmt: skip


def type_check(source: Path, includes: Sequence[Path] = ()) -> None:
    """Fail with the first errors g++ finds in a kernel file; skip where there are no headers."""
    root = os.environ.get("TILE_CANN_HEADERS")
    if not root:
        pytest.skip("TILE_CANN_HEADERS is not set: CANN's headers are not at hand")
    ascendc, library = (
        f"{root}/aarch64-linux/ascendc/include",
        f"{root}/tools/tikicpulib/lib/include",
    )
    folders = [
        library,
        *(f"{ascendc}/basic_api{x}" for x in ("", "/impl", "/interface")),
        *(f"{ascendc}/highlevel_api{x}" for x in ("", "/lib", "/impl", "/lib/matmul")),
        f"{root}/aarch64-linux/include",
        *map(str, includes),
    ]
    command = [
        "g++", "-std=c++17", "-fsyntax-only", "-w", *(f"-D{d}" for d in DEFINES),
        "-include", f"{library}/tikicpulib.h", *(f"-I{f}" for f in folders), str(source),
    ]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = re.findall(r".*error:.*", result.stderr)
    assert result.returncode == 0, "\n".join(errors[:20]) or result.stderr[:4000]
