"""Rows of words in columns, as they are printed."""

from __future__ import annotations

import io
import sys
from collections.abc import Collection, Sequence


def columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """A line a row, every column as wide as its widest word; those of `right` end evenly."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for number in range(max(map(len, rows), default=0)):
        table.add_column(justify="right" if number in right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    # Lines are as long as they are: pipes have no width, and terminals wrap by themselves.
    console = Console(file=io.StringIO(), width=sys.maxsize)
    with console.capture() as shown:
        console.print(table)
    return "\n".join(line.rstrip() for line in shown.get().splitlines())
