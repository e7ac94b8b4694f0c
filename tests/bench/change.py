"""How long `tile-ascend ci` takes for a change that is right, where the base has been judged before."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.row import Examples, Measurement, Row, exactly, summary

# The scripts of the change, with what they import.
_SCRIPTS = ("developer/softmax.py", "developer/gemm.py", "developer/rms_norm.py")
_COMMAND = (
    "import sys; from tile_runtime.tools.command_line import main; sys.exit(main(sys.argv[1:]))"
)
_SECONDS = 120.0


def clean_change(examples: Examples) -> list[Row]:
    """Seconds of the command in a process of its own: every file has another comment, so that its
    kernels run again; and how many findings there are, which should be none."""
    with tempfile.TemporaryDirectory(prefix="tile-bench-") as folder:
        root = Path(folder)
        for script in (*_SCRIPTS, "report.py"):
            (root / script).parent.mkdir(exist_ok=True)
            shutil.copy(examples.folder / script, root / script)
        _run(root, "git", "init", "--quiet")
        _run(root, "git", "add", "--all")
        person = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        _run(root, "git", *person, "commit", "--quiet", "--message=base")
        command = (sys.executable, "-c", _COMMAND, "ci")
        failed = _run(root, *command, "--base", "none", ".") != 0
        seconds = []
        for number in range(3):
            for script in _SCRIPTS:
                with open(root / script, "a") as file:
                    file.write(f"# Change {number}.\n")
            began = time.perf_counter()
            failed |= _run(root, *command) != 0
            seconds.append(time.perf_counter() - began)
    return [
        summary(f"ci: a clean change of {len(_SCRIPTS)} scripts", seconds, "s", _SECONDS),
        exactly("ci: clean changes with errors", float(failed), "", 0),
    ]


def _run(folder: Path, *command: str) -> int:
    done = subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, check=False)
    return done.returncode


CHANGE: dict[str, Measurement] = {"change": clean_change}
