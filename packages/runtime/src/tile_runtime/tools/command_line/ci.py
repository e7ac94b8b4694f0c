"""`tile-ascend ci`: judge the kernels that a change touches, and compare their modelled times."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tile_runtime.tools.command_line.finding_formats import as_sarif

_DESCRIPTION = """\
Run the kernels of the files that differ from a base revision of git, and of files that import or
include these, with all checks: scripts as programs, kernels that comments `# tile-ascend: f(M=64)`
name, Ascend C sources as comments `// tile-ascend: OPTIONS OF sim` say. Their modelled times are
compared with those of the base. Exit code: 1 if there is any error, else 0.
"""
_ROOM = "tile_runtime.tools.continuous_integration"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument(
        "paths", nargs="*",
        help="files and folders to look at (default: the whole checkout)",
    )  # fmt: skip
    parser.add_argument(
        "--base", metavar="REV",
        help="compare with the commit where the branch left this revision (default: HEAD, so that "
        "what is not committed counts); `none` judges all of PATHS and compares nothing",
    )  # fmt: skip
    parser.add_argument("--sarif", type=Path, metavar="FILE", help="write the findings as SARIF")
    parser.add_argument(
        "--summary", type=Path, metavar="FILE", help="append the times and findings as Markdown"
    )
    parser.add_argument(
        "--slower", type=_part, default=_part("5%"), metavar="PART",
        help="a kernel may be slower than in the base by this part (default: 5%%)",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=float, default=300.0, metavar="SECONDS",
        help="how long a file may run (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--annotate", action="store_true",
        help="print a line for each finding that GitHub's runners turn into an annotation",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    # The room stands above the commands that it asks.
    check: Any = import_module(f"{_ROOM}.check_change")
    shown: Any = import_module(f"{_ROOM}.change_text")
    base = None if options.base == "none" else options.base or "HEAD"
    verdict = check.check_change(
        Path.cwd(), base, options.paths, options.slower, options.timeout,
        lambda line: print(line, file=sys.stderr, flush=True),
    )  # fmt: skip
    print(shown.change_text(verdict))
    if options.annotate:
        for line in shown.workflow_commands(verdict):
            print(line)
    if options.sarif is not None:
        options.sarif.write_text(as_sarif(verdict.found))
    if options.summary is not None:
        with open(options.summary, "a", encoding="utf-8") as summary:
            summary.write(shown.change_markdown(verdict))
    return 1 if verdict.errors else 0


def _part(text: str) -> float:
    """`5%` or `0.05`."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a part such as 5% or 0.05")
    return value
