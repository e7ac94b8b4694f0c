"""A folder for the module path of the processes that a script starts, such as the workers of pytest
and of multiprocessing: there `import tilelang` and `import tvm` are found as in the script's own,
which has them from its start (../module.py)."""

from __future__ import annotations

from pathlib import Path

FOLDER = str(Path(__file__).parent)
