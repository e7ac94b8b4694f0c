"""`tile-ascend emit`: write the source of a kernel, Ascend C unless an option chooses another."""

from __future__ import annotations

import argparse
from pathlib import Path

from tile_ir import TileError
from tile_runtime.tools.command_line.kernel_argument import (
    NamedKernel,
    add_kernel_arguments,
    add_target_argument,
    parse_arguments,
    read_kernel,
    tell,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kernel", help="a .tir file, or script.py:name of a factory, a prim_func or a kernel"
    )
    parser.add_argument("-o", "--output", type=Path, help="write to a file instead")
    add_kernel_arguments(parser)
    add_target_argument(parser)


def run(options: argparse.Namespace) -> int:
    kernel = read_kernel(options.kernel, parse_arguments(options.arg)).for_target(options.target)
    source = source_of(kernel)
    if options.output is None:
        print(source, end="" if source.endswith("\n") else "\n")
    else:
        options.output.write_text(source)
    return 0


def source_of(kernel: NamedKernel) -> str:
    """The source of a kernel as its script compiles it. Says with which options, whether it
    succeeds or not."""
    from tile_runtime.jit_kernels.build import emitted, lower

    try:
        lowered = lower(kernel.func, kernel.target, kernel.passes)
        source = emitted(lowered, kernel.target, kernel.generator)
    except TileError as error:
        tell(kernel)
        raise error.with_sources(kernel.func.sources) from None
    tell(kernel, source)
    return source
