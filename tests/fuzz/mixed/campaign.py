"""Many mixed kernels: what is wrong with them, what the compiler refuses, which flags are needed."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import tile_ir
from fuzz.campaign import MOST_SECONDS, at_most, kind_of
from fuzz.kernels import argument_sets, in_pipelines, some_stages
from fuzz.minimality import Minimality
from fuzz.mixed.random_mixed import random_mixed
from fuzz.mixed.removals import cross_minimality
from fuzz.mixed.two_scopes import two_scopes
from fuzz.mixed.verdict import (
    SCHEDULES,
    SETS,
    UNPROVED,
    Judged,
    judge,
    run_problem,
    static_problem,
)
from fuzz.shrink import shrink
from fuzz.verdict import Failure
from tile_checkers import check_sync
from tile_ir import Core, For, Func, If, Op, While
from tile_ir.traversal import walk

FOUND = Path(__file__).parent / "found"
# Every so many kernels have a scope for each core.
SCOPES = 5


@dataclass(frozen=True)
class FoundMixed:
    seed: int
    failure: Failure


@dataclass
class MixedTally:
    """What a run over some seeds gave; `refused` counts the compiler's errors by slug."""

    kernels: int = 0
    seconds: float = 0.0
    found: list[FoundMixed] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)
    unproved: list[str] = field(default_factory=list)
    features: Counter[str] = field(default_factory=Counter)
    minimal: Minimality = field(default_factory=Minimality)

    def add(self, other: MixedTally) -> None:
        self.kernels += other.kernels
        self.seconds += other.seconds
        self.found += other.found
        self.refused += other.refused
        self.refusals = (self.refusals + other.refusals)[:40]
        self.unproved += other.unproved
        self.features += other.features
        self.minimal = self.minimal + other.minimal


def mixed_kernel(seed: int, pipelined: bool = False) -> tuple[Func, Func | None]:
    """The kernel of a seed, and what it means where its text does not say it."""
    func, meant = two_scopes(seed) if seed % SCOPES == 0 else (random_mixed(seed), None)
    if pipelined:
        rng = random.Random(f"pipelined {seed}")
        func = func.with_body(in_pipelines(func.launch.body, some_stages(rng)))
    return func, meant


def run_mixed(first: int, count: int, minimal: int = 0, pipelined: bool = False) -> MixedTally:
    """Judge the kernels of `count` seeds, with pipelined loops or without; of every `minimal`th, if
    it is not 0, also which of its cross-core flags are needed."""
    tally = MixedTally()
    start = time.process_time()
    for seed in range(first, first + count):
        func, meant = mixed_kernel(seed, pipelined)
        with at_most(MOST_SECONDS, f"seed {seed} takes over {MOST_SECONDS} s"):
            judged = judge(func, seed, meant=meant)
            tally.kernels += 1
            tally.features.update(features(func, judged))
            if judged.unproved:
                tally.unproved.append(f"seed {seed}: {judged.unproved}")
            if judged.failure is not None:
                tally.found.append(FoundMixed(seed, judged.failure))
            elif judged.refused:
                tally.refused[judged.refused] += 1
                tally.refusals.append(f"seed {seed}: {judged.message}")
            elif minimal and seed % minimal == 0 and judged.stages and not judged.unproved:
                final = judged.stages.final
                tally.minimal += cross_minimality(final, objects(final, func, seed))
    tally.seconds = time.process_time() - start
    return tally


def objects(final: Func, func: Func, seed: int) -> Callable[[Func], bool]:
    """Whether a checker objects to a final function whose order was proven: the static ones, or the
    simulator."""
    arguments = argument_sets(func, seed, SETS)

    def noticed(changed: Func) -> bool:
        lost = any(d.slug == UNPROVED for d in check_sync(changed))
        if lost or static_problem(changed) is not None:
            return True
        return run_problem(changed, arguments, [], SCHEDULES) is not None

    return noticed


def features(func: Func, judged: Judged) -> set[str]:
    """What a kernel has, for the figures."""
    threads = func.launch.threads
    found = {f"threads={threads}", f"blocks={func.launch.blocks}"}
    for stmt in walk(func.launch.body):
        match stmt:
            case For() | While():
                found.add("loops")
                if any(isinstance(s, (For, While)) for s in walk(stmt.body)):
                    found.add("nested loops")
            case If():
                found.add("branches")
            case Op() if stmt.opdef.atomic:
                found.add("sums in gm")
    if judged.stages is not None:
        final = judged.stages.final
        sets = sum(kind_of(s) == "set_cross_flag" for s in walk(final.launch.body))
        found.add("cross-core flags" if sets else "no cross-core flags")
        if sets > 6:
            found.add("over 6 sets")
        if len(judged.stages.merged.params) > len(func.params):
            found.add("workspaces of the compiler")
        both = {getattr(s, "core", None) for s in final.launch.body}
        if both >= {Core.CUBE, Core.VECTOR}:
            found.add("both cores")
    return found


def shrunk_mixed(seed: int, pipelined: bool, failure: Failure) -> Func:
    """The kernel of a seed made small, with the same kind of failure."""
    func, meant = mixed_kernel(seed, pipelined)
    if meant is not None:
        return func  # what it means does not shrink with it

    def still(smaller: Func) -> bool:
        found = judge(smaller, seed, compared=SETS).failure
        return found is not None and found.kind == failure.kind

    return shrink(func, still, most=300) if still(func) else func


def save_mixed(func: Func, failure: Failure) -> Path:
    slug = "".join(c if c.isalnum() else "-" for c in failure.kind)
    path = FOUND / f"{slug}-{func.name}.tir"
    path.parent.mkdir(exist_ok=True)
    path.write_text(tile_ir.print_func(func))
    return path


__all__ = ["MixedTally", "features", "mixed_kernel", "run_mixed", "save_mixed", "shrunk_mixed"]
