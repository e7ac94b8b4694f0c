"""The command behind `make fuzz-programs`: outcomes, refusals, coverage, failures made small."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures.process import ProcessPoolExecutor
from multiprocessing import get_context

from kernel_compiler import quick_compiler

from .batch import COMPILER
from .campaign import BATCH, Tally, kind_of, run_seeds, save, small
from .matrix import MatrixTally, run_cases, table
from .matrix_cases import chosen

# Cases of the matrix that a process takes at a time.
CASES = 360


def main() -> int:
    parser = argparse.ArgumentParser(prog="programs", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", action="store_true", help="save failing programs, made small")
    parser.add_argument("--shrink", type=int, default=1, help="so many of each kind are made small")
    parser.add_argument("--matrix", action="store_true", help="cases of the matrix instead")
    parser.add_argument("--forms", action="store_true", help="print how often each form occurred")
    given = parser.parse_args()
    os.environ[COMPILER] = quick_compiler(remember=False)
    return matrix(given) if given.matrix else campaign(given)


def matrix(given: argparse.Namespace) -> int:
    """So many cases, with every form among them."""
    started, tally = time.perf_counter(), MatrixTally()
    cases = chosen(given.count, given.seed)
    chunks = [cases[first : first + CASES] for first in range(0, len(cases), CASES)]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        for part in pool.map(run_cases, chunks):
            tally.add(part)
            for case, outcome in part.wrong:
                told = f"{outcome.name}: {case.name}: {outcome.message}"
                print(told.split("\n")[0][:240], file=sys.stderr)
            print(f"{sum(tally.outcomes.values())} cases", file=sys.stderr, flush=True)
    print(table(tally))
    print(f"{time.perf_counter() - started:.0f} s")
    return 1 if tally.wrong else 0


def campaign(given: argparse.Namespace) -> int:
    started, tally = time.perf_counter(), Tally()
    end = given.seed + given.count
    firsts = range(given.seed, end, BATCH)
    sizes = [min(BATCH, end - first) for first in firsts]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        for part in pool.map(run_seeds, firsts, sizes):
            tally.add(part)
            for failure in part.failures:
                told = f"seed {failure.program.seed}: {failure.outcome.name}: {failure.outcome.message}"
                print(told.split("\n")[0][:200], file=sys.stderr)
            print(f"{tally.programs} programs", file=sys.stderr, flush=True)
        print(report(tally, time.perf_counter() - started, given.forms))
        if tally.failures and given.shrink:
            _show(tally, pool, given)
    return 1 if tally.failures else 0


def report(tally: Tally, seconds: float, forms: bool) -> str:
    programs = max(tally.programs, 1)
    lines = [
        f"programs   {tally.programs} in {seconds:.0f} s, {tally.seconds / programs:.2f} s each",
        f"outcomes   {', '.join(f'{k} {n} ({100 * n / programs:.1f} %)' for k, n in tally.outcomes.most_common())}",
        *(f"  {k}: {n}, such as seed {tally.examples[k]}" for k, n in tally.refusals.most_common()),
    ]
    kinds = Counter(kind_of(f) for f in tally.failures)
    lines += [f"  {n} {k}" for k, n in kinds.most_common(40)]
    lines.append(f"forms      {len(tally.forms)} different ones")
    groups = Counter[str]()
    for form, n in tally.forms.items():
        groups[" ".join(form.split(" ")[:2])] += n
    lines.append("  " + ", ".join(f"{g} {n}" for g, n in groups.most_common()))
    if forms:
        lines += [f"  {n:6} {form}" for form, n in sorted(tally.forms.items())]
    return "\n".join(lines)


def _show(tally: Tally, pool: ProcessPoolExecutor, given: argparse.Namespace) -> None:
    """Some of each kind, made small."""
    counted: Counter[str] = Counter()
    chosen = []
    for failure in sorted(tally.failures, key=lambda f: len(f.program.text)):
        counted[kind_of(failure)] += 1
        if counted[kind_of(failure)] <= given.shrink:
            chosen.append(failure)
    for failure in pool.map(small, chosen):
        print(f"\n{failure.outcome.name}: {failure.outcome.message}")
        print(save(failure) if given.keep else failure.program.written(""))


if __name__ == "__main__":
    sys.exit(main())
