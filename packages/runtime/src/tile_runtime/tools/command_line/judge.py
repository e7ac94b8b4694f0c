"""`tile-ascend judge`: one document about a kernel: right, free of findings, how fast and why.

The judge stands above the commands that it runs, so this process becomes its own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from tile_ir import CallError
from tile_runtime.tools.command_line.kernel_argument import add_kernel_arguments, parse_arguments

_DESCRIPTION = """\
Judge a kernel: whether it traces, compiles, agrees with a reference on given, random and edge
sizes, and runs without a finding; its modelled time and its share of the roofline. The code is not
trusted: it runs in a process of its own, with limits, behind a fence (docs/use/judge.md). The exit
code gives the verdict: 0 right, 10 wrong, 11 finding, 12 refused, ...; --schema prints the form of
the answer.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument("kernel", nargs="?", metavar="FILE[:KERNEL]", help="what to judge")
    add_kernel_arguments(parser)
    parser.add_argument(
        "--reference", default="", metavar="FILE:FUNCTION",
        help="function of torch that gives the right results (default: `reference` of the file)",
    )  # fmt: skip
    parser.add_argument(
        "--shapes", action="append", default=[], metavar="M=7,N=65",
        help="further sizes to run with: factory arguments and symbols; may be repeated",
    )  # fmt: skip
    parser.add_argument("--no-edges", action="store_true", help="add no sizes at the edges")
    parser.add_argument(
        "--every-size", action="store_true",
        help="the kernel has to be right for every size that its factory accepts",
    )  # fmt: skip
    parser.add_argument(
        "--random", type=int, default=1, metavar="N", help="random sizes to add (default: 1)"
    )
    parser.add_argument("--seed", type=int, help="of sizes and inputs (default: another each time)")
    parser.add_argument("--rtol", type=float, help="relative tolerance (default: by the type)")
    parser.add_argument("--atol", type=float, help="absolute tolerance (default: by the type)")
    parser.add_argument(
        "--advise", type=int, default=0, metavar="N", help="try so many changes for the advice"
    )
    parser.add_argument(
        "--readable", action="append", default=[], metavar="PATH",
        help="file or folder that the candidate may read; may be repeated",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, help="limit of time of each process")
    parser.add_argument("--memory", type=int, metavar="MB", help="limit of memory of each process")
    parser.add_argument("--json", action="store_true", help="print the whole document")
    parser.add_argument(
        "--serve", metavar="SOCKET|PORT", help="serve requests, one JSON text a line, until ended"
    )
    parser.add_argument("--schema", action="store_true", help="print the JSON schema of the answer")


def run(options: argparse.Namespace) -> int:
    if options.schema:
        return _become(["--schema"])
    if options.serve is not None:
        return _become(["--serve", options.serve])
    if options.kernel is None:
        raise CallError("kernel-arguments", "nothing to judge: name a script, FILE[:KERNEL]")
    form = ["--json"] if options.json else []
    return _become([*form, json.dumps(_request(options))])


def _request(options: argparse.Namespace) -> dict[str, Any]:
    """The request as the judge reads it."""
    file, colon, kernel = options.kernel.rpartition(":")
    if not colon or not kernel.isidentifier():
        file, kernel = options.kernel, ""
    limits = {"seconds": options.seconds, "memory_mb": options.memory}
    return {
        "file": file,
        "kernel": kernel,
        "arguments": parse_arguments(options.arg),
        "reference": options.reference,
        "sizes": [parse_arguments(text.split(",")) for text in options.shapes],
        "edges": not options.no_edges,
        "every_size": options.every_size,
        "random": options.random,
        "seed": options.seed,
        "rtol": options.rtol,
        "atol": options.atol,
        "advise": options.advise,
        "readable": options.readable,
        "limits": {name: value for name, value in limits.items() if value is not None},
    }


def _become(arguments: list[str]) -> int:
    """Run the judge with these arguments in place of this process."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "tile_runtime.tools.judge", *arguments])
