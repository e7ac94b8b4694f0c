"""Runs passes: checks phases, verifies, times, dumps, stops early. Independent of every pass."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence

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
from tile_ir.switches import switch
from tile_ir.verification.verifier import problems
from tile_passes.pass_options import PassOptions, PassRecord, PassResult
from tile_passes.passdef import Pass


def run_passes(
    func: Func, passes: Sequence[Pass], target: Target, options: PassOptions | None = None
) -> PassResult:
    """Run the passes in order.

    Raises KernelError when a pass finds the user's source at fault, or it needs a feature that the
    chip does not have; IRError when a pass is not in the list, cannot be skipped, comes in the
    wrong phase or leaves broken IR behind.

    The verifier checks the user's text, after the first passes, which only fold constants, and the
    result. If one is broken, or a pass fails on broken IR, all passes run again with a check after
    each, which finds the pass at fault. They do so at once with the switch `verify_each` or an
    observer.
    """
    options = options or PassOptions()
    _check_names(passes, options)
    observed = options.dump_dir is not None or options.after_each is not None
    quick = None
    if not observed and not switch("verify_each"):
        quick = _run_quickly(func, passes, target, options)
    return quick or _run_verified(func, passes, target, options)


def _run_quickly(
    func: Func, passes: Sequence[Pass], target: Target, options: PassOptions
) -> PassResult | None:
    """None if what is verified is broken."""
    records: list[PassRecord] = []
    right, only_folded = None, True
    for _, p in _wanted(passes, options):
        start = time.perf_counter()
        try:
            new = _applied(p, func, target)
        except TileError:
            if func is not right and _is_broken(func, target):
                return None
            raise
        only_folded = only_folded and p.folds
        if only_folded:
            if _is_broken(new, target):
                return None
            right = new
        records.append(PassRecord(p.name, time.perf_counter() - start, new is not func))
        func = new
    if func is not right and _is_broken(func, target):
        return None
    return PassResult(func, tuple(records))


def _run_verified(
    func: Func, passes: Sequence[Pass], target: Target, options: PassOptions
) -> PassResult:
    records: list[PassRecord] = []
    _dump(options, 0, "input", func)
    for number, p in _wanted(passes, options):
        start = time.perf_counter()
        new = _applied(p, func, target)
        changed = new is not func
        if changed:
            _verify(p, func, new, target, records)
        records.append(PassRecord(p.name, time.perf_counter() - start, changed))
        func = new
        _dump(options, number, p.name, func)
        if options.after_each:
            options.after_each(p, func, changed)
    return PassResult(func, tuple(records))


def _wanted(passes: Sequence[Pass], options: PassOptions) -> Iterator[tuple[int, Pass]]:
    """With their places among all passes."""
    for number, p in enumerate(passes, 1):
        if p.name not in options.skip:
            yield number, p
            if p.name == options.stop_after:
                return


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


def _applied(p: Pass, func: Func, target: Target) -> Func:
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
    return new if p.gives is None else new.at_phase(p.gives)


def _is_broken(func: Func, target: Target) -> bool:
    return any(True for _ in problems(func, target))


def _verify(p: Pass, func: Func, new: Func, target: Target, before: list[PassRecord]) -> None:
    """Of the function as the pass has made it, out of the one it was given."""
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
        ran = ", ".join([r.name for r in before]) or "none"
        raise IRError(
            error.slug,
            f"after {p.name}: {error.message}",
            error.loc,
            f"this is a bug of the compiler; passes run before: {ran}",
            sources=func.sources,
        ) from None


def _dump(options: PassOptions, number: int, name: str, func: Func) -> None:
    if options.dump_dir is not None:
        options.dump_dir.mkdir(parents=True, exist_ok=True)
        path = options.dump_dir / f"{func.name}_{number:02}_{name}.tir"
        path.write_text(print_func(func))
