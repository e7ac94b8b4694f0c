"""`tile-ascend mcp`: the server for agents. It stands above the commands that it runs, so this
process becomes its own."""

from __future__ import annotations

import argparse
import os
import sys

_DESCRIPTION = """\
Serve an agent over standard input and output, by the Model Context Protocol: tools to compile,
judge, report, explain and port, and to search in the documents (docs/use/judge.md). Needs mcp.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument(
        "--skill",
        action="store_true",
        help="print the file that tells an agent how to work with it",
    )


def run(options: argparse.Namespace) -> int:
    server = "tile_runtime.tools.mcp_server"
    sys.stdout.flush()
    words = ["--skill"] if options.skill else []
    os.execv(sys.executable, [sys.executable, "-m", server, *words])
