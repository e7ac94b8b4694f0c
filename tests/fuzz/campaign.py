"""Many kernels: what they are made of, what is wrong with them, how long it takes."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import tile_ir
from fuzz.barriers import barriers_everywhere
from fuzz.kernels import pipelined_kernel, random_kernel
from fuzz.minimality import Minimality, minimality
from fuzz.shrink import shrink
from fuzz.verdict import Checked, Failure, Opinions, check, is_sync, opinions, static_failures
from tile_ir import Func, If, LoopKind, Op, Region, Section
from tile_ir.nodes import Break, For, Stmt, While
from tile_ir.traversal import walk

FOUND = Path(__file__).parent / "found"
# Every so many kernels are planned into small memories.
TIGHT = 3
# Of processor time: most kernels take half a second; one that takes this long never ends.
MOST_SECONDS = 300


@dataclass(frozen=True)
class Found:
    """A kernel with something wrong."""

    seed: int
    failure: Failure


@dataclass
class Tally:
    """What a run over some seeds gave."""

    kernels: int = 0
    seconds: float = 0.0
    found: list[Found] = field(default_factory=list)
    statements: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    inserted: Counter[str] = field(default_factory=Counter)
    minimal: Minimality = field(default_factory=Minimality)

    def add(self, other: Tally) -> None:
        self.kernels += other.kernels
        self.seconds += other.seconds
        self.found += other.found
        self.statements += other.statements
        self.features += other.features
        self.inserted += other.inserted
        self.minimal = self.minimal + other.minimal


@contextmanager
def at_most(seconds: int, message: str) -> Iterator[None]:
    """Raises TimeoutError where a pass or checker does not come to an end."""

    def too_long(signum: int, frame: object) -> None:
        raise TimeoutError(message)

    before = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def is_tight(seed: int) -> bool:
    return seed % TIGHT == 0


def run_seeds(
    first: int, count: int, minimal: int = 0, pipelined: bool = False, by: Opinions | None = None
) -> Tally:
    """Check the kernels of `count` seeds, with pipelined loops or without; of every `minimal`th, if
    it is not 0, also what of its order is needed."""
    by = by or opinions()
    tally = Tally()
    start = time.process_time()
    for seed in range(first, first + count):
        func = kernel_of(seed, pipelined)
        with at_most(MOST_SECONDS, f"seed {seed} takes over {MOST_SECONDS} s"):
            checked = check(func, seed, by, tight=is_tight(seed))
        tally.kernels += 1
        tally.statements.update(kind_of(s) for s in walk(func.launch.body))
        tally.features.update(features(func))
        if checked.failure is not None:
            tally.found.append(Found(seed, checked.failure))
        elif checked.final is not None:
            tally.inserted.update(kind_of(s) for s in walk(checked.final.launch.body) if is_sync(s))
            if by.checkers and minimal and seed % minimal == 0:
                tally.minimal = tally.minimal + minimality(checked.final, notices(checked, by))
    tally.seconds = time.process_time() - start
    return tally


def kernel_of(seed: int, pipelined: bool) -> Func:
    return pipelined_kernel(seed) if pipelined else random_kernel(seed)


def notices(checked: Checked, by: Opinions) -> Callable[[Func], bool]:
    """Whether a static checker objects to a function."""
    return lambda func: bool(static_failures(func, checked.target, by))


def kind_of(stmt: Stmt) -> str:
    return stmt.opdef.name if isinstance(stmt, Op) else type(stmt).__name__.lower()


def features(func: Func) -> set[str]:
    """What a kernel has, for the figures."""
    found: set[str] = set()
    found.update(s.core.value for s in func.launch.body if isinstance(s, Section))
    if len(func.launch.body) == 2:
        found.add("both cores")
    for stmt in walk(func.launch.body):
        match stmt:
            case For(kind=kind, stop=stop):
                found.add("unrolled loops" if kind is LoopKind.UNROLL else "loops")
                found.add("run-time trips" if not isinstance(stop, tile_ir.expr.Const) else "loops")
                if any(isinstance(s, (For, While)) for s in walk(stmt.body)):
                    found.add("nested loops")
            case While():
                found.update(("while", "loops"))
            case If():
                found.add("branches")
            case Break():
                found.add("break")
            case Op(operands=operands):
                slots = (o for o in operands if isinstance(o, Region) and o.buffer.rank > 1)
                moving = (o for o in slots if o.buffer.memory is not tile_ir.Memory.GM)
                if any(not isinstance(o.dims[0].offset, tile_ir.expr.Const) for o in moving):
                    found.add("slots")
    if any(a.alias_of is not None for a in func.launch.allocs):
        found.add("aliases")
    if any(a.scratch for a in func.launch.allocs):
        found.add("scratch")
    return found


def shrunk(seed: int, pipelined: bool, failure: Failure, by: Opinions) -> Func:
    """The kernel of a seed made small, with the same kind of failure and none when every statement
    is fenced."""
    plain = Opinions(lambda func, target: barriers_everywhere(func))
    tight = is_tight(seed)

    about = by.of(failure.kind)

    def still(func: Func) -> bool:
        found = check(func, seed, about, compared=5, tight=tight).failure
        if found is None or found.kind != failure.kind:
            return False
        before_order = found.kind.startswith(("interpreter", "pass"))
        return before_order or check(func, seed, plain, compared=5).failure is None

    func = kernel_of(seed, pipelined)
    return shrink(func, still) if still(func) else func


def save(func: Func, failure: Failure) -> Path:
    """The kernel as a regression test."""
    slug = "".join(c if c.isalnum() else "-" for c in failure.kind)
    path = FOUND / f"{slug}-{func.name}.tir"
    path.write_text(tile_ir.print_func(func))
    return path
