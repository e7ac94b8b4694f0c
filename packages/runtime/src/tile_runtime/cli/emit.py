"""`tile-ascend emit`: the Ascend C source of a kernel."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tile_ir import Phase
from tile_ir.switches import switch
from tile_runtime.cli.kernel_argument import (
    add_kernel_arguments,
    parse_arguments,
    read_kernel,
    target_named,
)


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("emit", help="print the Ascend C source of a kernel")
    parser.add_argument("kernel", help="a .tir file, or script.py:name of a factory or prim_func")
    parser.add_argument("-o", "--output", type=Path, help="write to a file instead")
    add_kernel_arguments(parser)
    parser.add_argument("--target", help="chip to compile for (default: the switch soc)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from tile_codegen_ascendc import emit
    from tile_passes import run_pipeline
    from tile_runtime.pass_configs import pass_options

    target = target_named(options.target or switch("soc"))
    func = read_kernel(options.kernel, parse_arguments(options.arg))
    if func.phase is not Phase.SYNCED:
        func = run_pipeline(func, target, pass_options(None)).func
    source = emit(func, target)
    if options.output is None:
        print(source, end="" if source.endswith("\n") else "\n")
    else:
        options.output.write_text(source)
    return 0
