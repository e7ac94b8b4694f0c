"""Provide `import tilelang` and `import tvm` to the child processes of a script.

This folder is on their module path; the script's own process has the modules from its start
(../module.py).
"""

from __future__ import annotations

from pathlib import Path

FOLDER = str(Path(__file__).parent)
