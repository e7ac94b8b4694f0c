"""Write the result of a launch over ranks as HTML that stands by itself, for a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from tile_ir import Diagnostic
from tile_runtime.simulator.rank_picture import rank_picture
from tile_runtime.simulator.rank_tables import Rows, link_rows, matrix_rows, rank_rows
from tile_runtime.simulator.rank_times import RankTimes

_CELL = "padding:1px 10px;text-align:right"


def page_html(headline: str, *parts: Iterable[str]) -> str:
    """A headline, and what stands below it."""
    below = [piece for part in parts for piece in part]
    return "\n".join(["<div>", f"<p><b>{escape(headline)}</b></p>", *below, "</div>"])


def findings_html(findings: Sequence[Sequence[Diagnostic]]) -> Iterator[str]:
    """Write the findings of each rank, with their lines of source."""
    for rank, found in enumerate(findings):
        yield from (f"<pre>rank {rank}: {escape(each.render())}</pre>" for each in found)


def times_html(times: RankTimes) -> Iterator[str]:
    """A picture of the launch, and tables of ranks, links and bytes."""
    yield rank_picture(times)
    yield from _table("Ranks", rank_rows(times))
    if times.links:
        yield from _table("Links", link_rows(times))
    if times.overlap is not None:
        yield from _table("Bytes from rank (row) to rank (column)", matrix_rows(times))


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
