"""The command `tile-ascend`: one file per group of subcommands.

Not here: what a command does, which stands in the rooms it calls.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tile_ir import TileError
from tile_ir.switches import SwitchError
from tile_runtime import __version__
from tile_runtime.tools.command_line import (
    bench,
    cache,
    check,
    compile_kernels,
    doctor,
    emit,
    inspect,
    ops,
    opt,
    passes,
    report,
    run,
    selftest,
    sim,
    switches,
    tune,
    where,
)

COMMANDS = (
    run, doctor, emit, sim, report, opt, check, passes, ops, switches, cache, tune,
    compile_kernels, inspect, where, bench, selftest,
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 1 for any error, which is printed without a traceback."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except TileError as error:
        print(error, file=sys.stderr)
        return 1
    except (SwitchError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tile-ascend", description="Compile, inspect and run tile kernels for Ascend NPUs."
    )
    parser.add_argument("--version", action="version", version=f"tile-ascend {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="command", required=True)
    for command in COMMANDS:
        command.add_parser(commands)
    return parser
