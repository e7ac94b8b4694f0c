"""`tile-ascend opt`: any passes on any textual IR."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_ir.switches import switch
from tile_runtime.cli.kernel_argument import (
    add_kernel_arguments,
    parse_arguments,
    read_kernel,
    target_named,
)

if TYPE_CHECKING:
    from tile_ir import Func, Target


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("opt", help="run passes on textual IR and print the result")
    parser.add_argument("file", help="a .tir file, `-` for standard input, or script.py:name")
    parser.add_argument(
        "-p", "--passes", default="", help="passes in order, separated by commas; none: print only"
    )
    add_kernel_arguments(parser)
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print what insert_sync inserts and why, not the IR; all passes before it run",
    )
    parser.add_argument(
        "--graph",
        metavar="FILE.svg",
        help="draw the hazards, and what insert_sync inserts for them",
    )
    parser.add_argument("--target", help="chip to compile for (default: the switch soc)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from tile_ir import print_func, verify
    from tile_passes import apply_passes

    target = target_named(options.target or switch("soc"))
    func = read_kernel(options.file, parse_arguments(options.arg))
    verify(func, target)
    names = [name.strip() for name in options.passes.split(",") if name.strip()]
    if options.explain or options.graph:
        return _explain(options, apply_passes(func, _before_sync(names), target), target)
    text = print_func(apply_passes(func, names, target))
    print(text, end="" if text.endswith("\n") else "\n")
    return 0


def _before_sync(names: list[str]) -> list[str]:
    """The passes before `insert_sync`, which is explained instead of run."""
    return names[: names.index("insert_sync")] if "insert_sync" in names else names


def _explain(options: argparse.Namespace, func: Func, target: Target) -> int:
    from tile_passes import draw_sync, explain_sync

    if options.graph:
        Path(options.graph).write_text(draw_sync(func, target))
    if options.explain:
        print(explain_sync(func, target), end="")
    return 0
