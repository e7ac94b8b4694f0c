"""`tile-ascend bench`: measure this compiler on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("bench", help="measure compile, cache, call and simulation times")
    parser.add_argument("rows", nargs="*", help="rows to measure (default: all)")
    parser.add_argument("-o", "--output", type=Path, help="write the table to a file too")
    parser.add_argument(
        "--examples", type=Path, default=Path("examples"), help="folder of the kernels to measure"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from tile_runtime.bench import measure_rows, table

    rows = measure_rows(options.rows, options.examples)
    text = table(rows)
    print(text)
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text + "\n")
    return 1 if any(row.missed for row in rows) else 0
