"""How a pipeline is run, what it gives, and what a function leaves to it: known without a pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tile_ir import Automatic, Func
from tile_passes.passdef import Pass


@dataclass(frozen=True, slots=True)
class PassOptions:
    """How to run a pipeline; read from the switches by whoever calls. `automatic` is what the
    function leaves to the compiler besides what its text says."""

    skip: tuple[str, ...] = ()
    automatic: tuple[Automatic, ...] = ()
    stop_after: str | None = None
    dump_dir: Path | None = None
    after_each: Callable[[Pass, Func, bool], None] | None = None


@dataclass(frozen=True, slots=True)
class PassRecord:
    """What one pass did: seconds it took, and whether it changed anything."""

    name: str
    seconds: float
    changed: bool


@dataclass(frozen=True, slots=True)
class PassResult:
    func: Func
    records: tuple[PassRecord, ...] = field(default=())


def leaving(func: Func, more: Iterable[Automatic]) -> Func:
    """The function with more left to the compiler than its text says."""
    automatic = func.automatic.union(more)
    return func if automatic == func.automatic else replace(func, automatic=automatic)
