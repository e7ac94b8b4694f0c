"""`tile-ascend selftest`: every example and every operation on the simulator, or on the NPU."""

from __future__ import annotations

import argparse
from pathlib import Path

from tile_runtime.tools.command_line import checkout


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", choices=("sim", "npu"), default="sim",
        help="sim: against torch and NumPy; npu: against the simulator, with times of both",
    )  # fmt: skip
    parser.add_argument(
        "--only", metavar="PATTERN", default="*", help="such as 'ops/*' or 'examples/0[1-3]*'"
    )
    parser.add_argument(
        "--ranks", type=int, metavar="R",
        help="the examples of many devices instead, by R processes with a device each",
    )  # fmt: skip
    parser.add_argument("--sources", type=Path, metavar="FOLDER", help="a checkout of the sources")


def run(options: argparse.Namespace) -> int:
    """Print a line for each case as it ends; 1 if a result differs or a case fails."""
    on_npu = options.device == "npu"
    if options.ranks is not None:
        ranks = checkout.checkout_module(
            "selftest.rank_table", "the self-test", "name one: --sources FOLDER", options.sources
        )
        return int(ranks.print_rank_table(options.ranks, options.only, on_npu))
    table = checkout.checkout_module(
        "selftest.table", "the self-test", "name one: --sources FOLDER", options.sources
    )
    sources = options.sources or checkout.CHECKOUT
    code: int = table.print_table(sources, options.only, on_npu)
    return code
