"""The command behind `make fuzz`: figures, failures, small kernels for the first of each kind."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

import tile_ir
from fuzz.campaign import Tally, run_seeds, save, shrunk
from fuzz.machine.run import machine_library
from fuzz.mixed.campaign import MixedTally, run_mixed, save_mixed, shrunk_mixed
from fuzz.verdict import opinions

CHUNK = 100
SHRUNK_PER_KIND = 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--minimal", type=int, default=20, help="try removals from every Nth kernel"
    )
    parser.add_argument("--keep", action="store_true", help="save failing kernels, made small")
    parser.add_argument("--mixed", action="store_true", help="kernels for both kinds of core")
    parser.add_argument("--pipelined", action="store_true", help="with pipelined loops")
    given = parser.parse_args()
    machine_library()  # once, before there are several processes
    if given.mixed:
        return mixed(
            given.count, given.seed, given.jobs, given.minimal, given.pipelined, given.keep
        )
    start = time.perf_counter()
    tally = Tally()
    end = given.seed + given.count
    firsts = range(given.seed, end, CHUNK)
    sizes = [min(CHUNK, end - f) for f in firsts]
    with ProcessPoolExecutor(given.jobs) as pool:
        for part in pool.map(
            run_seeds, firsts, sizes, repeat(given.minimal), repeat(given.pipelined)
        ):
            tally.add(part)
            _progress(tally.kernels, part)
    print(report(tally, time.perf_counter() - start))
    _show(tally, given.pipelined, given.keep)
    return 1 if tally.found else 0


def _progress(done: int, part: Tally) -> None:
    """What is wrong is told at once: a long run may be ended before its report."""
    for found in part.found:
        print(f"seed {found.seed}: {found.failure.kind}: {found.failure.message}", file=sys.stderr)
    print(f"{done} kernels, {part.seconds:.1f} s for the last", file=sys.stderr, flush=True)


def report(tally: Tally, seconds: float) -> str:
    kinds = Counter(f.failure.kind for f in tally.found)
    each = tally.seconds / max(tally.kernels, 1)
    m = tally.minimal
    lines = [
        f"kernels      {tally.kernels} in {seconds:.1f} s, {1000 * each:.1f} ms of processor time each",
        f"failures     {len(tally.found)}" + "".join(f", {k}: {n}" for k, n in kinds.most_common()),
        f"statements   {_shares(tally.statements, sum(tally.statements.values()))}",
        f"kernels with {_shares(tally.features, tally.kernels)}",
        f"inserted     {', '.join(f'{k} {n}' for k, n in tally.inserted.most_common())}",
    ]
    if m.single:
        lines.append(
            f"needed       {_percent(m.single_noticed, m.single)} of {m.single} instructions, "
            f"{_percent(m.flags_noticed, m.flags)} of {m.flags} flags"
        )
        lines += [f"  not missed: {text}" for text in m.unnoticed]
    else:
        lines.append("needed       not measured: there is no static checker")
    return "\n".join(lines)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "none"


def _shares(counts: Counter[str], total: int) -> str:
    return ", ".join(f"{k} {100 * n / max(total, 1):.0f} %" for k, n in counts.most_common())


def _show(tally: Tally, pipelined: bool, keep: bool) -> None:
    by = opinions()
    shown: Counter[str] = Counter()
    for found in tally.found:
        kind = found.failure.kind
        shown[kind] += 1
        if shown[kind] > SHRUNK_PER_KIND:
            continue
        print(f"\nseed {found.seed}: {kind}: {found.failure.message}")
        small = shrunk(found.seed, pipelined, found.failure, by)
        print(save(small, found.failure) if keep else tile_ir.print_func(small))


def mixed(count: int, seed: int, jobs: int, minimal: int, pipelined: bool, keep: bool) -> int:
    start, tally = time.perf_counter(), MixedTally()
    firsts = range(seed, seed + count, CHUNK)
    sizes = [min(CHUNK, seed + count - f) for f in firsts]
    with ProcessPoolExecutor(jobs) as pool:
        for part in pool.map(run_mixed, firsts, sizes, repeat(minimal), repeat(pipelined)):
            tally.add(part)
            for found in part.found:
                failure = found.failure
                print(f"seed {found.seed}: {failure.kind}: {failure.message}", file=sys.stderr)
            print(f"{tally.kernels} kernels, {part.seconds:.1f} s", file=sys.stderr, flush=True)
    print(mixed_report(tally, time.perf_counter() - start))
    shown: Counter[str] = Counter()
    for found in tally.found:
        shown[found.failure.kind] += 1
        if shown[found.failure.kind] <= SHRUNK_PER_KIND:
            small = shrunk_mixed(found.seed, pipelined, found.failure)
            print(f"\nseed {found.seed}: {found.failure.kind}: {found.failure.message}")
            print(save_mixed(small, found.failure) if keep else tile_ir.print_func(small))
    return 1 if tally.found else 0


def mixed_report(tally: MixedTally, seconds: float) -> str:
    kinds = Counter(f.failure.kind for f in tally.found)
    each = tally.seconds / max(tally.kernels, 1)
    m = tally.minimal
    lines = [
        f"kernels      {tally.kernels} in {seconds:.1f} s, {1000 * each:.1f} ms of processor time each",
        f"failures     {len(tally.found)}" + "".join(f", {k}: {n}" for k, n in kinds.most_common()),
        f"refused      {sum(tally.refused.values())}"
        + "".join(f", {k}: {n}" for k, n in tally.refused.most_common()),
        f"unproved     {len(tally.unproved)}",
        f"kernels with {_shares(tally.features, tally.kernels)}",
        f"needed       {_percent(m.single_noticed, m.single)} of {m.single} sets and waits, "
        f"{_percent(m.flags_noticed, m.flags)} of {m.flags} flags",
        *(f"  not missed: {text}" for text in m.unnoticed),
        *(f"  {text}" for text in (*tally.refusals, *tally.unproved[:20])),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
