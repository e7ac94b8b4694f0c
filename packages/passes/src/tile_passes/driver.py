"""Runs passes: checks phases, verifies after each, times, dumps, stops early. Knows no pass."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from tile_ir import (
    Func,
    IRError,
    KernelError,
    Target,
    TileError,
    did_you_mean,
    print_func,
    verify,
)
from tile_ir.diagnostics.errors import calls_to
from tile_ir.verification.verifier import problems
from tile_passes.pass_options import PassOptions, PassRecord, PassResult
from tile_passes.passdef import Pass


def run_passes(
    func: Func, passes: Sequence[Pass], target: Target, options: PassOptions | None = None
) -> PassResult:
    """Run the passes in order.

    Raises KernelError when a pass finds the user's source at fault, or it asks for what the chip
    has not; IRError when a pass is not in the list, cannot be skipped, comes in the wrong phase or
    leaves broken IR behind.
    """
    options = options or PassOptions()
    _check_names(passes, options)
    records: list[PassRecord] = []
    _dump(options, 0, "input", func)
    for number, p in enumerate(passes, 1):
        if p.name in options.skip:
            continue
        start = time.perf_counter()
        new = _run_one(p, func, target, [r.name for r in records])
        changed = new is not func
        records.append(PassRecord(p.name, time.perf_counter() - start, changed))
        func = new
        _dump(options, number, p.name, func)
        if options.after_each:
            options.after_each(p, func, changed)
        if p.name == options.stop_after:
            break
    return PassResult(func, tuple(records))


def check_known(wanted: Sequence[str], names: Collection[str]) -> None:
    """IRError for the first that is no name of a pass."""
    for name in wanted:
        if name not in names:
            hint = did_you_mean(name, names) or f"passes: {', '.join(names)}"
            raise IRError("unknown-pass", f"no pass is called `{name}`", None, hint)


def _check_names(passes: Sequence[Pass], options: PassOptions) -> None:
    names = [p.name for p in passes]
    check_known((*options.skip, *filter(None, [options.stop_after])), names)
    for p in passes:
        if p.name in options.skip and not p.optional:
            raise IRError("pass-required", f"pass `{p.name}` cannot be skipped")


def _run_one(p: Pass, func: Func, target: Target, earlier: list[str]) -> Func:
    if func.phase < p.needs or (p.gives is not None and func.phase > p.gives):
        raise IRError(
            "pass-phase",
            f"{p.name} needs phase {p.needs.name}, the function is {func.phase.name}",
            func.loc,
            "run the passes in the order of `tile-ascend passes`",
        )
    try:
        new = p.run(func, target)
    except TileError as error:
        told = error.with_sources(func.sources)
        raise told.with_notes(calls_to(error.loc, func.expansions)) from None
    if p.gives is not None:
        new = new.at_phase(p.gives)
    if new is not func:
        try:
            verify(new, target)
        except IRError as error:
            # What was wrong before is not the pass's: the kernel may be one for another chip.
            for found in problems(func, target):
                raise KernelError(
                    found.slug, found.message, found.loc, found.hint, sources=func.sources
                ) from None
            if p.folds:
                raise KernelError(
                    error.slug, error.message, error.loc, error.hint, sources=func.sources
                ) from None
            ran = ", ".join(earlier) or "none"
            raise IRError(
                error.slug,
                f"after {p.name}: {error.message}",
                error.loc,
                f"this is a bug of the compiler; passes run before: {ran}",
                sources=func.sources,
            ) from None
    return new


def _dump(options: PassOptions, number: int, name: str, func: Func) -> None:
    if options.dump_dir is not None:
        options.dump_dir.mkdir(parents=True, exist_ok=True)
        path = options.dump_dir / f"{func.name}_{number:02}_{name}.tir"
        path.write_text(print_func(func))
