"""`tile-ascend opt`: any passes on any textual IR."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_ir import TileError
from tile_runtime.tools.command_line.kernel_argument import (
    add_kernel_arguments,
    add_target_argument,
    parse_arguments,
    read_kernel,
    tell,
)

if TYPE_CHECKING:
    from tile_ir import Func, Target

# In place of the names of passes: the pipeline with the options of the kernel.
_ALL = "all"


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("opt", help="run passes on a kernel and print the IR")
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
        help="draw the hazards, and what insert_sync inserts for them",
    )
    add_target_argument(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from tile_ir import Automatic, Phase, print_func, verify
    from tile_passes import apply_passes
    from tile_runtime.jit_kernels.build import lower

    kernel = read_kernel(options.file, parse_arguments(options.arg)).for_target(options.target)
    func, target = kernel.func, kernel.target
    names = [name.strip() for name in options.passes.split(",") if name.strip()]
    source = None
    try:
        verify(func, target)
        if options.explain or options.graph:
            func = replace(func, automatic=func.automatic | {Automatic.SYNC})
            text = _explain(options, func, names, target)
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


def _explain(options: argparse.Namespace, func: Func, names: list[str], target: Target) -> str:
    from tile_passes import apply_passes, draw_sync, explained

    if options.graph:
        before = names[: names.index("insert_sync")] if "insert_sync" in names else names
        Path(options.graph).write_text(draw_sync(apply_passes(func, before, target), target))
    return "\n".join(explained(func, names, target)) if options.explain else ""
