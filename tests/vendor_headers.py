"""Type-checking C++ against CANN's public headers (docs/hardware/index.md#compilers), as the cube
pass and the vector pass of the device compiler see it.

TILE_CANN_HEADERS names the folder of a toolkit, the one that holds `aarch64-linux/ascendc/include`;
`make vendor-check HEADERS=<folder>` sets it. Without it the tests that need it skip.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import pytest

DEFINES = (
    "__CCE_AICORE__=220", "__DAV_C220__", "__CCE_KT_TEST__=1", "ASCENDC_CPU_DEBUG=1",
    "ASCENDC_DEBUG=1",
)  # fmt: skip
# The headers leave members out of one or the other.
PASSES = ("__DAV_C220_CUBE__", "__DAV_C220_VEC__")


def type_check(source: Path, includes: Sequence[Path] = ()) -> None:
    """Fail with the first errors g++ finds in a kernel file, in either pass."""
    root = toolkit()
    for which in PASSES:
        command = [
            *_command(root, which),
            "-fsyntax-only",
            "-include",
            str(_read_once(root, which)),
        ]
        result = subprocess.run(
            [*command, *(f"-I{f}" for f in includes), str(source)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        errors = re.findall(r".*error:.*", result.stderr)
        told = "\n".join(errors[:20]) or result.stderr[:4000]
        assert result.returncode == 0, f"{which}: {told}"


def toolkit() -> str:
    """The folder of the toolkit; skips the test where there is none."""
    root = os.environ.get("TILE_CANN_HEADERS")
    if not root:
        pytest.skip("TILE_CANN_HEADERS is not set: CANN's headers are not at hand")
    return root


def _command(root: str, which: str) -> list[str]:
    ascendc = f"{root}/aarch64-linux/ascendc/include"
    folders = [
        f"{root}/tools/tikicpulib/lib/include",
        *(f"{ascendc}/basic_api{x}" for x in ("", "/impl", "/interface")),
        *(f"{ascendc}/highlevel_api{x}" for x in ("", "/lib", "/impl", "/lib/matmul")),
        f"{root}/aarch64-linux/include",
    ]
    return [
        "g++", "-std=c++17", "-w", *(f"-D{d}" for d in (*DEFINES, which)),
        *(f"-I{f}" for f in folders),
    ]  # fmt: skip


@lru_cache(maxsize=2)
def _read_once(root: str, which: str) -> Path:
    """A header that includes CANN's, which takes longer to read than most kernels, precompiled."""
    folder = tempfile.mkdtemp(prefix="cann-headers-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    header = Path(folder) / "kernel.h"
    header.write_text('#include "tikicpulib.h"\n#include "kernel_operator.h"\n')
    precompiled = ["-x", "c++-header", str(header), "-o", f"{header}.gch"]
    subprocess.run([*_command(root, which), *precompiled], check=True)
    return header


__all__ = ["toolkit", "type_check"]
