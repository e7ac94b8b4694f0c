"""The command: `python -m conformance PEER [--only GLOB] [--check strict] [-j N]`."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from conformance.outcome import Kind
from conformance.run_task import run_task
from conformance.scripts import tasks
from conformance.table import as_csv, markdown, summary


def main() -> int:
    """The exit code is 1 if any script gave a wrong result, else 0."""
    options = _parser().parse_args()
    examples = options.peer / "examples"
    if not examples.is_dir():
        print(f"error: {options.peer} has no folder `examples`", file=sys.stderr)
        return 2
    wanted = list(tasks(examples, options.only))
    logs = options.output / "conformance-logs"
    logs.mkdir(parents=True, exist_ok=True)
    results = []
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(run_task, t, options.check, options.timeout, logs) for t in wanted]
        for number, job in enumerate(jobs, 1):
            result = job.result()
            results.append(result)
            o = result.outcome
            what = " ".join(x for x in (o.kind.value, o.slug, o.place, o.detail) if x)
            print(f"[{number}/{len(wanted)}] {result.task.title}: {what[:160]}", flush=True)
            # Written as it grows, so that a run that is stopped has told something.
            (options.output / "conformance.md").write_text(markdown(results, options.check))
            (options.output / "conformance.csv").write_text(as_csv(results))
    print(summary(results))
    return int(any(r.outcome.kind is Kind.WRONG for r in results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    parser.add_argument("peer", type=Path, help="a checkout of tilelang-ascend")
    parser.add_argument("--only", default="*", metavar="GLOB", help="scripts below examples/")
    parser.add_argument("--check", default="off", choices=("off", "device", "strict"))
    parser.add_argument("--timeout", type=float, default=300, help="seconds a script may take")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("build"))
    return parser


if __name__ == "__main__":
    sys.exit(main())
