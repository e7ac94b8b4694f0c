"""`tile-ascend switches`: every switch, its value now, and what it does."""

from __future__ import annotations

import argparse

from tile_ir.switches import SWITCHES, switch
from tile_runtime.scripts.columns import columns


def run(options: argparse.Namespace) -> int:
    rows = []
    for s in SWITCHES.values():
        value = switch(s.name)
        mark = " " if value == s.default else "*"
        choices = f" ({', '.join(s.choices)})" if s.choices else ""
        rows.append((f"{mark} {s.variable}", repr(value), s.doc + choices))
    print(columns(rows))
    return 0
