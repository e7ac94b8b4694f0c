"""Print the published times of links beside the modelled ones.

`python -m link_times.compare [--write]` (with tests/ on the path); `--write` puts the tables into
docs/hardware/index.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from statistics import median

from link_times.constants import ASSUMED, CONSTANTS
from link_times.measured import Group, rows_of
from link_times.misses import LIMIT, reasons, reasons_for_silence
from link_times.predicted import PredictedRow, predictions

PAGE = Path(__file__).parents[2] / "docs/hardware/index.md"
BEGIN, END = "<!-- measured: links -->", "<!-- end -->"


def median_error(rows: Sequence[PredictedRow]) -> float:
    return median(abs(row.error) for row in rows)


def by_number(rows: Sequence[PredictedRow]) -> dict[str, list[PredictedRow]]:
    return {name: list(some) for name, some in groupby(rows, key=lambda each: each.row.number)}


def tables(rows: Sequence[PredictedRow]) -> str:
    calibrating = rows_of(Group.CALIBRATE)
    lines = ["| constant | in use | by its rows | rows |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{each.name}` | {each.used:g} | {each.compute(calibrating):.4g} | {', '.join(each.rows)} |"
        for each in CONSTANTS
    ]
    lines += [f"| `{name}` | | | assumed: {why} |" for name, why in ASSUMED.items()]
    numbers = by_number(rows)
    each_once = median(median_error(some) for some in numbers.values())
    lines += [
        "",
        f"{len(rows)} values of {len(numbers)} rows check. Median error: **{median_error(rows):.1%}** of all values, "
        f"{each_once:.1%} where each row counts once.",
        "",
        "| row | what | values | published | modelled | error |",
        "| --- | --- | --- | --- | --- | --- |",
        *(_line(some) for some in numbers.values()),
        "",
        f"Missed by more than {LIMIT:.0%}:",
        "",
    ]
    missed: dict[str, list[str]] = {}
    for each in rows:
        if abs(each.error) > LIMIT:
            (why,) = reasons(each.row)
            missed.setdefault(why, []).append(f"{each.row.row} ({each.error:+.0%})")
    lines += [f"* {', '.join(names)}: {why}." for why, names in missed.items()]
    silent: dict[str, list[str]] = {}
    said = {each.row.row for each in rows}
    for row in rows_of(Group.CHECK):
        if row.row not in said:
            (why,) = reasons_for_silence(row)
            silent.setdefault(why, []).append(row.row)
    lines += ["", "Nothing is predicted of:", ""]
    lines += [f"* {', '.join(names)}: {why}." for why, names in silent.items()]
    return "\n".join(lines) + "\n"


def _line(rows: Sequence[PredictedRow]) -> str:
    first = rows[0].row
    published, modelled = (
        f"{values[0]:.4g}" if len(values) == 1 else f"{min(values):.4g} to {max(values):.4g}"
        for values in ([r.row.value for r in rows], [r.value for r in rows])
    )
    metrics = " / ".join(dict.fromkeys(r.row.metric for r in rows))
    errors = ", ".join(f"{100 * r.error:+.0f}" for r in rows)
    return (
        f"| {first.number} | {metrics} ({first.system}) | {len(rows)} | {published} {first.unit} | {modelled} | "
        f"{errors} % |"
    )


def write(text: str) -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    text = tables(list(predictions()))
    print(text)
    if parser.parse_args().write:
        write(text)


if __name__ == "__main__":
    main()
