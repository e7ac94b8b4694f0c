"""The command `tile-ascend`: one file per group of subcommands.

Not here: what a command does, which stands in the rooms it calls.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tile_ir import TileError
from tile_ir.switches import SwitchError
from tile_runtime import __version__

# What each command is for. Its module, of the same name, is loaded when the command is chosen.
COMMANDS = {
    "run": "run a script written for tilelang",
    "port": "list what a script written for GPUs must change, and the translation of the rest",
    "doctor": "check this machine and print how to repair it",
    "emit": "print the emitted source of a kernel",
    "sim": "run an Ascend C kernel on the simulator",
    "report": "show where the time of a kernel goes, and why",
    "opt": "run passes on a kernel and print the IR",
    "check": "prove that no live value is overwritten and that every dependence is ordered",
    "judge": "judge a kernel as one document: correct, findings, time; or serve requests",
    "ci": "judge the kernels that a change touches, as continuous integration does",
    "passes": "list the passes in the order they run",
    "ops": "list the operations, or describe one",
    "switches": "list the switches and their values",
    "cache": "show, check or clear the compiled kernels on disk",
    "tune": "list or export tuning results; follow advice (--quick)",
    "compile-kernels": "build kernels ahead of time, to be linked from C++",
    "inspect": "list kernels built ahead of time; check the C++ that calls them",
    "puzzles": "learn the language by filling in kernels",
    "lsp": "serve an editor: diagnostics, hovers, quick fixes",
    "mcp": "serve an agent: tools to compile, judge, explain and speed up kernels",
    "where": "print a path for another build system, such as CMake",
    "bench": "measure a kernel, or compile, cache, call and simulation times",
    "selftest": "run every example and operation on a device and compare the results",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 1 for any error, which is printed without a traceback."""
    given = sys.argv[1:] if arguments is None else arguments
    options = command_parser(given).parse_args(given)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except TileError as error:
        print(error, file=sys.stderr)
        return 1
    except (SwitchError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        print(f"error: {file_problem(error)}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def file_problem(error: OSError | ValueError) -> str:
    """Return the message of the system with the file, without the error number."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.strerror}: {error.filename}"
    return str(error)


def command_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser for these arguments; only the chosen command's parser has its options."""
    parser = argparse.ArgumentParser(
        prog="tile-ascend", description="Compile, inspect and run tile kernels for Ascend NPUs."
    )
    parser.add_argument("--version", action="version", version=f"tile-ascend {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="command", required=True)
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose)
        if name == chosen:
            module: Any = import_module(f"{__name__}.{name.replace('-', '_')}")
            command.set_defaults(run=getattr(module, "run", None))
            getattr(module, "add_arguments", _no_arguments)(command)
    return parser


def _no_arguments(parser: argparse.ArgumentParser) -> None:
    """For a command that takes none."""
