"""switches.md: the table of switches."""

from __future__ import annotations

from pages.markdown import NOTE, cell, code, table
from tile_ir.switches import SWITCHES


def switches_page() -> str:
    rows = [
        (
            f"`{s.variable}`",
            type(s.default).__name__,
            code(repr(s.default)),
            cell(s.doc) + (f": {', '.join(s.choices)}" if s.choices else ""),
        )
        for s in SWITCHES.values()
    ]
    return "\n".join(
        [
            NOTE,
            "# Switches\n",
            "Each is an environment variable, and in Python a block:\n"
            "`from tile_ir.switches import override`, then `with override(check='off'):`. The\n"
            "name in Python is the variable without `TILE_`, in lower case. A block wins over the\n"
            "environment. `tile-ascend switches` prints the values in force.\n",
            table(("variable", "type", "default", "what it does"), rows),
        ]
    )
