"""The command: `python -m conformance PEER [--only GLOB] [--check strict] [-j N]`.

`--schedules 50` looks for false findings: every kernel runs in so many orders of the cores, or in as
many as `--timeout` suffices for.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from conformance.count_kernels import Count, Verdict, families, total
from conformance.count_kernels import as_csv as kernels_csv
from conformance.gpu_page import write_page
from conformance.outcome import Kind
from conformance.run_task import Limits, run_task
from conformance.scripts import gpu_tasks, tasks
from conformance.table import as_csv, markdown, summary

# Of the memory of the machine, for all scripts together.
_SHARE = 0.8


def main() -> int:
    """The exit code is 1 if any script gave a wrong result, else 0."""
    options = _parser().parse_args()
    if options.kernels and options.dialect != "tilelang":
        print("error: --kernels counts those of --dialect tilelang", file=sys.stderr)
        return 2
    examples = options.peer / "examples"
    if options.dialect == "tilelang" and not examples.is_dir():
        examples = options.peer
    if not examples.is_dir():
        print(f"error: {options.peer} has no folder `examples`", file=sys.stderr)
        return 2
    of_dialect = gpu_tasks if options.dialect == "tilelang" else tasks
    wanted = list(of_dialect(examples, options.only))
    logs = options.output / "conformance-logs"
    logs.mkdir(parents=True, exist_ok=True)
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    memory = options.memory * 2**30 or _SHARE * machine / options.jobs
    limits = Limits(options.timeout, int(memory))
    if options.kernels:
        count = Count(examples, options.only, options.check, limits, logs, options.jobs)
        return _count(count, options.output)
    results = []
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = [
            pool.submit(run_task, t, options.check, limits, logs, options.schedules) for t in wanted
        ]
        for number, job in enumerate(jobs, 1):
            result = job.result()
            results.append(result)
            o = result.outcome
            what = " ".join(
                x for x in (result.orders, o.kind.value, o.slug, o.place, o.detail) if x
            )
            print(f"[{number}/{len(wanted)}] {result.task.title}: {what[:220]}", flush=True)
            # Written as it grows, so that a run that is stopped has told something.
            (options.output / "conformance.md").write_text(markdown(results, options.check))
            (options.output / "conformance.csv").write_text(as_csv(results))
    if options.page:
        write_page(results)
    print(summary(results))
    return int(any(r.outcome.kind is Kind.WRONG for r in results))


def _count(count: Count, output: Path) -> int:
    """Print a verdict on each kernel, and the total; the exit code is 1 if a result was wrong."""
    verdicts: list[Verdict] = []
    for verdict in count.verdicts(families()):
        verdicts.append(verdict)
        print(verdict, flush=True)
        # Written as it grows, as above.
        (output / "conformance-kernels.csv").write_text(kernels_csv(verdicts))
    print(total(verdicts, count.check))
    return int(any(Kind.WRONG.value in v.why for v in verdicts))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    parser.add_argument("peer", type=Path, help="a checkout of tilelang-ascend, or of TileLang")
    parser.add_argument("--dialect", default="tilelang-ascend", metavar="NAME",
                        choices=("tilelang-ascend", "tilelang"),
                        help="tilelang: scripts for GPUs, at smaller sizes, right if they end well")  # fmt: skip
    parser.add_argument("--only", default="*", metavar="GLOB", help="scripts below examples/")
    parser.add_argument("--check", default="off", choices=("off", "device", "strict"))
    parser.add_argument("--schedules", type=int, default=0, metavar="N",
                        help="run each kernel in N orders of the cores, at device and strict")  # fmt: skip
    parser.add_argument("--kernels", action="store_true",
                        help="count kernels that are right, one by one; writes conformance-kernels.csv")  # fmt: skip
    parser.add_argument("--timeout", type=float, default=300, help="seconds a script may take")
    parser.add_argument("--memory", type=float, default=0, metavar="GB",
                        help="memory a script may take (default: its share of the machine)")  # fmt: skip
    parser.add_argument("--page", action="store_true",
                        help="write docs/use/coming_from_gpus.md, of all of TileLang's scripts")  # fmt: skip
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("build"))
    return parser


if __name__ == "__main__":
    sys.exit(main())
