"""How a pipeline is run, what it gives, and what a function leaves to it: known without a pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path

from tile_ir import Automatic, Func
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.own_order import has_no_order, open_for_speed, own_cross_flag
from tile_passes.passdef import Pass

# What changes when work is done, where that is modelled faster, and never what a kernel needs.
FOR_SPEED = frozenset(
    {Automatic.GRID, Automatic.ITERATIONS, Automatic.NEIGHBOURS, Automatic.PITCHES}
)


@dataclass(frozen=True, slots=True)
class PassOptions:
    """How to run a pipeline; the caller reads it from the switches. `automatic` are the decisions
    left to the compiler besides those of the function's text, and `kept` those not left to it;
    `unless_ordered` is left to it too, but in kernels with cross-core flags of their own, and
    `for_speed` where nothing in a kernel speaks against it. Unless `by_hand`, kernels that say
    nothing of their order leave it to the compiler."""

    skip: tuple[str, ...] = ()
    automatic: tuple[Automatic, ...] = ()
    unless_ordered: tuple[Automatic, ...] = ()
    for_speed: tuple[Automatic, ...] = ()
    kept: tuple[Automatic, ...] = ()
    by_hand: bool = False
    stop_after: str | None = None
    dump_dir: Path | None = None
    after_each: Callable[[Pass, Func, bool], None] | None = None


@dataclass(frozen=True, slots=True)
class PassRecord:
    """The record of one pass: its seconds, and whether it changed anything."""

    name: str
    seconds: float
    changed: bool


@dataclass(frozen=True, slots=True)
class PassResult:
    func: Func
    records: tuple[PassRecord, ...] = field(default=())


def left_by(func: Func, options: PassOptions) -> Func:
    """The function with the decisions that the options leave to the compiler. A kernel that says
    nothing of its order, nor which lane does what, leaves its rows to both."""
    own = options.unless_ordered and own_cross_flag(func) is not None
    more = (*options.automatic, *(() if own else options.unless_ordered))
    if not options.by_hand and has_no_order(func):
        more = (*more, Automatic.SYNC, Automatic.MEMORY)
        if func.launch.threads is None:
            func = replace(func, launch=replace(func.launch, threads=2))
    func = leaving(func, more)
    if options.for_speed:
        func = leaving(func, open_for_speed(func).intersection(options.for_speed))
    automatic = func.automatic.difference(options.kept)
    return func if automatic == func.automatic else replace(func, automatic=automatic)


def leaving(func: Func, more: Iterable[Automatic]) -> Func:
    """The function with more left to the compiler than its text says."""
    automatic = func.automatic.union(more)
    return func if automatic == func.automatic else replace(func, automatic=automatic)
