"""The regions that stand for scattered bytes cover exactly those, and are few where there is a pattern."""

from __future__ import annotations

import subprocess
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp

from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples
from kernel_set import SANITIZE, builder

# Reads "outer stride n" and n pairs of a start and a length; prints the regions, and those of two halves in common.
DRIVER = """
#include <cstdio>
#include "touched_bytes.h"
using namespace tile_simulator;
int main()
{
    unsigned long outer, stride, n;
    while (std::scanf("%lu %lu %lu", &outer, &stride, &n) == 3) {
        std::vector<Run> runs(n);
        for (Run& run : runs) {
            if (std::scanf("%lu %lu", &run.start, &run.length) != 2) { return 1; }
        }
        for (const Region& r : regions_of(runs, outer, stride)) {
            std::printf("%lu %lu %lu %lu %lu %lu;", r.start, r.run, r.inner, r.inner_stride, r.outer, r.outer_stride);
        }
        const auto half = runs.begin() + static_cast<long>(n / 2);
        std::printf("%d\\n", share_bytes({runs.begin(), half}, {half, runs.end()}));
        std::fflush(stdout);
    }
}
"""
Runs = list[tuple[int, int]]


@lru_cache(maxsize=1)
def driver() -> subprocess.Popen[str]:
    library = Path(builder().build_simulator(sanitize=SANITIZE))
    folder = Path(mkdtemp(prefix="tile-touched-bytes-"))
    (folder / "driver.cpp").write_text(DRIVER)
    include = builder().include_directory()
    flags = [f for f in builder().kernel_flags(sanitize=SANITIZE) if f != "-O2"]
    subprocess.run(
        [
            builder().find_compiler(), *flags, "-w", f"-I{include}", f"-I{include.parent / 'src'}",
            str(folder / "driver.cpp"), str(library), f"-Wl,-rpath,{library.parent}",
            "-o", str(folder / "driver"),
        ],
        check=True,
    )  # fmt: skip
    return subprocess.Popen(
        [str(folder / "driver")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def regions_of(runs: Runs, outer: int = 1, stride: int = 0) -> tuple[list[list[int]], bool]:
    process = driver()
    assert process.stdin is not None and process.stdout is not None
    pairs = " ".join(f"{start} {length}" for start, length in runs)
    process.stdin.write(f"{outer} {stride} {len(runs)} {pairs}\n")
    process.stdin.flush()
    *regions, common = process.stdout.readline().strip().split(";")
    return [[int(x) for x in region.split()] for region in regions], common == "1"


def bytes_of(region: list[int]) -> set[int]:
    start, run, inner, inner_stride, outer, outer_stride = region
    return {
        start + i * inner_stride + o * outer_stride + b
        for o in range(outer)
        for i in range(inner)
        for b in range(run)
    }


@settings(max_examples=examples(100))
@given(
    runs=st.lists(st.tuples(st.integers(0, 200), st.integers(1, 9)), min_size=1, max_size=20),
    outer=st.integers(1, 3),
)
def test_regions_are_the_bytes(runs: Runs, outer: int) -> None:
    regions, common = regions_of(runs, outer, 300)
    wanted = {
        start + o * 300 + b for o in range(outer) for start, length in runs for b in range(length)
    }
    covered = [bytes_of(region) for region in regions]
    assert set().union(*covered) == wanted
    assert sum(map(len, covered)) == len(wanted)  # no byte twice
    halves = [
        {s + b for s, n in part for b in range(n)}
        for part in (runs[: len(runs) // 2], runs[len(runs) // 2 :])
    ]
    assert common == bool(halves[0] & halves[1])


def test_patterns_are_one_region() -> None:
    every_second = [(4 * i, 2) for i in range(64)]
    assert regions_of(every_second) == ([[0, 2, 64, 4, 1, 0]], False)
    assert regions_of([(i, 1) for i in reversed(range(100))])[0] == [[0, 100, 1, 0, 1, 0]]
    rows = [(row * 96, 32) for row in range(16)]
    assert regions_of(rows, 5, 4096)[0] == [[0, 32, 16, 96, 5, 4096]]
