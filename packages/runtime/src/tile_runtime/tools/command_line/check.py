"""`tile-ascend check`: what is wrong with textual IR, or with a kernel as it is compiled."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tile_ir import Automatic, Diagnostic, Func, TileError
from tile_runtime.tools.command_line.kernel_argument import (
    add_kernel_arguments,
    add_target_argument,
    parse_arguments,
    read_kernel,
    tell,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="a .tir file, `-` for standard input, or script.py:name")
    add_kernel_arguments(parser)
    add_target_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Print every finding of the verifier, `check_memory` and `check_sync`; a kernel without
    addresses goes through the pipeline before, and flags are looked at once they are final. The
    exit code is 1 if there is any error; what is right, or could not be proven, is a warning.
    What the compiler chose wrongly is told as its own mistake, not the author's."""
    from tile_checkers import check_memory, check_sync
    from tile_ir import Phase
    from tile_ir.verification.verifier import problems
    from tile_runtime.jit_kernels.build import lower
    from tile_runtime.jit_kernels.prove import tell_ours

    kernel = read_kernel(options.file, parse_arguments(options.arg)).for_target(options.target)
    func, target = kernel.func, kernel.target
    found = list(problems(func, target))
    source = None
    try:
        if not found and func.phase < Phase.PLANNED:
            func = lower(func, target, kernel.passes)
            # Or an error: there is nothing final to look at.
            source = kernel.source_of(func)
        if not found:
            found = list(check_memory(func, target))
            if func.phase is Phase.SYNCED:
                found += check_sync(func, target)
                source = source or kernel.source_of(func)
                if func is not kernel.func:
                    found = tell_ours(found, kernel.func, func, target)
    except TileError as error:
        raise error.with_sources(func.sources) from None
    finally:
        tell(kernel, source)
    for finding in found:
        print(finding.render(func.sources))
    _advise(func, found)
    count = len(found)
    print(
        f"{func.name}: {count} finding{'' if count == 1 else 's'}"
        if count
        else f"{func.name}: in order"
    )
    return 1 if any(finding.severity == "error" for finding in found) else 0


def _advise(func: Func, found: Sequence[Diagnostic]) -> None:
    """Once for all findings: the compiler can make the order that is missing."""
    from tile_runtime.options.pass_configs import CORE_ORDER, PIPE_ORDER, asked_with

    for flag, left, keys in (
        ("T.set_flag", Automatic.SYNC, PIPE_ORDER),
        ("T.set_cross_flag", Automatic.CROSS, CORE_ORDER),
    ):
        if left not in func.automatic and any(flag in (f.hint or "") for f in found):
            print(f"hint: {asked_with(*keys)} leaves this order to the compiler")
