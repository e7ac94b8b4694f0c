"""Makes the generator of the documents importable, and its blocks start quickly."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked_python import forking_python

from tile_ir.switches import SWITCHES

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))


@pytest.fixture(autouse=True, scope="session")
def quick_blocks() -> Iterator[None]:
    """Blocks run in forks of a process with all imported; what they compile is remembered."""
    import run_blocks

    compiler = SWITCHES["cxx"].variable
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run_blocks, "PYTHON", forking_python())
        patched.setitem(run_blocks.SWITCHES, compiler, os.environ[compiler])
        yield
