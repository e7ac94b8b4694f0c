"""Runs the cases and prints every published value beside the modelled one.

`--full` takes those too that run for minutes; `--write` puts the table into docs/hardware/time_model.md.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "runtime" / "simulator"), str(_HERE.parent)]

import unmodelled  # noqa: E402
from case import published  # noqa: E402
from cases import GROUPS, cases  # noqa: E402
from misses import LIMIT, reason  # noqa: E402
from modelled import Compared, compare, median_error, rank_correlation  # noqa: E402
from regimes import regime_lines  # noqa: E402

PAGE = _HERE.parents[1] / "docs/hardware/time_model.md"
BEGIN, END = "<!-- measured: timing -->", "<!-- end -->"


def table(rows: Sequence[Compared]) -> str:
    """Markdown: what all rows come to, by what they are for and by group; the rows; those that are missed."""
    sets = {
        "all": list(rows),
        "calibrate: pages that fixed a constant": [row for row in rows if not row.checks],
        "check: all other pages": [row for row in rows if row.checks],
    }
    for group, make in GROUPS.items():
        names = {case.name for case in make()}
        sets[f"group: {group}"] = [row for row in rows if row.case.name in names]
    lines = [
        f"{len(rows)} of {len(published())} published values, {len({row.case.name for row in rows})} launches. "
        "Spearman's rank correlation is that of the durations.",
        "",
        "| values | number | median error | Spearman |",
        "| --- | --- | --- | --- |",
        *(_summary(name, chosen) for name, chosen in sets.items() if chosen),
        "",
        "| case | value | modelled | published | error | use |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row.case.name} | {row.row.metric}, {row.row.unit} | {row.modelled:.4g} | {row.row.value:g} | {row.error:+.1%} | "
        f"{', '.join(['checks' if row.checks else 'calibrates', *row.fixes])} |"
        for row in rows
    ]
    lines += ["", *regime_lines(rows)]
    missed = [row for row in rows if abs(row.error) > LIMIT]
    lines += ["", f"Missed by more than {LIMIT:.0%}:", ""]
    lines += [
        f"* {row.case.name}, {row.row.metric} ({row.error:+.0%}): {reason(row)}." for row in missed
    ]
    left = Counter(why for row in published() for why in unmodelled.reasons(row))
    lines += ["", f"No kernel stands for {left.total()} values:", ""]
    lines += [f"* {count}: {why}." for why, count in left.most_common()]
    return "\n".join(lines) + "\n"


def _summary(name: str, rows: Sequence[Compared]) -> str:
    rank = rank_correlation(rows)
    return f"| {name} | {len(rows)} | {median_error(rows):.1%} | {'' if rank is None else f'{rank:.3f}'} |"


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
