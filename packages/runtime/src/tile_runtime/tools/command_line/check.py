"""`tile-ascend check`: what is wrong with textual IR, or with a kernel as it is compiled."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tile_checkers.second_opinion import Opinion, second_opinions
from tile_checkers.second_opinion.open_compiler import find_compiler
from tile_ir import Automatic, Diagnostic, Func, KernelError, Phase, TileError
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.tools.command_line.finding_formats import Found, as_json
from tile_runtime.tools.command_line.kernel_argument import (
    NamedKernel,
    add_kernel_arguments,
    add_target_argument,
    parse_arguments,
    read_kernel,
    tell,
)
from tile_runtime.tools.command_line.second_opinion import opinions_data, opinions_text

# More ranks than this are not put into a text.
MOST_RANKS = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="a .tir file, `-` for standard input, or script.py:name")
    add_kernel_arguments(parser)
    add_target_argument(parser)
    parser.add_argument(
        "--ranks",
        metavar="R,R",
        type=_counts,
        help="numbers of ranks to prove the order between ranks for; those of 2, 3, 4, 5 and 8 "
        "that the tensors of the kernel have room for, if not given",
    )
    parser.add_argument(
        "--second-opinion",
        action="store_true",
        help="count flags, barriers and bytes beside those of the vendor's open compiler",
    )
    parser.add_argument("--json", action="store_true", help="print all that is found as JSON")


def _counts(text: str) -> tuple[int, ...]:
    """Numbers of ranks, by commas."""
    counts = tuple(int(n) for n in text.split(","))
    if not all(1 <= n <= MOST_RANKS for n in counts):
        raise argparse.ArgumentTypeError(f"a number of ranks is 1 to {MOST_RANKS}")
    return counts


def run(options: argparse.Namespace) -> int:
    """Print what `checked` finds. The exit code is 1 if there is any error; what is right, or
    could not be proven, is a warning. A second opinion has no part in that."""
    if options.second_opinion:
        find_compiler()  # before anything is compiled
    kernel = read_kernel(options.file, parse_arguments(options.arg)).for_target(options.target)
    try:
        result = checked(kernel, options.ranks)
    except TileError:
        tell(kernel)
        raise
    tell(kernel, result.source)
    func, found = result.func, result.found
    code = 1 if any(finding.severity == "error" for finding in found) else 0
    opinions = _opinions(func, result.verified) if options.second_opinion else None
    if options.json:
        more = {} if opinions is None else {"second_opinions": opinions_data(opinions)}
        print(as_json([Found(f) for f in found], func.name, "static", code, **more))
        return code
    for finding in found:
        print(finding.render(func.sources))
    _advise(func, found)
    count = len(found)
    print(
        f"{func.name}: {count} finding{'' if count == 1 else 's'}"
        if count
        else f"{func.name}: in order{_with_ranks(result.ranks)}"
    )
    if opinions:
        print(f"\n{opinions_text(opinions)}")
    return code


def _with_ranks(counts: Sequence[int]) -> str:
    return f", with {', '.join(map(str, counts))} ranks" if counts else ""


@dataclass(frozen=True, slots=True)
class Checked:
    """A kernel as it was looked at, what was found, whether the verifier had nothing to say, the
    numbers of ranks looked at, and the source of a finished kernel."""

    func: Func
    found: list[Diagnostic]
    verified: bool
    ranks: tuple[int, ...]
    source: str | None


def checked(kernel: NamedKernel, ranks: Sequence[int] | None = None) -> Checked:
    """Every finding of the verifier, `check_memory`, `check_sync` and `check_ranks`; a kernel
    without addresses goes through the pipeline before, and flags are looked at once they are final.
    A wrong choice of the compiler is reported as the compiler's error, not the author's."""
    from tile_checkers import check_memory, check_sync, prove_ranks
    from tile_ir.verification.verifier import problems
    from tile_runtime.jit_kernels.build import lower
    from tile_runtime.jit_kernels.prove import tell_ours

    func, target = kernel.func, kernel.target
    found = list(problems(func, target))
    verified, source = not found, None
    counts: tuple[int, ...] = ()
    try:
        if verified and func.phase < Phase.PLANNED:
            func = lower(func, target, kernel.passes)
            # Or an error: there is nothing final to look at.
            source = kernel.source_of(func)
        if verified:
            found = list(check_memory(func, target))
            if func.phase is Phase.SYNCED:
                found += check_sync(func, target)
                proof = prove_ranks(func, ranks)
                found, counts = [*found, *proof.findings], proof.ranks
                source = source or kernel.source_of(func)
                if func is not kernel.func:
                    found = tell_ours(found, kernel.func, func, target)
    except TileError as error:
        raise error.with_sources(func.sources) from None
    return Checked(func, found, verified, counts, source)


def _opinions(func: Func, verified: bool) -> tuple[Opinion, ...]:
    """Of the vendor's open compiler; none on what the verifier does not accept."""
    if not verified:
        return ()
    if func.phase is not Phase.SYNCED:
        raise KernelError(
            "not-synced",
            f"{func.name} is {func.phase.name.lower()}: there is no order to compare yet",
            hint="give the kernel itself, or its text after the last pass",
        )
    return second_opinions(func)


def _advise(func: Func, found: Sequence[Diagnostic]) -> None:
    """Once for all findings: the compiler can make the order that is missing."""
    from tile_runtime.options.pass_configs import CORE_ORDER, PIPE_ORDER, asked_with

    for flag, left, keys in (
        ("T.set_flag", Automatic.SYNC, PIPE_ORDER),
        ("T.set_cross_flag", Automatic.CROSS, CORE_ORDER),
    ):
        if left not in func.automatic and any(flag in (f.hint or "") for f in found):
            print(f"hint: {asked_with(*keys)} leaves this order to the compiler")
