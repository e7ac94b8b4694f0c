"""`tile-ascend opt`: any passes on any textual IR."""

from __future__ import annotations

import argparse
from pathlib import Path

from tile_ir import TileError
from tile_runtime.tools.command_line.kernel_argument import (
    add_kernel_arguments,
    add_target_argument,
    parse_arguments,
    read_kernel,
    tell,
)

# In place of the names of passes: the pipeline with the options of the kernel.
_ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="a .tir file, `-` for standard input, or script.py:name")
    parser.add_argument(
        "-p",
        "--passes",
        default="",
        help="passes in order, separated by commas; none: print only; all: as the kernel is "
        "compiled",
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
        help="draw the dependences, and what insert_sync inserts for them",
    )
    add_target_argument(parser)


def run(options: argparse.Namespace) -> int:
    from tile_ir import Phase, print_func, verify
    from tile_passes import apply_passes, drawn, explained
    from tile_runtime.jit_kernels.build import lower

    kernel = read_kernel(options.file, parse_arguments(options.arg)).for_target(options.target)
    func, target = kernel.func, kernel.target
    names = [name.strip() for name in options.passes.split(",") if name.strip()]
    source = None
    try:
        verify(func, target)
        if options.explain or options.graph:
            if options.graph:
                Path(options.graph).write_text(drawn(func, names, target))
            text = "\n".join(explained(func, names, target)) if options.explain else ""
        else:
            if names == [_ALL]:
                func = lower(func, target, kernel.passes)
            else:
                func = apply_passes(func, names, target)
            source = kernel.source_of(func) if func.phase is Phase.SYNCED else None
            text = print_func(func)
    except TileError as error:
        raise error.with_sources(func.sources) from None
    finally:
        tell(kernel, source)
    print(text, end="" if not text or text.endswith("\n") else "\n")
    return 0
