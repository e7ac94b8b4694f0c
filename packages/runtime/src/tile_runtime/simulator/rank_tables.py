"""Write the result of a timed launch over several ranks as tables of words."""

from __future__ import annotations

from typing import TypeAlias

from tile_runtime.simulator.rank_times import RankTimes

# A heading first.
Rows: TypeAlias = "list[tuple[str, ...]]"


def tables_text(times: RankTimes) -> str:
    """The tables of ranks, of links, and of bytes from rank to rank."""
    parts = [_aligned(rank_rows(times))]
    if times.links:
        parts.append(_aligned(link_rows(times)))
    if times.overlap is not None:
        parts.append("bytes from rank (row) to rank (column)")
        parts.append(_aligned(matrix_rows(times)))
    return "\n\n".join(parts)


def rank_rows(times: RankTimes) -> Rows:
    """A table of the ranks."""
    rows: Rows = [("rank", "us", "computes", "communicates", "overlap", "waits for ranks")]
    mhz = times.whole.mhz
    for rank, both in enumerate(times.overlaps):
        part = "-" if both.part is None else f"{both.part:.0%}"
        us, waits = times.rank_microseconds[rank], times.rank_wait_microseconds[rank]
        numbers = map("{:.2f}".format, (us, both.computing / mhz, both.communicating / mhz))
        rows.append((f"{rank}", *numbers, part, f"{waits:.2f}"))
    return rows


def link_rows(times: RankTimes) -> Rows:
    """A table of the links."""
    rows: Rows = [("link", "bytes", "signals", "busy us", "GB/s", "of its peak")]
    for (source, target), link in sorted(times.links.items()):
        moved = ("-", "-", "-")
        if link.busy_microseconds:
            rate = link.bytes / link.busy_microseconds / 1e3
            moved = (f"{link.busy_microseconds:.2f}", f"{rate:.1f}", f"{link.share_of_peak:.0%}")
        rows.append((f"{source} -> {target}", f"{link.bytes}", f"{link.signals}", *moved))
    return rows


def matrix_rows(times: RankTimes) -> Rows:
    """The bytes that went from rank to rank; the rows are where they came from."""
    rows: Rows = [("", *map(str, range(times.ranks)))]
    for source, moved in enumerate(times.bytes_between):
        cells = ("-" if source == target else f"{size}" for target, size in enumerate(moved))
        rows.append((f"{source}", *cells))
    return rows


def _aligned(rows: Rows) -> str:
    """Align the columns, a line a row: the first to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])])
        for first, *others in rows
    )
    return "\n".join(lines)
