"""Runs the cases and prints every published value beside the modelled one.

`--full` takes those too that run for minutes; `--write` puts the table into docs/time_model.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "runtime" / "simulator"), str(_HERE.parent)]

from cases import cases  # noqa: E402
from misses import LIMIT, reason  # noqa: E402
from modelled import Compared, compare, median_error, rank_correlation  # noqa: E402

PAGE = _HERE.parents[1] / "docs" / "time_model.md"
BEGIN, END = "<!-- measured: timing -->", "<!-- end -->"


def table(rows: Sequence[Compared]) -> str:
    """Markdown: what all rows come to, the rows, and those that are missed."""
    launches = len({row.case.name for row in rows})
    lines = [
        f"{len(rows)} values of {launches} launches: median error {median_error(rows):.1%}, rank correlation "
        f"(Spearman) of the durations {rank_correlation(rows):.3f}.",
        "",
        "| case | value | modelled | published | error |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row.case.name} | {row.row.metric}, {row.row.unit} | {row.modelled:.4g} | {row.row.value:g} | {row.error:+.1%} |"
        for row in rows
    ]
    missed = [row for row in rows if abs(row.error) > LIMIT]
    lines += ["", f"Missed by more than {LIMIT:.0%}:", ""]
    lines += [
        f"* {row.case.name}, {row.row.metric} ({row.error:+.0%}): {reason(row)}." for row in missed
    ]
    return "\n".join(lines) + "\n"


def write(text: str) -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    chosen = [c for c in cases() if (options.full or not c.full) and options.only in c.name]
    text = table(list(compare(chosen, progress=True)))
    print(text)
    if options.write:
        write(text)


if __name__ == "__main__":
    main()
