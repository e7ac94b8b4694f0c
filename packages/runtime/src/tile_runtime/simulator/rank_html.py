"""Write the result of a launch over several ranks as HTML that stands by itself, for a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from tile_runtime.simulator.rank_picture import rank_picture
from tile_runtime.simulator.rank_tables import Rows, link_rows, matrix_rows, rank_rows

if TYPE_CHECKING:
    from tile_runtime.simulator.rank_times import RankRun, RankTimes

_CELL = "padding:1px 10px;text-align:right"


def run_html(run: RankRun) -> str:
    """The headline of a launch, and what was found on each rank."""
    return "\n".join(["<div>", *_head(run), "</div>"])


def times_html(times: RankTimes) -> str:
    """The same with a picture of the launch, and with tables of ranks, links and bytes."""
    parts = [*_head(times), rank_picture(times), *_table("Ranks", rank_rows(times))]
    if times.links:
        parts += _table("Links", link_rows(times))
    if times.overlap is not None:
        parts += _table("Bytes from rank (row) to rank (column)", matrix_rows(times))
    return "\n".join(["<div>", *parts, "</div>"])


def _head(run: RankRun) -> Iterator[str]:
    yield f"<p><b>{escape(run.headline())}</b></p>"
    for rank, found in enumerate(run.findings):
        yield from (f"<pre>rank {rank}: {escape(each.render())}</pre>" for each in found)


def _table(title: str, rows: Rows) -> Iterator[str]:
    heading, *others = rows
    yield f"<details{'' if len(others) > 8 else ' open'}><summary>{escape(title)}</summary>"
    yield "<table>"
    yield _row("th", heading)
    yield from (_row("td", row) for row in others)
    yield "</table></details>"


def _row(tag: str, cells: Sequence[str]) -> str:
    written = (f'<{tag} style="{_CELL}">{escape(cell)}</{tag}>' for cell in cells)
    return f"<tr>{''.join(written)}</tr>"
