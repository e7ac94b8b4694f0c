"""The process a script runs in: `python -m tile_runtime.scripts.process script.py [args...]`, or
with `-m package.module` instead of the script.

It has what scripts written for tilelang import. Where there is no NPU, torch has one that is the
host. Everything else is as `python script.py [args...]` has it; switches come in the environment.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, TypeAlias

from tile_ir.switches import switch
from tile_runtime.scripts.module import provide_imports

Hook: TypeAlias = "Callable[[type[BaseException], BaseException, TracebackType | None], Any]"


def main(arguments: list[str]) -> None:
    """Run the script; what it raises goes on to the interpreter, which ends as it would."""
    provide_imports()
    with ExitStack() as stack:
        if switch("time"):
            from tile_runtime.scripts.launch_times import launch_times_printed

            stack.enter_context(launch_times_printed())
        if arguments[0] == "-m":
            _run_module(arguments[1:])
        else:
            _run(arguments)


def _run_module(arguments: list[str]) -> None:
    """Execute a module of a package as the main module; modules are looked for from here."""
    name, *_ = arguments
    sys.path[0] = os.getcwd()
    sys.argv = arguments
    spec = importlib.util.find_spec(name)
    sys.excepthook = _from_the_script_on(sys.excepthook, (spec and spec.origin) or name)
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _run(arguments: list[str]) -> None:
    """Execute a file as the main module."""
    script, *_ = arguments
    text = Path(script).read_bytes()
    module = ModuleType("__main__")
    module.__file__ = os.path.join(os.getcwd(), script)  # absolute, as python has it
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    # The folder of this module's start, and where python looks first when it runs a file.
    sys.path[0] = os.path.dirname(os.path.realpath(script))
    sys.argv = arguments
    sys.modules["__main__"] = module
    sys.excepthook = _from_the_script_on(sys.excepthook, script)
    # Without the __future__ imports of this file.
    exec(compile(text, script, "exec", dont_inherit=True), vars(module))


def _from_the_script_on(previous: Hook, script: str) -> Hook:
    """A hook that leaves out the frames before the script's own."""

    def shown(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        step = trace
        while step is not None and step.tb_frame.f_code.co_filename != script:
            step = step.tb_next
        if isinstance(error, SyntaxError) and error.filename == script:
            trace = None  # nothing of the script has run
        # The interpreter's own hook shows the traceback the error has, not the one it is given.
        previous(kind, error.with_traceback(step or trace), step or trace)

    return shown


if __name__ == "__main__":
    main(sys.argv[1:])
