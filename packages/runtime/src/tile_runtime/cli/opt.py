"""`tile-ascend opt`: any passes on any textual IR."""

from __future__ import annotations

import argparse
from typing import Any

from tile_ir.switches import switch
from tile_runtime.cli.kernel_argument import (
    add_kernel_arguments,
    parse_arguments,
    read_kernel,
    target_named,
)


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("opt", help="run passes on textual IR and print the result")
    parser.add_argument("file", help="a .tir file, `-` for standard input, or script.py:name")
    parser.add_argument(
        "-p", "--passes", default="", help="passes in order, separated by commas; none: print only"
    )
    add_kernel_arguments(parser)
    parser.add_argument("--target", help="chip to compile for (default: the switch soc)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from tile_ir import print_func, verify
    from tile_passes import apply_passes

    target = target_named(options.target or switch("soc"))
    func = read_kernel(options.file, parse_arguments(options.arg))
    verify(func, target)
    names = [name.strip() for name in options.passes.split(",") if name.strip()]
    text = print_func(apply_passes(func, names, target))
    print(text, end="" if text.endswith("\n") else "\n")
    return 0
