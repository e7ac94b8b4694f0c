"""`tile-ascend lsp`: the language server for editors. It stands above the commands that it runs, so
this process becomes its own."""

from __future__ import annotations

import argparse
import os
import sys

_DESCRIPTION = """\
Serve an editor over standard input and output, by the Language Server Protocol: diagnostics while
typing, hovers and quick fixes. The editor starts it (docs/use/command_line.md). Needs pygls.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument(
        "--time-limit", type=float, default=20.0, metavar="SECONDS",
        help="how long a script may take to be looked at (default: 20)",
    )  # fmt: skip
    parser.add_argument(
        "--delay", type=float, default=0.3, metavar="SECONDS",
        help="how long to wait after the last change (default: 0.3)",
    )  # fmt: skip
    # Editors that know several ways to speak say which one they mean; there is one here.
    parser.add_argument("--stdio", action="store_true", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    server = "tile_runtime.tools.language_server"
    seconds = str(options.time_limit), str(options.delay)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", server, *seconds])
