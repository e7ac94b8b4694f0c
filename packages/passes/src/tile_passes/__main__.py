"""`python -m tile_passes FILE.tir`: passes on textual IR, with nothing but this package and the IR.

Kernels in Python and their options are read by `tile-ascend opt`, which is the runtime's.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tile_ir import (
    DEFAULT_TARGET,
    TARGETS,
    Func,
    Target,
    TileError,
    parse,
    print_func,
    verify,
)
from tile_passes.explain.explanations import explained
from tile_passes.pipeline import PASSES, apply_passes, run_pipeline

# In place of the names of passes: the whole pipeline.
_ALL = "all"


def main(arguments: list[str] | None = None) -> int:
    """Print what passes make of a kernel; 1 if the kernel is at fault, 2 if it cannot be read."""
    options = _parser().parse_args(arguments)
    if options.list:
        for one in PASSES.values():
            print(f"{one.name:26}{one.summary}")
        return 0
    if options.file is None:
        print("error: name a .tir file, or `-` for standard input", file=sys.stderr)
        return 2
    try:
        text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text()
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    names = [name.strip() for name in options.passes.split(",") if name.strip()]
    try:
        print(
            _done(parse(text, options.file), names, TARGETS[options.target], options.explain),
            end="",
        )
    except TileError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _done(func: Func, names: list[str], target: Target, explain: bool) -> str:
    try:
        verify(func, target)
        if explain:
            return "\n".join((*explained(func, [n for n in names if n != _ALL], target), ""))
        if names == [_ALL]:
            return print_func(run_pipeline(func, target).func)
        return print_func(apply_passes(func, names, target))
    except TileError as error:
        raise error.with_sources(func.sources) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tile_passes", description=main.__doc__)
    parser.add_argument("file", nargs="?", help="a .tir file, `-` for standard input")
    parser.add_argument(
        "-p", "--passes", default=_ALL, help="passes in order, separated by commas (default: all)"
    )
    parser.add_argument(
        "--explain", action="store_true", help="what they decide and why, not the IR"
    )
    parser.add_argument(
        "--list", action="store_true", help="the passes, in the order of the pipeline"
    )
    parser.add_argument(
        "--target", default=DEFAULT_TARGET.name, choices=TARGETS, metavar="CHIP", help="chip"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
