"""`tile-ascend switches`: every switch, its value now, and what it does."""

from __future__ import annotations

import argparse
from typing import Any

from tile_ir.switches import SWITCHES, switch


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("switches", help="list the switches and their values")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    width = max(len(s.variable) for s in SWITCHES.values())
    for s in SWITCHES.values():
        value = switch(s.name)
        mark = " " if value == s.default else "*"
        choices = f" ({', '.join(s.choices)})" if s.choices else ""
        print(f"{mark} {s.variable:<{width}}  {value!r:<14} {s.doc}{choices}")
    return 0
