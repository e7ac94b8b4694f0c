"""`tile-ascend opt`: any passes on any textual IR."""

from __future__ import annotations

import argparse
from dataclasses import replace
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
        help="print what the named passes decide and why, not the IR; without any: what "
        "insert_sync inserts after all passes before it",
    )
    parser.add_argument(
        "--graph",
        metavar="FILE.svg",
        help="draw the hazards, and what insert_sync inserts for them",
    )
    parser.add_argument("--target", help="chip to compile for (default: the switch soc)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from tile_ir import Automatic, print_func, verify
    from tile_passes import apply_passes

    target = target_named(options.target or switch("soc"))
    func = read_kernel(options.file, parse_arguments(options.arg))
    verify(func, target)
    names = [name.strip() for name in options.passes.split(",") if name.strip()]
    if options.explain or options.graph:
        func = replace(func, automatic=func.automatic | {Automatic.SYNC})
        return _explain(options, func, names, target)
    text = print_func(apply_passes(func, names, target))
    print(text, end="" if text.endswith("\n") else "\n")
    return 0


def _explain(options: argparse.Namespace, func: Func, names: list[str], target: Target) -> int:
    from tile_passes import apply_passes, draw_sync, explained

    if options.graph:
        before = names[: names.index("insert_sync")] if "insert_sync" in names else names
        Path(options.graph).write_text(draw_sync(apply_passes(func, before, target), target))
    if options.explain:
        print("\n".join(explained(func, names, target)), end="")
    return 0
